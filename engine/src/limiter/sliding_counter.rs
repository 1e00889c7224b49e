//! Two counters, this window's and the last one's fading out: Cloudflare, Upstash, Kong Advanced, the
//! sliding window counter of `limits`, HAProxy's `http_req_rate`. Sources:
//! <https://blog.cloudflare.com/counting-things-a-lot-of-different-things/>,
//! <https://github.com/haproxy/haproxy/blob/master/src/freq_ctr.c> (`update_freq_ctr_period_slow`,
//! `freq_ctr_total`), <https://github.com/upstash/ratelimit-js/blob/main/src/lua-scripts/single.ts>.
//! HAProxy and `limits` on Redis are floored and stepped; the one counts what it refuses, the other what it
//! admits, and what they do at the very ends of windows is theirs alone.

mod critical;

use super::clock::{ClockWindows, Stretch};
use super::whole::{div_ceil, div_floor, nearest_i64, nearest_u64, since_us, span_us};
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
    /// after the current one began. Refused requests step it on as well, unless they don't count and weigh
    /// more than the limit: they would never pass.
    ///
    /// HAProxy keeps a lock in the lowest bit of the millisecond at which a window began: all begin at
    /// even ones. In `limits` on Redis a window ends by Redis' expiry, after the instant a whole window
    /// after it began; a key of which nothing was heard since then still has its last window at exactly
    /// twice that age, and is forgotten after.
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
    /// Where a clock cuts the current window.
    stretch: Stretch,
}

/// The two counters as they stand at an instant.
#[derive(Debug, Clone, Copy)]
struct Now {
    state: SlidingCounterState,
    /// Time since the current window began, microseconds.
    into_us: i64,
    /// The first instant after the current window, counted likewise, microseconds.
    end_us: i64,
}

/// HAProxy's windows begin at multiples of this, microseconds.
const HAPROXY_STEP_US: i64 = 2_000;

impl SlidingCounter {
    #[inline]
    fn length_us(&self) -> i128 {
        i128::from(self.window_us.max(1))
    }

    /// Whether it is HAProxy's.
    fn is_haproxy(&self) -> bool {
        self.is_floored_and_stepped() && self.count_refused
    }

    /// Whether windows end by Redis' expiry, which leaves them their last instant.
    fn expires(&self) -> bool {
        self.is_floored_and_stepped() && !self.count_refused
    }

    fn is_floored_and_stepped(&self) -> bool {
        self.estimate == Estimate::Floored && self.anchor == Anchor::Stepped
    }

    /// Where a window begins that is opened, or stepped on to, at an instant.
    #[inline]
    fn begin_us(&self, t_us: i64) -> i64 {
        if self.is_haproxy() { t_us.saturating_sub(t_us.rem_euclid(HAPROXY_STEP_US)) } else { t_us }
    }

    /// Where a clock cuts the window around an instant; `None` where none does.
    fn stretch(&self, t_us: i64) -> Option<Stretch> {
        match self.anchor {
            Anchor::Clock(zone) => {
                Some(ClockWindows { length_us: self.window_us, zone }.stretch(t_us))
            }
            Anchor::Stepped => None,
        }
    }

    /// The counters at an instant, given how a clock cuts the window there.
    #[inline]
    fn with(&self, state: &SlidingCounterState, stretch: Stretch, t_us: i64) -> Now {
        let (here, into_us, steps, end_us) = match self.anchor {
            Anchor::Clock(_) => {
                let steps = state.window.map_or(2, |known| stretch.window.saturating_sub(known));
                let into_us = since_us(stretch.begin_us, t_us);
                (stretch.window, into_us, steps, self.window_us.max(1))
            }
            Anchor::Stepped => self.stepped_at(state, t_us),
        };
        let (current, previous) = match steps {
            0 => (state.current, state.previous),
            1 => (0, state.current),
            _ => (0, 0),
        };
        let state = SlidingCounterState { window: Some(here), current, previous, stretch };
        Now { state, into_us, end_us }
    }

