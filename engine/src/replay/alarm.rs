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
    /// When each attack rule's requests first came, microseconds.
    rules: Vec<Option<i64>>,
    raised: Option<AlarmTally>,
}

impl AlarmBell {
    /// For a limit with an alarm and a window.
    pub(super) fn new(index: usize, limit: &Limit, rules: usize) -> Option<Self> {
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
        let (states, rules) = (BTreeMap::new(), vec![None; rules]);
        Some(Self { limit: index, counter, states, rules, raised: None })
    }

    /// A request was asked about; `rules` says which attack rules match it.
    pub(super) fn asked(&mut self, key: u32, t_us: i64, rules: impl Iterator<Item = bool>) {
        if self.raised.is_some() {
            return;
        }
        for (first, matches) in self.rules.iter_mut().zip(rules) {
            if matches {
                first.get_or_insert(t_us);
            }
        }
        let state = self.states.entry(key).or_insert_with(|| self.counter.fresh());
        if self.counter.ask(state, t_us, 1).admits() {
            self.counter.charge(state, t_us, 1);
            return;
        }
        // the rule that began last is the one this follows
        let began = self.rules.iter().flatten().max();
        let after_us = began.map(|began| t_us - began);
        self.raised = Some(AlarmTally { limit: self.limit, first_us: t_us, after_us });
    }

    /// The alarm, if it was raised.
    pub(super) fn finish(self) -> Option<AlarmTally> {
        self.raised
    }
}
