//! Counts what a replay decides: per limit, per cohort, per attack rule, and in total.

use std::collections::BTreeMap;

use crate::limiter::Verdict;
use crate::measure::cohorts::{Cohort, Cohorts};
use crate::measure::percentile::nearest_rank;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::units::span::SECOND_US;

use super::alarm::AlarmBell;
use super::duplicates::DuplicateWatch;
use super::key_tally::{FillTally, KeyTallies};
use super::observer::{Asked, Cause, Counted, Ended, Observer};
use super::prepare::Prepared;

/// What a policy would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Per limit, in the policy's order.
    pub limits: Vec<LimitTally>,
    /// Requests replayed.
    pub requests: u64,
    /// Of these, refused by any limit.
    pub refused: u64,
    /// Of these, admitted later than they came.
    pub delayed: u64,
    /// Per cohort, as [`Cohort::ALL`].
    pub cohorts: [CohortTally; 3],
    /// Per attack rule, in the order of the site file.
    pub rules: Vec<RuleTally>,
    /// Per kind of duplicate, in the order of the site file: (name, seen, admitted).
    pub duplicates: Vec<(String, u64, u64)>,
    /// Alarms raised.
    pub alarms: Vec<AlarmTally>,
}

/// What one limit would have done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitTally {
    /// Requests it was asked about.
    pub asked: u64,
    /// Of these, refused; 0 in shadow mode.
    pub refused: u64,
    /// Of these, refused if it weren't in shadow mode.
    pub shadow_refused: u64,
    /// Of these, held up.
    pub delayed: u64,
    /// How long, microseconds, sorted.
    pub delays_us: Vec<i64>,
    /// Requests without its key.
    pub missing_key: u64,
    /// Distinct keys asked about.
    pub keys: u64,
    /// Of these, refused at least once (in shadow mode: that would have been).
    pub keys_refused: u64,
    /// Refusals of the ten keys that are refused most.
    pub top_keys_refused: u64,
    /// The first refusal, microseconds since the epoch.
    pub first_refusal_us: Option<i64>,
    /// The longest time in which a key's requests were all refused, from the first to the last.
    pub longest_lockout_us: i64,
    /// How full it was.
    pub fill: FillTally,
    /// Requests that passed it, in the second in which most did.
    pub most_admitted_in_a_second: u64,
    /// Idle keys that nginx would have freed.
    pub reclaimed: u64,
    /// Per cohort, as [`Cohort::ALL`].
    pub cohorts: [CohortTally; 3],
}

/// Requests and identities of a cohort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CohortTally {
    /// Requests.
    pub requests: u64,
    /// Of these, refused.
    pub refused: u64,
    /// Of these, held up.
    pub delayed: u64,
    /// Distinct identities behind them.
    pub identities: u64,
    /// Of these, with at least one request of this cohort refused.
    pub identities_refused: u64,
}

/// What became of an attack rule's requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// The rule.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Of these, refused.
    pub refused: u64,
    /// From its first to its last request, microseconds.
    pub lasted_us: i64,
}

/// An alarm that was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmTally {
    /// The limit.
    pub limit: usize,
    /// When first, microseconds since the epoch.
    pub first_us: i64,
    /// How long after the first request of the attack rule it follows, microseconds.
    pub after_us: Option<i64>,
}

/// Counts while a replay runs.
#[derive(Debug)]
pub struct Tallying<'a> {
    cohorts: &'a Cohorts,
    limits: Vec<LimitCount>,
    total: CohortCount,
    requests: u64,
    refused: u64,
    delayed: u64,
    rules: Vec<RuleCount<'a>>,
    duplicates: Vec<DuplicateWatch<'a>>,
    alarms: Vec<AlarmBell>,
    times_us: &'a [i64],
}

/// What is counted of one attack rule.
#[derive(Debug)]
struct RuleCount<'a> {
    tally: RuleTally,
    map: &'a Bitmap,
    /// Its first and last request, microseconds.
    period_us: Option<(i64, i64)>,
}

