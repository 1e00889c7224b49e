//! How many counters a key of a limit meets: the one rule that reports, replays and lints share.

use crate::site::Site;
use crate::site::facts::{Balance, Tier};
use crate::site::key::Source;

use super::{Counters, KeyPart, Limit};

impl Limit {
    /// The row of servers that it stands in.
    pub fn tier<'s>(&self, site: &'s Site) -> Option<&'s Tier> {
        let at = self.at.as_deref()?;
        site.tiers.iter().find(|tier| tier.name == at)
    }

    /// Whether a key always meets the same instance.
    pub fn is_sticky(&self, site: &Site) -> bool {
        let by_client = self.tier(site).is_some_and(|t| t.balance == Some(Balance::ByClient));
        by_client && self.key.parts.iter().any(holds_client)
    }

    /// How many counters a key can have where its tier has so many instances: 1 for shared ones, and for
    /// local ones where each client always meets the same instance.
    pub fn counters_of_key(&self, site: &Site, instances: impl Fn(&Tier) -> u64) -> u64 {
        match self.counters {
            Counters::Shared => 1,
            Counters::Local if self.is_sticky(site) => 1,
            Counters::Local => self.tier(site).map_or(1, instances).max(1),
        }
    }
}

/// Whether a part of a key tells whole IPv4 addresses apart, so that a key belongs to one client.
fn holds_client(part: &KeyPart) -> bool {
    part.sources().any(|source| matches!(source, Source::Address { v4: 32, .. } | Source::Client))
}
