//! A counter per window, as envoyproxy/ratelimit and Kong (on the clock), Redis `INCR` + `PEXPIRE`,
//! express-rate-limit and BullMQ (from a key's first hit), and day or month quotas have it. Sources:
//! <https://github.com/envoyproxy/ratelimit/blob/main/src/limiter/cache_key.go> (windows are multiples of
//! the unit), <https://redis.io/docs/latest/commands/incr/#pattern-rate-limiter>,
//! <https://github.com/express-rate-limit/express-rate-limit/blob/main/source/memory-store.ts>,
//! <https://github.com/taskforcesh/bullmq/blob/master/src/commands/moveToActive-11.lua> (a full window whose
//! time to live is 0 ms is deleted).

use super::clock::{ClockWindows, Stretch, most_periods_met, period_end_us};
use super::critical::Critical;
use super::whole::{nearest_u64, span_us, ticks_up};
use super::{Algorithm, Bound, Boundary, Level, Ready, Verdict};
use crate::units::zone::{CalendarUnit, Zone};

/// A counter per window.
///
/// A request passes iff the count with it is at most the limit. Only a request that counts opens a
/// window at its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWindow {
    /// Most weight in one window.
    pub limit: u64,
    /// Where windows begin.
    pub window: Window,
    /// Whether refused requests count: matters only with weights over 1.
    pub count_refused: bool,
}

/// Where windows begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Multiples of the length since the epoch, shifted by the zone's offset.
    Clock {
        /// Length, microseconds.
        us: i64,
        /// Whose clock.
        zone: Zone,
    },
    /// At a key's first request after the last window ended.
    FirstRequest {
        /// Length, microseconds.
        us: i64,
        /// Whether a request exactly a length later is still inside.
        boundary: Boundary,
    },
    /// Civil days or months.
    Calendar {
        /// Days or months.
        unit: CalendarUnit,
        /// Whose calendar.
        zone: Zone,
    },
}

/// What is remembered of one key: the last window that counted anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedWindowState {
    /// Which window: its number on the clock, else when it began, microseconds. `None` before the first.
    pub window: Option<i64>,
    /// Weight counted in it.
    pub used: u64,
    /// Where a clock or a calendar cuts that window.
    stretch: Stretch,
}

impl FixedWindow {
    /// What an onlooker sees: a full window ends only with the next request of its last instant.
    fn seen(&self, state: &FixedWindowState, t_us: i64) -> (i64, u64) {
        let mut seen = *self;
        if let Window::FirstRequest { boundary: boundary @ Boundary::UntilFull, .. } =
            &mut seen.window
        {
            *boundary = Boundary::Closed;
        }
        seen.now(state, t_us)
    }

    /// Where a clock or a calendar cuts the window around an instant; `None` where none does.
    fn stretch(&self, t_us: i64) -> Option<Stretch> {
        match self.window {
            Window::Clock { us, zone } => Some(ClockWindows { length_us: us, zone }.stretch(t_us)),
            Window::Calendar { unit, zone } => Some(Stretch::of_period(unit, zone, t_us)),
            Window::FirstRequest { .. } => None,
        }
    }

    /// The window an instant is in, given how a clock cuts it there, and what was counted in it.
    #[inline]
    fn current(&self, state: &FixedWindowState, stretch: &Stretch, t_us: i64) -> (i64, u64) {
        let here = match self.window {
            Window::Clock { .. } | Window::Calendar { .. } => stretch.window,
            Window::FirstRequest { us, boundary } => {
                let begin_us = state.window.unwrap_or(t_us);
                let age_us = t_us.saturating_sub(begin_us);
                let inside = match boundary {
                    Boundary::Open => age_us < us,
                    Boundary::Closed => age_us <= us,
                    Boundary::UntilFull => age_us < us || age_us == us && state.used < self.limit,
                };
                if inside { begin_us } else { t_us }
            }
        };
        (here, if state.window == Some(here) { state.used } else { 0 })
    }

    /// The same with the state as it is.
    fn now(&self, state: &FixedWindowState, t_us: i64) -> (i64, u64) {
        let other = || self.stretch(t_us).unwrap_or_default();
        self.current(state, &state.stretch.at(t_us, other), t_us)
    }

    /// When the window of a clock or a calendar around an instant began and ends, microseconds; `None` where
    /// each key has its own.
    pub fn window_us(&self, t_us: i64) -> Option<(i64, i64)> {
        match self.window {
            Window::Clock { us, zone } => {
                let windows = ClockWindows { length_us: us, zone };
                Some((t_us.saturating_sub(windows.into_us(t_us)), windows.end_us(t_us)))
            }
            Window::Calendar { unit, zone } => {
                Some((zone.period_us(unit, t_us).0, period_end_us(unit, zone, t_us)))
            }
            Window::FirstRequest { .. } => None,
        }
    }

    /// The first instant after the current window, microseconds.
    fn end_us(&self, state: &FixedWindowState, t_us: i64) -> i64 {
        match self.window {
            Window::Clock { us, zone } => ClockWindows { length_us: us, zone }.end_us(t_us),
            Window::Calendar { unit, zone } => period_end_us(unit, zone, t_us),
            Window::FirstRequest { us, boundary } => {
                let past = match boundary {
                    Boundary::Open => false,
                    Boundary::Closed => true,
                    Boundary::UntilFull => state.used < self.limit,
                };
                let past_us = us.saturating_add(i64::from(past));
                state.window.unwrap_or(t_us).saturating_add(past_us).max(t_us)
            }
        }
    }

