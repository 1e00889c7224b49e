//! What must hold, and what is to be protected: the goals that a site file sets.

use rust_decimal::Decimal;

use super::matching::Match;

/// What must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Its name.
    pub name: String,
    /// What is measured.
    pub metric: String,
    /// At most.
    pub max: Option<Decimal>,
    /// At least.
    pub min: Option<Decimal>,
    /// Times of day, minutes since local midnight: from (inclusive), to (exclusive).
    pub between_min: Option<(u32, u32)>,
    /// For bounds, microseconds.
    pub horizon_us: i64,
    /// The what-if it is evaluated in.
    pub outage: Option<String>,
    /// Line in the site file, from 1.
    pub line: usize,
}

/// What is to be protected.
#[derive(Debug, Clone)]
pub struct Protect {
    /// Its name.
    pub name: String,
    /// Which requests.
    pub matching: Match,
    /// By what key.
    pub key: String,
    /// With what algorithm.
    pub algorithm: Option<String>,
    /// Windows, microseconds, ascending.
    pub windows_us: Vec<i64>,
    /// Headroom, thousandths.
    pub headroom_milli: u64,
    /// What it costs to refuse one customer, in the currency of the actions.
    pub refused_customer_cost: Option<Decimal>,
}
