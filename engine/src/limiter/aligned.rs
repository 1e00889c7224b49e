//! Bounds of intervals that begin where a limiter's windows do: what a bill for full hours or days can
//! come to, beside the bound for any interval.

use super::clock::{ClockWindows, periods_from_begin};
use super::fixed_window::Window;
use super::sliding_counter::Anchor;
use super::whole::nearest_u64;
use super::{Algorithm, Bound, Limiter};
use crate::units::span::{self, DAY_US, HOUR_US, MINUTE_US};
use crate::units::zone::{CalendarUnit, Zone};

/// Where the windows of a limiter begin, whatever its keys do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// At multiples of a length on a zone's clock.
    Clock {
        /// The length, microseconds.
        us: i64,
        /// Whose clock.
        zone: Zone,
    },
    /// At midnight, or the first of a month.
    Calendar {
        /// Days or months.
        unit: CalendarUnit,
        /// Whose calendar.
        zone: Zone,
    },
}

impl Grid {
    /// In words, as reports say it: `full hours, Asia/Kolkata`.
    pub fn name(self) -> String {
        match self {
            Self::Clock { us: DAY_US, zone } | Self::Calendar { unit: CalendarUnit::Day, zone } => {
                format!("full days, {}", zone.name())
            }
            Self::Clock { us: HOUR_US, zone } => format!("full hours, {}", zone.name()),
            Self::Clock { us: MINUTE_US, zone } => format!("full minutes, {}", zone.name()),
            Self::Clock { us, zone } => {
                format!("multiples of {}, {}", span::format(us), zone.name())
            }
            Self::Calendar { unit: CalendarUnit::Month, zone } => {
                format!("full months, {}", zone.name())
            }
        }
    }
}

impl Limiter {
    /// Where its windows begin; `None` where that depends on a key's requests, or nothing begins anew.
    pub fn grid(&self) -> Option<Grid> {
        match self {
            Self::FixedWindow(fixed) => match fixed.window {
                Window::Clock { us, zone } => Some(Grid::Clock { us, zone }),
                Window::Calendar { unit, zone } => Some(Grid::Calendar { unit, zone }),
                Window::FirstRequest { .. } => None,
            },
            Self::SlidingCounter(counter) => match counter.anchor {
                Anchor::Clock(zone) => Some(Grid::Clock { us: counter.window_us, zone }),
                Anchor::Stepped => None,
            },
            _ => None,
        }
    }

    /// The most weight that a key is admitted in an interval of this length that begins with a window;
    /// for limiters without a [`Grid`] the bound of any interval. Arguments as for
    /// [`Algorithm::bound`], which it never exceeds.
    pub fn bound_aligned(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let any = self.bound(horizon_us, tick_us);
        let (Some(grid), Bound::AtMost(most)) = (self.grid(), any) else { return any };
        let limit = match self {
            Self::FixedWindow(fixed) => fixed.limit,
            Self::SlidingCounter(counter) => counter.limit,
            _ => return any,
        };
        let met = match grid {
            Grid::Clock { us, zone } => {
                ClockWindows { length_us: us, zone }.most_from_begin(horizon_us, tick_us)
            }
            Grid::Calendar { unit, zone } => periods_from_begin(unit, zone, horizon_us, tick_us),
        };
        Bound::AtMost(most.min(nearest_u64(met.saturating_mul(i128::from(limit)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::fixed_window::FixedWindow;

    fn windows(window: Window) -> Limiter {
        Limiter::FixedWindow(FixedWindow { limit: 10, window, count_refused: false })
    }

    #[test]
    fn an_interval_that_begins_with_a_window_meets_one_less() {
        let zone = Zone::parse("Asia/Kolkata").unwrap();
        let hours = windows(Window::Clock { us: HOUR_US, zone });
        assert_eq!(hours.bound(8 * HOUR_US, 1_000), Bound::AtMost(90));
        assert_eq!(hours.bound_aligned(8 * HOUR_US, 1_000), Bound::AtMost(80));
        assert_eq!(hours.bound_aligned(8 * HOUR_US + 1_000, 1_000), Bound::AtMost(90));
        assert_eq!(hours.grid().unwrap().name(), "full hours, Asia/Kolkata");
        let opened = windows(Window::FirstRequest {
            us: HOUR_US,
            boundary: crate::limiter::Boundary::Closed,
        });
        assert_eq!(opened.bound_aligned(8 * HOUR_US, 1), opened.bound(8 * HOUR_US, 1));
        assert_eq!(opened.grid(), None);
    }

    #[test]
    fn days_that_clocks_shorten_are_met_twice() {
        let day = |zone| {
            windows(Window::Calendar { unit: CalendarUnit::Day, zone })
                .bound_aligned(24 * HOUR_US, 1)
        };
        assert_eq!(day(Zone::UTC), Bound::AtMost(10));
        // the day of 23 hours and the first hour of the next
        assert_eq!(day(Zone::parse("Europe/Berlin").unwrap()), Bound::AtMost(20));
        let month = windows(Window::Calendar { unit: CalendarUnit::Month, zone: Zone::UTC });
        assert_eq!(month.bound_aligned(28 * DAY_US, 1), Bound::AtMost(10));
        assert_eq!(month.bound_aligned(28 * DAY_US + 1, 1), Bound::AtMost(20));
        assert_eq!(month.bound_aligned(59 * DAY_US + 1, 1), Bound::AtMost(30));
    }
}
