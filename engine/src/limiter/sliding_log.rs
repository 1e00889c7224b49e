//! A log of the requests of the last window, counted at each arrival: sorted sets in Redis, Caddy's ring,
//! the moving window of Python's `limits`. Sources:
//! <https://github.com/mholt/caddy-ratelimit/blob/master/ringbuffer.go> (strict: age > window has left),
//! <https://github.com/alisaifee/limits/tree/master/limits/resources/redis/lua_scripts>,
//! <https://redis.io/glossary/rate-limiting/> (`ZREMRANGEBYSCORE`, `ZADD`, `ZCARD`).

use std::collections::VecDeque;

use super::critical::Critical;
use super::fixed_window::window_ticks;
use super::whole::{nearest_u64, ticks_up};
use super::{Algorithm, Bound, Boundary, Level, Ready, Verdict};

/// A log of the requests of the last window.
///
/// A request at t passes iff what is logged in (t − W, t] (closed: [t − W, t]) and its own weight are at
/// most the limit. Admitted requests are logged, with `count_refused` all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingLog {
    /// Most weight in any window.
    pub limit: u64,
    /// Length, microseconds.
    pub window_us: i64,
    /// Whether a request exactly a window old still counts.
    pub boundary: Boundary,
    /// Whether refused requests count.
    pub count_refused: bool,
}

/// What is remembered of one key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlidingLogState {
    /// When and how much, in ascending order of instants, microseconds; one entry per instant.
    entries: VecDeque<(i64, u64)>,
    /// The weight of all entries.
    total: u64,
}

impl SlidingLogState {
    /// How many entries are kept: what a store would hold.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }
}

impl SlidingLog {
    /// The first instant at which a request logged at `at_us` no longer counts, microseconds.
    #[inline]
    fn leaves_us(&self, at_us: i64) -> i64 {
        let closed = i64::from(self.boundary == Boundary::Closed);
        at_us.saturating_add(self.window_us).saturating_add(closed)
    }

    /// What has left by `t_us`, oldest first.
    fn gone<'a>(
        &'a self,
        state: &'a SlidingLogState,
        t_us: i64,
    ) -> impl Iterator<Item = &'a (i64, u64)> {
        state.entries.iter().take_while(move |(at_us, _)| self.leaves_us(*at_us) <= t_us)
    }

    #[inline]
    fn used(&self, state: &SlidingLogState, t_us: i64) -> u64 {
        let gone = self.gone(state, t_us).fold(0, |sum: u64, entry| sum.saturating_add(entry.1));
        state.total.saturating_sub(gone)
    }

    #[inline]
    fn purge(&self, state: &mut SlidingLogState, t_us: i64) {
        while let Some((_, weight)) =
            state.entries.pop_front_if(|(at_us, _)| self.leaves_us(*at_us) <= t_us)
        {
            state.total = state.total.saturating_sub(weight);
        }
    }

    #[inline]
    fn log(state: &mut SlidingLogState, t_us: i64, weight: u64) {
        if weight == 0 {
            return;
        }
        state.total = state.total.saturating_add(weight);
        match state.entries.back_mut() {
            // a clock that goes back logs at the latest instant: the log stays in order
            Some((last_us, logged)) if *last_us >= t_us => *logged = logged.saturating_add(weight),
            _ => state.entries.push_back((t_us, weight)),
        }
    }
}

impl Algorithm for SlidingLog {
    type State = SlidingLogState;

    fn fresh(&self) -> SlidingLogState {
        SlidingLogState::default()
    }

    fn ask(&self, state: &SlidingLogState, t_us: i64, weight: u64) -> Verdict {
        if self.used(state, t_us).saturating_add(weight) <= self.limit {
            Verdict::Pass
        } else {
            Verdict::Refuse
        }
    }

    fn charge(&self, state: &mut SlidingLogState, t_us: i64, weight: u64) {
        self.purge(state, t_us);
        Self::log(state, t_us, weight);
    }

