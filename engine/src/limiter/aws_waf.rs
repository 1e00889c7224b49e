//! AWS WAF's rate-based rule: a count of all requests, looked at every 10 seconds, that acts late. It
//! can't be replayed exactly; with its lags and phase as parameters it is the extremes of what AWS
//! describes. Source: <https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statement-type-rate-based.html>
//! and its caveats (evaluation about every 10 s, detection and release that lag).

use std::collections::VecDeque;

use super::critical::Critical;
use super::whole::{div_floor, nearest_i64, nearest_u64};
use super::{Algorithm, Bound, Level, Ready, Verdict};
use crate::units::rate::Rate;
use crate::units::span::SECOND_US;

/// Time between checks, microseconds.
const CHECK_US: i64 = 10 * SECOND_US;

/// AWS WAF's rate-based rule.
///
/// A check at c counts what was asked in [c − W, c), admitted or not: checks come before arrivals of
/// their instant. A key over the limit at c is blocked from c + detect until r + release, where r is the
/// first later check that finds it not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwsWaf {
    /// Requests per window above which a key is blocked.
    pub limit: u64,
    /// Length, microseconds: 60, 120, 300 or 600 s.
    pub window_us: i64,
    /// How long after a check found a key over the limit it is blocked, microseconds.
    pub detect_us: i64,
    /// How long after a check found it under again it is released, microseconds.
    pub release_us: i64,
    /// When checks happen: at this instant modulo 10 s, microseconds.
    pub phase_us: i64,
}

/// What is remembered of one key: what the next checks count, and what the last ones found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AwsWafState {
    /// When and how much, ascending, microseconds; one entry per instant.
    entries: VecDeque<(i64, u64)>,
    /// The weight of all entries.
    total: u64,
    /// The last check made, microseconds; `None` before the first request.
    checked_us: Option<i64>,
    /// What it counted.
    found: u64,
    /// The first of the checks, up to the last made, that find the key over.
    over_since_us: Option<i64>,
    /// Times the key was over that still block it or will: the first check over and the first not over.
    ended: VecDeque<(i64, i64)>,
}

/// The checks up to an instant, made on a state that isn't touched.
#[derive(Debug, Clone, Copy)]
struct Checked {
    /// How many of the oldest entries no later check counts.
    dropped: usize,
    total: u64,
    last_us: i64,
    found: u64,
    over_since_us: Option<i64>,
}

impl AwsWaf {
    /// The last check not after an instant, microseconds.
    fn last_check_us(&self, t_us: i64) -> i64 {
        let phase_us = i128::from(self.phase_us);
        let whole = div_floor(i128::from(t_us) - phase_us, i128::from(CHECK_US));
        nearest_i64(whole * i128::from(CHECK_US) + phase_us)
    }

    /// Makes the checks up to `t_us`, handing out each time that the key was over and no longer is.
    fn check(
        &self,
        state: &AwsWafState,
        t_us: i64,
        mut ended: impl FnMut((i64, i64)),
    ) -> Option<Checked> {
        let mut now = Checked {
            dropped: 0,
            total: state.total,
            last_us: state.checked_us?,
            found: state.found,
            over_since_us: state.over_since_us,
        };
        let mut oldest = state.entries.iter().peekable();
        let until_us = self.last_check_us(t_us);
        while now.last_us < until_us {
            let check_us = now.last_us.saturating_add(CHECK_US);
            let from_us = check_us.saturating_sub(self.window_us);
            while let Some((_, weight)) = oldest.next_if(|(at_us, _)| *at_us < from_us) {
                now.dropped = now.dropped.saturating_add(1);
                now.total = now.total.saturating_sub(*weight);
            }
            now.last_us = check_us;
            now.found = now.total;
            match (now.total > self.limit, now.over_since_us) {
                (true, None) => now.over_since_us = Some(check_us),
                (false, Some(since_us)) => {
                    ended((since_us, check_us));
                    now.over_since_us = None;
                }
                _ => {}
            }
            if now.total == 0 {
                // nothing is left that a later check could count
                now.last_us = until_us;
            }
        }
        Some(now)
    }

    /// When a key that was over from the first check to the second is blocked, microseconds.
    fn blocked_us(&self, (over_us, under_us): (i64, i64)) -> (i64, i64) {
        (over_us.saturating_add(self.detect_us), under_us.saturating_add(self.release_us))
    }

    fn blocks(&self, over: (i64, i64), t_us: i64) -> bool {
        let (from_us, until_us) = self.blocked_us(over);
        from_us <= t_us && t_us < until_us
    }

