//! The bill of what limits run on: a month of a firewall, a delivery network, and the counters' store, on
//! nodes or by the call, and from which load on which of the two is cheaper.

use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

use crate::site::facts::{Infrastructure, Load as Said};

use super::book::Book;

/// The names that `[infrastructure] items` may have.
pub const ITEMS: [&str; 4] = ["waf", "cdn", "redis-nodes", "redis-serverless"];

/// The load that is paid for, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests per second × 1000.
    pub requests_per_s_milli: u64,
    /// Calls to a store per second × 1000; `None` if nothing tells.
    pub store_calls_per_s_milli: Option<u64>,
    /// The most that counters need at once, bytes; `None` if nothing tells.
    pub state_bytes: Option<u64>,
    /// Where it comes from.
    pub basis: Basis,
}

/// Where a load comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// `[traffic]` of the site.
    Site,
    /// A log, and what a replay asked of the store.
    Log,
}

impl Load {
    /// As the site says.
    pub fn of_site(said: &Said) -> Self {
        let calls = said.store_calls_per_request_milli.map(|per_request| {
            let product = u128::from(said.requests_per_s_milli) * u128::from(per_request);
            u64::try_from(product / 1_000).unwrap_or(u64::MAX)
        });
        Self {
            requests_per_s_milli: said.requests_per_s_milli,
            store_calls_per_s_milli: calls,
            state_bytes: None,
            basis: Basis::Site,
        }
    }
}

/// One item of the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Month {
    /// What is paid for.
    pub item: &'static str,
    /// A month of it.
    pub month: Decimal,
    /// How that comes about, in words.
    pub basis: String,
    /// Calls per second × 1000 from which nodes are cheaper than the store paid by the call.
    pub break_even_calls_per_s_milli: Option<u64>,
}

/// Why an item has no price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The item, as the site names it.
    pub item: String,
    /// Why.
    pub why: String,
}

/// A month of all items of a site, in the order in which it names them.
pub fn bill(book: &Book, facts: &Infrastructure, load: Option<Load>) -> (Vec<Month>, Vec<Problem>) {
    let bill = Bill { book, facts, load };
    let mut months = Vec::new();
    let mut problems = Vec::new();
    for item in &facts.items {
        let found = match item.as_str() {
            "waf" => bill.waf(),
            "cdn" => bill.cdn(),
            "redis-nodes" => bill.nodes(),
            "redis-serverless" => bill.serverless(),
            _ => Err(format!("no such item: there are {}", ITEMS.join(", "))),
        };
        match found {
            Ok(found) => months.extend(found),
            Err(why) => problems.push(Problem { item: item.clone(), why }),
        }
    }
    (months, problems)
}

struct Bill<'a> {
    book: &'a Book,
    facts: &'a Infrastructure,
    load: Option<Load>,
}

const NO_LOAD: &str =
    "nothing says how many requests there are: write [traffic] requests_per_s, or give a log";
const NO_CALLS: &str = "nothing says how often the store is asked: write [traffic] store_calls_per_request, or give a log and a policy";
const TOO_LARGE: &str = "its figures are out of range";