    fn charge_refused(&self, state: &mut SlidingLogState, t_us: i64, weight: u64) {
        // also without counting: else each refusal would pass over the same old entries
        self.purge(state, t_us);
        if self.count_refused {
            Self::log(state, t_us, weight);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut SlidingLogState,
        t_us: i64,
        weight: u64,
        refusals_count: bool,
    ) -> (Verdict, i128) {
        self.purge(state, t_us);
        let admits = state.total.saturating_add(weight) <= self.limit;
        if admits || refusals_count && self.count_refused {
            Self::log(state, t_us, weight);
        }
        (if admits { Verdict::Pass } else { Verdict::Refuse }, i128::from(state.total))
    }

    fn used_milli(&self, used: i128) -> u64 {
        nearest_u64(used.saturating_mul(1_000))
    }

    fn fullness(&self, state: &SlidingLogState, t_us: i64) -> i128 {
        i128::from(self.used(state, t_us))
    }

    fn reset(&self, state: &mut SlidingLogState) {
        state.entries.clear();
        state.total = 0;
    }

    fn shift(&self, state: &mut SlidingLogState, by_us: i64) {
        for (at_us, _) in &mut state.entries {
            *at_us = at_us.saturating_add(by_us);
        }
    }

    fn ready(&self, state: &SlidingLogState, t_us: i64, weight: u64) -> Ready {
        if weight > self.limit {
            return Ready::Never;
        }
        let mut left = state.total;
        let mut at_us = t_us;
        for (logged_us, logged) in &state.entries {
            if left.saturating_add(weight) <= self.limit {
                break;
            }
            left = left.saturating_sub(*logged);
            at_us = self.leaves_us(*logged_us).max(t_us);
        }
        Ready::At(at_us)
    }

    fn level(&self, state: &SlidingLogState, t_us: i64) -> Level {
        Level {
            used_milli: self.used_milli(self.fullness(state, t_us)),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    fn forgets_us(&self) -> Option<i64> {
        Some(self.leaves_us(0))
    }

    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let length = window_ticks(self.window_us, self.boundary, tick_us);
        let blocks = (ticks_up(horizon_us, tick_us) + length - 1).div_euclid(length);
        Bound::AtMost(nearest_u64(blocks * i128::from(self.limit)))
    }
}

impl Critical for SlidingLog {
    fn resized(&self, size: u64) -> Self {
        Self { limit: size, ..*self }
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(demand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(limit: u64, boundary: Boundary, count_refused: bool) -> SlidingLog {
        SlidingLog { limit, window_us: 100, boundary, count_refused }
    }

    /// Asks at instants with weight 1 and charges either way.
    fn admitted(log: &SlidingLog, at_us: &[i64]) -> Vec<bool> {
        let mut state = log.fresh();
        let step = |t_us: &i64| {
            let admits = log.ask(&state, *t_us, 1).admits();
            if admits {
                log.charge(&mut state, *t_us, 1);
            } else {
                log.charge_refused(&mut state, *t_us, 1);
            }
            admits
        };
        at_us.iter().map(step).collect()
    }

    #[test]
    fn a_request_exactly_a_window_old_counts_as_the_boundary_says() {
        let at = [0, 100, 101, 200, 202];
        let open = log(1, Boundary::Open, false);
        assert_eq!(admitted(&open, &at), [true, true, false, true, false]);
        let closed = log(1, Boundary::Closed, false);
        assert_eq!(admitted(&closed, &at), [true, false, true, false, true]);
    }

    #[test]
    fn counted_refusals_keep_a_client_out_that_never_pauses() {
        let at = [0, 60, 120, 180, 240, 340];
        let admitted_only = log(1, Boundary::Open, false);
        assert_eq!(admitted(&admitted_only, &at), [true, false, true, false, true, true]);
        let all = log(1, Boundary::Open, true);
        assert_eq!(admitted(&all, &at), [true, false, false, false, false, true]);
    }

    #[test]
    fn ready_waits_for_as_many_as_must_leave() {
        let open = log(3, Boundary::Open, false);
        let mut state = open.fresh();
        for t_us in [0, 10, 10] {
            open.charge(&mut state, t_us, 1);
        }
        assert_eq!(state.entries(), 2);
        assert_eq!(open.ready(&state, 50, 1), Ready::At(100));
        assert_eq!(open.ready(&state, 50, 2), Ready::At(110));
        assert_eq!(open.ready(&state, 50, 4), Ready::Never);
        assert_eq!(open.level(&state, 105), Level { used_milli: 2_000, of_milli: 3_000 });
        let closed = SlidingLog { boundary: Boundary::Closed, ..open };
        assert_eq!(closed.ready(&state, 50, 1), Ready::At(101));
    }

    #[test]
    fn old_entries_are_let_go() {
        let open = log(2, Boundary::Open, false);
        let mut state = open.fresh();
        for t_us in 0..1_000 {
            open.charge(&mut state, t_us, 1);
        }
        assert_eq!(state.entries(), 100);
        open.charge_refused(&mut state, 5_000, 1);
        assert_eq!(state, open.fresh());
    }

    #[test]
    fn bounds_in_ticks() {
        let open = log(10, Boundary::Open, false);
        assert_eq!(open.bound(100, 1), Bound::AtMost(10));
        assert_eq!(open.bound(101, 1), Bound::AtMost(20));
        let closed = log(10, Boundary::Closed, false);
        assert_eq!(closed.bound(101, 1), Bound::AtMost(10));
        assert_eq!(closed.bound(102, 1), Bound::AtMost(20));
        assert_eq!(closed.bound(100, 50), Bound::AtMost(10));
        assert_eq!(closed.bound(150, 50), Bound::AtMost(10));
    }
}
