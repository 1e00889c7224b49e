//! What is peculiar to nginx's `limit_req`: SC002 no burst, SC003 truncated rates, SC004 its clock,
//! SC021 its delays.

use crate::limiter::Limiter;
use crate::limiter::nginx::{Delay, Nginx};
use crate::policy::Limit;
use crate::units::span::{self, SECOND_US};

use super::pace::{rate, two_decimals};
use super::{Code, Finding};
use crate::policy::coverage::Ground;

/// The longest wait that passes for a slow page.
const LONGEST_WAIT_US: i64 = 10 * SECOND_US;
/// Thousandths of a request a second that come to one request per step of nginx's clock, 1 ms.
const ONE_PER_STEP: u64 = 1_000_000;

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        let Limiter::Nginx(nginx) = &limit.limiter else { continue };
        found.extend(no_burst(ground, limit, *nginx));
        found.extend(truncated(ground, limit, *nginx));
        found.extend(clock_step(limit, *nginx));
        found.extend(long_delay(ground, limit));
    }
}

fn no_burst(ground: &Ground<'_>, limit: &Limit, nginx: Nginx) -> Option<Finding> {
    if nginx.burst > 0 {
        return None;
    }
    // thousandths of a second × thousandths of a request a second
    let apart_ms = ONE_PER_STEP.div_ceil(nginx.rate_milli.max(1));
    let apart = two_decimals(u128::from(apart_ms.div_ceil(10)));
    let text = format!("without a burst refuses any two requests less than {apart} s apart");
    let help = "add a `burst` of as many requests as a page or an app sends together";
    Some(Finding::on(limit, Code::NoBurst, text, help).endangering(ground.customers()))
}

fn truncated(ground: &Ground<'_>, limit: &Limit, nginx: Nginx) -> Option<Finding> {
    // Thousandths a second that are whole thousandths a minute ÷ 60 tell the number written: N a minute
    // is cut to ⌊N·1000/60⌋, and each such figure has one N only.
    let per_minute_milli = nginx.rate_milli.checked_mul(60)?;
    if per_minute_milli.is_multiple_of(1_000) {
        return None;
    }
    let written = per_minute_milli.div_ceil(1_000);
    let milli = nginx.rate_milli;
    let per_minute = |counters: u64| {
        two_decimals(u128::from(milli).saturating_mul(6).saturating_mul(counters.into()))
    };
    let stored = per_minute(1);
    let counters = ground.counters(limit);
    let fleet = if counters > 1 {
        format!(", {}/min over {counters} instances", per_minute(counters))
    } else {
        String::new()
    };
    let (whole, rest) = (milli / 1_000, milli % 1_000);
    let text = format!("nginx stores {written}r/m as {stored}/min ({whole}.{rest:03} r/s){fleet}");
    let above = written.next_multiple_of(3);
    let below = above.saturating_sub(3);
    let exact = if below > 0 { format!("{below}r/m or {above}r/m") } else { format!("{above}r/m") };
    let help = format!("use a multiple of 3 a minute, which nginx keeps exactly: {exact}");
    Some(Finding::on(limit, Code::TruncatedRate, text, help))
}

fn clock_step(limit: &Limit, nginx: Nginx) -> Option<Finding> {
    if nginx.rate_milli < ONE_PER_STEP {
        return None;
    }
    let text = format!(
        "at {} a request or more falls on each millisecond of nginx's clock, so the burst of {} decides alone",
        rate(nginx.rate_milli.into(), 1_000_000_000),
        nginx.burst
    );
    let help =
        "size the burst for what comes within a few milliseconds, or use a lower rate on more keys";
    Some(Finding::on(limit, Code::ClockStep, text, help))
}

fn long_delay(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let wait_us = longest_delay_us(&limit.limiter);
    if wait_us <= LONGEST_WAIT_US {
        return None;
    }
    let text = format!("holds the last request of a burst for {}", span::format_period(wait_us));
    let help = "set `delay = \"none\"`, so that a burst passes at once, or lower the burst";
    Some(Finding::on(limit, Code::LongDelay, text, help).endangering(ground.customers()))
}

/// The longest that nginx holds a request back, microseconds; 0 for other algorithms.
pub(super) fn longest_delay_us(limiter: &Limiter) -> i64 {
    let Limiter::Nginx(nginx) = limiter else { return 0 };
    let free = match nginx.delay {
        Delay::None => return 0,
        Delay::All => 0,
        Delay::After(requests) => requests,
    };
    let waiting = u128::from(nginx.burst.saturating_sub(free));
    let us = waiting.saturating_mul(1_000_000_000).checked_div(nginx.rate_milli.into());
    us.and_then(|us| i64::try_from(us).ok()).unwrap_or(i64::MAX)
}
