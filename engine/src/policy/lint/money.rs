//! What stands before money: SC014 fixed windows, SC015 failing open, SC016 no bound, SC017 requests
//! without the key, SC018 requests in flight.

use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::{Algorithm, Bound, Boundary, Limiter};
use crate::policy::coverage::{self, Ground, whole_ticks};
use crate::policy::{Limit, MissingKey, Mode, OnStoreError, Place};
use crate::site::facts::{Action, Requirement};
use crate::units::span::{self, DAY_US};
use crate::units::zone::{CalendarUnit, Zone};

use super::danger::broken_by;
use super::ground::figure;
use super::pace::{allowance, window};
use super::{Code, Danger, Finding, Within};

/// The figures of an action that are money.
const MONEY: [&str; 3] = ["bound", "bound_aligned", "replayed_worst"];

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        found.extend(requests_in_flight(ground, limit));
        if limit.mode == Mode::Shadow || !ground.in_force(limit) {
            continue;
        }
        let Some(action) = ground.paid(limit).next() else { continue };
        found.extend(fixed_window(ground, limit, action));
        found.extend(fails_open(ground, limit, action));
        found.extend(missing_key(ground, limit, action));
    }
    for action in ground.actions() {
        found.extend(no_bound(ground, action));
    }
}

fn fixed_window<'a>(ground: &Ground<'a>, limit: &'a Limit, action: &Action) -> Option<Finding> {
    let Limiter::FixedWindow(fixed) = limit.limiter else { return None };
    let tick = limit.tick_us.max(1);
    let around = |us: i64| match limit.limiter.bound(whole_ticks(us, tick), tick) {
        Bound::AtMost(most) => Some(most),
        Bound::Unbounded => None,
    };
    let length_us = length_us(fixed.window);
    let mut text =
        vec![format!("stands before `{}` with windows of {}", action.name, window(fixed.window))];
    if let Some(most) = around(length_us).filter(|most| *most > fixed.limit) {
        let limit = fixed.limit;
        text.push(format!(": around the border of two it admits {most} in that time, not {limit}"));
    }
    let required = ground.requirements().iter().find(|requirement| {
        requirement.max.is_some()
            && figure(requirement, &action.name, &MONEY)
            && requirement.horizon_us > length_us
    });
    if let Some((requirement, most)) = required.and_then(|r| Some((r, around(r.horizon_us)?))) {
        text.push(format!(", and {most} in {}", span::format(requirement.horizon_us)));
    }
    let offset = offset_us(ground, fixed);
    if let Some((us, ours, theirs)) = offset {
        text.push(format!(
            "; its windows begin by the clock of {}, {} after those of {}",
            ours.name(),
            span::format(us),
            theirs.name()
        ));
    }
    let help = if offset.is_some() {
        "use a `sliding-log`, or at least the `timezone` of the site"
    } else {
        "use a `sliding-log` of the same limit and window, which holds for any interval"
    };
    let slides = Limiter::SlidingLog(SlidingLog {
        limit: fixed.limit,
        window_us: length_us,
        boundary: Boundary::Open,
        count_refused: false,
    });
    let requirement = broken_by(ground, limit, |limit| limit.limiter = slides.clone())
        .or_else(|| offset.and_then(|_| over_the_night(ground, limit, action)));
    Some(Finding::on(limit, Code::FixedWindow, text.concat(), help).endangering(requirement))
}

/// A requirement on observed spending that holds only while windows are the site's own.
fn over_the_night<'a>(
    ground: &Ground<'a>,
    limit: &Limit,
    action: &Action,
) -> Option<(&'a Requirement, Danger)> {
    let requirement = ground.requirements().iter().find(|requirement| {
        figure(requirement, &action.name, &["bound_aligned", "replayed_worst"])
            && requirement.max.is_some_and(|max| {
                let horizon_us = requirement.horizon_us;
                coverage::limit(ground, limit, action, horizon_us)
                    .ok()
                    .zip(coverage::dearest(ground, action, horizon_us))
                    .and_then(|(counted, price)| coverage::spend(price, counted.any))
                    .is_none_or(|spent| spent > max)
            })
    })?;
    Some((requirement, Danger::Possible))
}

fn length_us(window: Window) -> i64 {
    match window {
        Window::Clock { us, .. } | Window::FirstRequest { us, .. } => us,
        Window::Calendar { unit: CalendarUnit::Day, .. } => DAY_US,
        Window::Calendar { unit: CalendarUnit::Month, .. } => 31 * DAY_US,
    }
}

