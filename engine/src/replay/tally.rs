//! Counts what a replay decides: per limit, per cohort, per attack rule, and in total.

use crate::limiter::Verdict;
use crate::measure::cohorts::{Cohort, Cohorts};
use crate::measure::percentile::nearest_rank;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::units::span::SECOND_US;

use super::alarm::AlarmBell;
use super::duplicates::DuplicateWatch;
use super::fullest::Fullest;
use super::hours_tally::HoursTally;
use super::key_tally::FillTally;
use super::limit_count::LimitCount;
use super::observer::{Asked, Counted, Ended, Observer};
use super::prepare::Prepared;
use super::spend::SpendTally;
use super::sustained::Pace;

/// How much is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Verdicts and whom they hit.
    Verdicts,
    /// Also what only the base case is asked for: fills, lock-outs, how long delays are, fullest seconds,
    /// windows' first seconds, store calls, memory, instances.
    Figures,
}

/// What a policy would have done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Per limit, in the policy's order.
    pub limits: Vec<LimitTally>,
    /// Requests replayed: that of a client that tries several times is one, and its first answer counts.
    pub requests: u64,
    /// Of these, refused by any limit.
    pub refused: u64,
    /// Of these, admitted later than they came.
    pub delayed: u64,
    /// Further attempts of clients whose requests were refused.
    pub retries: u64,
    /// Requests that were refused at first, and admitted when their client tried again.
    pub retries_admitted: u64,
    /// Requests that never came, since their client had given up; not among those replayed.
    pub given_up: u64,
    /// Per cohort, as [`Cohort::ALL`].
    pub cohorts: [CohortTally; 3],
    /// Per attack rule, in the order of the site file.
    pub rules: Vec<RuleTally>,
    /// Per kind of duplicate, in the order of the site file: (name, seen, admitted).
    pub duplicates: Vec<(String, u64, u64)>,
    /// Per action of the site, in its order: what it came to.
    pub spends: Vec<SpendTally>,
    /// Alarms raised.
    pub alarms: Vec<AlarmTally>,
    /// Calls to stores, in the second in which there were most.
    pub most_store_calls_in_a_second: u64,
    /// What was counted of the requests of each of the times of day that were asked for, in their order.
    pub hours: Vec<HoursTally>,
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
    /// How long, microseconds, sorted; only where figures are counted ([`Detail::Figures`]).
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
    /// Requests it admitted in the first second of a window, of the window in which they were most; `None`
    /// where windows aren't those of a clock or a calendar.
    pub peak_after_reset: Option<u64>,
    /// Times it was asked in its store; the limits of a group in one store share a call, which is counted
    /// at the first that was asked.
    pub store_calls: u64,
    /// The same in the second in which there were most.
    pub most_store_calls_in_a_second: u64,
    /// What its counters take at their fullest, all instances together, bytes: an estimate. `None` where
    /// they take nothing of the user's.
    pub state_bytes: Option<u64>,
    /// Per cohort, as [`Cohort::ALL`].
    pub cohorts: [CohortTally; 3],
    /// Per instance, by its number, where each counts for itself; else none.
    pub instances: Vec<InstanceTally>,
}

/// What a limit would have done on one instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstanceTally {
    /// Requests it was asked about.
    pub asked: u64,
    /// Of these, refused (in shadow mode: that would have been).
    pub refused: u64,
    /// Distinct keys asked about.
    pub keys: u64,
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
    /// Seconds from that of its first to that of its last request, both included; 0 without requests.
    pub seconds: u64,
}

impl RuleTally {
    /// How fast its requests came.
    pub fn pace(&self) -> Pace {
        let per_us = u128::from(self.seconds) * u128::from(SECOND_US.unsigned_abs());
        Pace { count: self.requests.into(), per_us: per_us.max(1) }
    }
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
    cohorts: &'a Cohorts<'a>,
    limits: Vec<LimitCount<'a>>,
    total: CohortCount,
    requests: u64,
    refused: u64,
    delayed: u64,
    retries: u64,
    retries_admitted: u64,
    given_up: u64,
    rules: Vec<RuleCount<'a>>,
    duplicates: Vec<DuplicateWatch<'a>>,
    alarms: Vec<AlarmBell>,
    /// The request that each store call was last made for, and when, microseconds.
    calls: Vec<Option<(usize, i64)>>,
    detail: Detail,
    times_us: &'a [i64],
    durations_us: &'a [i64],
}

