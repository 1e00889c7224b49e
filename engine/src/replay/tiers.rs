//! Which instance of a tier gets a request.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::site::facts::{Balance, Tier};
use crate::traffic::Traffic;
use crate::units::address::Address;

/// The tiers' balancers while a replay runs.
#[derive(Debug)]
pub(super) struct Balancers<'p> {
    tiers: &'p [&'p Tier],
    /// Requests that reached each tier.
    reached: Vec<u64>,
    /// For random balance.
    seed: u64,
}

impl<'p> Balancers<'p> {
    pub(super) fn new(tiers: &'p [&'p Tier], seed: u64) -> Self {
        Self { tiers, reached: vec![0; tiers.len()], seed }
    }

    /// Notes the instance that a request is given where it reaches a tier for the first time.
    pub(super) fn reach(
        &mut self,
        tier: Option<usize>,
        event: usize,
        traffic: &Traffic,
        instances: &mut [Option<u32>],
    ) {
        if let Some(tier) = tier
            && let Some(slot @ None) = instances.get_mut(tier)
        {
            let client = traffic.address_of(event).map_or(0, Address::bits);
            *slot = Some(self.assign(tier, event, client));
        }
    }

    /// The instance that a request goes to when it first reaches a tier. In turn where nothing says
    /// how requests are spread.
    fn assign(&mut self, tier: usize, event: usize, client: u128) -> u32 {
        let (Some(facts), Some(reached)) = (self.tiers.get(tier), self.reached.get_mut(tier))
        else {
            return 0;
        };
        let turn = *reached;
        *reached += 1;
        let number = match facts.balance {
            Some(Balance::Random) => xxh3_64_with_seed(&event.to_le_bytes(), self.seed),
            Some(Balance::ByClient) => xxh3_64_with_seed(&client.to_le_bytes(), 0),
            Some(Balance::RoundRobin | Balance::Observed) | None => turn,
        };
        u32::try_from(number % facts.instances.max(1)).unwrap_or(0)
    }
}
