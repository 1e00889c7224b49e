//! What a site file says, checked: who the clients are, what things cost, what must hold.

use std::collections::BTreeMap;

use ipnet::IpNet;
use rust_decimal::Decimal;

use crate::units::rate::Rate;
use crate::units::zone::Zone;

pub use super::goals::{Protect, Requirement};
use super::key::KeySpec;
use super::matching::Match;
pub use super::outage::{AfterOutage, Outage, OutageKind};
use super::route::Route;

/// A checked site file; its default is a site about which nothing is said.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its name.
    pub name: Option<String>,
    /// Reports, calendar windows, times of day.
    pub zone: Zone,
    /// The key that tells people apart; `ip` unless said otherwise.
    pub identity: String,
    /// How the logs read.
    pub input: InputFacts,
    /// Named keys.
    pub keys: Vec<KeySpec>,
    /// Key name → how many an attacker can have.
    pub keys_available: BTreeMap<String, u64>,
    /// Key name → most requests of one key in flight together.
    pub max_in_flight: BTreeMap<String, u64>,
    /// Rows of equal servers.
    pub tiers: Vec<Tier>,
    /// Routes; the first that matches wins.
    pub routes: Vec<Route>,
    /// Address lists.
    pub labels: Vec<Label>,
    /// Rules that make a request an attacker's.
    pub attackers: Vec<AttackerRule>,
    /// Evidence that makes an identity a customer.
    pub customers: Vec<CustomerRule>,
    /// How requests without identity find theirs.
    pub link: Option<Link>,
    /// Clients that react to refusals.
    pub clients: Vec<Client>,
    /// What counts as the same thing twice.
    pub duplicates: Vec<Duplicate>,
    /// What costs money.
    pub actions: Vec<Action>,
    /// What-ifs.
    pub outages: Vec<Outage>,
    /// Attacks to reckon with.
    pub attacks: Vec<Attack>,
    /// The load, where no log tells.
    pub traffic: Option<Load>,
    /// What the limits run on.
    pub infrastructure: Option<Infrastructure>,
    /// What must hold.
    pub requirements: Vec<Requirement>,
    /// What is to be protected.
    pub protects: Vec<Protect>,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            name: None,
            zone: Zone::UTC,
            identity: "ip".to_owned(),
            input: InputFacts::default(),
            keys: Vec::new(),
            keys_available: BTreeMap::new(),
            max_in_flight: BTreeMap::new(),
            tiers: Vec::new(),
            routes: Vec::new(),
            labels: Vec::new(),
            attackers: Vec::new(),
            customers: Vec::new(),
            link: None,
            clients: Vec::new(),
            duplicates: Vec::new(),
            actions: Vec::new(),
            outages: Vec::new(),
            attacks: Vec::new(),
            traffic: None,
            infrastructure: None,
            requirements: Vec::new(),
            protects: Vec::new(),
        }
    }
}

impl Site {
    /// Every match of the site whose answer a replay or a curve needs.
    pub fn matches(&self) -> impl Iterator<Item = &Match> {
        let attackers = self.attackers.iter().filter_map(|rule| rule.matching.as_ref());
        let customers = self.customers.iter().filter_map(|rule| rule.matching.as_ref());
        let duplicates = self.duplicates.iter().map(|duplicate| &duplicate.matching);
        let clients = self.clients.iter().map(|client| &client.matching);
        let actions = self.actions.iter().map(|action| &action.matching);
        let protects = self.protects.iter().map(|protect| &protect.matching);
        attackers.chain(customers).chain(duplicates).chain(clients).chain(actions).chain(protects)
    }

    /// Whether any of them asks for the status of a response.
    pub fn looks_at_status(&self) -> bool {
        self.matches().any(Match::looks_at_status)
    }
}

/// `[input]`: how the logs read. Each has a flag of the same meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// Name of a format.
    pub format: Option<String>,
    /// A format string, or `@FILE:NAME` for one out of a configuration (`FILE` beside the site file).
    pub log_format: Option<String>,
    /// Who the client is.
    pub client_ip: Option<ClientIp>,
    /// Name → column.
    pub fields: BTreeMap<String, String>,
}

/// `client_ip`: which address of a field is the client's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIp {
    /// The field.
    pub from: String,
    /// The proxies to believe: the client is the last address that is none of them.
    pub trusted: Vec<IpNet>,
    /// Whether to look past more than one of them; without, only the last address counts.
    pub recursive: bool,
    /// Which address from the right, from 1.
    pub hop: Option<u8>,
}

/// A row of equal servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// How many there are.
    pub instances: u64,
    /// How many there can be.
    pub instances_max: u64,
    /// How requests are spread; needed above one instance.
    pub balance: Option<Balance>,
}

