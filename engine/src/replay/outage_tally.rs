//! What became of the requests that came during an outage.

use crate::measure::cohorts::Cohorts;

use super::observer::{Ended, Observer};
use super::tally::{CohortCount, CohortTally};

/// What became of the requests that came during an outage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutageTally {
    /// Of these, refused by any limit.
    pub refused: u64,
    /// Of these, admitted, at once or later.
    pub admitted: u64,
    /// Per cohort, as `Cohort::ALL`.
    pub cohorts: [CohortTally; 3],
}

/// Counts the requests of an outage while a replay runs.
#[derive(Debug)]
pub(super) struct OutageCount<'a> {
    cohorts: &'a Cohorts<'a>,
    count: CohortCount,
    period_us: (i64, i64),
    tally: OutageTally,
}

impl<'a> OutageCount<'a> {
    /// For requests that come in `[from, to)`, microseconds.
    pub(super) fn new(cohorts: &'a Cohorts<'a>, period_us: (i64, i64)) -> Self {
        let count = CohortCount::new(cohorts.distinct);
        Self { cohorts, count, period_us, tally: OutageTally::default() }
    }

    /// The result.
    pub(super) fn finish(self) -> OutageTally {
        OutageTally { cohorts: self.count.tallies, ..self.tally }
    }
}

impl Observer for OutageCount<'_> {
    fn ended(&mut self, ended: &Ended) {
        let (from_us, to_us) = self.period_us;
        let came_us = ended.t_us - ended.delay_us;
        if ended.attempt > 1 || !(from_us..to_us).contains(&came_us) {
            return;
        }
        let verdict = ended.verdict();
        self.tally.refused += u64::from(!verdict.admits());
        self.tally.admitted += u64::from(verdict.admits());
        let identity = self.cohorts.identity(ended.event);
        self.count.count(self.cohorts.of(ended.event), identity, verdict);
    }
}
