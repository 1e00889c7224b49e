//! The table of limits to set: what was chosen for each target, what it rests on, what it would refuse.

use std::fmt::Write;

use shadowcap_engine::units::span;

use super::model::Report;
use super::number::{Bracketed, Millionths, grouped, percent, range};
use super::recommendation_model::Recommendation;
use super::terminal::{Look, wrapped};

/// Writes what to set for the site's `[[protect]]`s; nothing without.
pub(super) fn write(out: &mut String, report: &Report, look: Look) {
    let all = &report.recommendations;
    if all.is_empty() {
        return;
    }
    let people = all.iter().find_map(|one| Some(one.basis.as_ref()?.sized_for));
    let people = people.map_or_else(|| "refused".to_owned(), |people| format!("{people} refused"));
    let mut table = look.left_table(&[
        "to protect",
        "key",
        "set",
        "the busiest needs",
        &people,
        "attack refused",
    ]);
    for one in all {
        let expected = one.expected.as_ref();
        table.add_row([
            one.protect.clone(),
            one.key.clone(),
            set(one),
            one.basis.as_ref().map_or_else(String::new, |basis| range(&basis.busiest)),
            expected.map_or_else(String::new, |of| range(&of.customer_identities_refused)),
            expected
                .and_then(|of| of.attacker_refused_share.as_ref())
                .map_or_else(String::new, share),
        ]);
    }
    let _ = writeln!(out, "\n{}\n{table}", look.heading("Which limits to set"));
    for one in all.iter().filter(|one| is_none(one)) {
        out.push_str(&wrapped(&format!("{}: {}", one.protect, one.why), look.width, 4));
    }
    if all.iter().all(is_none) {
        return;
    }
    let note = "Replayed together as one policy. `shadowcap recommend` writes that policy as a file, each \
number with its evidence.";
    out.push_str(&wrapped(note, look.width, 0));
}

fn is_none(one: &Recommendation) -> bool {
    one.limit.is_none() && one.rate.is_none()
}

/// `25 in any 10 m`, `120/m burst 117`.
fn set(one: &Recommendation) -> String {
    let each =
        if one.instances > 1 { format!(", each of {}", one.instances) } else { String::new() };
    match (one.limit, &one.rate, &one.window_s) {
        (Some(limit), _, Some(window)) => {
            let window = span::format(window.us);
            match one.algorithm.as_str() {
                "concurrency" => format!("{} in flight{each}", grouped(limit)),
                "fixed-window" => format!("{} in each {window}{each}", grouped(limit)),
                "aws-waf" => format!("{} in {window}{each}", grouped(limit)),
                _ => format!("{} in any {window}{each}", grouped(limit)),
            }
        }
        (Some(limit), _, None) => format!("{}{each}", grouped(limit)),
        (None, Some(rate), _) => {
            format!("{rate} burst {}{each}", grouped(one.burst.unwrap_or(0)))
        }
        _ => "no limit".to_owned(),
    }
}

fn share(of: &Bracketed<Millionths>) -> String {
    let (Millionths(lo), Millionths(hi)) = of.ends();
    let (lo, hi) = (percent(lo, 1_000_000), percent(hi, 1_000_000));
    if lo == hi { hi } else { format!("{} to {hi}", lo.trim_end_matches(" %")) }
}
