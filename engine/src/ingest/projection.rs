//! What a job needs of each line: nothing else is kept.

use crate::site::key::KeySpec;
use crate::site::route::Route;

/// The keys and routes a job asks for.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// Keys, `ip` first; those made of the address alone cost no column.
    pub keys: Vec<KeySpec>,
    /// Routes, first match wins; without any, paths are folded into templates.
    pub routes: Vec<Route>,
    /// Arrivals before this are left out, microseconds since the epoch.
    pub from_us: Option<i64>,
    /// Arrivals at or after this are left out, microseconds since the epoch.
    pub to_us: Option<i64>,
}

impl Projection {
    /// Whether an arrival is inside the period asked for.
    pub fn covers(&self, arrival_us: i64) -> bool {
        self.from_us.is_none_or(|from| arrival_us >= from)
            && self.to_us.is_none_or(|to| arrival_us < to)
    }

    /// The keys that need a column of their own, in order.
    pub fn column_keys(&self) -> impl Iterator<Item = &KeySpec> {
        self.keys.iter().filter(|key| key.address_prefix().is_none())
    }
}
