//! Two counters, this window's and the last one's fading out: Cloudflare, Upstash, Kong Advanced, the
//! sliding window counter of `limits`, HAProxy's `http_req_rate`. Sources:
//! <https://blog.cloudflare.com/counting-things-a-lot-of-different-things/>,
//! <https://github.com/haproxy/haproxy/blob/master/src/freq_ctr.c> (`update_freq_ctr_period_slow`,
//! `freq_ctr_total`), <https://github.com/upstash/ratelimit-js/blob/main/src/lua-scripts/single.ts>.
//! HAProxy is floored, stepped and counts what it refuses.

use super::clock::ClockWindows;
use super::whole::{div_ceil, nearest_i64, nearest_u64, since, span_us};
use super::{Algorithm, Bound, Level, Ready, Verdict};
use crate::units::zone::Zone;

/// Two counters: this window's, and the last one's fading out.
///
/// With e the time into the current window, a request of weight w passes iff `previous·(W − e)/W +
/// current + w ≤ limit`, its first term exact or rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingCounter {
    /// Most weight in the estimated window.
    pub limit: u64,
    /// Length, microseconds.
    pub window_us: i64,
    /// How the last window's share is rounded.
    pub estimate: Estimate,
    /// Where windows begin.
    pub anchor: Anchor,
    /// Whether refused requests count.
    pub count_refused: bool,
}

/// How the last window's share is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// Not at all.
    Interpolated,
    /// Down to whole requests.
    Floored,
}

/// Where windows begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Multiples of the length since the epoch, shifted by the zone's offset.
    Clock(Zone),
    /// At a key's first request, on by whole windows, anew when a request comes two windows or more
    /// after the current one began. Refused requests step it on as well.
    Stepped,
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlidingCounterState {
    /// Which window is current: its number on the clock, or when it began, microseconds. `None` before
    /// the first.
    pub window: Option<i64>,
    /// Weight counted in it.
    pub current: u64,
    /// Weight counted in the one before.
    pub previous: u64,
}

/// The two counters as they stand at an instant.
#[derive(Debug, Clone, Copy)]
struct Now {
    state: SlidingCounterState,
    /// Time into the current window, microseconds.
    into_us: i128,
}

impl SlidingCounter {
    fn length_us(&self) -> i128 {
        i128::from(self.window_us.max(1))
    }

    fn at(&self, state: &SlidingCounterState, t_us: i64) -> Now {
        let (here, into_us, steps) = match self.anchor {
            Anchor::Clock(zone) => {
                let windows = ClockWindows { length_us: self.window_us, zone };
                let here = windows.number(t_us);
                let steps = state.window.map_or(2, |known| here.saturating_sub(known));
                (here, i128::from(windows.into_us(t_us)), i128::from(steps))
            }
            Anchor::Stepped => {
                let begin_us = state.window.unwrap_or(t_us);
                let age_us = since(begin_us, t_us);
                match age_us.div_euclid(self.length_us()) {
                    0 => (begin_us, age_us, 0),
                    1 => (begin_us.saturating_add(self.window_us), age_us - self.length_us(), 1),
                    steps => (t_us, 0, steps),
                }
            }
        };
        let (current, previous) = match steps {
            0 => (state.current, state.previous),
            1 => (0, state.current),
            _ => (0, 0),
        };
        Now { state: SlidingCounterState { window: Some(here), current, previous }, into_us }
    }

    /// Whether so much passes `into_us` into a window with these counters.
    fn fits(&self, counters: &SlidingCounterState, into_us: i128, weight: u64) -> bool {
        let room = i128::from(self.limit) - i128::from(counters.current) - i128::from(weight);
        let fading = i128::from(counters.previous).saturating_mul(self.length_us() - into_us);
        match self.estimate {
            Estimate::Interpolated => fading <= room.saturating_mul(self.length_us()),
            Estimate::Floored => fading.div_euclid(self.length_us()) <= room,
        }
    }

