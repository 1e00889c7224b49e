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
    let points = || report.curves.iter().flat_map(|curve| &curve.points);
    let knows = points().any(|point| point.customer_identities_refused.is_some());
    let mut header = vec!["to protect", "key", "window", "keys"];
    // where nobody is known to be a customer both would say the same
    header.extend(knows.then_some("refuses no customer"));
    header.extend(["refuses nobody", "policies have"]);
    let mut table = look.left_table(&header);
    for curve in &report.curves {
        let mut row = vec![
            curve.protect.clone(),
            curve.key.clone(),
            curve.window_s.map_or_else(|| "\u{2013}".to_owned(), |window| span::format(window.us)),
            grouped(curve.keys),
        ];
        row.extend(knows.then(|| spares(curve, |of| of.customer_identities_refused == Some(0))));
        row.extend([spares(curve, |point| point.keys_refused == 0), marks(curve)]);
        table.add_row(row);
    }
    let title = "From which limit on nobody is refused";
    let _ = writeln!(out, "\n{}\n{table}", look.heading(title));
    let note = "refuses nobody: attackers neither. What a limit can be, and what it would refuse of each, is in \
the report's curves (--json).";
    out.push_str(&wrapped(note, look.width, 0));
}

/// The smallest limit, or the smallest burst at the slowest rates, of which this is true.
fn spares(curve: &Curve, is: impl Fn(&Point) -> bool) -> String {
    if curve.keys == 0 {
        return "\u{2013}".to_owned();
    }
    let free = curve.points.iter().filter(|point| is(point));
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