    fn count(&self, state: &mut AwsWafState, t_us: i64, weight: u64) {
        let mut ended = Vec::new();
        let now = self.check(state, t_us, |over| ended.push(over));
        state.ended.extend(ended);
        match now {
            Some(now) => {
                state.entries.drain(..now.dropped);
                state.total = now.total;
                state.checked_us = Some(now.last_us);
                state.found = now.found;
                state.over_since_us = now.over_since_us;
            }
            None => state.checked_us = Some(self.last_check_us(t_us)),
        }
        while state.ended.front().is_some_and(|over| self.blocked_us(*over).1 <= t_us) {
            state.ended.pop_front();
        }
        state.total = state.total.saturating_add(weight);
        match state.entries.back_mut() {
            Some((last_us, counted)) if *last_us >= t_us => {
                *counted = counted.saturating_add(weight);
            }
            _ => state.entries.push_back((t_us, weight)),
        }
    }

    /// The most that a key which sends at most `flood` is admitted in one window: what passes until it
    /// is over, and then until a check has seen it and acted.
    pub fn bound_under(&self, flood: Rate) -> u64 {
        let in_us = |us: i64| {
            let sent = i128::from(flood.count).saturating_mul(i128::from(us));
            super::whole::div_ceil(sent, i128::from(flood.per_us))
        };
        let unseen = in_us(CHECK_US.saturating_add(self.detect_us));
        nearest_u64(in_us(self.window_us).min(i128::from(self.limit).saturating_add(unseen)))
    }
}

impl Algorithm for AwsWaf {
    type State = AwsWafState;

    fn fresh(&self) -> AwsWafState {
        AwsWafState::default()
    }

    fn ask(&self, state: &AwsWafState, t_us: i64, _weight: u64) -> Verdict {
        let mut blocked = state.ended.iter().any(|over| self.blocks(*over, t_us));
        let now = self.check(state, t_us, |over| blocked |= self.blocks(over, t_us));
        let over_since_us = now.and_then(|now| now.over_since_us);
        blocked |= over_since_us.is_some_and(|since_us| self.blocks((since_us, i64::MAX), t_us));
        if blocked { Verdict::Refuse } else { Verdict::Pass }
    }

    fn charge(&self, state: &mut AwsWafState, t_us: i64, weight: u64) {
        self.count(state, t_us, weight);
    }

    fn charge_refused(&self, state: &mut AwsWafState, t_us: i64, weight: u64) {
        self.count(state, t_us, weight);
    }

    fn ready(&self, state: &AwsWafState, t_us: i64, _weight: u64) -> Ready {
        // once everything has left the window, no check finds the key over any more
        let newest_us = state.entries.back().map_or(t_us, |entry| entry.0).max(t_us);
        let quiet_us = newest_us.saturating_add(self.window_us).saturating_add(2 * CHECK_US);
        let mut over: Vec<(i64, i64)> = state.ended.iter().copied().collect();
        self.check(state, quiet_us, |ended| over.push(ended));
        let mut at_us = t_us;
        for over in over {
            if self.blocks(over, at_us) {
                at_us = self.blocked_us(over).1;
            }
        }
        Ready::At(at_us)
    }

    /// What a check at that instant would count.
    fn level(&self, state: &AwsWafState, t_us: i64) -> Level {
        let from_us = t_us.saturating_sub(self.window_us);
        let gone = state.entries.iter().take_while(|(at_us, _)| *at_us < from_us);
        let gone = gone.fold(0, |sum: u64, entry| sum.saturating_add(entry.1));
        Level {
            used_milli: state.total.saturating_sub(gone).saturating_mul(1_000),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    /// Nothing bounds what passes before a check acts but how fast it comes: see
    /// [`AwsWaf::bound_under`].
    fn bound(&self, _horizon_us: i64, _tick_us: i64) -> Bound {
        Bound::Unbounded
    }

    fn tick_us(&self) -> i64 {
        1_000
    }
}

impl Critical for AwsWaf {
    fn resized(&self, size: u64) -> Self {
        Self { limit: size, ..*self }
    }

    /// What the last check counted, of a rule that acts at once.
    fn demand(&self, state: &mut AwsWafState, t_us: i64, weight: u64) -> i128 {
        self.count(state, t_us, weight);
        i128::from(state.found)
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(demand)
    }
}

#[cfg(test)]
#[path = "aws_waf_tests.rs"]
mod tests;
