//! How fast a limiter lets a key go: so much at once, so much in the long run. As exact ratios.

use crate::limiter::Limiter;
use crate::limiter::fixed_window::Window;
use crate::limiter::nginx::Reclaim;
use crate::limiter::token_bucket::Refill;
use crate::units::span::{self, DAY_US, HOUR_US, MINUTE_US, SECOND_US};
use crate::units::zone::CalendarUnit;

/// In any interval of T microseconds at most `at_once` + `count`·T ÷ `per_us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Weight that can pass at one instant.
    pub(super) at_once: u128,
    /// Weight per `per_us` in the long run.
    pub(super) count: u128,
    /// Microseconds, at least 1.
    pub(super) per_us: u128,
}

/// What a microsecond has of nanoseconds, a second of microseconds and of milliseconds.
const THOUSAND: u128 = 1_000;

impl Pace {
    fn new(at_once: u128, count: u128, per_us: i64) -> Self {
        Self { at_once, count, per_us: u128::from(per_us.unsigned_abs()).max(1) }
    }

    /// What a limiter lets one key do on one counter: an upper bound. `None` where nothing of the kind
    /// holds: `concurrency`, `spacing` without a least time, and `aws-waf`, whose checks lag.
    pub(super) fn of(limiter: &Limiter) -> Option<Self> {
        Some(match limiter {
            Limiter::SlidingLog(log) => {
                let limit = u128::from(log.limit);
                Self::new(limit, limit, log.window_us)
            }
            Limiter::FixedWindow(fixed) => {
                let (limit, us) = (u128::from(fixed.limit), shortest_us(fixed.window));
                Self::new(limit.saturating_mul(2), limit, us)
            }
            Limiter::SlidingCounter(counter) => {
                let limit = u128::from(counter.limit);
                Self::new(limit.saturating_mul(2), limit, counter.window_us)
            }
            Limiter::TokenBucket(bucket) => match bucket.refill {
                Refill::Continuous(rate) => {
                    Self::new(bucket.burst.into(), rate.count.into(), rate.per_us)
                }
                Refill::Interval { fill, us } => {
                    Self::new(u128::from(bucket.burst) + u128::from(fill), fill.into(), us)
                }
            },
            Limiter::Gcra(gcra) => {
                // its interval is cut to whole nanoseconds, so it is a little faster than it says
                let per_ns = u128::from(gcra.rate.per_us.unsigned_abs()) * THOUSAND;
                let emission_ns = per_ns.checked_div(gcra.rate.count.into())?.max(1);
                Self { at_once: gcra.burst_total.into(), count: THOUSAND, per_us: emission_ns }
            }
            Limiter::Nginx(nginx) => {
                let (at_once, rate) = (u128::from(nginx.burst) + 1, u128::from(nginx.rate_milli));
                match nginx.reclaim {
                    Reclaim::None => Self::new(at_once, rate, 1_000 * SECOND_US),
                    // each minute of idling may forgive a request
                    Reclaim::Busy => Self {
                        at_once: at_once + 1,
                        count: rate * 60 + THOUSAND,
                        per_us: 60 * THOUSAND * THOUSAND * THOUSAND,
                    },
                }
            }
            Limiter::Spacing(spacing) if spacing.min_time_us > 0 => {
                Self::new(1, 1, spacing.min_time_us)
            }
            Limiter::Spacing(_)
            | Limiter::Concurrency(_)
            | Limiter::AwsWaf(_)
            | Limiter::Block(_) => return None,
        })
    }

    /// So many times as much.
    pub(super) fn times(self, counters: u64) -> Self {
        let times = u128::from(counters);
        Self {
            at_once: self.at_once.saturating_mul(times),
            count: self.count.saturating_mul(times),
            ..self
        }
    }

    /// Whether the long run is at most another's.
    pub(super) fn is_slower_or_same(self, other: Self) -> bool {
        self.count.saturating_mul(other.per_us) <= other.count.saturating_mul(self.per_us)
    }

    /// Whether it is at most another's at once and in the long run.
    pub(super) fn is_within(self, other: Self) -> bool {
        self.at_once <= other.at_once && self.is_slower_or_same(other)
    }

    /// The long run in words.
    pub(super) fn rate(self) -> String {
        rate(self.count, self.per_us)
    }
}

/// The shortest that a window can be, microseconds.
fn shortest_us(window: Window) -> i64 {
    match window {
        Window::Clock { us, .. } | Window::FirstRequest { us, .. } => us,
        // a change of clocks takes an hour, rarely two
        Window::Calendar { unit: CalendarUnit::Day, .. } => DAY_US - 2 * HOUR_US,
        Window::Calendar { unit: CalendarUnit::Month, .. } => 28 * DAY_US - 2 * HOUR_US,
    }
}

