//! The tables about money: what can be spent behind each policy, what attacks get, what limits run on.

use std::fmt::Write;
use std::ops::RangeBounds;

use comfy_table::{CellAlignment, ColumnConstraint, Table};
use shadowcap_engine::units::span::{self, SECOND_US};

use super::cost_model::{Attack, Cost, CostPolicy, Infrastructure, Spend};
use super::model::Report;
use super::number::{Bracketed, grouped, pace, plural};
use super::terminal::{Look, wrapped};
use super::terminal_requirements;

/// Columns from which on attacks have a table.
const WIDE: u16 = 100;

/// Writes what things cost, with no log before it.
pub(crate) fn alone(report: &Report, look: Look) -> String {
    let mut out = String::new();
    terminal_requirements::write_missed(&mut out, report, look);
    write(&mut out, report, look);
    terminal_requirements::write(&mut out, report, look);
    if out.is_empty() {
        let text = "The site says of nothing what it costs: write [[action]], [[attack]] or [infrastructure] \
into it.";
        return wrapped(text, look.width, 0);
    }
    out.trim_start_matches('\n').to_owned()
}

/// Writes what things cost; nothing where the site says of nothing what it does.
pub(super) fn write(out: &mut String, report: &Report, look: Look) {
    for cost in &report.costs {
        spent(out, cost, look);
        worst(out, cost, look);
    }
    attacks(out, &report.attacks, look);
    infrastructure(out, &report.infrastructure, look);
}

/// What was spent, and would have been.
fn spent(out: &mut String, cost: &Cost, look: Look) {
    let replayed =
        cost.policies.iter().filter_map(|of| Some((of.policy.clone(), of.replayed.as_ref()?)));
    let observed = cost.observed.as_ref().map(|spend| ("as it was".to_owned(), spend));
    let rows: Vec<(String, &Spend)> = observed.into_iter().chain(replayed).collect();
    if rows.is_empty() {
        return;
    }
    let horizon = cost.policies.first().map_or_else(String::new, |of| period(of.horizon_s.us));
    let dearest = format!("dearest {horizon}");
    let mut table =
        look.table(&["policy", "in all", "customers", "attackers", "unknown", &dearest]);
    for (name, spend) in &rows {
        let Spend { total, customer, attacker, unknown, worst_horizon, .. } = spend;
        let amounts = [total, customer, attacker, unknown, worst_horizon].map(amount);
        table.add_row([name.clone()].into_iter().chain(amounts));
    }
    let title = format!("What {} cost, {}", cost.action, cost.currency);
    whole(&mut table, 1..);
    let _ = writeln!(out, "\n{}\n{table}", look.heading(&title));
    for (name, spend) in &rows {
        let Some(quota) = &spend.quota else { continue };
        let line = format!(
            "{name}: the provider's quota is used up at {} at the earliest, and stops everything from {} to {} UTC; of the whole log {} of {} get nothing",
            clock(&quota.used_up),
            clock(&quota.stops),
            clock(&quota.until),
            plural(quota.customer_requests, "request", "requests"),
            plural(quota.customers, "customer", "customers"),
        );
        out.push_str(&wrapped(&line, look.width, 4));
    }
}