    /// The least time into a window at which so much passes, if it does before the window ends.
    fn fits_from_us(&self, counters: &SlidingCounterState, weight: u64) -> Option<i128> {
        let room = i128::from(self.limit) - i128::from(counters.current) - i128::from(weight);
        if room < 0 {
            return None;
        }
        let previous = i128::from(counters.previous);
        let length = self.length_us();
        let from_us = match self.estimate {
            _ if previous == 0 => 0,
            Estimate::Interpolated => length - room.saturating_mul(length).div_euclid(previous),
            Estimate::Floored => {
                length - ((room + 1).saturating_mul(length) - 1).div_euclid(previous)
            }
        };
        Some(from_us.max(0)).filter(|from_us| *from_us < length)
    }

    /// When so much passes if windows follow each other from `t_us` on, microseconds.
    fn fits_at_us(&self, now: &Now, t_us: i64, weight: u64) -> i64 {
        let begin_us = i128::from(t_us) - now.into_us;
        let next = SlidingCounterState {
            previous: now.state.current,
            current: 0,
            window: now.state.window,
        };
        let at_us = if let Some(from_us) = self.fits_from_us(&now.state, weight) {
            begin_us + from_us
        } else if let Some(from_us) = self.fits_from_us(&next, weight) {
            begin_us + self.length_us() + from_us
        } else {
            begin_us + 2 * self.length_us()
        };
        nearest_i64(at_us).max(t_us)
    }

    fn count(&self, state: &mut SlidingCounterState, t_us: i64, weight: u64) {
        *state = self.at(state, t_us).state;
        state.current = state.current.saturating_add(weight);
    }
}

impl Algorithm for SlidingCounter {
    type State = SlidingCounterState;

    fn fresh(&self) -> SlidingCounterState {
        SlidingCounterState::default()
    }

    fn ask(&self, state: &SlidingCounterState, t_us: i64, weight: u64) -> Verdict {
        let now = self.at(state, t_us);
        if self.fits(&now.state, now.into_us, weight) { Verdict::Pass } else { Verdict::Refuse }
    }

    fn charge(&self, state: &mut SlidingCounterState, t_us: i64, weight: u64) {
        self.count(state, t_us, weight);
    }

    fn charge_refused(&self, state: &mut SlidingCounterState, t_us: i64, weight: u64) {
        self.count(state, t_us, if self.count_refused { weight } else { 0 });
    }

    fn shift(&self, state: &mut SlidingCounterState, by_us: i64) {
        if let (Anchor::Stepped, Some(begin_us)) = (self.anchor, &mut state.window) {
            *begin_us = begin_us.saturating_add(by_us);
        }
    }

    fn ready(&self, state: &SlidingCounterState, t_us: i64, weight: u64) -> Ready {
        if weight > self.limit {
            return Ready::Never;
        }
        let mut from_us = t_us;
        loop {
            let now = self.at(state, from_us);
            if self.fits(&now.state, now.into_us, weight) {
                return Ready::At(from_us);
            }
            let at_us = self.fits_at_us(&now, from_us, weight);
            let change_us = match self.anchor {
                Anchor::Clock(zone) => zone.next_change_us(from_us, at_us),
                Anchor::Stepped => None,
            };
            // a change of the zone's offset moves the windows: look anew from there
            let Some(change_us) = change_us else { return Ready::At(at_us) };
            from_us = change_us;
        }
    }

