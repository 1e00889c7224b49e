//! What is counted of the requests of some times of day, beside all: only where the site requires something
//! of them. The reference tells [`HoursCount`] request by request; the fast engine counts its sets.

use crate::measure::cohorts::Cohorts;
use crate::measure::hours::InHours;
use crate::policy::{Mode, Policy};
use crate::traffic::Traffic;

use super::duplicates::DuplicateWatch;
use super::observer::{Asked, Ended, Observer};
use super::tally::{CohortCount, CohortTally, RuleTally};

/// What a policy would have done with the requests of some times of day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoursTally {
    /// Per cohort, as `Cohort::ALL`.
    pub cohorts: [CohortTally; 3],
    /// Per limit, in the policy's order.
    pub limits: Vec<HoursLimitTally>,
    /// Per attack rule, in the order of the site file; its seconds are those of these times of day, from its
    /// first request in them to its last.
    pub rules: Vec<RuleTally>,
    /// Per kind of duplicate, in the order of the site file: (name, seen, admitted). That which it repeats may
    /// have come before.
    pub duplicates: Vec<(String, u64, u64)>,
}

/// What one limit would have done with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoursLimitTally {
    /// Per cohort, as `Cohort::ALL`; in shadow mode, what it would have refused.
    pub cohorts: [CohortTally; 3],
    /// Distinct identities, of whatever cohort, with a request it refused; 0 in shadow mode.
    pub identities_refused: u64,
}

/// Counts the requests of some times of day while a replay runs.
#[derive(Debug)]
pub(super) struct HoursCount<'a> {
    hours: &'a InHours,
    cohorts: &'a Cohorts<'a>,
    times_us: &'a [i64],
    total: CohortCount,
    /// Per limit, and whether it enforces.
    limits: Vec<(CohortCount, bool)>,
    /// Per attack rule: what is counted, and its first and last request here, microseconds.
    rules: Vec<(RuleTally, Option<(i64, i64)>)>,
    duplicates: Vec<DuplicateWatch<'a>>,
}

impl<'a> HoursCount<'a> {
    /// Begins to count; `duplicates` watches for those of these times of day.
    pub(super) fn new(
        hours: &'a InHours,
        policy: &Policy,
        traffic: &'a Traffic,
        cohorts: &'a Cohorts<'a>,
        duplicates: Vec<DuplicateWatch<'a>>,
    ) -> Self {
        let count = || CohortCount::new(cohorts.distinct);
        let limits = policy.limits.iter().map(|limit| (count(), limit.mode == Mode::Enforce));
        let rule = |name: &String| RuleTally { name: name.clone(), ..RuleTally::default() };
        Self {
            hours,
            cohorts,
            times_us: &traffic.events.times_us,
            total: count(),
            limits: limits.collect(),
            rules: cohorts.rules.iter().map(|(name, _)| (rule(name), None)).collect(),
            duplicates,
        }
    }

    /// The result.
    pub(super) fn finish(self) -> HoursTally {
        let hours = self.hours;
        let limits = self.limits.into_iter().map(|(count, enforces)| HoursLimitTally {
            identities_refused: if enforces { count.distinct_refused() } else { 0 },
            cohorts: count.tallies,
        });
        let rules = self.rules.into_iter().map(|(tally, period_us)| RuleTally {
            seconds: period_us.map_or(0, |period_us| hours.seconds(period_us)),
            ..tally
        });
        HoursTally {
            cohorts: self.total.tallies,
            limits: limits.collect(),
            rules: rules.collect(),
            duplicates: self.duplicates.into_iter().map(DuplicateWatch::finish).collect(),
        }
    }
}

impl Observer for HoursCount<'_> {
    fn asked(&mut self, asked: &Asked) {
        if asked.attempt > 1 || !self.hours.requests.contains(asked.event) {
            return;
        }
        if let Some((count, _)) = self.limits.get_mut(asked.limit) {
            let identity = self.cohorts.identity(asked.event);
            count.count(self.cohorts.of(asked.event), identity, asked.verdict);
        }
    }

    fn ended(&mut self, ended: &Ended) {
        let (event, verdict) = (ended.event, ended.verdict());
        let (refused, further) = (!verdict.admits(), ended.attempt > 1);
        for watch in &mut self.duplicates {
            // what came before may be repeated in these times
            watch.ended(event, ended.t_us, !refused, further);
        }
        if further || !self.hours.requests.contains(event) {
            return;
        }
        self.total.count(self.cohorts.of(event), self.cohorts.identity(event), verdict);
        let arrived_us = self.times_us.get(event).copied().unwrap_or(ended.t_us);
        for ((tally, period_us), (_, map)) in self.rules.iter_mut().zip(&self.cohorts.rules) {
            if map.contains(event) {
                tally.requests += 1;
                tally.refused += u64::from(refused);
                let (first, last) = period_us.unwrap_or((arrived_us, arrived_us));
                *period_us = Some((first.min(arrived_us), last.max(arrived_us)));
            }
        }
    }
}

/// Tells each of several listeners.
#[derive(Debug)]
pub(super) struct Each<T>(pub(super) Vec<T>);

impl<T: Observer> Observer for Each<T> {
    fn asked(&mut self, asked: &Asked) {
        self.0.iter_mut().for_each(|one| one.asked(asked));
    }

    fn ended(&mut self, ended: &Ended) {
        self.0.iter_mut().for_each(|one| one.ended(ended));
    }
}
