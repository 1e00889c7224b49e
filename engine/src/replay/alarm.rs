//! Alarms: raised when the requests asked of one key in a window first exceed a number.

use std::collections::BTreeMap;

use crate::limiter::fixed_window::FixedWindow;
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::{Algorithm, Boundary, Limiter, State};
use crate::policy::Limit;

use super::tally::AlarmTally;

/// Watches one limit.
#[derive(Debug)]
pub(super) struct AlarmBell {
    /// The limit.
    pub(super) limit: usize,
    /// Counts all requests over the limit's windows, and would refuse what exceeds the number.
    counter: Limiter,
    states: BTreeMap<u32, State>,
    /// When each attack rule's requests first came, microseconds, and whether the limit was asked about any.
    rules: Vec<(Option<i64>, bool)>,
    raised: Option<AlarmTally>,
}

impl AlarmBell {
    /// For a limit with an alarm and a window.
    pub(super) fn new(index: usize, limit: &Limit, began_us: &[Option<i64>]) -> Option<Self> {
        let most = limit.alarm?;
        let sliding = |window_us, boundary| {
            Limiter::SlidingLog(SlidingLog {
                limit: most,
                window_us,
                boundary,
                count_refused: true,
            })
        };
        let counter = match &limit.limiter {
            Limiter::FixedWindow(fixed) => {
                Limiter::FixedWindow(FixedWindow { limit: most, ..*fixed })
            }
            Limiter::SlidingLog(log) => sliding(log.window_us, log.boundary),
            Limiter::SlidingCounter(counter) => sliding(counter.window_us, Boundary::Open),
            Limiter::AwsWaf(waf) => sliding(waf.window_us, Boundary::Open),
            _ => return None,
        };
        let states = BTreeMap::new();
        let rules = began_us.iter().map(|began| (*began, false)).collect();
        Some(Self { limit: index, counter, states, rules, raised: None })
    }

    /// A request was asked about; `rules` says which attack rules match it.
    pub(super) fn asked(&mut self, key: u32, t_us: i64, rules: impl Iterator<Item = bool>) {
        if self.raised.is_some() {
            return;
        }
        for ((_, asked), matches) in self.rules.iter_mut().zip(rules) {
            *asked |= matches;
        }
        let state = self.states.entry(key).or_insert_with(|| self.counter.fresh());
        if self.counter.ask(state, t_us, 1).admits() {
            self.counter.charge(state, t_us, 1);
            return;
        }
        // the rule that began last is the one this follows
        let began = self.rules.iter().filter(|(_, asked)| *asked).filter_map(|(began, _)| *began);
        let began = began.max();
        let after_us = began.map(|began| t_us - began);
        self.raised = Some(AlarmTally { limit: self.limit, first_us: t_us, after_us });
    }

    /// Whether it was raised: it listens no longer then.
    pub(super) fn is_raised(&self) -> bool {
        self.raised.is_some()
    }

    /// The alarm, if it was raised.
    pub(super) fn finish(self) -> Option<AlarmTally> {
        self.raised
    }
}
