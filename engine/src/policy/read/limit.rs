//! One `[[limit]]`: what all algorithms have in common. What an algorithm has of its own is in
//! `algorithm.rs`, what wraps any limiter in `wrappers.rs`.

use std::cell::RefCell;

use super::shape::keys_of;
use super::{algorithm, groups, key, wrappers};
use crate::document::{Code, Item, Problem, Table, nearest};
use crate::limiter::{Algorithm, Limiter};
use crate::policy::{Allow, Counters, Limit, MissingKey, Mode, OnStoreError, Store};
use crate::site::Site;
use crate::site::facts::Tier;
use crate::site::read::matching::{MatchReader, Response};
use crate::site::read::names::Names;
use crate::units::zone::Zone;

const MODES: [(&str, Mode); 2] = [("enforce", Mode::Enforce), ("shadow", Mode::Shadow)];
const MISSING: [(&str, MissingKey); 3] =
    [("skip", MissingKey::Skip), ("shared", MissingKey::Shared), ("refuse", MissingKey::Refuse)];
const COUNTERS: [(&str, Counters); 2] = [("local", Counters::Local), ("shared", Counters::Shared)];
const ON_ERROR: [(&str, OnStoreError); 3] = [
    ("allow", OnStoreError::Allow),
    ("refuse", OnStoreError::Refuse),
    ("local", OnStoreError::Local),
];
/// Clocks of a thousandth of a second.
const MILLISECOND_US: i64 = 1_000;

/// A policy while it is read.
pub(super) struct Reading<'n> {
    pub(super) names: &'n Names,
    pub(super) site: &'n Site,
    lenient: bool,
    tiers: RefCell<Vec<Tier>>,
}

impl<'n> Reading<'n> {
    pub(super) fn new(names: &'n Names, site: &'n Site, lenient: bool) -> Self {
        Self { names, site, lenient, tiers: RefCell::default() }
    }

    /// The zone of dates.
    pub(super) fn zone(&self) -> Zone {
        self.site.zone
    }

    /// Tiers that the site doesn't have.
    pub(super) fn assumed_tiers(self) -> Vec<Tier> {
        self.tiers.into_inner()
    }

