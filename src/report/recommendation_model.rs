//! The part of the report about limits to set.

use serde::Serialize;

use super::model::Seconds;
use super::number::{Bracketed, Millionths, Thousandths};

/// A limit to set, or why there is none.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Recommendation {
    /// What is sized: a `[[protect]]` of the site, or key and route.
    pub(crate) protect: String,
    /// By what key.
    pub(crate) key: String,
    /// Routes of the requests; `*` for all.
    pub(crate) route: String,
    /// How sure the limit is.
    pub(crate) confidence: Option<Confidence>,
    /// Where there is no single answer, or it was made by its cost: what could be set, by size.
    pub(crate) tradeoff: Option<Vec<Point>>,
    /// The algorithm.
    pub(crate) algorithm: String,
    /// The limit; of a bucket nothing, which has `rate` and `burst`. Nothing of all three: there is no
    /// single answer, and `why` says why.
    pub(crate) limit: Option<u64>,
    /// Length of the window, seconds.
    pub(crate) window_s: Option<Seconds>,
    /// A bucket's rate, as a policy writes it; of one server where each counts for itself.
    pub(crate) rate: Option<String>,
    /// A bucket's burst, as a policy writes it.
    pub(crate) burst: Option<u64>,
    /// What it rests on.
    pub(crate) basis: Option<Basis>,
    /// What the recommended policy does by it.
    pub(crate) expected: Option<Expected>,
    /// What it did on days it never saw.
    pub(crate) holdout: Option<Holdout>,
    /// Why it is what it is, or why there is none.
    pub(crate) why: String,
    /// What else to know, in words.
    pub(crate) notes: Vec<String>,
    /// What tells customers from attackers where a limit by this key doesn't.
    pub(crate) split: Option<Split>,
    /// Servers that count apart; 1 for shared counters.
    pub(crate) instances: u64,
}

/// How sure a limit is.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Confidence {
    /// Keys it rests on.
    pub(crate) n: u64,
    /// Civil days on which they were seen.
    pub(crate) days: u64,
    /// With 95 % confidence at most this share of keys not seen yet needs more.
    pub(crate) unseen_hi: Millionths,
    /// What the busiest needs, where the days are drawn anew: 95 % of draws lie between.
    pub(crate) bootstrap: Option<(u64, u64)>,
}

/// What a limit rests on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Basis {
    /// Whom it is sized for: `customers`, or `identities` where none are known.
    pub(crate) sized_for: &'static str,
    /// Keys of these.
    pub(crate) customers: u64,
    /// The least size that refuses none of them.
    pub(crate) busiest: Bracketed<u64>,
    /// The least size that refuses one in a thousand of them.
    pub(crate) p999: Bracketed<u64>,
    /// Headroom.
    pub(crate) headroom: Thousandths,
    /// The busiest.
    pub(crate) busiest_key: String,
    /// Users seen with it, where it is an address.
    pub(crate) users_of_busiest: Option<u64>,
    /// A bucket's pace: most requests of one key in any window.
    pub(crate) pace: Option<Bracketed<u64>>,
}

/// What the recommended policy does by a limit.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Expected {
    /// Identities that it refuses, of those it is sized for.
    pub(crate) customer_identities_refused: Bracketed<u64>,
    /// Share of the attacks' requests that it is asked about.
    pub(crate) attacker_refused_share: Option<Bracketed<Millionths>>,
    /// Identities of which nobody knows whose they are.
    pub(crate) unknown_identities_refused: Bracketed<u64>,
    /// Whether it refused nothing in this log.
    pub(crate) never_binds: bool,
}

/// A limit that could be set.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Point {
    /// The limit, or a bucket's burst.
    pub(crate) limit: u64,
    /// A bucket's rate.
    pub(crate) rate: Option<String>,
    /// Identities that it refuses, of those that are sized for.
    pub(crate) customer_identities_refused: u64,
    /// Identities of which nobody knows whose they are.
    pub(crate) unknown_identities_refused: u64,
    /// Share of the attack's requests that it refuses.
    pub(crate) attacker_refused_share: Option<Millionths>,
    /// What it costs altogether, where the site prices it.
    pub(crate) cost: Option<String>,
}

/// What tells customers from attackers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Split {
    /// In words.
    pub(crate) what: String,
    /// The key.
    pub(crate) key: String,
    /// The limit as a policy writes it.
    pub(crate) policy: String,
    /// Identities that it refuses, of those that are sized for.
    pub(crate) customer_identities_refused: u64,
    /// Share of the attack's requests that it refuses.
    pub(crate) attacker_refused_share: Option<Millionths>,
}

/// What a limit did on days it never saw.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Holdout {
    /// Where these days begin.
    pub(crate) from: String,
    /// The last request of them.
    pub(crate) to: String,
    /// Requests of these days.
    pub(crate) requests: u64,
    /// Identities of these days, of those that are sized for.
    pub(crate) customer_identities: u64,
    /// Of these, refused at least once.
    pub(crate) customer_identities_refused: u64,
    /// Identities of which nobody knows whose they are, likewise.
    pub(crate) unknown_identities_refused: u64,
    /// Share of the attacks' requests of these days.
    pub(crate) attacker_refused_share: Option<Millionths>,
}