/// What is counted of one limit.
#[derive(Debug)]
struct LimitCount {
    tally: LimitTally,
    keys: KeyTallies,
    cohorts: CohortCount,
    admitted: BTreeMap<i64, u64>,
}

/// Requests and identities by cohort.
#[derive(Debug)]
struct CohortCount {
    tallies: [CohortTally; 3],
    /// Per cohort and identity: seen, and refused.
    seen: [Vec<u8>; 3],
}

const SEEN: u8 = 1;
const REFUSED: u8 = 2;

impl CohortCount {
    fn new(identities: usize) -> Self {
        let seen = || vec![0; identities];
        Self { tallies: [CohortTally::default(); 3], seen: [seen(), seen(), seen()] }
    }

    fn count(&mut self, cohort: Cohort, identity: Option<usize>, verdict: Verdict) {
        let at = Cohort::ALL.iter().position(|known| *known == cohort).unwrap_or(2);
        let (Some(tally), Some(seen)) = (self.tallies.get_mut(at), self.seen.get_mut(at)) else {
            return;
        };
        let refused = verdict == Verdict::Refuse;
        tally.requests += 1;
        tally.refused += u64::from(refused);
        tally.delayed += u64::from(matches!(verdict, Verdict::Delay { .. }));
        if let Some(mark) = identity.and_then(|identity| seen.get_mut(identity)) {
            tally.identities += u64::from(*mark & SEEN == 0);
            tally.identities_refused += u64::from(refused && *mark & REFUSED == 0);
            *mark |= if refused { SEEN | REFUSED } else { SEEN };
        }
    }
}

impl<'a> Tallying<'a> {
    /// Begins to count.
    pub fn new(
        prepared: &Prepared<'_>,
        traffic: &'a Traffic,
        cohorts: &'a Cohorts,
        duplicates: Vec<DuplicateWatch<'a>>,
    ) -> Self {
        let limits = prepared.limits.iter().map(|ready| LimitCount {
            tally: LimitTally::default(),
            keys: KeyTallies::new(ready.keys.distinct()),
            cohorts: CohortCount::new(cohorts.distinct),
            admitted: BTreeMap::new(),
        });
        let rules = cohorts.rules.iter().map(|(name, map)| RuleCount {
            tally: RuleTally { name: name.clone(), ..RuleTally::default() },
            map,
            period_us: None,
        });
        let times_us = &traffic.events.times_us;
        let first = |map: &Bitmap| map.iter().next().and_then(|event| times_us.get(event)).copied();
        let began_us: Vec<Option<i64>> = cohorts.rules.iter().map(|(_, map)| first(map)).collect();
        let alarms = prepared.limits.iter().enumerate();
        let alarms =
            alarms.filter_map(|(index, ready)| AlarmBell::new(index, ready.limit, &began_us));
        Self {
            cohorts,
            limits: limits.collect(),
            total: CohortCount::new(cohorts.distinct),
            requests: 0,
            refused: 0,
            delayed: 0,
            rules: rules.collect(),
            duplicates,
            alarms: alarms.collect(),
            times_us: &traffic.events.times_us,
        }
    }

    /// The result.
    pub fn finish(self) -> Tally {
        let limits = self.limits.into_iter().map(LimitCount::finish).collect();
        let rules = self.rules.into_iter().map(|mut rule| {
            rule.tally.lasted_us = rule.period_us.map_or(0, |(first, last)| last - first);
            rule.tally
        });
        Tally {
            limits,
            requests: self.requests,
            refused: self.refused,
            delayed: self.delayed,
            cohorts: self.total.tallies,
            rules: rules.collect(),
            duplicates: self.duplicates.into_iter().map(DuplicateWatch::finish).collect(),
            alarms: self.alarms.into_iter().filter_map(AlarmBell::finish).collect(),
        }
    }
}