    fn at(&self, state: &SlidingCounterState, t_us: i64) -> Now {
        let other = || self.stretch(t_us).unwrap_or_default();
        self.with(state, state.stretch.at(t_us, other), t_us)
    }

    /// Keeps with the state how a clock cuts the window around an instant.
    #[inline]
    fn cut(&self, state: &mut SlidingCounterState, t_us: i64) {
        if !state.stretch.covers(t_us)
            && let Some(stretch) = self.stretch(t_us)
        {
            state.stretch = stretch;
        }
    }

    /// When the current window began, its age, how many windows were stepped on, and when it ends.
    #[inline]
    fn stepped_at(&self, state: &SlidingCounterState, t_us: i64) -> (i64, i64, i64, i64) {
        let length_us = self.window_us.max(1);
        let twice_us = length_us.saturating_mul(2);
        let ends_us = length_us.saturating_add(i64::from(self.expires()));
        let Some(begin_us) = state.window else {
            let begin_us = self.begin_us(t_us);
            return (begin_us, since_us(begin_us, t_us), 2, ends_us);
        };
        let age_us = since_us(begin_us, t_us);
        let still = self.expires() && (age_us == length_us || age_us == twice_us);
        // whether it is one, none or more needs no division
        let steps = match age_us {
            _ if still || age_us < length_us => 0,
            _ if age_us < twice_us => 1,
            _ => 2,
        };
        match steps {
            0 if age_us > length_us => (begin_us, age_us, 0, age_us.saturating_add(1)),
            0 => (begin_us, age_us, 0, ends_us),
            1 => {
                let next_us = self.begin_us(begin_us.saturating_add(self.window_us));
                let end_us = begin_us.saturating_add(twice_us).saturating_sub(next_us);
                (next_us, since_us(next_us, t_us), 1, end_us)
            }
            steps => {
                let begin_us = self.begin_us(t_us);
                (begin_us, since_us(begin_us, t_us), steps, ends_us)
            }
        }
    }

    /// What is left of the last window, in requests times window lengths.
    #[inline]
    fn fading(&self, counters: &SlidingCounterState, into_us: i64) -> i128 {
        let left_us = self.window_us.max(1).saturating_sub(into_us).max(0);
        i128::from(counters.previous) * i128::from(left_us)
    }

    /// Whether so much passes `into_us` into a window with these counters.
    #[inline]
    fn fits(&self, counters: &SlidingCounterState, into_us: i64, weight: u64) -> bool {
        let room =
            self.limit.checked_sub(counters.current).and_then(|left| left.checked_sub(weight));
        let Some(room) = room else { return false };
        let (fading, room) = (self.fading(counters, into_us), i128::from(room) * self.length_us());
        match self.estimate {
            Estimate::Interpolated => fading <= room,
            Estimate::Floored => fading < room.saturating_add(self.length_us()),
        }
    }

