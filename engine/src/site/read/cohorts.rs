//! `[[cohort.attacker]]`, `[[cohort.customer]]`, `[cohort.link]`: who is who.

use super::{Reading, name_or_empty, unique};
use crate::document::Table;
use crate::site::facts::{AttackerRule, CustomerRule, Link};
use crate::units::slug::slug;

impl Reading<'_> {
    pub(super) fn cohorts(&self) -> (Vec<AttackerRule>, Vec<CustomerRule>, Option<Link>) {
        let Some(cohort) = self.root.table("cohort") else { return (Vec::new(), Vec::new(), None) };
        let (attackers, customers) = (cohort.tables("attacker"), cohort.tables("customer"));
        let mut all = attackers.clone();
        all.extend(&customers);
        unique(&all, slug);
        let attackers = attackers.iter().map(|table| self.attacker(table)).collect();
        let customers = customers.iter().map(|table| self.customer(table)).collect();
        (attackers, customers, cohort.table("link").map(|table| self.link(&table)))
    }

    fn attacker(&self, table: &Table<'_>) -> AttackerRule {
        some_evidence(table);
        let (from_us, to_us) = self.period(table);
        AttackerRule {
            name: name_or_empty(table),
            matching: table.table("match").map(|table| self.evidence().read(&table)),
            from_us,
            to_us,
            list: self.key_list(table),
        }
    }

    fn customer(&self, table: &Table<'_>) -> CustomerRule {
        some_evidence(table);
        if table.has("at_least") && !table.has("match") {
            let help = "it counts the requests that match";
            table.contradicts("at_least", "`at_least` needs `match`", help);
        }
        CustomerRule {
            name: name_or_empty(table),
            matching: table.table("match").map(|table| self.evidence().read(&table)),
            at_least: table.whole("at_least").unwrap_or(1),
            list: self.key_list(table),
        }
    }

    fn link(&self, table: &Table<'_>) -> Link {
        let keys = table.get("keys").map(|item| item.parts()).unwrap_or_default();
        Link {
            keys: keys.iter().map(|item| self.key_name(item)).collect(),
            within_us: table.span_us("within").unwrap_or_default(),
        }
    }

    /// `from` and `to`, which must be in order.
    pub(super) fn period(&self, table: &Table<'_>) -> (Option<i64>, Option<i64>) {
        let from_us = table.instant_us("from", self.zone);
        let to_us = table.instant_us("to", self.zone);
        if let (Some(from_us), Some(to_us)) = (from_us, to_us)
            && from_us >= to_us
        {
            table.contradicts("to", "`to` isn't after `from`", "swap them, or mend a date");
        }
        (from_us, to_us)
    }
}

fn some_evidence(table: &Table<'_>) {
    if !table.has("match") && !table.has("list") {
        table.missing("match", "say which requests, or give a list of keys");
    }
}
