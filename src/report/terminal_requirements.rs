//! The table of what the site requires: met or missed, the value beside the limit, the line at fault.

use std::fmt::Write;

use shadowcap_engine::units::span;

use super::model::Report;
use super::number::{Thousandths, grouped};
use super::requirement_model::{End, Limit, RequiredValue, Requirement};
use super::terminal::{Look, wrapped};
use super::terminal_costs::separated;

/// Writes a table per policy; nothing where nothing is required.
pub(super) fn write(out: &mut String, report: &Report, look: Look) {
    for requirements in report.requirements.chunk_by(|one, other| one.policy == other.policy) {
        of_policy(out, requirements, look);
    }
}

/// Writes what is missed, a line each: what a reader must not overlook stands before everything else.
pub(super) fn write_missed(out: &mut String, report: &Report, look: Look) {
    for requirements in report.requirements.chunk_by(|one, other| one.policy == other.policy) {
        let missed = || requirements.iter().filter(|of| !of.pass);
        for of in missed().filter(|of| of.value.is_some()) {
            let at = fault(of);
            let at = if at.is_empty() { at } else { format!(", by {at}") };
            let is = value(of);
            let line = format!(
                "{} MISSES \u{201c}{}\u{201d}: {is}, {}{at}",
                of.policy,
                of.name,
                required(of)
            );
            out.push_str(&wrapped(&line, look.width, 4));
        }
        let unknown: Vec<&str> =
            missed().filter(|of| of.value.is_none()).map(|of| of.name.as_str()).collect();
        if let Some(of) = requirements.first().filter(|_| !unknown.is_empty()) {
            let line = format!("{}: can't be evaluated: {}", of.policy, unknown.join(", "));
            out.push_str(&wrapped(&line, look.width, 4));
        }
    }
}

fn of_policy(out: &mut String, requirements: &[Requirement], look: Look) {
    let Some(first) = requirements.first() else { return };
    let mut table = look.left_table(&["requirement", "", "value", "required", "limit at fault"]);
    for requirement in requirements {
        table.add_row([
            requirement.name.clone(),
            if requirement.pass { "met" } else { "MISSED" }.to_owned(),
            value(requirement),
            required(requirement),
            fault(requirement),
        ]);
    }
    let missed = requirements.iter().filter(|requirement| !requirement.pass).count();
    let missed = match missed {
        0 => "all met".to_owned(),
        missed => format!("{missed} of {} missed", requirements.len()),
    };
    let title = format!("{}: what the site requires ({missed})", first.policy);
    let _ = writeln!(out, "\n{}\n{table}", look.heading(&title));
    for (name, why) in requirements.iter().filter_map(|of| Some((&of.name, of.why.as_ref()?))) {
        let line = format!("{name}: {why}. What can't be evaluated counts as missed.");
        out.push_str(&wrapped(&line, look.width, 4));
    }
}

/// A number in the requirement's unit.
fn with_unit(requirement: &Requirement, text: &str) -> String {
    match requirement.unit.as_str() {
        "requests/s" => format!("{text}/s"),
        "seconds" => format!("{text} s"),
        "factor" => format!("{text}\u{d7}"),
        unit if is_money(requirement) => format!("{text} {unit}"),
        _ => text.to_owned(),
    }
}

/// `12`, `3–5`, `0.75`, `22,500.00 INR`.
fn value(requirement: &Requirement) -> String {
    let with_unit = |text: String| with_unit(requirement, &text);
    match &requirement.value {
        None => "unknown".to_owned(),
        Some(RequiredValue::Exact(End::Unbounded(_))) if requirement.unit == "seconds" => {
            "never".to_owned()
        }
        Some(RequiredValue::Exact(End::Unbounded(word))) => (*word).to_owned(),
        Some(RequiredValue::Exact(of)) => beside_its_limit(requirement, with_unit(end(of))),
        Some(RequiredValue::Between { lo, hi: End::Unbounded(_), .. }) => {
            format!("at least {}", with_unit(end(lo)))
        }
        Some(RequiredValue::Between { lo, hi, .. }) => {
            with_unit(format!("{}\u{2013}{}", end(lo), end(hi)))
        }
    }
}

/// What is rounded to its limit, and missed it by less, says so.
fn beside_its_limit(requirement: &Requirement, shown: String) -> String {
    let Some(RequiredValue::Exact(of)) = &requirement.value else { return shown };
    let is = |limit: &Option<Limit>| match limit {
        Some(Limit::Number(number)) => number.to_string() == end(of).replace(',', ""),
        Some(Limit::Money(amount)) => separated(amount) == end(of),
        None => false,
    };
    match (requirement.pass, is(&requirement.max), is(&requirement.min)) {
        (false, true, _) => format!("just above {shown}"),
        (false, _, true) => format!("just below {shown}"),
        _ => shown,
    }
}

fn is_money(requirement: &Requirement) -> bool {
    let money = |limit: &Option<Limit>| matches!(limit, Some(Limit::Money(_)));
    money(&requirement.max) || money(&requirement.min)
}

fn end(of: &End) -> String {
    match of {
        End::Count(count) => grouped(*count),
        End::Share(share) => decimal(share.0, 6),
        End::Decimal(Thousandths(milli)) => decimal(*milli, 3),
        End::Money(amount) => separated(amount),
        End::Unbounded(word) => (*word).to_owned(),
    }
}

/// So many decimals without needless zeros.
fn decimal(value: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let width = usize::try_from(places).unwrap_or(0);
    let decimals = format!("{:0width$}", value % unit);
    match decimals.trim_end_matches('0') {
        "" => grouped(value / unit),
        decimals => format!("{}.{decimals}", grouped(value / unit)),
    }
}

fn required(requirement: &Requirement) -> String {
    let limit = |of: &Limit| match of {
        Limit::Number(number) => with_unit(requirement, &separated(&number.to_string())),
        Limit::Money(amount) => with_unit(requirement, &separated(amount)),
    };
    let ends = [("at least", &requirement.min), ("at most", &requirement.max)];
    let ends = ends.iter().filter_map(|(word, of)| Some(format!("{word} {}", limit(of.as_ref()?))));
    let mut text = ends.collect::<Vec<_>>().join(", ");
    if let Some((from, to)) = &requirement.between {
        let _ = write!(text, ", {from}\u{2013}{to}");
    }
    if let Some(horizon) = requirement.horizon_s {
        let _ = write!(text, " in any {}", span::format(horizon.us));
    }
    if let Some(outage) = &requirement.outage {
        let _ = write!(text, ", in \u{201c}{outage}\u{201d}");
    }
    text
}

fn fault(requirement: &Requirement) -> String {
    let place = requirement.limit.as_ref().zip(requirement.file.as_ref()).zip(requirement.line);
    place.map_or_else(String::new, |((limit, file), line)| format!("{limit} ({file}:{line})"))
}

#[cfg(test)]
#[path = "terminal_requirements_tests.rs"]
mod tests;
