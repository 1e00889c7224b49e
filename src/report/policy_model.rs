//! The report's part about policies: what each would have done. Part of `shadowcap/report/1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::{Bracketed, Millionths, Pace, Thousandths};

/// A policy replayed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Policy {
    /// Its name.
    pub(crate) name: String,
    /// Its file.
    pub(crate) file: String,
    /// The engine that replayed it.
    pub(crate) engine: &'static str,
    /// Its limits, in the order in which they are asked.
    pub(crate) limits: Vec<Limit>,
    /// All limits together.
    pub(crate) total: Total,
    /// Alarms raised, by limit in the policy's order.
    pub(crate) alarms: Vec<Alarm>,
    /// What-ifs that were asked for, in the order of the site file.
    pub(crate) outages: Vec<Outage>,
    /// What the brackets vary, the widest named.
    pub(crate) doubt: Option<String>,
}

/// A limit.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Limit {
    /// Its name.
    pub(crate) name: String,
    /// Line of its table in the file.
    pub(crate) line: usize,
    /// Its algorithm.
    pub(crate) algorithm: &'static str,
    /// What it tells clients apart by.
    pub(crate) key: String,
    /// `enforce` or `shadow`.
    pub(crate) mode: &'static str,
    /// Requests it was asked about.
    pub(crate) asked: Bracketed<u64>,
    /// Of these, refused.
    pub(crate) refused: Bracketed<u64>,
    /// Of these, that would be refused if it weren't in shadow mode.
    pub(crate) shadow_refused: Bracketed<u64>,
    /// Of these, held up.
    pub(crate) delayed: Bracketed<u64>,
    /// How long, microseconds.
    pub(crate) delay_us: Option<Delay>,
    /// Requests without its key.
    pub(crate) missing_key: u64,
    /// Distinct keys asked about.
    pub(crate) keys: u64,
    /// Of these, refused at least once.
    pub(crate) keys_refused: Bracketed<u64>,
    /// The ten keys refused most ÷ all refusals.
    pub(crate) top_keys_share: Option<Millionths>,
    /// The first refusal.
    pub(crate) first_refusal: Option<String>,
    /// The longest time in which a key got nothing but refusals, from the first to the last, seconds.
    pub(crate) longest_lockout_s: u64,
    /// Whether it never refused or held up anything.
    pub(crate) never_binds: bool,
    /// The fullest state of a key ÷ what the limit allows.
    pub(crate) fill: Fill,
    /// What the fleet allows together, where it has a rate.
    pub(crate) fleet: Option<Fleet>,
    /// Requests that passed it.
    pub(crate) admitted_per_s: PerSecond,
    /// Requests admitted in the first second of a window, in the window in which they were most; only where
    /// windows are those of a clock or a calendar.
    pub(crate) peak_after_reset: Option<u64>,
    /// Verdicts that are others if nginx frees no idle keys.
    pub(crate) reclaim_differs: u64,
    /// Where each instance counts for itself: what it was asked in the base case, by its number.
    pub(crate) per_instance: Vec<AtInstance>,
    /// How often it is asked in its store; limits of a group in one store share a call, which is counted at
    /// the first that was asked. Only with a store.
    pub(crate) store_calls_per_s: Option<PerSecond>,
    /// An estimate of what its counters take at their fullest in a store or nginx's zones, all instances
    /// together: the keys alive together times the bytes of one, and the entries of sliding logs.
    pub(crate) state_bytes: Option<u64>,
    /// `customer`, `attacker`, `unknown`.
    pub(crate) cohorts: BTreeMap<&'static str, Cohort>,
}

/// Percentiles of delays, microseconds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Delay {
    /// Median.
    pub(crate) p50: i64,
    /// 99 %.
    pub(crate) p99: i64,
    /// Longest.
    pub(crate) max: i64,
}

/// How full a limit was.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fill {
    /// 99 % of keys were never fuller.
    pub(crate) p99: Millionths,
    /// The fullest.
    pub(crate) max: Millionths,
    /// When that was.
    pub(crate) at: Option<String>,
}

/// What a fleet allows.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fleet {
    /// Requests a minute and key, over all instances, as stored.
    pub(crate) rate_per_min: Thousandths,
    /// Instances that count for themselves.
    pub(crate) instances: u64,
}

/// An instance that counts for itself.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AtInstance {
    /// Its name in the log, where the spread is observed, or its number, from 1.
    pub(crate) instance: String,
    /// Requests it was asked about.
    pub(crate) asked: u64,
    /// Of these, refused, or that would be if the limit weren't in shadow mode.
    pub(crate) refused: u64,
    /// Distinct keys asked about.
    pub(crate) keys: u64,
}

