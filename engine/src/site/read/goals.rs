//! `[[require]]` and `[[protect]]`: what must hold, and what is to be sized.

use super::{Reading, name_or_empty, unique};
use crate::document::{Code, Item, Table, nearest};
use crate::limiter::Limiter;
use crate::site::facts::{Protect, Requirement};
use crate::site::metrics::{self, COHORTS, FORMS, Form, MONEY, Narrows, Owner};
use crate::units::slug::slug;

/// Where nothing is said: half as much again as the busiest customer.
const HEADROOM_MILLI: u64 = 1_500;

impl Reading<'_> {
    pub(super) fn requirements(&self) -> Vec<Requirement> {
        let tables = self.root.tables("require");
        unique(&tables, str::to_owned);
        tables.iter().map(|table| self.requirement(table)).collect()
    }

    fn requirement(&self, table: &Table<'_>) -> Requirement {
        let metric = table.text("metric").unwrap_or_default();
        if let Some(item) = table.peek("metric").filter(|_| !metric.is_empty()) {
            self.check_metric(&item, metric);
        }
        let form = metrics::find(metric).map(|(form, _)| form);
        let money = form.is_some_and(|form| form.unit == MONEY);
        let figure = |key: &str| {
            let item = table.get(key)?;
            if money { item.money() } else { item.number(9) }
        };
        let (max, min) = (figure("max"), figure("min"));
        if !table.has("max") && !table.has("min") {
            table.missing("max", "say how much there may be at most, or at least");
        }
        if let (Some(max), Some(min)) = (max, min)
            && min > max
        {
            table.contradicts("min", "`min` is above `max`", "nothing can meet both");
        }
        if table.has("outage") {
            self.check_outage(table);
        }
        if let Some(form) = form {
            check_narrows(table, metric, form.narrows);
        }
        Requirement {
            name: name_or_empty(table),
            metric: metric.to_owned(),
            max,
            min,
            between_min: table.get("between").and_then(|item| item.times_of_day_min()),
            horizon_us: table.span_us("horizon").unwrap_or_default(),
            outage: table.text("outage").map(str::to_owned),
            line: table.place.line,
        }
    }

    fn check_outage(&self, table: &Table<'_>) {
        let Some(item) = table.peek("outage").filter(Item::is_text) else { return };
        let tables = self.root.tables("outage");
        let known: Vec<&str> = tables.iter().filter_map(|table| table.text("name")).collect();
        unknown(&item, "outage", item.text().unwrap_or_default(), &known);
    }

    fn check_metric(&self, item: &Item<'_>, metric: &str) {
        let (prefix, suffix) = metric.rsplit_once('.').unwrap_or(("", metric));
        let alone = |form: &&Form| form.owner == Owner::Alone;
        let Some((form, owner)) = metrics::find(metric)
            .filter(|(form, owner)| form.owner == Owner::Alone || !owner.is_empty())
        else {
            let named = FORMS.iter().filter(|form| !alone(form)).map(|form| form.field.name());
            let mut suffixes: Vec<&str> = named.collect();
            suffixes.sort_unstable();
            suffixes.dedup();
            let problem = item.wrong(Code::UnknownWord, format!("`{metric}` is no metric"));
            let help = match nearest(suffix, &suffixes) {
                Some(near) if prefix.is_empty() => format!("did you mean `NAME.{near}`?"),
                Some(near) => format!("did you mean `{prefix}.{near}`?"),
                None => "`shadowcap metrics` lists them with their units".to_owned(),
            };
            let unnamed = FORMS.iter().filter(alone).map(|form| form.field.name());
            let unnamed = unnamed.collect::<Vec<_>>().join(", ");
            let allowed = format!("NAME.{}, {unnamed}", suffixes.join(", NAME."));
            item.report(problem.allowed(allowed).help(help));
            return;
        };
        let slugs = |tables: Vec<Table<'_>>| -> Vec<String> {
            tables.iter().map(|table| slug(&name_or_empty(table))).collect()
        };
        let (what, known) = match form.owner {
            // limits stand in policies
            Owner::Limit | Owner::Alone => return,
            Owner::Rule => {
                let cohort = self.root.table("cohort");
                ("attacker rule", cohort.map(|c| slugs(c.tables("attacker"))).unwrap_or_default())
            }
            Owner::Action => ("action", slugs(self.root.tables("action"))),
            Owner::Duplicate => ("duplicate", slugs(self.root.tables("duplicate"))),
            Owner::Cohort => ("cohort", COHORTS.map(str::to_owned).to_vec()),
        };
        unknown(item, what, owner, &known.iter().map(String::as_str).collect::<Vec<_>>());
    }

    pub(super) fn protects(&self) -> Vec<Protect> {
        let tables = self.root.tables("protect");
        unique(&tables, str::to_owned);
        tables.iter().map(|table| self.protect(table)).collect()
    }

    fn protect(&self, table: &Table<'_>) -> Protect {
        let algorithms: Vec<(&str, &str)> =
            Limiter::NAMES.iter().map(|name| (*name, *name)).collect();
        let key = match table.get("key") {
            Some(item) if item.is_text() && item.text() == Some("global") => "global".to_owned(),
            Some(item) => self.key_name(&item),
            None => String::new(),
        };
        let windows = table.get("windows");
        let mut windows_us = windows.map(|item| item.spans_us()).unwrap_or_default();
        windows_us.sort_unstable();
        windows_us.dedup();
        let headroom_milli = table.scaled("headroom").unwrap_or(HEADROOM_MILLI);
        if let Some(item) = table.peek("headroom").filter(|_| headroom_milli < 1_000) {
            let problem = item.wrong(Code::OutOfRange, "`headroom` is under 1");
            item.report(problem.allowed("from 1.0").help("less refuses the busiest customer"));
        }
        Protect {
            name: name_or_empty(table),
            matching: self.requests().under(table, "match"),
            key,
            algorithm: table.word("algorithm", &algorithms).map(str::to_owned),
            windows_us,
            headroom_milli,
            refused_customer_cost: table.money("refused_customer_cost"),
        }
    }
}

/// Reports what would narrow a metric that it can't narrow: silently, it would change nothing.
fn check_narrows(table: &Table<'_>, metric: &str, narrows: Narrows) {
    let Narrows { between, horizon, outage } = narrows;
    let narrowing = [
        ("between", between, "it is for what counts requests one by one"),
        ("horizon", horizon, "it is for `ACTION.bound`, `bound_aligned` and `replayed_worst`"),
        ("outage", outage, "it is for what a replay counts, and for bounds, which hold in all"),
    ];
    for (key, allowed, help) in narrowing {
        if table.has(key) && !allowed {
            table.contradicts(key, &format!("`{key}` changes nothing about `{metric}`"), help);
        }
    }
}

/// Reports a name that isn't among those that are known.
fn unknown(item: &Item<'_>, what: &str, name: &str, known: &[&str]) {
    if known.contains(&name) {
        return;
    }
    let problem = item.wrong(Code::UnknownName, format!("there is no {what} `{name}`"));
    let problem = if known.is_empty() { problem } else { problem.allowed(known.join(", ")) };
    item.report(match nearest(name, known) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    });
}
