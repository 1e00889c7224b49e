//! The report's parts about money: what actions cost, what declared attacks get, what limits run on. Part of
//! `shadowcap/report/1`. Money is a text with the digits of its currency.

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::Seconds;
use super::number::{Bracketed, Pace};

/// An action that costs money.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cost {
    /// Its name.
    pub(crate) action: String,
    /// ISO 4217.
    pub(crate) currency: String,
    /// What the log's requests came to as they were answered; null without a log.
    pub(crate) observed: Option<Spend>,
    /// Per policy, in the order given.
    pub(crate) policies: Vec<CostPolicy>,
}

/// Spend by whose it is.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Spend {
    /// All of it.
    pub(crate) total: Bracketed<String>,
    /// Of customers.
    pub(crate) customer: Bracketed<String>,
    /// Of requests that attack rules match.
    pub(crate) attacker: Bracketed<String>,
    /// Of all others.
    pub(crate) unknown: Bracketed<String>,
    /// The dearest interval as long as the horizon, wherever it begins.
    pub(crate) worst_horizon: Bracketed<String>,
    /// What the provider's quota would stop, if it trips.
    pub(crate) quota: Option<QuotaTrip>,
}

/// A provider that stops.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QuotaTrip {
    /// When the quota was first used up.
    pub(crate) used_up: String,
    /// When the provider notices and stops.
    pub(crate) stops: String,
    /// When its period ends and it goes on.
    pub(crate) until: String,
    /// Requests of customers that come to nothing.
    pub(crate) customer_requests: u64,
    /// Customers behind them.
    pub(crate) customers: u64,
}

/// An action behind a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CostPolicy {
    /// The policy.
    pub(crate) policy: String,
    /// What its admitted requests come to; null without a log.
    pub(crate) replayed: Option<Spend>,
    /// Where nothing bounds the action: the cheapest cap that would.
    pub(crate) cap: Option<Cap>,
    /// Length of the intervals below, seconds.
    pub(crate) horizon_s: Seconds,
    /// The most that any such interval can cost, or `unbounded`.
    pub(crate) bound: String,
    /// The most that one can cost that begins where `aligned_to` says, or `unbounded`.
    pub(crate) bound_aligned: String,
    /// The instants that `bound_aligned` holds for; null if for all.
    pub(crate) aligned_to: Option<String>,
    /// What gives `bound`: a limit's name, `one charge per key` or `provider quota`.
    pub(crate) binding: Option<String>,
    /// The dearest that one request can be.
    pub(crate) dearest: Option<String>,
    /// The store that is assumed to keep its counters, since no flush is declared.
    pub(crate) assumes_store: Option<String>,
    /// The earliest instant at which a limit that counts expires: nothing here holds after it.
    pub(crate) until: Option<String>,
    /// Limits that don't count, in the policy's order.
    pub(crate) left_out: Vec<LeftOut>,
    /// The attack that the times are of.
    pub(crate) attack: Option<String>,
    /// How long the attack takes to spend `bound` at the pace it is admitted, seconds.
    pub(crate) time_to_burn_s: Option<u64>,
    /// When its first alarm rings, seconds; null: never.
    pub(crate) time_to_alarm_s: Option<TimeToAlarm>,
    /// What it spends at most until someone has answered that alarm at its worst.
    pub(crate) spend_until_response: Option<String>,
}

/// What would bound an action.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cap {
    /// What to do, in words.
    pub(crate) text: String,
    /// The limit to change; null for a new one.
    pub(crate) limit: Option<String>,
    /// The bound then; null where no size can be told.
    pub(crate) bound: Option<String>,
}

/// A limit that doesn't count.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LeftOut {
    /// Its name.
    pub(crate) limit: String,
    /// Every reason, in words.
    pub(crate) why: String,
    /// Whether it is asked about any of the action's requests.
    #[serde(skip)]
    pub(crate) stands_before: bool,
}

/// Seconds until an alarm rings, rounded up.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TimeToAlarm {
    /// If the attack begins with a window.
    pub(crate) typical: u64,
    /// If it begins at the worst instant.
    pub(crate) worst: u64,
}

/// A declared attack behind a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Attack {
    /// Its name.
    pub(crate) name: String,
    /// The policy.
    pub(crate) policy: String,
    /// Requests it asks per second.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub(crate) rate_per_s: Pace,
    /// What gets through per second over its length.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub(crate) admitted_per_s: Pace,
    /// What gets through per second in the long run, bursts left out.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub(crate) sustained_per_s: Pace,
    /// Requests that get through at once when it begins, on all its keys; 0 if no limit holds it.
    pub(crate) start: u64,
    /// The limit that holds it.
    pub(crate) held_by: Option<String>,
    /// Key of a limit → how many of it get all through; null: no number does.
    pub(crate) keys_to_defeat: BTreeMap<String, Option<u64>>,
    /// How long its requests need in the long run, seconds; null if that is never, or not said how many.
    pub(crate) time_needed_s: Option<u64>,
    /// When the first alarm rings, seconds; null: never.
    pub(crate) time_to_alarm_s: Option<TimeToAlarm>,
    /// What it costs over its length; null if it pays for nothing.
    pub(crate) spend: Option<String>,
    /// The currency of `spend`.
    pub(crate) currency: Option<String>,
}

/// Something that limits run on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Infrastructure {
    /// What is paid for.
    pub(crate) item: String,
    /// The policy whose calls these are; null where none is asked.
    pub(crate) policy: Option<String>,
    /// A month of it; null where `basis` says what is missing.
    pub(crate) month: Option<String>,
    /// ISO 4217.
    pub(crate) currency: String,
    /// How that comes about, in words.
    pub(crate) basis: String,
    /// The price book: its name and date.
    pub(crate) prices: String,
    /// Calls per second from which nodes are cheaper than a store paid by the call.
    pub(crate) break_even_calls_per_s: Option<u64>,
}
