//! The part of the tables about policies: side by side, then each one's limits.

use std::fmt::Write;

use comfy_table::CellAlignment;
use shadowcap_engine::units::span;

use super::model::Report;
use super::number::{grouped, pace, percent_range, range};
use super::policy_model::{Cohort, Limit, Policy};
use super::terminal::{Look, wrapped};
use super::terminal_notes;

/// Writes what policies would have done; nothing without any.
pub(super) fn write(out: &mut String, report: &Report, look: Look) {
    if report.policies.is_empty() {
        return;
    }
    let cohorts = report.policies.iter().any(knows_cohorts);
    side_by_side(out, &report.policies, cohorts, look);
    for policy in &report.policies {
        limits(out, policy, cohorts, look);
        terminal_notes::about_limits(out, policy, look);
        rules(out, policy, look);
        outages(out, policy, cohorts, look);
        alarms_and_duplicates(out, policy);
    }
    let held = |policy: &Policy| !policy.limits.is_empty() && !policy.total.rules.is_empty();
    if report.policies.iter().any(held) {
        let note = "sustained: what of an attack gets through in the long run, bursts left out; keys to \
defeat: with how many all of it gets through.";
        let _ = write!(out, "\n{}", wrapped(note, look.width, 0));
    }
    let _ = writeln!(out);
    for verdict in &report.verdicts {
        out.push_str(&wrapped(&format!("{}: {}", verdict.policy, verdict.text), look.width, 4));
    }
}

/// Whether anything tells customers from attackers.
pub(super) fn knows_cohorts(policy: &Policy) -> bool {
    let some =
        |name| policy.total.cohorts.get(name).is_some_and(|cohort| cohort.requests.ends().1 > 0);
    some("customer") || some("attacker")
}

fn side_by_side(out: &mut String, policies: &[Policy], cohorts: bool, look: Look) {
    let mut header = vec!["policy", "requests", "refused", "share", "delayed"];
    if cohorts {
        header.extend(["customers refused", "attack refused", "unknown refused"]);
    }
    let mut table = look.table(&header);
    for policy in policies {
        let total = &policy.total;
        let mut row = vec![
            policy.name.clone(),
            grouped(total.requests),
            range(&total.refused),
            percent_range(&total.refused, total.requests),
            range(&total.delayed),
        ];
        if cohorts {
            let cohort = |name| total.cohorts.get(name);
            row.push(cohort("customer").map_or_else(String::new, people));
            row.push(cohort("attacker").map_or_else(String::new, requests_share));
            row.push(cohort("unknown").map_or_else(String::new, people));
        }
        table.add_row(row);
    }
    let _ = writeln!(out, "\n{}\n{table}", look.heading("What each policy would have done"));
    if cohorts {
        let note = "customers refused: identities refused at least once, of all; attack refused: share of \
the requests that attack rules match.";
        out.push_str(&wrapped(note, look.width, 0));
    }
}

fn people(cohort: &Cohort) -> String {
    format!("{} of {}", range(&cohort.identities_refused), range(&cohort.identities))
}

fn requests_share(cohort: &Cohort) -> String {
    let (lo, hi) = cohort.requests.ends();
    if lo == hi { percent_range(&cohort.refused, hi) } else { range(&cohort.refused) }
}

fn limits(out: &mut String, policy: &Policy, cohorts: bool, look: Look) {
    if policy.limits.is_empty() {
        return;
    }
    let mut header = vec!["limit", "key", "asked", "refused", "delayed", "keys refused", "fullest"];
    if cohorts {
        header.push("customers");
    }
    header.extend(["first refusal", "lock-out"]);
    let mut table = look.table(&header);
    for column in table.column_iter_mut().skip(1).take(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for limit in &policy.limits {
        let mut row = vec![
            name(limit),
            limit.key.clone(),
            range(&limit.asked),
            refused(limit),
            range(&limit.delayed),
            format!("{} of {}", range(&limit.keys_refused), grouped(limit.keys)),
            format!("{} %", limit.fill.max.0 / 10_000),
        ];
        if cohorts {
            row.push(limit.cohorts.get("customer").map_or_else(String::new, people));
        }
        row.push(limit.first_refusal.as_deref().map_or_else(String::new, clock));
        row.push(match limit.longest_lockout_s {
            0 => String::new(),
            seconds => span::format_period(i64::try_from(seconds).unwrap_or(0) * span::SECOND_US),
        });
        table.add_row(row);
    }
    let title = format!("{}, limit by limit", policy.name);
    let _ = writeln!(out, "\n{}\n{table}", look.heading(&title));
}

fn name(limit: &Limit) -> String {
    let mark = if limit.mode == "shadow" { " (shadow)" } else { "" };
    format!("{}{mark}", limit.name)
}

fn refused(limit: &Limit) -> String {
    if limit.mode == "shadow" {
        return format!("({})", range(&limit.shadow_refused));
    }
    range(&limit.refused)
}

/// `2015-05-17T10:05:03.000000Z` → `05-17 10:05:03`.
fn clock(rfc3339: &str) -> String {
    rfc3339.chars().skip(5).take(14).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

fn rules(out: &mut String, policy: &Policy, look: Look) {
    if policy.total.rules.is_empty() {
        return;
    }
    let header =
        ["attack rule", "requests", "refused", "share", "admitted", "sustained", "keys to defeat"];
    let mut table = look.table(&header);
    for (name, rule) in &policy.total.rules {
        table.add_row([
            name.clone(),
            grouped(rule.requests),
            range(&rule.refused),
            percent_range(&rule.refused, rule.requests),
            rule.admitted_per_s.map_or_else(String::new, pace),
            rule.sustained_per_s.map_or_else(String::new, pace),
            terminal_notes::keys_to_defeat(rule, policy),
        ]);
    }
    let _ = writeln!(out, "\n{table}");
    for (name, rule) in &policy.total.rules {
        if let Some(line) = terminal_notes::about_rule(name, rule) {
            out.push_str(&wrapped(&line, look.width, 4));
        }
    }
}

/// What becomes of those who come while a store is away.
fn outages(out: &mut String, policy: &Policy, cohorts: bool, look: Look) {
    if policy.outages.is_empty() {
        return;
    }
    let mut header = vec!["outage", "requests in it", "refused", "admitted", "admitted/s"];
    if cohorts {
        header.push("customers refused");
    }
    let mut table = look.table(&header);
    for outage in &policy.outages {
        let mut row = vec![
            outage.name.clone(),
            grouped(outage.refused + outage.admitted),
            grouped(outage.refused),
            grouped(outage.admitted),
            terminal_notes::per_second(outage.admitted_per_s),
        ];
        if cohorts {
            row.push(outage.cohorts.get("customer").map_or_else(String::new, people));
        }
        table.add_row(row);
    }
    let _ = writeln!(out, "\n{table}");
}

fn alarms_and_duplicates(out: &mut String, policy: &Policy) {
    for alarm in &policy.alarms {
        let after = alarm.after_s.map_or_else(String::new, |seconds| {
            let period = span::format_period(seconds * span::SECOND_US);
            format!(", {period} after the attack began")
        });
        let _ = writeln!(out, "alarm of {}: {} UTC{after}", alarm.limit, clock(&alarm.first));
    }
    for (name, duplicates) in &policy.total.duplicates {
        let _ = writeln!(
            out,
            "duplicates, {name}: {} seen, {} still admitted",
            range(&duplicates.seen),
            range(&duplicates.admitted)
        );
    }
}
