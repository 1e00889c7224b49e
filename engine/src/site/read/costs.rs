//! What costs money, and what is reckoned without a log: actions, outages, attacks, load, machines.

use rust_decimal::Decimal;

use super::{Reading, name_or_empty, unique};
use crate::document::{Code, Table};
use crate::site::facts::{
    Action, AfterOutage, Attack, Dedupe, Infrastructure, Load, Outage, OutageKind, ProviderQuota,
    QuotaPeriod,
};
use crate::units::slug::slug;

const PERIODS: [(&str, QuotaPeriod); 2] =
    [("day", QuotaPeriod::Day), ("month", QuotaPeriod::Month)];
const OUTAGES: [(&str, OutageKind); 3] =
    [("down", OutageKind::Down), ("flush", OutageKind::Flush), ("slow", OutageKind::Slow)];
const AFTER: [(&str, AfterOutage); 2] =
    [("kept", AfterOutage::Kept), ("empty", AfterOutage::Empty)];

impl Reading<'_> {
    pub(super) fn actions(&self) -> Vec<Action> {
        let tables = self.root.tables("action");
        unique(&tables, slug);
        tables.iter().map(|table| self.action(table)).collect()
    }

    fn action(&self, table: &Table<'_>) -> Action {
        match (table.has("unit_cost"), table.has("prices")) {
            (true, true) => {
                let help = "write one of them";
                table.contradicts("prices", "`unit_cost` and `prices` can't stand together", help);
            }
            (false, false) => table.missing("unit_cost", "say what one unit costs, or give prices"),
            _ => {}
        }
        let priced_key = self.priced_key(table);
        Action {
            name: name_or_empty(table),
            matching: self.evidence().under(table, "match"),
            unit_cost: table.money("unit_cost"),
            prices: table.get("prices").map(|item| self.prices(&item)).unwrap_or_default(),
            priced_key,
            currency: table.get("currency").map(|item| item.currency()).unwrap_or_default(),
            units_max: table.whole("units_max").unwrap_or(1),
            dedupe: table.table("dedupe").map(|table| self.dedupe(&table)),
            provider_quota: table.table("provider_quota").map(|table| quota(&table)),
            response_us: table.span_us("response"),
        }
    }

    /// The key whose prefix is priced: the one named, else the only phone number there is.
    fn priced_key(&self, table: &Table<'_>) -> Option<String> {
        if !table.has("prices") {
            if table.has("priced_key") {
                let help = "with `unit_cost` every unit costs the same";
                table.contradicts("priced_key", "`priced_key` needs `prices`", help);
            }
            return None;
        }
        if let Some(item) = table.get("priced_key") {
            return Some(self.key_name(&item));
        }
        let mut phones = self.phones.keys();
        if let (Some(only), None) = (phones.next(), phones.next()) {
            return Some(only.clone());
        }
        let help = "several keys or none are phone numbers: name the one that is priced";
        table.missing("priced_key", help);
        None
    }

    fn dedupe(&self, table: &Table<'_>) -> Dedupe {
        let within = table.get("within");
        let ever = within.is_some_and(|item| item.is_text() && item.text() == Some("ever"));
        let within_us = within.filter(|_| !ever).and_then(|item| item.span_us(false));
        Dedupe { key: self.key(table, "key"), within_us }
    }

    pub(super) fn outages(&self) -> Vec<Outage> {
        let tables = self.root.tables("outage");
        unique(&tables, str::to_owned);
        tables.iter().map(|table| self.outage(table)).collect()
    }

    fn outage(&self, table: &Table<'_>) -> Outage {
        let (from_us, to_us) = self.period(table);
        let share = table.scaled("share").unwrap_or(1_000_000);
        if share == 0 || share > 1_000_000 {
            let item = table.peek("share");
            let problem = table.wrong(Code::OutOfRange, "`share` is outside 0 to 1");
            let place = item.map_or(table.place, |item| item.place);
            table.report(
                crate::document::Problem { place, ..problem }.allowed("above 0, at most 1"),
            );
        }
        if let Some(item) = table.peek("name").filter(|_| name_or_empty(table) == "all") {
            let problem = item.wrong(Code::OutOfRange, "`all` can't name an outage");
            item.report(problem.help("--outage all means all of them"));
        }
        Outage {
            name: name_or_empty(table),
            store: table.text("store").unwrap_or_default().to_owned(),
            from_us: from_us.unwrap_or_default(),
            to_us: to_us.unwrap_or_default(),
            kind: table.word("kind", &OUTAGES).unwrap_or(OutageKind::Down),
            share_per_million: u32::try_from(share).unwrap_or_default(),
            after: table.word("after", &AFTER).unwrap_or(AfterOutage::Kept),
        }
    }

    pub(super) fn attacks(&self) -> Vec<Attack> {
        let tables = self.root.tables("attack");
        unique(&tables, slug);
        let read = |table: &Table<'_>| Attack {
            name: name_or_empty(table),
            matching: self.requests().under(table, "match"),
            requests: table.whole("requests"),
            rate: table.rate("rate"),
            keys: self.counts(table, "keys"),
        };
        tables.iter().map(read).collect()
    }

    pub(super) fn traffic(&self) -> Option<Load> {
        let table = self.root.table("traffic")?;
        Some(Load {
            requests_per_s_milli: table.scaled("requests_per_s").unwrap_or_default(),
            store_calls_per_request_milli: table.scaled("store_calls_per_request"),
        })
    }

    pub(super) fn infrastructure(&self) -> Option<Infrastructure> {
        let table = self.root.table("infrastructure")?;
        Some(Infrastructure {
            prices: table.text("prices").map(|path| self.files.path(path)),
            items: table.texts("items").iter().map(|item| item.value.to_owned()).collect(),
            rules: table.whole("rules").unwrap_or_default(),
            nodes: table.whole("nodes").unwrap_or_default(),
            node: table.text("node").map(str::to_owned),
        })
    }
}

fn quota(table: &Table<'_>) -> ProviderQuota {
    ProviderQuota {
        amount: table.money("amount").unwrap_or(Decimal::ZERO),
        per: table.word("per", &PERIODS).unwrap_or(QuotaPeriod::Month),
        late_us: table.span_us("late").unwrap_or_default(),
    }
}