/// A store's outage: what becomes of the requests that come while it lasts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Outage {
    /// Its name.
    pub(crate) name: String,
    /// Of these requests, refused by any limit.
    pub(crate) refused: u64,
    /// Of these, admitted, at once or later.
    pub(crate) admitted: u64,
    /// Admitted, over the time that the outage lasts.
    pub(crate) admitted_per_s: Option<Thousandths>,
    /// `customer`, `attacker`, `unknown`.
    pub(crate) cohorts: BTreeMap<&'static str, Cohort>,
}

/// Requests a second.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PerSecond {
    /// Over the whole period.
    pub(crate) avg: Thousandths,
    /// In the fullest second.
    pub(crate) peak: Thousandths,
}

/// A cohort under a limit or a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cohort {
    /// Its requests.
    pub(crate) requests: Bracketed<u64>,
    /// Of these, refused.
    pub(crate) refused: Bracketed<u64>,
    /// Of these, held up.
    pub(crate) delayed: Bracketed<u64>,
    /// Distinct identities behind them.
    pub(crate) identities: Bracketed<u64>,
    /// Of these, with a request of this cohort refused.
    pub(crate) identities_refused: Bracketed<u64>,
}

/// All limits together.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Total {
    /// Requests replayed.
    pub(crate) requests: u64,
    /// Of these, refused by any limit.
    pub(crate) refused: Bracketed<u64>,
    /// Of these, admitted later than they came.
    pub(crate) delayed: Bracketed<u64>,
    /// Identities that are customers and match an attacker rule too.
    pub(crate) overlap: u64,
    /// The smallest of the factors 1, 1.1, 1.25, 1.5 and 2 by which every limit, rate and burst can't be
    /// divided without refusing a customer, or anyone where no customer is known; nothing if 2 is none yet.
    pub(crate) growth_to_first_refusal: Option<Thousandths>,
    /// Calls to stores, of all limits together; only if a limit has a store.
    pub(crate) store_calls_per_s: Option<PerSecond>,
    /// `customer`, `attacker`, `unknown`.
    pub(crate) cohorts: BTreeMap<&'static str, Cohort>,
    /// Further attempts of clients that were refused, with `--clients`: not among the requests.
    pub(crate) retries: u64,
    /// Of these, admitted.
    pub(crate) retries_admitted: u64,
    /// Requests that never came, since their client had given up: not among the requests.
    pub(crate) given_up: u64,
    /// Attack rules by name.
    pub(crate) rules: BTreeMap<String, Rule>,
    /// Kinds of duplicates by name.
    pub(crate) duplicates: BTreeMap<String, Duplicates>,
}

/// An attack rule.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Rule {
    /// Its requests.
    pub(crate) requests: u64,
    /// Of these, refused.
    pub(crate) refused: Bracketed<u64>,
    /// Admitted, over the seconds from that of its first to that of its last request, both included.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub(crate) admitted_per_s: Option<Pace>,
    /// What gets through in the long run, bursts left out: what the enforcing limits that cover all its
    /// requests let all its keys have, or all of it.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub(crate) sustained_per_s: Option<Pace>,
    /// The limit that lets so little through, if one does.
    pub(crate) sustained_by: Option<String>,
    /// Its requests a second ÷ what one key of the tightest limit sustains, rounded up: with so many keys
    /// all of it gets through. `unbounded` where a limit that all clients share holds it, however many keys it
    /// has; nothing if no limit covers it, or it has no requests.
    pub(crate) keys_to_defeat: Option<KeysToDefeat>,
    /// The limit whose keys these are, or that all clients share.
    pub(crate) keys_of: Option<String>,
}

/// So many keys, or `unbounded`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum KeysToDefeat {
    /// So many.
    Keys(u64),
    /// `unbounded`: no number of them.
    Never(&'static str),
}

/// A kind of duplicate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Duplicates {
    /// Matching requests soon after one of the same key that was admitted.
    pub(crate) seen: Bracketed<u64>,
    /// Of these, admitted.
    pub(crate) admitted: Bracketed<u64>,
}

/// An alarm.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Alarm {
    /// The limit.
    pub(crate) limit: String,
    /// When it was raised first.
    pub(crate) first: String,
    /// Seconds since the first request of the attack rule it follows.
    pub(crate) after_s: Option<i64>,
}

/// What the replay of a policy says, in words.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PolicyVerdict {
    /// The policy.
    pub(crate) policy: String,
    /// The sentence.
    pub(crate) text: String,
}
