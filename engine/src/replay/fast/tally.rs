//! Counts what the fast engine decided: the same figures as the reference's, from sets of requests.

use std::sync::{Mutex, PoisonError};

use crate::measure::cohorts::{Cohort, Cohorts};
use crate::policy::Mode;
use crate::replay::alarm::AlarmBell;
use crate::replay::arrangement::Arrangement;
use crate::replay::duplicates::DuplicateWatch;
use crate::replay::prepare::PreparedLimit;
use crate::replay::spend::{SpendTally, Spending};
use crate::replay::tally::{
    AlarmTally, CohortTally, Detail, LimitTally, RuleTally, Tally, seconds,
};
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;

use super::Round;
use super::decided::{Decided, LimitDecided};
use super::delayed::Delayed;
use super::figures;
use super::shared::Shared;

/// Sets whose identities are remembered: policies side by side ask about the same ones.
const REMEMBERED: usize = 2;

/// What decisions are counted against.
#[derive(Debug)]
pub(in crate::replay) struct Seen<'a> {
    traffic: &'a Traffic,
    pub(super) cohorts: &'a Cohorts<'a>,
    identities: Mutex<Vec<(Bitmap, [u64; 3])>>,
}

impl<'a> Seen<'a> {
    pub(in crate::replay) fn new(traffic: &'a Traffic, cohorts: &'a Cohorts<'a>) -> Self {
        Self { traffic, cohorts, identities: Mutex::default() }
    }

    /// Has at hand what will be asked of a set.
    pub(super) fn prime(&self, set: &Bitmap) {
        self.identities_in(set);
    }

    /// When the first and the last of a set arrive, microseconds; `None` of none.
    pub(super) fn period_us(&self, set: &Bitmap) -> Option<(i64, i64)> {
        let mut stamps = set.iter().filter_map(|event| self.traffic.events.times_us.get(event));
        let first = *stamps.next()?;
        Some((first, stamps.last().map_or(first, |last| *last)))
    }

    /// Distinct identities behind a set that is likely to be asked for again.
    fn identities_in(&self, set: &Bitmap) -> [u64; 3] {
        let known = || self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counts)) = known().iter().find(|(of, _)| of == set) {
            return *counts;
        }
        let counts = self.cohorts.identities_in(set);
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.remove(0);
        }
        known.push((set.clone(), counts));
        counts
    }

    /// Cohorts among requests, of which some are refused and some held up.
    fn cohorts(&self, requests: &Bitmap, refused: &Bitmap, delayed: &Delayed) -> [CohortTally; 3] {
        let identities = self.identities_in(requests);
        let identities_refused = self.cohorts.identities_in(refused);
        let mut tallies = [CohortTally::default(); 3];
        let counts = identities.into_iter().zip(identities_refused);
        for ((tally, cohort), counts) in tallies.iter_mut().zip(Cohort::ALL).zip(counts) {
            let of_cohort = self.cohorts.requests(cohort);
            *tally = CohortTally {
                requests: requests.count_both(of_cohort),
                refused: refused.count_both(of_cohort),
                delayed: delayed.count(|event| of_cohort.contains(event)),
                identities: counts.0,
                identities_refused: counts.1,
            };
        }
        tallies
    }
}

/// Counts what was decided.
pub(in crate::replay) fn tally(
    decided: Decided,
    round: Round<'_, '_>,
    seen: &Seen<'_>,
    duplicates: Vec<DuplicateWatch<'_>>,
    detail: Detail,
) -> Tally {
    let Round { prepared, shared, arrangement, .. } = round;
    let Decided { replayed, limits, refused, delayed } = decided;
    let alarms = prepared.limits.iter().zip(&limits).enumerate();
    let alarms =
        alarms.filter_map(|(index, (ready, limit))| alarm(index, ready, limit, seen, arrangement));
    let mut tally = Tally {
        requests: replayed.count(),
        refused: refused.count(),
        delayed: u64::try_from(delayed.len()).unwrap_or(u64::MAX),
        cohorts: seen.cohorts(&replayed, &refused, &delayed),
        rules: rules(&replayed, &refused, seen),
        duplicates: duplicates
            .into_iter()
            .map(|watch| watched(watch, &replayed, &refused, &delayed, arrangement))
            .collect(),
        alarms: alarms.collect(),
        limits: Vec::new(),
        ..Tally::default()
    };
    let whole = tally.cohorts;
    let cohorts = |limit: &LimitDecided| {
        // of a policy's only limit nothing else is told than of the policy, as a rule
        if limit.asked == replayed && limit.refused == refused && limit.delayed == delayed {
            return whole;
        }
        seen.cohorts(&limit.asked, &limit.refused, &limit.delayed)
    };
    let each = prepared.limits.iter().zip(&limits);
    tally.limits = each.map(|(ready, limit)| self::limit(ready, limit, cohorts(limit))).collect();
    if detail == Detail::Figures {
        for (tally, limit) in tally.limits.iter_mut().zip(&limits) {
            tally.first_refusal_us = first(&limit.refused, arrangement);
            tally.most_admitted_in_a_second = fullest_second(limit, shared, arrangement);
            tally.delays_us = limit.delayed.iter().map(|(_, us)| us).collect();
            tally.delays_us.sort_unstable();
        }
        figures::add(round, &limits, &mut tally);
    }
    tally.limits.iter_mut().zip(limits).for_each(|(tally, limit)| {
        limit.keys.finish(tally, detail);
    });
    tally
}

