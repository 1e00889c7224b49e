//! When and whether limits are in force: SC012 expired, SC023 in shadow.

use crate::policy::{Limit, Mode};
use crate::units::{span, time};

use super::danger::broken_by;
use super::{Code, Danger, Finding};
use crate::policy::coverage::Ground;

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        found.extend(expired(ground, limit));
        found.extend(in_shadow(ground, limit));
    }
}

fn expired<'a>(ground: &Ground<'a>, limit: &'a Limit) -> Option<Finding> {
    let (expires, now) = (limit.expires_us?, ground.now_us?);
    if ground.in_force(limit) {
        return None;
    }
    let ago = span::format_period(now.saturating_sub(expires));
    let text = format!("expired at {}, {ago} ago", time::format_seconds(expires));
    let help = "drop it, or give it a later day";
    let requirement = broken_by(ground, limit, |limit| limit.expires_us = None);
    Some(Finding::on(limit, Code::Expired, text, help).endangering(requirement))
}

fn in_shadow<'a>(ground: &Ground<'a>, limit: &'a Limit) -> Option<Finding> {
    if limit.mode == Mode::Enforce || !ground.in_force(limit) {
        return None;
    }
    let help = "set `mode = \"enforce\"` when the rehearsal is over";
    if let Some(action) = ground.paid(limit).next() {
        let text = format!(
            "refuses nothing, being in shadow, though it stands before the paid action `{}`",
            action.name
        );
        let requirement = broken_by(ground, limit, |limit| limit.mode = Mode::Enforce);
        return Some(Finding::on(limit, Code::InShadow, text, help).endangering(requirement));
    }
    let required = ground.requirement(&limit.name, &["fill_max", "identities_refused"])?;
    let text =
        "refuses nothing, being in shadow, though the site requires something of it".to_owned();
    let danger = Some((required, Danger::Possible));
    Some(Finding::on(limit, Code::InShadow, text, help).endangering(danger))
}
