//! `[[require]]` and `[[protect]]`: what must hold, and what is to be sized.

use super::{Reading, name_or_empty, unique};
use crate::document::{Code, Item, Table, nearest};
use crate::limiter::Limiter;
use crate::site::facts::{Protect, Requirement};
use crate::site::metrics::{ALONE, COHORTS, MONEY, NAMED, Owner};
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
        let money = NAMED.iter().any(|(_, field, unit, _)| {
            *unit == MONEY && metric.strip_suffix(field).is_some_and(|owner| owner.ends_with('.'))
        });
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
        let unnamed: Vec<&str> = ALONE.iter().map(|(name, ..)| *name).collect();
        if unnamed.contains(&metric) {
            return;
        }
        let owners = NAMED.iter().filter(|(_, known, ..)| *known == suffix);
        let owners: Vec<Owner> = owners.map(|(owner, ..)| *owner).collect();
        if prefix.is_empty() || owners.is_empty() {
            let mut suffixes: Vec<&str> = NAMED.iter().map(|(_, known, ..)| *known).collect();
            suffixes.sort_unstable();
            suffixes.dedup();
            let problem = item.wrong(Code::UnknownWord, format!("`{metric}` is no metric"));
            let help = match nearest(suffix, &suffixes) {
                Some(near) if prefix.is_empty() => format!("did you mean `NAME.{near}`?"),
                Some(near) => format!("did you mean `{prefix}.{near}`?"),
                None => "`shadowcap metrics` lists them with their units".to_owned(),
            };
            let named = suffixes.join(", NAME.");
            let allowed = format!("NAME.{named}, {}", unnamed.join(", "));
            item.report(problem.allowed(allowed).help(help));
            return;
        }
        let slugs = |tables: Vec<Table<'_>>| -> Vec<String> {
            tables.iter().map(|table| slug(&name_or_empty(table))).collect()
        };
        // limits stand in policies
        if owners.contains(&Owner::Limit) {
            return;
        }
        let (what, known) = match owners.first() {
            Some(Owner::Rule) => {
                let cohort = self.root.table("cohort");
                ("attacker rule", cohort.map(|c| slugs(c.tables("attacker"))).unwrap_or_default())
            }
            Some(Owner::Action) => ("action", slugs(self.root.tables("action"))),
            Some(Owner::Duplicate) => ("duplicate", slugs(self.root.tables("duplicate"))),
            _ => ("cohort", COHORTS.map(str::to_owned).to_vec()),
        };
        unknown(item, what, prefix, &known.iter().map(String::as_str).collect::<Vec<_>>());
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