    /// Keeps with the state how a clock cuts the window around an instant.
    #[inline]
    fn cut(&self, state: &mut FixedWindowState, t_us: i64) {
        if !state.stretch.covers(t_us)
            && let Some(stretch) = self.stretch(t_us)
        {
            state.stretch = stretch;
        }
    }

    fn count(&self, state: &mut FixedWindowState, t_us: i64, weight: u64) {
        if weight > 0 {
            self.cut(state, t_us);
            let (window, used) = self.current(state, &state.stretch, t_us);
            state.window = Some(window);
            state.used = used.saturating_add(weight);
        }
    }
}

impl Algorithm for FixedWindow {
    type State = FixedWindowState;

    fn fresh(&self) -> FixedWindowState {
        FixedWindowState::default()
    }

    fn ask(&self, state: &FixedWindowState, t_us: i64, weight: u64) -> Verdict {
        let (_, used) = self.now(state, t_us);
        if used.saturating_add(weight) <= self.limit { Verdict::Pass } else { Verdict::Refuse }
    }

    fn charge(&self, state: &mut FixedWindowState, t_us: i64, weight: u64) {
        self.count(state, t_us, weight);
    }

    fn charge_refused(&self, state: &mut FixedWindowState, t_us: i64, weight: u64) {
        if self.count_refused {
            self.count(state, t_us, weight);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut FixedWindowState,
        t_us: i64,
        weight: u64,
        refusals_count: bool,
    ) -> (Verdict, i128) {
        self.cut(state, t_us);
        let (window, used) = self.current(state, &state.stretch, t_us);
        let with = used.saturating_add(weight);
        let admits = with <= self.limit;
        let counts = weight > 0 && (admits || refusals_count && self.count_refused);
        if counts {
            state.window = Some(window);
            state.used = with;
        }
        let verdict = if admits { Verdict::Pass } else { Verdict::Refuse };
        let full_to_the_end =
            matches!(self.window, Window::FirstRequest { boundary: Boundary::UntilFull, .. });
        let fullness = match counts {
            true => i128::from(with),
            false if full_to_the_end => self.fullness(state, t_us),
            false => i128::from(used),
        };
        (verdict, fullness)
    }

    fn used_milli(&self, used: i128) -> u64 {
        nearest_u64(used.saturating_mul(1_000))
    }

    fn fullness(&self, state: &FixedWindowState, t_us: i64) -> i128 {
        i128::from(self.seen(state, t_us).1)
    }

    fn shift(&self, state: &mut FixedWindowState, by_us: i64) {
        if let (Window::FirstRequest { .. }, Some(begin_us)) = (self.window, &mut state.window) {
            *begin_us = begin_us.saturating_add(by_us);
        }
    }

    fn ready(&self, state: &FixedWindowState, t_us: i64, weight: u64) -> Ready {
        if weight > self.limit {
            Ready::Never
        } else if self.ask(state, t_us, weight).admits() {
            Ready::At(t_us)
        } else {
            Ready::At(self.end_us(state, t_us))
        }
    }

    fn level(&self, state: &FixedWindowState, t_us: i64) -> Level {
        Level {
            used_milli: self.used_milli(self.fullness(state, t_us)),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    fn forgets_us(&self) -> Option<i64> {
        match self.window {
            Window::Clock { us, zone } if zone == Zone::UTC => Some(us.max(1)),
            // where a clock goes back, a window comes twice
            Window::Clock { .. } | Window::Calendar { .. } => None,
            Window::FirstRequest { us, .. } => Some(us.saturating_add(1)),
        }
    }

    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let limit = i128::from(self.limit);
        let most = match self.window {
            Window::Clock { us, zone } => {
                ClockWindows { length_us: us, zone }.most_met(horizon_us, tick_us) * limit
            }
            Window::Calendar { unit, zone } => {
                most_periods_met(unit, zone, horizon_us, tick_us) * limit
            }
            Window::FirstRequest { us, boundary } => {
                let length = window_ticks(us, boundary, tick_us);
                let horizon = ticks_up(horizon_us, tick_us);
                let after_first = ticks_up(horizon_us.saturating_sub(tick_us), tick_us);
                let blocks = |ticks: i128| (ticks + length - 1).div_euclid(length);
                // windows from the first tick on, or the rest of one that was opened before it
                let whole = limit * blocks(horizon);
                // one whose last tick the next window begins at takes none of the next one's room
                let shares = boundary == Boundary::UntilFull && us.checked_rem(tick_us) == Some(0);
                let after = if shares { horizon } else { after_first };
                let cut = (limit - 1).max(0) + limit * blocks(after);
                let one_tick = span_us(horizon_us, tick_us) == 0 && !shares;
                if one_tick || limit == 0 { whole } else { whole.max(cut) }
            }
        };
        Bound::AtMost(nearest_u64(most))
    }
}

impl Critical for FixedWindow {
    fn resized(&self, size: u64) -> Self {
        Self { limit: size, ..*self }
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(demand)
    }
}

/// How many ticks a window that begins at one of them covers.
pub(super) fn window_ticks(us: i64, boundary: Boundary, tick_us: i64) -> i128 {
    let past_us = us.saturating_add(i64::from(boundary == Boundary::Closed));
    ticks_up(past_us, tick_us).max(1)
}

#[cfg(test)]
#[path = "fixed_window_tests.rs"]
mod tests;
