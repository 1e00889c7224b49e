//! What-ifs: times at which a store can't be asked, forgets, or answers too late.

/// A what-if.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// Its name.
    pub name: String,
    /// The store.
    pub store: String,
    /// From, microseconds since the epoch.
    pub from_us: i64,
    /// To, microseconds since the epoch.
    pub to_us: i64,
    /// What happens.
    pub kind: OutageKind,
    /// Share of calls that fail, parts per million.
    pub share_per_million: u32,
    /// Whether counters survive.
    pub after: AfterOutage,
}

/// What happens to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageKind {
    /// It can't be reached.
    Down,
    /// It forgets.
    Flush,
    /// It answers too late.
    Slow,
}

/// What a store remembers after an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterOutage {
    /// Everything.
    Kept,
    /// Nothing.
    Empty,
}
