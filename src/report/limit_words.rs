//! A limit in words, as a person would say it.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::nginx::Delay;
use shadowcap_engine::limiter::token_bucket::Refill;
use shadowcap_engine::limiter::{Limiter, nginx::Nginx};
use shadowcap_engine::policy::Limit;
use shadowcap_engine::units::span;
use shadowcap_engine::units::zone::CalendarUnit;

use super::number::grouped;

/// What a limit allows one key, and what a refusal brings.
pub(crate) fn of_limit(limit: &Limit) -> String {
    let allows = allows(&limit.limiter);
    match limit.ban {
        Some(ban) => format!("{allows}; a refusal bans for {}", span::format(ban.us)),
        None => allows,
    }
}

/// What a limiter allows one key: `5 in any 1 h`, `7.98 a minute, burst 7`.
fn allows(limiter: &Limiter) -> String {
    let within = |count: u64, us: i64| format!("{} in {}", grouped(count), span::format(us));
    match limiter {
        Limiter::Nginx(nginx) => of_nginx(nginx),
        Limiter::FixedWindow(fixed) => of_fixed(fixed),
        Limiter::SlidingLog(log) => {
            format!("{} in any {}", grouped(log.limit), span::format(log.window_us))
        }
        Limiter::SlidingCounter(counter) => {
            format!("about {}", within(counter.limit, counter.window_us))
        }
        Limiter::TokenBucket(bucket) => match bucket.refill {
            Refill::Continuous(rate) => format!("{rate}, {} at once", grouped(bucket.burst)),
            Refill::Interval { fill, us } => {
                format!(
                    "{} more every {}, {} at once",
                    fill,
                    span::format(us),
                    grouped(bucket.burst)
                )
            }
        },
        Limiter::Gcra(gcra) => format!("{}, {} at once", gcra.rate, grouped(gcra.burst_total)),
        Limiter::Spacing(spacing) => {
            let apart = (spacing.min_time_us > 0)
                .then(|| format!("one every {}", span::format(spacing.min_time_us)));
            let most = spacing.max_concurrent.map(|most| format!("{} in flight", grouped(most)));
            apart.into_iter().chain(most).collect::<Vec<_>>().join(", ")
        }
        Limiter::Concurrency(slots) => format!("{} in flight", grouped(slots.limit)),
        Limiter::AwsWaf(waf) => format!("about {}", within(waf.limit, waf.window_us)),
        Limiter::Block(_) => "nothing".to_owned(),
    }
}

/// The rate as nginx stores it, which may be less than was written.
fn of_nginx(nginx: &Nginx) -> String {
    let per_minute = nginx.rate_milli.saturating_mul(60);
    let rate = if per_minute.is_multiple_of(1000) {
        grouped(per_minute / 1000)
    } else {
        let decimals = format!("{:03}", per_minute % 1000);
        format!("{}.{}", grouped(per_minute / 1000), decimals.trim_end_matches('0'))
    };
    let delay = match nginx.delay {
        Delay::All => ", excess waits".to_owned(),
        Delay::None => String::new(),
        Delay::After(free) => format!(", excess over {} waits", grouped(free)),
    };
    format!("{rate} a minute, burst {}{delay}", grouped(nginx.burst))
}

fn of_fixed(fixed: &FixedWindow) -> String {
    let count = grouped(fixed.limit);
    match fixed.window {
        Window::Clock { us, zone } => {
            format!("{count} in each {} of the clock ({})", span::format(us), zone.name())
        }
        Window::FirstRequest { us, .. } => {
            format!("{count} in {} from a first request", span::format(us))
        }
        Window::Calendar { unit: CalendarUnit::Day, zone } => {
            format!("{count} a day ({})", zone.name())
        }
        Window::Calendar { unit: CalendarUnit::Month, zone } => {
            format!("{count} a month ({})", zone.name())
        }
    }
}