impl Bill<'_> {
    /// So many per second, in a month.
    fn monthly(&self, per_s_milli: u64) -> Result<Decimal, String> {
        let milli = u128::from(per_s_milli).checked_mul(self.book.month_seconds.into());
        milli.and_then(Decimal::from_u128).map(|all| all / Decimal::ONE_THOUSAND).ok_or_else(large)
    }

    fn requests(&self) -> Result<Decimal, String> {
        self.monthly(self.load.ok_or(NO_LOAD)?.requests_per_s_milli)
    }

    fn waf(&self) -> Result<Vec<Month>, String> {
        let waf = self.book.waf.as_ref().ok_or_else(|| self.lacks("waf"))?;
        let requests = self.requests()?;
        let million = Decimal::from(1_000_000_u32);
        let by_requests = times(requests / million, waf.per_million)?;
        let rules = times(waf.rule, self.facts.rules.into())?;
        let all = by_requests + waf.web_acl + rules;
        let each = all.checked_mul(million).and_then(|all| all.checked_div(requests));
        let each = each.map_or_else(String::new, |each| {
            format!(", {} per million requests", each.round_dp(3).normalize())
        });
        let count = self.facts.rules;
        Ok(vec![
            month(
                "waf requests",
                by_requests,
                format!(
                    "{} million requests at {} a million",
                    short(requests / million),
                    waf.per_million
                ),
            ),
            month("waf web acl", waf.web_acl, "one web ACL".to_owned()),
            month("waf rules", rules, format!("{count} rules at {}", waf.rule)),
            month("waf in all", all, format!("requests, web ACL and rules{each}")),
        ])
    }

    fn cdn(&self) -> Result<Vec<Month>, String> {
        let price = self.book.cdn_per_10_000.ok_or_else(|| self.lacks("cdn"))?;
        let requests = self.requests()?;
        let cost = times(requests / Decimal::from(10_000_u32), price)?;
        let million = Decimal::from(1_000_000_u32);
        let basis = format!("{} million requests at {price} per 10,000", short(requests / million));
        Ok(vec![month("cdn requests", cost, basis)])
    }

    /// A month of the nodes that the site has.
    fn of_nodes(&self) -> Result<(Decimal, String), String> {
        let Some(kind) = &self.facts.node else {
            return Err("say which kind of node: `node`".to_owned());
        };
        let known = self.book.nodes.iter().find(|(name, _)| name == kind);
        let Some((_, hour)) = known else {
            let names: Vec<&str> = self.book.nodes.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("the price book has no node `{kind}`, but {}", names.join(", ")));
        };
        let (count, hours) = (self.facts.nodes, self.book.node_hours);
        let cost = times(times(*hour, count.into())?, hours.into())?;
        Ok((cost, format!("{count} {kind} at {hour} an hour, {hours} h")))
    }

    fn nodes(&self) -> Result<Vec<Month>, String> {
        let (cost, basis) = self.of_nodes()?;
        let break_even_calls_per_s_milli = self.break_even(cost);
        Ok(vec![Month { break_even_calls_per_s_milli, ..month("redis nodes", cost, basis) }])
    }

    fn serverless(&self) -> Result<Vec<Month>, String> {
        let of = self.book.serverless.as_ref();
        let of = of.ok_or_else(|| self.lacks("redis-serverless"))?;
        let calls = self.load.and_then(|load| load.store_calls_per_s_milli).ok_or(NO_CALLS)?;
        let calls = self.monthly(calls)?;
        let million = Decimal::from(1_000_000_u32);
        let units = times(calls / million, of.ecpu_per_call.into())?;
        let cost = times(units, of.ecpu_per_million)?;
        let (storage, text) = self.storage()?;
        let nodes = self.of_nodes().ok().map(|(cost, _)| cost);
        let break_even_calls_per_s_milli = nodes.and_then(|nodes| self.break_even(nodes));
        let basis = format!(
            "{} million calls of {} units at {} a million",
            short(calls / million),
            of.ecpu_per_call,
            of.ecpu_per_million
        );
        let of_calls = month("redis serverless calls", cost, basis);
        Ok(vec![
            Month { break_even_calls_per_s_milli, ..of_calls },
            month("redis serverless storage", storage, text),
        ])
    }

    /// A month of the storage that is paid with calls.
    fn storage(&self) -> Result<(Decimal, String), String> {
        let of = self.book.serverless.as_ref();
        let of = of.ok_or_else(|| self.lacks("redis-serverless"))?;
        let bytes = self.load.and_then(|load| load.state_bytes).unwrap_or(0);
        let mb = bytes.div_ceil(1_000_000).max(of.least_mb);
        let hours = self.book.node_hours;
        let gb = Decimal::from(mb) / Decimal::ONE_THOUSAND;
        let cost = times(times(gb, of.gb_hour)?, hours.into())?;
        Ok((cost, format!("{mb} MB at {} a GB and hour, {hours} h", of.gb_hour)))
    }

    /// Calls per second × 1000 at which calls and storage cost as much as such nodes, rounded down.
    fn break_even(&self, nodes: Decimal) -> Option<u64> {
        let of = self.book.serverless.as_ref()?;
        let (storage, _) = self.storage().ok()?;
        let left = nodes.checked_sub(storage)?.max(Decimal::ZERO);
        let call = of.ecpu_per_million.checked_mul(of.ecpu_per_call.into())?;
        let month = call.checked_mul(self.book.month_seconds.into())?;
        // a price of a million calls, and thousandths of a call
        let thousandths = left.checked_mul(Decimal::from(1_000_000_000_u64))?;
        thousandths.checked_div(month)?.floor().to_u64()
    }

    fn lacks(&self, table: &str) -> String {
        format!("the price book \u{201c}{}\u{201d} has no [{table}]", self.book.name)
    }
}

fn month(item: &'static str, month: Decimal, basis: String) -> Month {
    Month { item, month, basis, break_even_calls_per_s_milli: None }
}

fn times(one: Decimal, other: Decimal) -> Result<Decimal, String> {
    one.checked_mul(other).ok_or_else(large)
}

fn large() -> String {
    TOO_LARGE.to_owned()
}

/// At most one decimal.
fn short(number: Decimal) -> Decimal {
    number.round_dp(1).normalize()
}