/// What can be spent at most.
fn worst(out: &mut String, cost: &Cost, look: Look) {
    let Some(first) = cost.policies.first() else { return };
    let header = [
        "policy",
        "at most",
        "if aligned",
        "what bounds it",
        "burnt in",
        "alarm after",
        "spent until answered",
    ];
    let mut table = look.table(&header);
    for column in table.column_iter_mut().skip(3).take(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for of in &cost.policies {
        table.add_row([
            of.policy.clone(),
            separated(&of.bound),
            separated(&of.bound_aligned),
            of.binding.clone().unwrap_or_else(|| "nothing".to_owned()),
            of.time_to_burn_s.map_or_else(String::new, seconds),
            of.time_to_alarm_s.map_or_else(
                || if of.attack.is_some() { "never".to_owned() } else { String::new() },
                |times| {
                    let (typical, worst) = (minutes(times.typical), minutes(times.worst));
                    if typical == worst { typical } else { format!("{typical}, at worst {worst}") }
                },
            ),
            of.spend_until_response.as_deref().map_or_else(String::new, separated),
        ]);
    }
    whole(&mut table, 1..3);
    let title = format!(
        "What {} can cost in any {}, {}",
        cost.action,
        period(first.horizon_s.us),
        cost.currency
    );
    let _ = writeln!(out, "\n{}\n{table}", look.heading(&title));
    for of in &cost.policies {
        for line in notes(of) {
            out.push_str(&wrapped(&line, look.width, 4));
        }
    }
}

/// What is to say of an action behind a policy.
fn notes(of: &CostPolicy) -> Vec<String> {
    let mut lines = Vec::new();
    let before: Vec<String> = of
        .left_out
        .iter()
        .filter(|out| out.stands_before)
        .map(|out| format!("\u{201c}{}\u{201d} {}", out.limit, out.why))
        .collect();
    let name = &of.policy;
    if let Some(cap) = &of.cap {
        let why = if before.is_empty() {
            "no limit stands before it".to_owned()
        } else {
            before.join("; ")
        };
        let bound = cap
            .bound
            .as_deref()
            .map_or_else(String::new, |bound| format!(", at {} at most", separated(bound)));
        lines.push(format!("{name}: unbounded, since {why}."));
        lines.push(format!("    What would bound it{bound}: {}", cap.text));
    } else if !before.is_empty() {
        lines.push(format!("{name}: not counted: {}", before.join("; ")));
    }
    if let Some(aligned) = &of.aligned_to {
        lines.push(format!("{name}: aligned are intervals that begin on {aligned}"));
    }
    if let Some(store) = &of.assumes_store {
        lines.push(format!("{name}: the store \u{201c}{store}\u{201d} is assumed to keep its counters: a flush would let as much through once more"));
    }
    if let Some(until) = &of.until {
        lines.push(format!("{name}: holds until {} UTC, when a limit expires", clock(until)));
    }
    lines
}

/// What declared attacks get: a table per policy.
fn attacks(out: &mut String, attacks: &[Attack], look: Look) {
    let mut policies: Vec<&String> = Vec::new();
    for attack in attacks {
        if !policies.contains(&&attack.policy) {
            policies.push(&attack.policy);
        }
    }
    for policy in &policies {
        let of_policy = attacks.iter().filter(|attack| attack.policy == **policy);
        let title = look.heading(&format!("What declared attacks get: {policy}"));
        if look.width < WIDE {
            let _ = writeln!(out, "\n{title}");
            of_policy.for_each(|attack| out.push_str(&wrapped(&in_words(attack), look.width, 4)));
        } else {
            let _ = writeln!(out, "\n{title}\n{}", attacked(of_policy, look));
        }
    }
    if policies.is_empty() {
        return;
    }
    let note = "at once: what gets through when it begins; admitted: over its length; sustained: in the long run, \
bursts left out; defeated by: with how many keys all of it gets through; needs: for all of its requests in the long run.";
    out.push_str(&wrapped(note, look.width, 0));
}

fn attacked<'a>(attacks: impl Iterator<Item = &'a Attack>, look: Look) -> Table {
    let header =
        ["attack", "asks", "at once", "admitted", "sustained", "defeated by", "needs", "costs"];
    let mut table = look.table(&header);
    for attack in attacks {
        table.add_row(row(attack, "\n"));
    }
    whole(&mut table, 1..5);
    whole(&mut table, 6..);
    table
}

