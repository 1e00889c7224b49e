//! A checked limit: everything a replay needs, and where it stands in its file.

use crate::document::Place;
use crate::limiter::Limiter;
use crate::site::key::{KeySpec, Source};
use crate::site::matching::{Match, StatusRange};

/// A checked policy: the limits in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The file as named by the user; empty for a policy made in memory.
    pub file: String,
    /// Its limits, edge to feature.
    pub limits: Vec<Limit>,
}

/// A checked limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name, unique in the policy.
    pub name: String,
    /// Where its table begins in the file.
    pub place: Place,
    /// The tier's name or a free word; `None` for one shared place.
    pub at: Option<String>,
    /// Which requests it is asked about.
    pub matching: Match,
    /// What it tells clients apart by.
    pub key: LimitKey,
    /// What decides.
    pub limiter: Limiter,
    /// The limiter's clock, microseconds.
    pub tick_us: i64,
    /// Adjacent limits with the same group are asked together.
    pub group: Option<Group>,
    /// Limits with the same zone share one state.
    pub zone: Option<String>,
    /// Whether it refuses.
    pub mode: Mode,
    /// Raised when the requests asked of one key in a window first exceed this.
    pub alarm: Option<u64>,
    /// It is in force for arrivals before this, microseconds since the epoch.
    pub expires_us: Option<i64>,
    /// What it tells refused clients.
    pub retry_after: RetryAfter,
    /// What becomes of requests without the key.
    pub missing_key: MissingKey,
    /// What a request weighs.
    pub weight: Weight,
    /// Whether what isn't admitted waits.
    pub queue: Option<Queue>,
    /// What follows a refusal.
    pub ban: Option<Ban>,
    /// Whether each instance counts for itself.
    pub counters: Counters,
    /// The store that holds shared counters.
    pub store: Option<Store>,
    /// If given, only responses with one of these count, when they complete.
    pub count_when: Option<Vec<StatusRange>>,
    /// Lints that are silenced, with the reason.
    pub allow: Vec<Allow>,
}

impl Limit {
    /// Whether it counts requests in flight, and so needs to know how long they took.
    pub fn counts_in_flight(&self) -> bool {
        match &self.limiter {
            Limiter::Concurrency(_) => true,
            Limiter::Spacing(spacing) => spacing.max_concurrent.is_some(),
            _ => false,
        }
    }
}

/// What a limit tells clients apart by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitKey {
    /// As reports write it: `ip`, `ip/24`, `global`, `user+route`.
    pub name: String,
    /// The parts, all needed; none for `global`.
    pub parts: Vec<KeyPart>,
}

/// One part of a limit's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    /// The request's route.
    Route,
    /// A key of the projection: an address prefix or a named key.
    Key(KeySpec),
}

impl KeyPart {
    /// What it is made of, in any order.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let spec = match self {
            Self::Route => None,
            Self::Key(spec) => Some(spec),
        };
        spec.into_iter().flat_map(|spec| spec.parts.iter().flatten())
    }
}

/// Limits that are asked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What names it: the word given, or the place of nginx limits.
    pub name: String,
    /// What a refusal by one means for the others.
    pub charge: GroupCharge,
}

/// What a refusal by one member of a group means for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupCharge {
    /// None is charged.
    None,
    /// All are charged all the same.
    All,
}

/// Whether a limit refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    Enforce,
    /// It is asked and charged as if it did, and never refuses.
    Shadow,
}

/// What refused clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Nothing.
    None,
    /// The length of the window.
    Window,
    /// When the request would be admitted.
    Exact,
    /// Always this, microseconds.
    Fixed(i64),
}

/// What becomes of requests without the limit's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingKey {
    /// They aren't asked.
    Skip,
    /// They share one state.
    Shared,
    /// They are refused.
    Refuse,
}

/// What a request weighs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// Of requests outside `by_route`.
    pub default: u64,
    /// Index of a route of the site → weight; sorted by route.
    pub by_route: Vec<(usize, u64)>,
}

impl Weight {
    /// The weight of a request of a route.
    pub fn of(&self, route: Option<usize>) -> u64 {
        let found = route.and_then(|route| self.by_route.iter().find(|(known, _)| *known == route));
        found.map_or(self.default, |(_, weight)| *weight)
    }
}

/// How requests wait that aren't admitted at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Most requests that wait; `None` for no end.
    pub high_water: Option<u64>,
    /// What happens above it.
    pub strategy: Strategy,
}

/// What happens when a queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The one that waits longest goes.
    Leak,
    /// The new one goes.
    Overflow,
    /// All go, and everything is refused for a while.
    Block,
}

/// What follows a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ban {
    /// For how long the key is refused, microseconds.
    pub us: i64,
    /// Whether each further attempt restarts it.
    pub extends: bool,
    /// Whether it empties the state.
    pub clears: bool,
}

/// Who counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// Each instance of the tier for itself.
    Local,
    /// All together, as does a place that is no tier.
    Shared,
}

/// Where shared counters are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Its name.
    pub name: String,
    /// What happens when it can't be asked.
    pub on_error: OnStoreError,
}

/// What happens when a store can't be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStoreError {
    /// The request goes on.
    Allow,
    /// It is refused.
    Refuse,
    /// Each instance counts for itself.
    Local,
}

/// A lint that is silenced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// Its code.
    pub lint: String,
    /// Why.
    pub why: String,
}
