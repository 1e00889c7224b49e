//! Limits that change nothing or say the wrong number: SC001 never binds, SC011 swapped values, SC013
//! the same twice, SC022 an alarm that comes after the refusals.

use crate::limiter::fixed_window::Window;
use crate::limiter::{Algorithm, Bound, Boundary, Limiter};
use crate::policy::coverage::{Ground, covers, overlaps, whole_ticks};
use crate::policy::{Counters, GroupCharge, Limit, MissingKey, Mode, OnStoreError};
use crate::units::span::{self, DAY_US, HOUR_US, SECOND_US};
use crate::units::zone::{CalendarUnit, Zone};

use super::ground::is_address;
use super::nginx::longest_delay_us;
use super::pace::{Pace, allowance};
use super::{Code, Danger, Finding};

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let limits = &ground.policy.limits;
    for (at, limit) in limits.iter().enumerate() {
        let earlier = limits.get(..at).unwrap_or(&[]);
        if let Some(twin) = earlier.iter().find(|other| are_alike(ground, other, limit)) {
            found.push(same_twice(limit, twin));
        } else {
            found.extend(behind_tighter(ground, earlier, limit));
        }
        found.extend(swapped(ground, limit));
        found.extend(late_alarm(ground, limit));
    }
}

/// Whether two limits differ in nothing but name, place and exceptions.
fn are_alike(ground: &Ground<'_>, one: &Limit, two: &Limit) -> bool {
    // what is cheap to compare first: policies made by programs can have thousands of limits
    let same_match = one.limiter == two.limiter
        && one.key == two.key
        && covers(&one.matching, &two.matching, ground.site)
        && covers(&two.matching, &one.matching, ground.site);
    let renamed = || Limit {
        name: two.name.clone(),
        place: two.place,
        matching: two.matching.clone(),
        allow: two.allow.clone(),
        ..one.clone()
    };
    same_match && renamed() == *two
}

fn same_twice(limit: &Limit, twin: &Limit) -> Finding {
    let text = format!("is the same as `{}` in all but its name", twin.name);
    let help = "change the key or the number that was meant to differ, or drop one of the two";
    Finding::on(limit, Code::SameTwice, text, help)
}

/// SC001: the first earlier limit that never lets this one bind.
fn behind_tighter(ground: &Ground<'_>, earlier: &[Limit], limit: &Limit) -> Option<Finding> {
    earlier.iter().enumerate().find_map(|(at, first)| {
        // what waits between the two may leave in heaps
        let between = earlier.get(at + 1..).unwrap_or(&[]);
        let is_direct = !between.iter().any(|other| {
            holds_back(other) && overlaps(&other.matching, &limit.matching, ground.site)
        });
        if is_direct { never_binds(ground, first, limit) } else { None }
    })
}

/// Whether requests wait at a limit.
fn holds_back(limit: &Limit) -> bool {
    limit.queue.is_some()
        || matches!(limit.limiter, Limiter::Spacing(_))
        || longest_delay_us(&limit.limiter) > 0
}

/// SC001: whether an earlier limit never admits more than the later one allows.
fn never_binds(ground: &Ground<'_>, earlier: &Limit, limit: &Limit) -> Option<Finding> {
    if !is_always_asked_first(ground, earlier, limit) || !is_comparable(earlier, limit) {
        return None;
    }
    let times = passing_counters(ground, earlier, limit);
    let passes = if let Some((window_us, most)) = window(&limit.limiter) {
        let interval_us = interval_us(earlier, limit, window_us);
        let bound = earlier.limiter.bound(interval_us, earlier.tick_us.max(1));
        let Bound::AtMost(one) = bound else { return None };
        let passed = u128::from(one).saturating_mul(times.into());
        let within = passed <= most.into();
        within.then(|| format!("at most {passed} in {}", span::format(window_us)))?
    } else {
        let pace = Pace::of(&earlier.limiter)?.times(times);
        let delayed = longest_delay_us(&earlier.limiter) > 0;
        let within = !delayed && fits(pace, earlier, limit);
        within.then(|| format!("at most {} at once and {}", pace.at_once, pace.rate()))?
    };
    let (name, allows) = (&earlier.name, allowance(&limit.limiter, 1));
    let text = format!("never binds: `{name}` before it passes {passes}, and it allows {allows}");
    let help = "lower it below what the earlier limit passes, or drop it";
    Some(Finding::on(limit, Code::NeverBinds, text, help))
}