impl Observer for Tallying<'_> {
    fn asked(&mut self, asked: &Asked) {
        let cohort = self.cohorts.of(asked.event);
        if let Some(count) = self.limits.get_mut(asked.limit) {
            count.asked(asked, cohort, self.cohorts.identity(asked.event));
        }
        for bell in self.alarms.iter_mut().filter(|bell| bell.limit == asked.limit) {
            let rules = self.rules.iter().map(|rule| rule.map.contains(asked.event));
            bell.asked(asked.key, asked.t_us, rules);
        }
    }

    fn missing(&mut self, _event: usize, limit: usize) {
        if let Some(count) = self.limits.get_mut(limit) {
            count.tally.missing_key += 1;
        }
    }

    fn counted(&mut self, counted: &Counted) {
        if let Some(count) = self.limits.get_mut(counted.limit) {
            count.keys.filled(counted.key, counted.after, counted.t_us);
        }
    }

    fn ended(&mut self, ended: &Ended) {
        let refused = ended.refused_by.is_some();
        let verdict = match (refused, ended.delay_us) {
            (true, _) => Verdict::Refuse,
            (false, us @ 1..) => Verdict::Delay { us },
            _ => Verdict::Pass,
        };
        self.requests += 1;
        self.refused += u64::from(refused);
        self.delayed += u64::from(matches!(verdict, Verdict::Delay { .. }));
        let event = ended.event;
        self.total.count(self.cohorts.of(event), self.cohorts.identity(event), verdict);
        let arrived = self.times_us.get(event).copied().unwrap_or(ended.t_us);
        for RuleCount { tally, map, period_us } in &mut self.rules {
            if map.contains(event) {
                tally.requests += 1;
                tally.refused += u64::from(refused);
                let (first, last) = period_us.unwrap_or((arrived, arrived));
                *period_us = Some((first.min(arrived), last.max(arrived)));
            }
        }
        for watch in &mut self.duplicates {
            watch.ended(event, ended.t_us, !refused);
        }
    }

    fn reclaimed(&mut self, limit: usize, _key: u32, _t_us: i64) {
        if let Some(count) = self.limits.get_mut(limit) {
            count.tally.reclaimed += 1;
        }
    }
}

impl LimitCount {
    fn asked(&mut self, asked: &Asked, cohort: Cohort, identity: Option<usize>) {
        let tally = &mut self.tally;
        let refused = asked.verdict == Verdict::Refuse;
        tally.asked += 1;
        tally.refused += u64::from(refused && !asked.shadow);
        tally.shadow_refused += u64::from(refused && asked.shadow);
        if let Verdict::Delay { us } = asked.verdict {
            tally.delayed += 1;
            tally.delays_us.push(us);
        }
        if refused {
            tally.first_refusal_us.get_or_insert(asked.t_us);
        } else {
            let held_us = if let Verdict::Delay { us } = asked.verdict { us } else { 0 };
            let second = (asked.t_us + held_us).div_euclid(SECOND_US);
            *self.admitted.entry(second).or_default() += 1;
        }
        if asked.cause != Cause::NoKey {
            self.keys.asked(asked.key, asked.t_us, refused);
            self.keys.filled(asked.key, asked.after, asked.t_us);
        }
        self.cohorts.count(cohort, identity, asked.verdict);
    }

    fn finish(mut self) -> LimitTally {
        self.tally.delays_us.sort_unstable();
        self.tally.cohorts = self.cohorts.tallies;
        self.tally.most_admitted_in_a_second = self.admitted.values().copied().max().unwrap_or(0);
        self.keys.finish(&mut self.tally);
        self.tally
    }
}

impl LimitTally {
    /// A percentile of the delays, microseconds; `None` if nothing was held up.
    pub fn delay_us(&self, per_thousand: usize) -> Option<i64> {
        nearest_rank(&self.delays_us, per_thousand, 1000)
    }

    /// Whether it never refused or held up anything, or would have.
    pub fn never_binds(&self) -> bool {
        self.refused == 0 && self.shadow_refused == 0 && self.delayed == 0
    }
}