/// What is counted of one attack rule.
#[derive(Debug)]
struct RuleCount<'a> {
    tally: RuleTally,
    map: &'a Bitmap,
    /// Its first and last request, microseconds.
    period_us: Option<(i64, i64)>,
}

/// Requests and identities by cohort.
#[derive(Debug)]
pub(super) struct CohortCount {
    pub(super) tallies: [CohortTally; 3],
    /// Per cohort and identity: seen, and refused.
    seen: [Vec<u8>; 3],
}

const SEEN: u8 = 1;
const REFUSED: u8 = 2;

impl CohortCount {
    pub(super) fn new(identities: usize) -> Self {
        let seen = || vec![0; identities];
        Self { tallies: [CohortTally::default(); 3], seen: [seen(), seen(), seen()] }
    }

    pub(super) fn count(&mut self, cohort: Cohort, identity: Option<usize>, verdict: Verdict) {
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

    /// Distinct identities, of whatever cohort, with a request refused.
    pub(super) fn distinct_refused(&self) -> u64 {
        let [one, two, three] = &self.seen;
        let marks = one.iter().zip(two).zip(three).map(|((one, two), three)| one | two | three);
        marks.map(|mark| u64::from(mark & REFUSED != 0)).sum()
    }
}

impl<'a> Tallying<'a> {
    /// Begins to count.
    pub fn new(
        prepared: &Prepared<'a>,
        traffic: &'a Traffic,
        cohorts: &'a Cohorts<'a>,
        duplicates: Vec<DuplicateWatch<'a>>,
        detail: Detail,
    ) -> Self {
        let limits = prepared.limits.iter();
        let limits = limits.map(|ready| LimitCount::new(ready, traffic, cohorts.distinct, detail));
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
            retries: 0,
            retries_admitted: 0,
            given_up: 0,
            rules: rules.collect(),
            duplicates,
            alarms: alarms.collect(),
            calls: vec![None; prepared.limits.len()],
            detail,
            times_us: &traffic.events.times_us,
            durations_us: &traffic.events.durations_us,
        }
    }

    /// The result.
    pub fn finish(self) -> Tally {
        let mut calls = Fullest::default();
        self.limits.iter().for_each(|limit| calls.merge(limit.calls.clone()));
        let limits = self.limits.into_iter().map(LimitCount::finish).collect();
        let rules = self.rules.into_iter().map(|mut rule| {
            rule.tally.seconds = rule.period_us.map_or(0, seconds);
            rule.tally
        });
        Tally {
            limits,
            requests: self.requests,
            refused: self.refused,
            delayed: self.delayed,
            retries: self.retries,
            retries_admitted: self.retries_admitted,
            given_up: self.given_up,
            cohorts: self.total.tallies,
            rules: rules.collect(),
            duplicates: self.duplicates.into_iter().map(DuplicateWatch::finish).collect(),
            spends: Vec::new(),
            alarms: self.alarms.into_iter().filter_map(AlarmBell::finish).collect(),
            most_store_calls_in_a_second: calls.most(),
            hours: Vec::new(),
        }
    }
}

impl Observer for Tallying<'_> {
    fn asked(&mut self, asked: &Asked) {
        let cohort = self.cohorts.of(asked.event);
        if let Some(count) = self.limits.get_mut(asked.limit) {
            let lasted_us = self.durations_us.get(asked.event).copied().unwrap_or(0);
            count.asked(asked, cohort, self.cohorts.identity(asked.event), lasted_us);
            if let Some(last) = count
                .call
                .filter(|_| self.detail == Detail::Figures)
                .and_then(|call| self.calls.get_mut(call))
            {
                count.called(asked, last);
            }
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
        let verdict = ended.verdict();
        let (refused, further) = (!verdict.admits(), ended.attempt > 1);
        for watch in &mut self.duplicates {
            watch.ended(ended.event, ended.t_us, !refused, further);
        }
        if further {
            self.retries += 1;
            self.retries_admitted += u64::from(!refused);
            return;
        }
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
    }

    fn given_up(&mut self, _event: usize) {
        self.given_up += 1;
    }
}

/// Seconds that a period touches.
pub(super) fn seconds((first_us, last_us): (i64, i64)) -> u64 {
    let second = |us: i64| us.div_euclid(SECOND_US);
    u64::try_from(second(last_us) - second(first_us) + 1).unwrap_or(0)
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
