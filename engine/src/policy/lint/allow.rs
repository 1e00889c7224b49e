//! Findings that a limit says are meant: `allow`; and SC025, exceptions for nothing.

use crate::policy::{Allow, Limit};

use super::{Code, Finding};
use crate::policy::coverage::Ground;

/// Leaves out what limits allow, and adds a note for each exception that silenced nothing.
pub(super) fn silence(ground: &Ground<'_>, found: Vec<Finding>) -> Vec<Finding> {
    let mut idle = Vec::new();
    for limit in &ground.policy.limits {
        for allow in &limit.allow {
            let silences = found.iter().any(|finding| is_silenced(finding, limit, allow));
            let finding = if silences { None } else { idle_allow(ground, limit, allow) };
            // an exception can be made for this one too
            idle.extend(finding.filter(|f| !limit.allow.iter().any(|a| is_silenced(f, limit, a))));
        }
    }
    let allowed = |finding: &Finding| {
        ground
            .policy
            .limits
            .iter()
            .any(|limit| limit.allow.iter().any(|allow| is_silenced(finding, limit, allow)))
    };
    let mut kept: Vec<Finding> = found.into_iter().filter(|finding| !allowed(finding)).collect();
    kept.append(&mut idle);
    kept
}

fn is_silenced(finding: &Finding, limit: &Limit, allow: &Allow) -> bool {
    finding.limit.as_deref() == Some(limit.name.as_str()) && finding.code.text() == allow.lint
}

fn idle_allow(ground: &Ground<'_>, limit: &Limit, allow: &Allow) -> Option<Finding> {
    let lint = &allow.lint;
    let text = match Code::parse(lint) {
        None => format!("makes an exception for `{lint}`, which is no code"),
        Some(Code::NoBound) => {
            format!("makes an exception for {lint}, which is about an action and can't be silenced")
        }
        // what couldn't be looked for may well be there
        Some(code) if code.needs_site() && ground.site.is_none() => return None,
        Some(Code::Expired) if ground.now_us.is_none() => return None,
        Some(Code::UnknownNames) if ground.site.is_some() => return None,
        Some(Code::IdleAllow) => return None,
        Some(code) => {
            format!("makes an exception for {lint} ({}), which isn't found here", code.title())
        }
    };
    Some(Finding::on(limit, Code::IdleAllow, text, "drop it from `allow`"))
}
