//! Which instance of a tier gets a request.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::site::facts::{Balance, Tier};
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::units::address::Address;

/// The instance that each request of a set is given at a tier that all of them reach, in the order of their
/// arrival as stamped; `seed` is for random balance.
pub fn spread(tier: &Tier, traffic: &Traffic, set: &Bitmap, seed: u64) -> Vec<u32> {
    let tiers = [tier];
    let mut balancers = Balancers::new(&tiers, seed);
    let mut of_event = vec![0; traffic.len()];
    set.for_each(|event| {
        let instance = balancers.assign(0, event, 1, traffic);
        if let Some(slot) = of_event.get_mut(event) {
            *slot = instance;
        }
    });
    of_event
}

/// The tiers' balancers while a replay runs.
#[derive(Debug)]
pub(super) struct Balancers<'p> {
    tiers: &'p [&'p Tier],
    /// Requests of each tier that were given an instance in turn.
    turns: Vec<u64>,
    /// For random balance.
    seed: u64,
}

impl<'p> Balancers<'p> {
    pub(super) fn new(tiers: &'p [&'p Tier], seed: u64) -> Self {
        Self { tiers, turns: vec![0; tiers.len()], seed }
    }

    /// Notes the instance that a request is given where it reaches a tier for the first time; `attempt`
    /// counts a client's further tries.
    pub(super) fn reach(
        &mut self,
        tier: Option<usize>,
        (event, attempt): (usize, u32),
        traffic: &Traffic,
        instances: &mut [Option<u32>],
    ) {
        if let Some(tier) = tier
            && let Some(slot @ None) = instances.get_mut(tier)
        {
            *slot = Some(self.assign(tier, event, attempt, traffic));
        }
    }

    /// The instance that a request goes to when it first reaches a tier. In turn where nothing says
    /// how requests are spread, a further attempt of one whose spread is observed too.
    pub(super) fn assign(
        &mut self,
        tier: usize,
        event: usize,
        attempt: u32,
        traffic: &Traffic,
    ) -> u32 {
        let (Some(facts), Some(turns)) = (self.tiers.get(tier), self.turns.get_mut(tier)) else {
            return 0;
        };
        let mut in_turn = || {
            *turns += 1;
            *turns - 1
        };
        let mut count = facts.instances;
        let number = match facts.balance {
            Some(Balance::Random) => {
                // a retry is a throw of its own
                let throw = u64::try_from(event).unwrap_or(u64::MAX);
                let seed = self.seed ^ u64::from(attempt.saturating_sub(1)) << 32;
                xxh3_64_with_seed(&throw.to_le_bytes(), seed)
            }
            Some(Balance::ByClient) => {
                let client = traffic.address_of(event).map_or(0, Address::bits);
                xxh3_64_with_seed(&client.to_le_bytes(), 0)
            }
            Some(Balance::Observed) => {
                count = facts.instances_seen(traffic.instances.len());
                let told = traffic.instance_of(event).filter(|_| attempt <= 1);
                told.map_or_else(in_turn, u64::from)
            }
            Some(Balance::RoundRobin) | None => in_turn(),
        };
        u32::try_from(number % count.max(1)).unwrap_or(0)
    }
}