/// Writes so many per so many microseconds with at most two decimals, per the smallest unit of which
/// there is at least one: `7.98 a minute`.
pub(super) fn rate(count: u128, per_us: u128) -> String {
    let units = [("second", SECOND_US), ("minute", MINUTE_US), ("hour", HOUR_US), ("day", DAY_US)];
    let hundredths = |unit_us: i64| {
        let unit = u128::from(unit_us.unsigned_abs());
        count.saturating_mul(unit).saturating_mul(100).checked_div(per_us).unwrap_or(0)
    };
    let (name, value) = units
        .iter()
        .map(|(name, us)| (*name, hundredths(*us)))
        .find(|(_, value)| *value >= 100)
        .unwrap_or(("day", hundredths(DAY_US)));
    format!("{} a {name}", two_decimals(value))
}

/// Writes hundredths without needless zeros: 798 → `7.98`, 750 → `7.5`, 700 → `7`.
pub(super) fn two_decimals(hundredths: u128) -> String {
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a limiter allows on so many counters, in words: `12 in 1 s`.
pub(super) fn allowance(limiter: &Limiter, counters: u64) -> String {
    let times = |limit: u64| u128::from(limit).saturating_mul(counters.into());
    match limiter {
        Limiter::SlidingLog(log) => {
            format!("{} in {}", times(log.limit), span::format(log.window_us))
        }
        Limiter::FixedWindow(fixed) => {
            format!("{} in {}", times(fixed.limit), window(fixed.window))
        }
        Limiter::SlidingCounter(counter) => {
            format!("{} in {}", times(counter.limit), span::format(counter.window_us))
        }
        Limiter::AwsWaf(waf) => format!("{} in {}", times(waf.limit), span::format(waf.window_us)),
        Limiter::Concurrency(concurrency) => format!("{} in flight", times(concurrency.limit)),
        Limiter::Nginx(nginx) => format!(
            "{} after a start of {}",
            rate(times(nginx.rate_milli), 1_000_000_000),
            times(nginx.burst.saturating_add(1))
        ),
        Limiter::Spacing(spacing) => {
            let starts = (spacing.min_time_us > 0)
                .then(|| format!("{} in {}", times(1), span::format(spacing.min_time_us)));
            let flight = spacing.max_concurrent.map(|most| format!("{} in flight", times(most)));
            [starts, flight].into_iter().flatten().collect::<Vec<_>>().join(" and ")
        }
        Limiter::TokenBucket(_) | Limiter::Gcra(_) => {
            Pace::of(limiter).map_or_else(String::new, |pace| {
                let pace = pace.times(counters);
                format!("{} after a start of {}", pace.rate(), pace.at_once)
            })
        }
        Limiter::Block(_) => "nothing".to_owned(),
    }
}

/// The length of a window in words.
pub(super) fn window(window: Window) -> String {
    match window {
        Window::Clock { us, .. } | Window::FirstRequest { us, .. } => span::format(us),
        Window::Calendar { unit: CalendarUnit::Day, .. } => "a day".to_owned(),
        Window::Calendar { unit: CalendarUnit::Month, .. } => "a month".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::Boundary;
    use crate::limiter::nginx::{Delay, Nginx};
    use crate::limiter::sliding_log::SlidingLog;

    fn log(limit: u64, window_us: i64) -> Pace {
        let boundary = Boundary::Open;
        Pace::of(&Limiter::SlidingLog(SlidingLog {
            limit,
            window_us,
            boundary,
            count_refused: false,
        }))
        .unwrap()
    }

    #[test]
    fn rates_are_written_per_a_unit_that_has_one() {
        assert_eq!(rate(133, 1_000_000_000), "7.98 a minute");
        assert_eq!(rate(12, 1_000_000), "12 a second");
        assert_eq!(rate(1, 7_200_000_000), "12 a day");
        assert_eq!(rate(1, 864_000_000_000), "0.1 a day");
        assert_eq!(two_decimals(750), "7.5");
    }

    #[test]
    fn a_pace_is_within_another_only_at_once_and_in_the_long_run() {
        assert!(log(10, MINUTE_US).is_within(log(600, HOUR_US)));
        assert!(!log(10, MINUTE_US).is_within(log(599, HOUR_US)));
        assert!(!log(100, MINUTE_US).is_within(log(10, SECOND_US)));
        assert!(log(10, MINUTE_US).times(6).is_within(log(60, MINUTE_US)));
    }

    #[test]
    fn an_nginx_that_forgets_idle_keys_lets_a_little_more_pass() {
        let pace = |reclaim| {
            let nginx = Nginx { rate_milli: 133, burst: 7, delay: Delay::None, reclaim };
            Pace::of(&Limiter::Nginx(nginx)).unwrap()
        };
        assert_eq!(pace(Reclaim::None).rate(), "7.98 a minute");
        assert_eq!(pace(Reclaim::Busy).rate(), "8.98 a minute");
        assert_eq!((pace(Reclaim::None).at_once, pace(Reclaim::Busy).at_once), (8, 9));
    }
}