/// By how much a limit's windows begin after those of the site's clock, if they do, at any time of the
/// year; with both zones.
fn offset_us(ground: &Ground<'_>, fixed: FixedWindow) -> Option<(i64, Zone, Zone)> {
    let theirs = ground.site?.zone;
    let (zone, length) = match fixed.window {
        Window::Clock { us, zone } => (zone, us),
        Window::Calendar { zone, .. } => (zone, DAY_US),
        Window::FirstRequest { .. } => return None,
    };
    let now = ground.now_us.unwrap_or(0);
    // both halves of the year, for zones that change their clocks
    let offset = [now, now.saturating_add(182 * DAY_US)].into_iter().find_map(|instant| {
        let ahead = theirs.offset_us(instant).saturating_sub(zone.offset_us(instant));
        ahead.checked_rem_euclid(length).filter(|us| *us != 0)
    })?;
    Some((offset, zone, theirs))
}

fn fails_open<'a>(ground: &Ground<'a>, limit: &'a Limit, action: &Action) -> Option<Finding> {
    let store = limit.store.as_ref().filter(|store| store.on_error == OnStoreError::Allow)?;
    let text = format!(
        "stands before the paid action `{}` and lets everything pass while the store `{}` can't be asked",
        action.name, store.name
    );
    let help = "set `on_store_error = \"refuse\"`, or leave the action's routes out of its match";
    let requirement = broken_by(ground, limit, |limit| {
        limit.store.iter_mut().for_each(|store| store.on_error = OnStoreError::Refuse);
    });
    Some(Finding::on(limit, Code::FailsOpen, text, help).endangering(requirement))
}

fn missing_key<'a>(ground: &Ground<'a>, limit: &'a Limit, action: &Action) -> Option<Finding> {
    if limit.missing_key != MissingKey::Skip || !ground.can_be_missing(limit, &action.matching) {
        return None;
    }
    let text = format!(
        "isn't asked about requests without {}, so they pass on to the paid action `{}`",
        limit.key.name, action.name
    );
    let help = "set `missing_key = \"refuse\"`, or `\"shared\"` where such requests are right";
    let requirement = broken_by(ground, limit, |limit| limit.missing_key = MissingKey::Refuse);
    Some(Finding::on(limit, Code::MissingKey, text, help).endangering(requirement))
}

fn requests_in_flight(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    limit.count_when.as_ref()?;
    if coverage::in_flight(ground, limit, 1).is_some() {
        return None;
    }
    let key = &limit.key.name;
    let text = format!(
        "counts responses, and nothing bounds how many requests of a key ({key}) are on their way at once: all of them pass the allowance of {}",
        allowance(&limit.limiter, 1)
    );
    let help = format!(
        "put a `concurrency` limit with the key `{key}` before it, or say `[max_in_flight] {key} = …` in the site"
    );
    Some(Finding::on(limit, Code::InFlight, text, help))
}

fn no_bound(ground: &Ground<'_>, action: &Action) -> Option<Finding> {
    let on_money: Vec<&Requirement> = ground
        .requirements()
        .iter()
        .filter(|r| r.max.is_some() && figure(r, &action.name, &MONEY))
        .collect();
    let is_bound = |requirement: &Requirement| figure(requirement, &action.name, &["bound"]);
    let first = on_money.iter().find(|requirement| is_bound(requirement)).or(on_money.first());
    let horizon_us = first.map_or(DAY_US, |requirement| requirement.horizon_us);
    if coverage::requests(ground, action, horizon_us).is_some() {
        return None;
    }
    let mut left_out = Vec::new();
    for limit in
        ground.policy.limits.iter().filter(|l| ground.paid(l).any(|a| a.name == action.name))
    {
        let Err(reasons) = coverage::limit(ground, limit, action, horizon_us) else { continue };
        let why: Vec<&str> = reasons.iter().map(|reason| reason.why.as_str()).collect();
        left_out.push(format!("`{}` {}", limit.name, why.join(" and ")));
    }
    let limits = if left_out.is_empty() {
        "no limit stands before it".to_owned()
    } else {
        left_out.join("; ")
    };
    let text = format!("nothing bounds the paid action `{}`: {limits}", action.name);
    let most = first.and_then(|requirement| requirement.max);
    let help = coverage::cheapest(ground, action, horizon_us, None, most).text;
    let finding = Finding {
        code: Code::NoBound,
        severity: Code::NoBound.severity(),
        file: Within::Policy,
        place: Place::of_line(1),
        limit: None,
        requirement: None,
        text,
        help,
    };
    Some(finding.endangering(first.map(|requirement| {
        (*requirement, if is_bound(requirement) { Danger::Certain } else { Danger::Possible })
    })))
}