    /// The least time into a window, if there is one, at which so much passes.
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
        Some(from_us.max(0))
    }

    /// When so much passes if nothing else comes from `t_us` on, microseconds.
    fn fits_at_us(&self, now: &Now, t_us: i64, weight: u64) -> i64 {
        let begin_us = i128::from(t_us) - i128::from(now.into_us);
        let end_us = begin_us + i128::from(now.end_us);
        let here = self.fits_from_us(&now.state, weight).map(|from_us| begin_us + from_us);
        if let Some(at_us) = here.filter(|at_us| *at_us < end_us) {
            return nearest_i64(at_us).max(t_us);
        }
        let last = i128::from(self.expires());
        if now.state.current == 0 {
            return nearest_i64(end_us + last).max(t_us);
        }
        let next = SlidingCounterState { previous: now.state.current, current: 0, ..now.state };
        let next_us = i128::from(self.begin_us(nearest_i64(begin_us + self.length_us())));
        let forgotten_us = begin_us + 2 * self.length_us() + last;
        let there = self.fits_from_us(&next, weight).map(|from_us| (next_us + from_us).max(end_us));
        let at_us = there.filter(|at_us| *at_us < begin_us + 2 * self.length_us());
        nearest_i64(at_us.unwrap_or(forgotten_us)).max(t_us)
    }

    /// What is used, undivided.
    #[inline]
    fn used(&self, counters: &SlidingCounterState, into_us: i64) -> i128 {
        let current = i128::from(counters.current) * self.length_us();
        self.fading(counters, into_us).saturating_add(current)
    }

    #[inline]
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
        if self.count_refused {
            self.count(state, t_us, weight);
        } else if weight <= self.limit {
            // what could pass some time steps windows on; `limits` refuses the rest without a look
            self.count(state, t_us, 0);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut SlidingCounterState,
        t_us: i64,
        weight: u64,
        refusals_count: bool,
    ) -> (Verdict, i128) {
        self.cut(state, t_us);
        let Now { state: mut now, into_us, .. } = self.with(state, state.stretch, t_us);
        let admits = self.fits(&now, into_us, weight);
        if admits || (refusals_count && self.count_refused) {
            now.current = now.current.saturating_add(weight);
        }
        if admits || refusals_count && (self.count_refused || weight <= self.limit) {
            state.window = now.window;
            state.current = now.current;
            state.previous = now.previous;
        }
        let verdict = if admits { Verdict::Pass } else { Verdict::Refuse };
        // its window may have ended before it began, if it is shorter than the step
        let stepped_on = self.is_haproxy() && self.window_us < 2 * HAPROXY_STEP_US;
        let fullness =
            if stepped_on { self.fullness(state, t_us) } else { self.used(&now, into_us) };
        (verdict, fullness)
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
        Level {
            used_milli: self.used_milli(self.fullness(state, t_us)),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    fn used_milli(&self, used: i128) -> u64 {
        nearest_u64(match self.estimate {
            Estimate::Interpolated => div_floor(used.saturating_mul(1_000), self.length_us()),
            Estimate::Floored => div_floor(used, self.length_us()).saturating_mul(1_000),
        })
    }

    fn fullness(&self, state: &SlidingCounterState, t_us: i64) -> i128 {
        let Now { state: now, into_us, .. } = self.at(state, t_us);
        self.used(&now, into_us)
    }

    fn forgets_us(&self) -> Option<i64> {
        let twice_us = self.window_us.max(1).saturating_mul(2);
        match self.anchor {
            Anchor::Clock(zone) => (zone == Zone::UTC).then_some(twice_us),
            // of windows shorter than HAProxy's step, how full they are depends on when they begin
            Anchor::Stepped if self.is_haproxy() && self.window_us < 2 * HAPROXY_STEP_US => None,
            Anchor::Stepped => Some(twice_us.saturating_add(1)),
        }
    }

    /// That of two plain counters: no window admits more than the limit.
    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let met = match self.anchor {
            Anchor::Clock(zone) => {
                ClockWindows { length_us: self.window_us, zone }.most_met(horizon_us, tick_us)
            }
            Anchor::Stepped => {
                // the least that windows begin apart, and the most that one lasts
                let apart_us = i128::from(self.begin_us(self.window_us.max(1)));
                let lasts_us = 2 * self.length_us() - apart_us;
                if apart_us == 0 {
                    return Bound::Unbounded;
                }
                div_ceil(span_us(horizon_us, tick_us) + lasts_us - apart_us, apart_us) + 1
            }
        };
        Bound::AtMost(nearest_u64(met * i128::from(self.limit)))
    }

    /// HAProxy's clock has milliseconds.
    fn tick_us(&self) -> i64 {
        if self.is_haproxy() { 1_000 } else { 1 }
    }
}

#[cfg(test)]
mod tests;