impl Tier {
    /// How many instances a replay has: if the spread is observed, so many as were seen at least.
    pub fn instances_seen(&self, seen: usize) -> u64 {
        match self.balance {
            Some(Balance::Observed) => self.instances.max(u64::try_from(seen).unwrap_or(u64::MAX)),
            _ => self.instances,
        }
    }
}

/// How a load balancer spreads requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Balance {
    /// In turn.
    RoundRobin,
    /// At random.
    Random,
    /// Each client always to the same.
    ByClient,
    /// As a field of the log says.
    Observed,
}

/// An address list.
#[derive(Debug, Clone)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Its ranges, in the order of the files.
    pub ranges: Vec<IpNet>,
}

/// A rule that makes a request an attacker's.
#[derive(Debug, Clone)]
pub struct AttackerRule {
    /// Its name.
    pub name: String,
    /// Which requests; `None` where a list says it.
    pub matching: Option<Match>,
    /// Arrivals from this instant, microseconds.
    pub from_us: Option<i64>,
    /// Arrivals before this instant, microseconds.
    pub to_us: Option<i64>,
    /// Keys that are attackers.
    pub list: Option<KeyList>,
}

/// A list of a key's values.
#[derive(Debug, Clone)]
pub struct KeyList {
    /// The key.
    pub key: String,
    /// Its values, sorted.
    pub values: Vec<String>,
}

/// Evidence that makes an identity a customer.
#[derive(Debug, Clone)]
pub struct CustomerRule {
    /// Its name.
    pub name: String,
    /// Which requests are evidence; `None` where a list says it.
    pub matching: Option<Match>,
    /// How many of them it takes.
    pub at_least: u64,
    /// Identities that are customers.
    pub list: Option<KeyList>,
}

/// How requests without identity find theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Keys to look for, the first first.
    pub keys: Vec<String>,
    /// How near in time, microseconds.
    pub within_us: i64,
}

/// Clients that react to refusals.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Whose requests.
    pub matching: Match,
    /// What they do.
    pub kind: ClientKind,
    /// Most attempts, the first included.
    pub attempts: u64,
    /// First pause, microseconds.
    pub backoff_us: i64,
    /// Longest pause, microseconds.
    pub cap_us: i64,
}

/// What a refused client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// Nothing more.
    GivesUp,
    /// Tries again after a growing pause.
    Retries,
    /// Tries again when it was told to.
    HonoursRetryAfter,
}

/// What counts as the same thing twice.
#[derive(Debug, Clone)]
pub struct Duplicate {
    /// Its name.
    pub name: String,
    /// Which requests.
    pub matching: Match,
    /// Whose.
    pub key: String,
    /// How near in time, microseconds.
    pub within_us: i64,
}

/// What costs money.
#[derive(Debug, Clone)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Which requests.
    pub matching: Match,
    /// What one unit costs; `None` where prices differ.
    pub unit_cost: Option<Decimal>,
    /// Prefix of the priced key → price, longest prefix wins; sorted by prefix.
    pub prices: Vec<(String, Decimal)>,
    /// The key whose prefix is priced.
    pub priced_key: Option<String>,
    /// ISO 4217.
    pub currency: String,
    /// Attempts × segments.
    pub units_max: u64,
    /// Charged once per key.
    pub dedupe: Option<Dedupe>,
    /// Where the provider stops.
    pub provider_quota: Option<ProviderQuota>,
    /// From an alarm to someone acting, microseconds.
    pub response_us: Option<i64>,
}

/// Charged once per key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedupe {
    /// The key.
    pub key: String,
    /// Within this, microseconds; `None` for ever.
    pub within_us: Option<i64>,
}

/// Where a provider stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderQuota {
    /// Money.
    pub amount: Decimal,
    /// Per what.
    pub per: QuotaPeriod,
    /// How late it notices, microseconds.
    pub late_us: i64,
}

/// The period of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaPeriod {
    /// A civil day.
    Day,
    /// A civil month.
    Month,
}

/// An attack to reckon with.
#[derive(Debug, Clone)]
pub struct Attack {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub matching: Match,
    /// How many requests.
    pub requests: Option<u64>,
    /// How fast.
    pub rate: Option<Rate>,
    /// Key name → how many it has.
    pub keys: BTreeMap<String, u64>,
}

/// The load, where no log tells; in thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Requests per second × 1000.
    pub requests_per_s_milli: u64,
    /// Calls to a store per request × 1000.
    pub store_calls_per_request_milli: Option<u64>,
}

/// What the limits run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Infrastructure {
    /// The price book.
    pub prices: Option<String>,
    /// What is paid for.
    pub items: Vec<String>,
    /// Rules of the firewall.
    pub rules: u64,
    /// Nodes of the store.
    pub nodes: u64,
    /// Kind of node.
    pub node: Option<String>,
}