/// Whether each request that the later limit is asked about has passed the earlier one's count.
fn is_always_asked_first(ground: &Ground<'_>, earlier: &Limit, limit: &Limit) -> bool {
    let key_is_coarser = earlier.key.parts.iter().all(|part| limit.key.parts.contains(part));
    let outlives = match (earlier.expires_us, limit.expires_us) {
        (None, _) => true,
        (Some(earlier), Some(later)) => later <= earlier,
        (Some(_), None) => false,
    };
    let missing = match (earlier.missing_key, limit.missing_key) {
        (MissingKey::Skip, MissingKey::Skip) | (MissingKey::Refuse, _) => true,
        (MissingKey::Shared, later) => later != MissingKey::Refuse,
        (MissingKey::Skip, _) => false,
    };
    let charges_all =
        |l: &Limit| l.group.as_ref().is_some_and(|group| group.charge == GroupCharge::All);
    earlier.mode == Mode::Enforce
        && key_is_coarser
        && outlives
        && ground.in_force(earlier)
        && (missing || !ground.can_be_missing(limit, &limit.matching))
        && earlier.count_when.is_none()
        && earlier.store.as_ref().is_none_or(|store| store.on_error == OnStoreError::Refuse)
        && !(charges_all(limit) && limit.group == earlier.group)
        && covers(&earlier.matching, &limit.matching, ground.site)
}

/// Whether what the earlier limit passes is what the later one counts.
fn is_comparable(earlier: &Limit, limit: &Limit) -> bool {
    let share_state = earlier.zone.is_some() && earlier.zone == limit.zone;
    limit.count_when.is_none() && limit.weight == earlier.weight && !share_state
}

/// How many counters of the earlier limit feed one of the later.
fn passing_counters(ground: &Ground<'_>, earlier: &Limit, limit: &Limit) -> u64 {
    let same_instance = earlier.counters == Counters::Local
        && limit.counters == Counters::Local
        && earlier.at == limit.at;
    if same_instance { 1 } else { ground.counters(earlier) }
}

/// How long the earlier limit's arrivals can be that meet in one window of the later: delays, a closed
/// end and clocks of other steps stretch it.
fn interval_us(earlier: &Limit, limit: &Limit, window_us: i64) -> i64 {
    let closed = match &limit.limiter {
        Limiter::SlidingLog(log) => log.boundary == Boundary::Closed,
        Limiter::FixedWindow(fixed) => {
            matches!(fixed.window, Window::FirstRequest { boundary, .. } if boundary != Boundary::Open)
        }
        _ => false,
    };
    let (tick, later_tick) = (earlier.tick_us.max(1), limit.tick_us.max(1));
    let step = if closed { later_tick } else { 0 };
    // what a coarser clock puts into one window is less than a window apart; a finer one sees more
    let clocks = if later_tick.checked_rem(tick) == Some(0) { 0 } else { tick };
    let delay = longest_delay_us(&earlier.limiter);
    let stretched = [step, clocks, delay].iter().fold(window_us, |sum, us| sum.saturating_add(*us));
    whole_ticks(stretched, tick)
}

/// The window of a counting limiter, at its longest, and how much it surely admits in it.
fn window(limiter: &Limiter) -> Option<(i64, u64)> {
    match limiter {
        Limiter::SlidingLog(log) => Some((log.window_us, log.limit)),
        Limiter::AwsWaf(waf) => Some((waf.window_us, waf.limit)),
        // this window and the last one's share
        Limiter::SlidingCounter(counter) => {
            Some((counter.window_us.saturating_mul(2), counter.limit))
        }
        Limiter::FixedWindow(fixed) => Some(match fixed.window {
            // clocks that are put back make a window longer
            Window::Clock { us, zone } if !is_steady(zone) => {
                (us.saturating_add(2 * HOUR_US), fixed.limit)
            }
            Window::Clock { us, .. } | Window::FirstRequest { us, .. } => (us, fixed.limit),
            Window::Calendar { unit: CalendarUnit::Day, .. } => (DAY_US + 2 * HOUR_US, fixed.limit),
            Window::Calendar { unit: CalendarUnit::Month, .. } => {
                (31 * DAY_US + 2 * HOUR_US, fixed.limit)
            }
        }),
        _ => None,
    }
}