    /// Reads a limit; `None` where its algorithm isn't known or has wrong parameters. Everything is
    /// read before, so that all problems show.
    pub(super) fn limit(&self, table: &Table<'_>) -> Option<Limit> {
        let algorithms: Vec<(&str, &'static str)> =
            Limiter::NAMES.iter().map(|name| (*name, *name)).collect();
        let algorithm = table.word("algorithm", &algorithms);
        if let Some(algorithm) = algorithm {
            keys_of_others(table, algorithm);
        }
        let requests = MatchReader { names: self.names, response: Response::UnknownToLimit };
        let weight = wrappers::weight(self, table);
        let limiter = algorithm.and_then(|name| algorithm::limiter(table, name, &weight));
        let at = table.text("at").map(str::to_owned);
        let (counters, store) = self.counting(table, algorithm.unwrap_or_default());
        let limit = Limit {
            name: table.text("name").unwrap_or_default().to_owned(),
            place: table.place,
            at,
            matching: requests.under(table, "match"),
            key: key::limit_key(self, table),
            tick_us: tick_us(table, limiter.as_ref(), store.as_ref()),
            limiter: limiter.clone().unwrap_or(Limiter::Block(crate::limiter::block::Block)),
            group: None,
            zone: wrappers::zone(table, algorithm),
            mode: table.word("mode", &MODES).unwrap_or(Mode::Enforce),
            alarm: wrappers::alarm(table, algorithm),
            expires_us: table.instant_us("expires", self.zone()),
            retry_after: wrappers::retry_after(table, algorithm),
            missing_key: table.word("missing_key", &MISSING).unwrap_or(MissingKey::Skip),
            weight,
            queue: wrappers::queue(table, algorithm),
            ban: wrappers::ban(table),
            counters,
            store,
            count_when: wrappers::count_when(table, algorithm),
            allow: allow(table),
        };
        // reported here too, since only what is whole comes to its group
        let _ = groups::stated(table);
        limiter.map(|_| limit)
    }

    /// Who counts, and where.
    fn counting(&self, table: &Table<'_>, algorithm: &str) -> (Counters, Option<Store>) {
        let stated = table.word("counters", &COUNTERS);
        let instances = self.instances(table, stated);
        // nothing is counted where everything is refused
        if instances > 1 && !table.has("counters") && algorithm != "block" {
            let at = table.text("at").unwrap_or_default();
            let help =
                format!("`{at}` has {instances} instances: say whether each counts for itself");
            table.missing("counters", &help);
        }
        if stated == Some(Counters::Local) && table.has("store") {
            let help = "a store is for counters = \"shared\"";
            table.contradicts("store", "local counters are in no store", help);
        }
        let shared = stated == Some(Counters::Shared) && instances > 1;
        if shared && !table.has("store") && algorithm != "aws-waf" {
            table.missing("store", "several instances share counters in a store: name it");
        }
        let store = table.text("store").map(str::to_owned);
        let on_error = table.word("on_store_error", &ON_ERROR);
        match (table.has("store"), table.has("on_store_error")) {
            (true, false) => {
                table.missing("on_store_error", "say what happens when the store can't be asked");
            }
            (false, true) => {
                let help = "name the store, or leave it out";
                table.contradicts("on_store_error", "`on_store_error` needs `store`", help);
            }
            _ => {}
        }
        let store = store.zip(on_error).map(|(name, on_error)| Store { name, on_error });
        (stated.unwrap_or(Counters::Shared), store)
    }

    /// How many instances there can be at the limit's place; a place that is no tier is one.
    fn instances(&self, table: &Table<'_>, counters: Option<Counters>) -> u64 {
        let item = table.peek("at").filter(Item::is_text);
        let Some((item, at)) = item.and_then(|item| Some((item, item.text()?))) else {
            if counters == Some(Counters::Local) && !table.has("at") {
                let help = "name the tier whose instances count, as in at = \"nginx\"";
                table.contradicts("counters", "local counters need `at`", help);
            }
            return 1;
        };
        if let Some(tier) = self.site.tiers.iter().find(|tier| tier.name == at) {
            return tier.instances.max(tier.instances_max);
        }
        let known: Vec<&str> = self.site.tiers.iter().map(|tier| tier.name.as_str()).collect();
        let alike = known
            .iter()
            .any(|name| name.chars().count() > 3 && strsim::damerau_levenshtein(name, at) == 1);
        if counters == Some(Counters::Local) || alike {
            self.unknown_tier(&item, at, &known);
        }
        1
    }

    fn unknown_tier(&self, item: &Item<'_>, at: &str, known: &[&str]) {
        let problem = item.wrong(Code::UnknownName, format!("there is no tier `{at}`"));
        let problem = if known.is_empty() { problem } else { problem.allowed(known.join(", ")) };
        let problem = match nearest(at, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("define it in the site file as [[tier]]"),
        };
        if !self.lenient {
            item.report(problem);
            return;
        }
        item.note(problem);
        let mut tiers = self.tiers.borrow_mut();
        if tiers.iter().all(|tier| tier.name != at) {
            let name = at.to_owned();
            tiers.push(Tier { name, instances: 1, instances_max: 1, balance: None });
        }
    }
}

/// Reports keys that belong to other algorithms.
fn keys_of_others(table: &Table<'_>, algorithm: &str) {
    for key in table.present() {
        let Some(field) = table.shape.field(key.value) else { continue };
        if field.algorithms.is_empty() || field.algorithms.contains(&algorithm) {
            continue;
        }
        let owners = field.algorithms.join(", ");
        let message = format!("`{}` is a key of {owners}, not of {algorithm}", key.value);
        let problem = Problem::new(Code::OtherAlgorithm, key.place, message);
        table.report(problem.allowed(keys_of(algorithm).join(", ")));
    }
}

/// The limiter's own step, but for Redis, which counts milliseconds.
fn tick_us(table: &Table<'_>, limiter: Option<&Limiter>, store: Option<&Store>) -> i64 {
    let redis = store.is_some_and(|store| store.name == "redis");
    let own_us = limiter.map_or(1, Algorithm::tick_us);
    let default_us = if redis { own_us.max(MILLISECOND_US) } else { own_us };
    if table.has("tick") { table.span_us("tick").unwrap_or(default_us) } else { default_us }
}

fn allow(table: &Table<'_>) -> Vec<Allow> {
    let mut allowed = Vec::new();
    for entry in table.tables("allow") {
        let (lint, why) = (entry.get("lint"), entry.text("why").unwrap_or_default().to_owned());
        let Some((item, lint)) = lint.and_then(|item| Some((item, item.text()?))) else { continue };
        let digits = lint.strip_prefix("SC").unwrap_or_default();
        if digits.len() != 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let problem = item.wrong(Code::Malformed, format!("`{lint}` is no code of a lint"));
            item.report(problem.allowed("SC and three digits, as in SC014"));
        }
        allowed.push(Allow { lint: lint.to_owned(), why });
    }
    allowed
}
