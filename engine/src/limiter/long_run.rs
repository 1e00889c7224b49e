//! What a limiter lets one key do in the long run, bursts left out.

use super::Limiter;
use super::fixed_window::Window;
use super::token_bucket::Refill;
use crate::units::rate::Rate;
use crate::units::span::{DAY_US, SECOND_US};
use crate::units::zone::CalendarUnit;

/// A month on average: a twelfth of 365.2425 days, microseconds.
const MONTH_US: i64 = 2_629_746 * SECOND_US;

impl Limiter {
    /// The weight that one counter admits per time in the long run, as the enforcement point stores it:
    /// `8r/m` of nginx is 133 thousandths a second. A day has 24 hours, a month a twelfth of 365.2425 days.
    /// `None` where nothing of the kind holds: requests in flight are bounded, not how many there are, and
    /// `block` admits none.
    pub fn long_run(&self) -> Option<Rate> {
        let (count, per_us) = match self {
            Self::Nginx(nginx) => (nginx.rate_milli, 1_000 * SECOND_US),
            Self::TokenBucket(bucket) => match bucket.refill {
                Refill::Continuous(rate) => (rate.count, rate.per_us),
                Refill::Interval { fill, us } => (fill, us),
            },
            // an interval in ns: a thousand of them pass in as many µs
            Self::Gcra(gcra) => (1_000, i64::try_from(gcra.emission_ns()).ok()?),
            Self::SlidingLog(log) => (log.limit, log.window_us),
            Self::SlidingCounter(counter) => (counter.limit, counter.window_us),
            Self::FixedWindow(fixed) => match fixed.window {
                Window::Clock { us, .. } | Window::FirstRequest { us, .. } => (fixed.limit, us),
                Window::Calendar { unit: CalendarUnit::Day, .. } => (fixed.limit, DAY_US),
                Window::Calendar { unit: CalendarUnit::Month, .. } => (fixed.limit, MONTH_US),
            },
            Self::AwsWaf(waf) => (waf.limit, waf.window_us),
            Self::Spacing(spacing) if spacing.min_time_us > 0 => (1, spacing.min_time_us),
            Self::Spacing(_) | Self::Concurrency(_) | Self::Block(_) => return None,
        };
        Some(Rate { count, per_us: per_us.max(1) })
    }
}

#[cfg(test)]
mod tests {
    use crate::limiter::gcra::Gcra;
    use crate::limiter::nginx::{Delay, Nginx, Reclaim};
    use crate::limiter::spacing::Spacing;
    use crate::limiter::{Limiter, block::Block};
    use crate::units::rate::Rate;

    #[test]
    fn the_long_run_is_what_the_enforcement_point_stores() {
        let rate_milli = Nginx::stored_rate(Rate::parse("8r/m").unwrap());
        let nginx = Nginx { rate_milli, burst: 7, delay: Delay::None, reclaim: Reclaim::Busy };
        let rate = Limiter::Nginx(nginx).long_run().unwrap();
        assert_eq!((rate.count, rate.per_us), (133, 1_000_000_000));
        // an interval of 333,333,333 ns
        let gcra = Gcra { rate: Rate::parse("3/s").unwrap(), burst_total: 1 };
        let rate = Limiter::Gcra(gcra).long_run().unwrap();
        assert_eq!((rate.count, rate.per_us), (1_000, 333_333_333));
        let slots = Spacing { min_time_us: 0, max_concurrent: Some(3) };
        assert_eq!(Limiter::Spacing(slots).long_run(), None);
        assert_eq!(Limiter::Block(Block).long_run(), None);
    }
}