/// Whether a zone has no summer time, as of 2026.
fn is_steady(zone: Zone) -> bool {
    const JANUARY_US: i64 = 1_767_225_600 * SECOND_US;
    zone.offset_us(JANUARY_US) == zone.offset_us(JANUARY_US + 182 * DAY_US)
}

/// Whether a bucket never runs dry under a pace.
fn fits(pace: Pace, earlier: &Limit, limit: &Limit) -> bool {
    let Some(mut bucket) = capacity(&limit.limiter) else { return false };
    if earlier.tick_us != limit.tick_us {
        // one step of the clock less may have leaked than has passed
        let step = u128::from(earlier.tick_us.max(limit.tick_us).unsigned_abs());
        let lost = bucket.count.saturating_mul(step).div_ceil(bucket.per_us);
        bucket.at_once = bucket.at_once.saturating_sub(lost);
    }
    pace.is_within(bucket)
}

/// The arrivals that a bucket surely never refuses.
fn capacity(limiter: &Limiter) -> Option<Pace> {
    let pace = Pace::of(limiter)?;
    match limiter {
        Limiter::TokenBucket(bucket) if pace.at_once == u128::from(bucket.burst) => Some(pace),
        Limiter::Gcra(_) => Some(pace),
        // each request may lose a thousandth to rounding
        Limiter::Nginx(nginx) => Some(Pace {
            at_once: (u128::from(nginx.burst) + 1).saturating_mul(1_000) / 1_001,
            count: u128::from(nginx.rate_milli),
            per_us: 1_001_000_000,
        }),
        _ => None,
    }
}

/// SC011: a limit per address that admits less than one of the users behind the address may send.
fn swapped(ground: &Ground<'_>, address: &Limit) -> Option<Finding> {
    let is_per_address = matches!(address.key.parts.as_slice(), [part] if is_address(part));
    if !is_per_address || !ground.in_force(address) {
        return None;
    }
    let pace = Pace::of(&address.limiter)?.times(ground.counters(address));
    let user = ground.policy.limits.iter().find(|user| {
        is_per_person(ground, user)
            && ground.in_force(user)
            && user.weight == address.weight
            && covers(&address.matching, &user.matching, ground.site)
            && Pace::of(&user.limiter).is_some_and(|theirs| {
                let theirs = theirs.times(ground.counters(user));
                pace.is_within(theirs) && !theirs.is_within(pace)
            })
    })?;
    let (name, key) = (&user.name, &user.key.name);
    let ours = allowance(&address.limiter, ground.counters(address));
    let theirs = allowance(&user.limiter, ground.counters(user));
    let text = format!(
        "passes {ours} per address, less than `{name}` passes per {key} ({theirs}), though many share an address"
    );
    let help = format!("swap the two numbers: the limit per address must be above that per {key}");
    Some(Finding::on(address, Code::SwappedValues, text, help).endangering(ground.customers()))
}

/// Whether a limit's key tells people apart.
fn is_per_person(ground: &Ground<'_>, limit: &Limit) -> bool {
    let Some(site) = ground.site else { return false };
    let name = &limit.key.name;
    let is_known = *name == site.identity
        || name == "user"
        || site.link.as_ref().is_some_and(|link| link.keys.contains(name));
    is_known && limit.key.parts.len() == 1 && !limit.key.parts.iter().any(is_address)
}

/// SC022: an alarm above the limit of its own limit.
fn late_alarm(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let alarm = limit.alarm?;
    let most = match &limit.limiter {
        Limiter::SlidingLog(log) => log.limit,
        Limiter::FixedWindow(fixed) => fixed.limit,
        Limiter::SlidingCounter(counter) => counter.limit,
        Limiter::AwsWaf(waf) => waf.limit,
        _ => return None,
    };
    if alarm <= most {
        return None;
    }
    let text = format!("rings at {alarm} requests, after the limit of {most} has refused some");
    let help = format!("set the alarm below {most}");
    let requirement = ground.paid(limit).find_map(|action| {
        let found = ground.requirement(&action.name, &["time_to_alarm_s"])?;
        Some((found, Danger::Possible))
    });
    Some(Finding::on(limit, Code::LateAlarm, text, help).endangering(requirement))
}
