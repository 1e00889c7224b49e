//! The limiters that are sized: their least sizes, rates, and what coarse stamps add to what keys need.

use crate::limiter::Boundary;
use crate::limiter::critical::{Sizing, Unsized};
use crate::limiter::fixed_window::Window;
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::Refill;
use crate::measure::peaks::Resolution;
use crate::units::rate::Rate;
use crate::units::span::{MINUTE_US, SECOND_US};

use super::protects::ProtectTarget;
use super::round;

/// Windows that AWS WAF offers, microseconds.
const WAF_WINDOWS_US: [i64; 4] = [MINUTE_US, 2 * MINUTE_US, 5 * MINUTE_US, 10 * MINUTE_US];
/// The least limit that AWS WAF takes.
const WAF_LEAST: u64 = 10;

/// Why an algorithm over a window has no size that the log could tell, if it hasn't.
pub(super) fn unfit(target: &ProtectTarget, window_us: i64) -> Option<&'static str> {
    match target.algorithm.as_str() {
        "spacing" => Some(Unsized::RefusesNothing.why()),
        "block" => Some(Unsized::RefusesAll.why()),
        "aws-waf" if !WAF_WINDOWS_US.contains(&window_us) => {
            Some("AWS WAF has windows of 1, 2, 5 and 10 minutes only")
        }
        _ => None,
    }
}

/// The count of requests in any window, which a bucket's rate comes of.
pub(super) fn pace(window_us: i64) -> Sizing {
    Sizing::SlidingLog(log(window_us))
}

fn log(window_us: i64) -> SlidingLog {
    SlidingLog { limit: 0, window_us, boundary: Boundary::Open, count_refused: false }
}

/// The rate of a bucket for at least so many per window, as a person would write it and its enforcement
/// point keeps it.
pub(super) fn rate(target: &ProtectTarget, count: u64, window_us: i64) -> Rate {
    match target.algorithm.as_str() {
        "nginx" => round::nginx_rate(count, window_us),
        _ => round::rate(count, window_us),
    }
}

/// The least size that an enforcement point takes.
pub(super) fn least(sizing: &Sizing) -> u64 {
    if matches!(sizing, Sizing::AwsWaf(_)) { WAF_LEAST } else { 1 }
}

/// What bounds the critical limit from above where stamps are coarse: another limiter, and what is added
/// to its critical limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Upper {
    /// The limiter.
    pub(super) sizing: Sizing,
    /// Added to its critical limit.
    pub(super) plus: u64,
    /// How well that is known: whether the end is proven.
    pub(super) proven: bool,
}

/// The upper end of a critical limit where each arrival lies within a step after its stamp.
///
/// Arrivals within a window have stamps within the window and a step. A bucket's level moves by the
/// step's refill at most. An aligned window of whole steps holds what its stamps say. A sliding counter
/// estimates by at most the two windows it looks at, which is far too much to be of use: its bare stamps
/// are taken, which is no proof.
pub(super) fn upper(sizing: &Sizing, resolution: Resolution, zone_is_whole: bool) -> Upper {
    let step_us = resolution.us.max(1);
    let same = |plus, proven| Upper { sizing: sizing.clone(), plus, proven };
    let fine = step_us <= 1;
    let wider = |window_us: i64| Upper {
        sizing: Sizing::SlidingLog(log(window_us.saturating_add(if fine { 0 } else { step_us }))),
        plus: 0,
        proven: true,
    };
    if let Sizing::AwsWaf(waf) = sizing {
        // whenever it looks, it sees no more than some window holds
        return wider(waf.window_us);
    }
    if fine {
        return same(0, true);
    }
    match sizing {
        Sizing::SlidingLog(log) => wider(log.window_us + i64::from(log.boundary != Boundary::Open)),
        Sizing::FixedWindow(fixed) => match fixed.window {
            Window::Clock { us, .. } => {
                let whole = us.rem_euclid(step_us) == 0 && zone_is_whole;
                if resolution.on_steps && whole { same(0, true) } else { wider(us) }
            }
            Window::FirstRequest { us, .. } => wider(us.saturating_add(1)),
            Window::Calendar { .. } => same(0, resolution.on_steps && zone_is_whole),
        },
        Sizing::TokenBucket(bucket) => match bucket.refill {
            Refill::Continuous(rate) => same(refilled(rate, step_us), true),
            Refill::Interval { fill, us } => {
                let times = u64::try_from(step_us.div_euclid(us.max(1)) + 1).unwrap_or(u64::MAX);
                same(fill.saturating_mul(times), true)
            }
        },
        Sizing::Gcra(gcra) => same(refilled(gcra.rate, step_us).saturating_add(1), true),
        Sizing::Nginx(nginx) => {
            // one more for what its milliseconds round off
            let rate = Rate { count: nginx.rate_milli, per_us: SECOND_US * 1_000 };
            same(refilled(rate, step_us).saturating_add(1), true)
        }
        Sizing::AwsWaf(waf) => wider(waf.window_us),
        Sizing::SlidingCounter(_) | Sizing::Concurrency(_) => same(0, false),
    }
}

/// What a rate gives in a time, rounded up.
fn refilled(rate: Rate, us: i64) -> u64 {
    let product = u128::from(rate.count) * u128::from(us.unsigned_abs());
    let whole = product.div_ceil(u128::from(rate.per_us.max(1).unsigned_abs()));
    u64::try_from(whole).unwrap_or(u64::MAX)
}
