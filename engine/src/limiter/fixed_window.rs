//! A counter per window, as envoyproxy/ratelimit and Kong (on the clock), Redis `INCR` + `PEXPIRE`,
//! express-rate-limit and BullMQ (from a key's first hit), and day or month quotas have it. Sources:
//! <https://github.com/envoyproxy/ratelimit/blob/main/src/limiter/cache_key.go> (windows are multiples of
//! the unit), <https://redis.io/docs/latest/commands/incr/#pattern-rate-limiter>,
//! <https://github.com/express-rate-limit/express-rate-limit/blob/main/source/memory-store.ts>.

use super::clock::{ClockWindows, most_periods_met, period_end_us};
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
}

impl FixedWindow {
    /// The window an instant is in, and what was counted in it.
    fn current(&self, state: &FixedWindowState, t_us: i64) -> (i64, u64) {
        let here = match self.window {
            Window::Clock { us, zone } => ClockWindows { length_us: us, zone }.number(t_us),
            Window::Calendar { unit, zone } => zone.period_us(unit, t_us).0,
            Window::FirstRequest { us, boundary } => {
                let begin_us = state.window.unwrap_or(t_us);
                let age_us = t_us.saturating_sub(begin_us);
                let inside = match boundary {
                    Boundary::Open => age_us < us,
                    Boundary::Closed => age_us <= us,
                };
                if inside { begin_us } else { t_us }
            }
        };
        (here, if state.window == Some(here) { state.used } else { 0 })
    }

    /// The first instant after the current window, microseconds.
    fn end_us(&self, state: &FixedWindowState, t_us: i64) -> i64 {
        match self.window {
            Window::Clock { us, zone } => ClockWindows { length_us: us, zone }.end_us(t_us),
            Window::Calendar { unit, zone } => period_end_us(unit, zone, t_us),
            Window::FirstRequest { us, boundary } => {
                let past_us = us.saturating_add(i64::from(boundary == Boundary::Closed));
                state.window.unwrap_or(t_us).saturating_add(past_us).max(t_us)
            }
        }
    }

    fn count(&self, state: &mut FixedWindowState, t_us: i64, weight: u64) {
        if weight > 0 {
            let (window, used) = self.current(state, t_us);
            *state = FixedWindowState { window: Some(window), used: used.saturating_add(weight) };
        }
    }
}

impl Algorithm for FixedWindow {
    type State = FixedWindowState;

    fn fresh(&self) -> FixedWindowState {
        FixedWindowState::default()
    }

    fn ask(&self, state: &FixedWindowState, t_us: i64, weight: u64) -> Verdict {
        let (_, used) = self.current(state, t_us);
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
        let (_, used) = self.current(state, t_us);
        Level { used_milli: used.saturating_mul(1_000), of_milli: self.limit.saturating_mul(1_000) }
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
                let cut = (limit - 1).max(0) + limit * blocks(after_first);
                if span_us(horizon_us, tick_us) == 0 || limit == 0 { whole } else { whole.max(cut) }
            }
        };
        Bound::AtMost(nearest_u64(most))
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
