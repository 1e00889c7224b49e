//! When the first alarm of a policy rings, once an attack has begun.

use crate::limiter::Limiter;
use crate::limiter::fixed_window::Window;
use crate::limiter::sliding_counter::SlidingCounter;
use crate::policy::Limit;
use crate::replay::sustained::Pace;
use crate::units::span::DAY_US;
use crate::units::zone::CalendarUnit;

/// Times that depend on when an attack begins, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// If it begins where a window does, or windows slide.
    pub typical_us: u128,
    /// If it begins at the worst instant.
    pub worst_us: u128,
}

/// When a limit's alarm rings that a key asks at a steady pace: the request after `alarm` is the first
/// within one window to exceed it. Of windows with borders the worst ends with the alarm's last request,
/// so that all begins anew. `None` if it has no alarm, or such a pace never raises it.
pub(super) fn rings(limit: &Limit, per_key: Pace) -> Option<Times> {
    let alarm = u128::from(limit.alarm?);
    let (window_us, has_borders) = window(&limit.limiter)?;
    if per_key.count == 0 {
        return None;
    }
    let after_us = alarm.checked_mul(per_key.per_us)?.div_ceil(per_key.count);
    let fits = after_us < u128::from(window_us.unsigned_abs());
    let worst_us = if has_borders { after_us.saturating_mul(2) } else { after_us };
    fits.then_some(Times { typical_us: after_us, worst_us })
}

/// The window that an alarm counts in, microseconds, and whether it has borders that requests don't move.
fn window(limiter: &Limiter) -> Option<(i64, bool)> {
    match limiter {
        Limiter::FixedWindow(fixed) => Some(match fixed.window {
            Window::Clock { us, .. } | Window::FirstRequest { us, .. } => (us, true),
            Window::Calendar { unit: CalendarUnit::Day, .. } => (DAY_US, true),
            Window::Calendar { unit: CalendarUnit::Month, .. } => (28 * DAY_US, true),
        }),
        Limiter::SlidingLog(log) => Some((log.window_us, false)),
        Limiter::SlidingCounter(SlidingCounter { window_us, .. }) => Some((*window_us, false)),
        Limiter::AwsWaf(waf) => Some((waf.window_us, false)),
        _ => None,
    }
}
