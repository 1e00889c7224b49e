//! The part of the tables about curves: from which limit on nobody is refused, and what marks refuse.

use std::fmt::Write;

use shadowcap_engine::units::span;

use super::curve_model::{Curve, Point};
use super::model::Report;
use super::number::{grouped, percent, plural};
use super::terminal::{Look, wrapped};

/// Pairs of a bucket that are shown.
const MOST_PAIRS: usize = 3;

/// Writes what the site wants sized; nothing without.
pub(super) fn write(out: &mut String, report: &Report, look: Look) {
    if report.curves.is_empty() {
        return;
    }
    let mut table = look.left_table(&[
        "to protect",
        "key",
        "window",
        "keys",
        "refuses nobody",
        "policies have",
    ]);
    for curve in &report.curves {
        table.add_row(vec![
            curve.protect.clone(),
            curve.key.clone(),
            curve.window_s.map_or_else(|| "\u{2013}".to_owned(), |window| span::format(window.us)),
            grouped(curve.keys),
            nobody(curve),
            marks(curve),
        ]);
    }
    let _ = writeln!(out, "\n{}\n{table}", look.heading("From which limit on nobody is refused"));
    let note = "Customers and attackers alike: what a limit can be, and what it would refuse of \
each, is in the report's curves (--json).";
    out.push_str(&wrapped(note, look.width, 0));
}

/// The smallest limit, or the smallest burst at the slowest rates, that refuses nobody.
fn nobody(curve: &Curve) -> String {
    if curve.keys == 0 {
        return "\u{2013}".to_owned();
    }
    let free = curve.points.iter().filter(|point| point.keys_refused == 0);
    let pairs: Vec<String> = free.clone().filter_map(pair).take(MOST_PAIRS).collect();
    if !pairs.is_empty() {
        return pairs.join("; ");
    }
    let limit = free.filter_map(|point| point.limit).min();
    limit.map_or_else(|| "\u{2013}".to_owned(), grouped)
}

fn pair(point: &Point) -> Option<String> {
    Some(format!("{} burst {}", point.rate.as_ref()?, grouped(point.burst?)))
}

/// What policies have, and how many keys that refuses.
fn marks(curve: &Curve) -> String {
    let told = curve.marks.iter().filter_map(|mark| {
        let point = curve.points.iter().find(|point| point.limit == Some(mark.limit))?;
        let of = percent(point.keys_refused, curve.keys);
        let refused = plural(point.keys_refused, "key", "keys");
        Some(format!("{} ({}): {refused}, {of}", grouped(mark.limit), mark.what))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "\u{2013}".to_owned() } else { told.join("; ") }
}