    fn level(&self, state: &SlidingCounterState, t_us: i64) -> Level {
        let Now { state: now, into_us } = self.at(state, t_us);
        let fading = i128::from(now.previous).saturating_mul(self.length_us() - into_us);
        let previous_milli = match self.estimate {
            Estimate::Interpolated => fading.saturating_mul(1_000).div_euclid(self.length_us()),
            Estimate::Floored => fading.div_euclid(self.length_us()).saturating_mul(1_000),
        };
        Level {
            used_milli: nearest_u64(previous_milli + i128::from(now.current) * 1_000),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    /// That of two plain counters: no window admits more than the limit.
    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let met = match self.anchor {
            Anchor::Clock(zone) => {
                ClockWindows { length_us: self.window_us, zone }.most_met(horizon_us, tick_us)
            }
            Anchor::Stepped => div_ceil(span_us(horizon_us, tick_us), self.length_us()) + 1,
        };
        Bound::AtMost(nearest_u64(met * i128::from(self.limit)))
    }

    /// HAProxy's clock has milliseconds.
    fn tick_us(&self) -> i64 {
        let haproxy = self.estimate == Estimate::Floored
            && self.anchor == Anchor::Stepped
            && self.count_refused;
        if haproxy { 1_000 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(estimate: Estimate, anchor: Anchor, count_refused: bool) -> SlidingCounter {
        SlidingCounter { limit: 4, window_us: 100, estimate, anchor, count_refused }
    }

    const CLOCK: Anchor = Anchor::Clock(Zone::UTC);

    #[test]
    fn the_last_window_fades_out_exactly_or_in_whole_requests() {
        let exact = counter(Estimate::Interpolated, CLOCK, false);
        let floored = counter(Estimate::Floored, CLOCK, false);
        let mut state = exact.fresh();
        exact.charge(&mut state, 50, 4);
        // at e = 24: 3.04 of 4 are left; at e = 25: 3.00; at e = 1: 3.96
        assert_eq!(exact.ask(&state, 124, 1), Verdict::Refuse);
        assert_eq!(exact.ask(&state, 125, 1), Verdict::Pass);
        assert_eq!(exact.ready(&state, 60, 1), Ready::At(125));
        assert_eq!(floored.ask(&state, 100, 1), Verdict::Refuse);
        assert_eq!(floored.ask(&state, 101, 1), Verdict::Pass);
        assert_eq!(floored.ready(&state, 60, 1), Ready::At(101));
        assert_eq!(exact.level(&state, 124), Level { used_milli: 3_040, of_milli: 4_000 });
        assert_eq!(floored.level(&state, 124).used_milli, 3_000);
        // all four: exact only when nothing is left, floored when less than one is
        assert_eq!(exact.ready(&state, 60, 4), Ready::At(200));
        assert_eq!(floored.ready(&state, 60, 4), Ready::At(176));
        assert_eq!(exact.ready(&state, 60, 5), Ready::Never);
    }

    #[test]
    fn steps_begin_at_the_first_hit_and_anew_after_two_windows() {
        let stepped = counter(Estimate::Floored, Anchor::Stepped, false);
        let mut state = stepped.fresh();
        stepped.charge(&mut state, 30, 3);
        stepped.charge(&mut state, 229, 1);
        assert_eq!((state.window, state.current, state.previous), (Some(130), 1, 3));
        stepped.charge_refused(&mut state, 230, 9);
        assert_eq!((state.window, state.current, state.previous), (Some(230), 0, 1));
        stepped.charge(&mut state, 430, 1);
        assert_eq!((state.window, state.current, state.previous), (Some(430), 1, 0));
    }

    #[test]
    fn counted_refusals_hold_a_steady_offender() {
        let haproxy = counter(Estimate::Floored, Anchor::Stepped, true);
        assert_eq!(haproxy.tick_us(), 1_000);
        let mut state = haproxy.fresh();
        let mut passed = 0;
        for t_us in (0..10_000).step_by(10) {
            if haproxy.ask(&state, t_us, 1).admits() {
                haproxy.charge(&mut state, t_us, 1);
                passed += 1;
            } else {
                haproxy.charge_refused(&mut state, t_us, 1);
            }
        }
        assert_eq!(passed, 4);
    }

    #[test]
    fn large_counts_do_not_overflow() {
        let huge = SlidingCounter {
            limit: u64::MAX,
            window_us: i64::MAX,
            ..counter(Estimate::Interpolated, CLOCK, false)
        };
        let mut state = huge.fresh();
        huge.charge(&mut state, 0, u64::MAX);
        assert_eq!(huge.ask(&state, 1, 1), Verdict::Refuse);
        assert_eq!(huge.ready(&state, 1, 0), Ready::At(1));
    }

    #[test]
    fn the_bound_is_that_of_plain_windows() {
        assert_eq!(counter(Estimate::Floored, CLOCK, false).bound(2, 1), Bound::AtMost(8));
        let stepped = counter(Estimate::Floored, Anchor::Stepped, true);
        assert_eq!(stepped.bound(101, 1), Bound::AtMost(8));
        assert_eq!(stepped.bound(102, 1), Bound::AtMost(12));
    }
}