/// What was decided costs.
pub(in crate::replay) fn spends(
    decided: &Decided,
    round: Round<'_, '_>,
    mut spending: Spending<'_>,
    cohorts: &Cohorts<'_>,
) -> Vec<SpendTally> {
    for watch in &mut spending.watches {
        let mut mine = watch.matching().clone();
        mine.and(&decided.replayed);
        mine.and_not(&decided.refused);
        mine.for_each(|event| {
            let t_us = round.arrangement.time_us(event) + decided.delayed.of(event);
            watch.admitted(event, t_us);
        });
    }
    spending.finish(cohorts)
}

fn limit(
    ready: &PreparedLimit<'_>,
    decided: &LimitDecided,
    cohorts: [CohortTally; 3],
) -> LimitTally {
    let LimitDecided { asked, refused, delayed, .. } = decided;
    let refusals = refused.count();
    let enforces = ready.limit.mode == Mode::Enforce;
    LimitTally {
        asked: asked.count(),
        refused: if enforces { refusals } else { 0 },
        shadow_refused: if enforces { 0 } else { refusals },
        delayed: u64::try_from(delayed.len()).unwrap_or(u64::MAX),
        missing_key: decided.missing,
        cohorts,
        ..LimitTally::default()
    }
}

/// When the first of a set arrives, microseconds.
fn first(set: &Bitmap, arrangement: &Arrangement<'_>) -> Option<i64> {
    let mut times = set.iter().map(|event| arrangement.time_us(event));
    if arrangement.is_in_table_order() { times.next() } else { times.min() }
}

/// The most requests that went on within one second.
fn fullest_second(
    decided: &LimitDecided,
    shared: &Shared<'_>,
    arrangement: &Arrangement<'_>,
) -> u64 {
    let LimitDecided { asked, refused, delayed, .. } = decided;
    let mut counts = shared.seconds_of(asked, arrangement);
    refused.for_each(|event| counts.subtract(arrangement.time_us(event)));
    for (event, us) in delayed.iter() {
        let t_us = arrangement.time_us(event);
        counts.subtract(t_us);
        counts.add(t_us + us);
    }
    counts.most()
}

fn rules(replayed: &Bitmap, refused: &Bitmap, seen: &Seen<'_>) -> Vec<RuleTally> {
    let rule = |(name, map): &(String, Bitmap)| {
        let mut mine = map.clone();
        mine.and(replayed);
        RuleTally {
            name: name.clone(),
            requests: mine.count(),
            refused: mine.count_both(refused),
            seconds: seen.period_us(&mine).map_or(0, seconds),
        }
    };
    seen.cohorts.rules.iter().map(rule).collect()
}

/// What rang first at a limit with an alarm.
fn alarm(
    index: usize,
    ready: &PreparedLimit<'_>,
    decided: &LimitDecided,
    seen: &Seen<'_>,
    arrangement: &Arrangement<'_>,
) -> Option<AlarmTally> {
    let rules = &seen.cohorts.rules;
    let times = &seen.traffic.events.times_us;
    let first = |map: &Bitmap| map.iter().next().and_then(|event| times.get(event)).copied();
    let began_us: Vec<Option<i64>> = rules.iter().map(|(_, map)| first(map)).collect();
    let mut bell = AlarmBell::new(index, ready.limit, &began_us)?;
    for (event, t_us) in arrangement.in_order_of(&decided.asked) {
        let matches = rules.iter().map(|(_, map)| map.contains(event));
        bell.asked(ready.keys.of(event), t_us, matches);
        if bell.is_raised() {
            break;
        }
    }
    bell.finish()
}

/// Duplicates, in the order in which requests ended.
pub(super) fn watched(
    mut watch: DuplicateWatch<'_>,
    replayed: &Bitmap,
    refused: &Bitmap,
    delayed: &Delayed,
    arrangement: &Arrangement<'_>,
) -> (String, u64, u64) {
    let mut mine = watch.matching().clone();
    mine.and(replayed);
    let ends =
        arrangement.in_order_of(&mine).map(|(event, t_us)| (t_us + delayed.of(event), event));
    let mut ends: Vec<(i64, usize)> = ends.collect();
    if !delayed.is_empty() {
        ends.sort_unstable();
    }
    for (t_us, event) in ends {
        watch.ended(event, t_us, !refused.contains(event), false);
    }
    watch.finish()
}