/// The columns of an attack; `between` stands between keys.
fn row(attack: &Attack, between: &str) -> [String; 8] {
    let keys = attack.keys_to_defeat.iter().map(|(key, needed)| {
        needed.map_or_else(|| format!("no {key}"), |n| format!("{} {key}", grouped(n)))
    });
    let spend = attack.spend.as_ref().zip(attack.currency.as_ref());
    [
        attack.name.clone(),
        pace(attack.rate_per_s),
        attack.held_by.as_ref().map_or_else(String::new, |_| grouped(attack.start)),
        pace(attack.admitted_per_s),
        pace(attack.sustained_per_s),
        keys.collect::<Vec<_>>().join(between),
        attack.time_needed_s.map_or_else(|| "for ever".to_owned(), seconds),
        spend.map_or_else(String::new, |(spend, of)| format!("{} {of}", separated(spend))),
    ]
}

/// The same in words, where there is no room for columns.
fn in_words(attack: &Attack) -> String {
    let [name, asks, at_once, admitted, sustained, keys, needs, costs] = row(attack, ", ");
    let parts = [
        ("asks ", asks),
        ("at once ", at_once),
        ("admitted ", admitted),
        ("sustained ", sustained),
        ("defeated by ", keys),
        ("needs ", needs),
        ("costs ", costs),
    ];
    let told = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let told: Vec<String> = told.map(|(what, value)| format!("{what}{value}")).collect();
    format!("{name}: {}", told.join("; "))
}

/// Numbers and money are never cut in two, however narrow the terminal is.
fn whole(table: &mut Table, columns: impl RangeBounds<usize>) {
    for (index, column) in table.column_iter_mut().enumerate() {
        if columns.contains(&index) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

fn infrastructure(out: &mut String, items: &[Infrastructure], look: Look) {
    let Some(first) = items.first() else { return };
    let mut table = look.table(&["item", "a month", "how that comes about"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for item in items {
        let policy = item.policy.as_ref().map_or_else(String::new, |of| format!(" ({of})"));
        let amount = item.month.as_deref().map_or_else(|| "unknown".to_owned(), separated);
        table.add_row([format!("{}{policy}", item.item), amount, item.basis.clone()]);
    }
    let title = format!("What the limits run on, {} ({})", first.currency, first.prices);
    let _ = writeln!(out, "\n{}\n{table}", look.heading(&title));
    if let Some(calls) = items.iter().find_map(|item| item.break_even_calls_per_s) {
        let line = format!(
            "nodes are cheaper than a store paid by the call from {} calls a second on",
            grouped(calls)
        );
        out.push_str(&wrapped(&line, look.width, 4));
    }
}

/// `22500.00` → `22,500.00`.
pub(super) fn separated(money: &str) -> String {
    let (whole, rest) = money.split_once('.').map_or((money, None), |(a, b)| (a, Some(b)));
    let Ok(number) = whole.parse::<u64>() else { return money.to_owned() };
    rest.map_or_else(|| grouped(number), |rest| format!("{}.{rest}", grouped(number)))
}

fn amount(of: &Bracketed<String>) -> String {
    match of {
        Bracketed::Exact(amount) => separated(amount),
        Bracketed::Between { lo, hi, .. } => {
            format!("{}\u{2013}{}", separated(lo), separated(hi))
        }
    }
}

fn period(us: i64) -> String {
    span::format(us)
}

pub(super) fn seconds(seconds: u64) -> String {
    let us = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(SECOND_US));
    us.map_or_else(|| "for ever".to_owned(), span::format_period)
}

/// `14.4 min` below an hour, so that a clock hour's worst case reads as it is reckoned.
fn minutes(seconds: u64) -> String {
    if !(60..3_600).contains(&seconds) {
        return self::seconds(seconds);
    }
    let tenths = (seconds + 3) / 6;
    format!("{}.{} min", tenths / 10, tenths % 10)
}

/// `2015-05-17T10:05:03.000000Z` → `2015-05-17 10:05:03`.
fn clock(rfc3339: &str) -> String {
    rfc3339.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}
