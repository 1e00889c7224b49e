//! The report's part about curves: what each size of a limit would refuse. Part of `shadowcap/report/1`.

use serde::Serialize;

use super::model::Seconds;
use super::number::Millionths;

/// What each size of one limit would refuse.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Curve {
    /// The `[[protect]]` it is for.
    pub(crate) protect: String,
    /// What it tells clients apart by.
    pub(crate) key: String,
    /// The routes, `*` where none is named.
    pub(crate) route: String,
    /// Its algorithm.
    pub(crate) algorithm: String,
    /// Its window; null for a bucket and for slots.
    pub(crate) window_s: Option<Seconds>,
    /// Distinct keys asked.
    pub(crate) keys: u64,
    /// What policies have, by limit, then by what.
    pub(crate) marks: Vec<Mark>,
    /// By limit, ascending; a bucket's by rate, ascending: of each rate the smallest burst that refuses
    /// nobody.
    pub(crate) points: Vec<Point>,
}

/// A size that a policy has.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Mark {
    /// Where it stands.
    pub(crate) what: String,
    /// The limit.
    pub(crate) limit: u64,
}

/// What one size would refuse.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Point {
    /// The limit; null for a bucket.
    pub(crate) limit: Option<u64>,
    /// A bucket's rate.
    pub(crate) rate: Option<String>,
    /// A bucket's burst, as its algorithm counts it: with `nginx` what passes beyond the first.
    pub(crate) burst: Option<u64>,
    /// `exact`: from one pass that tells all sizes. `replayed`: keys likewise, the rest from a replay at this
    /// size.
    pub(crate) basis: &'static str,
    /// Keys refused at least once.
    pub(crate) keys_refused: u64,
    /// Customers refused at least once; null where nothing tells who is a customer.
    pub(crate) customer_identities_refused: Option<u64>,
    /// Attackers' requests refused, of those asked; null where there are none.
    pub(crate) attacker_refused_share: Option<Millionths>,
}
