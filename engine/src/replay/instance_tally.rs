//! What a replay counts of each instance that counts for itself.

use std::collections::HashSet;

use ahash::RandomState;

use super::observer::{Asked, Cause};
use super::tally::InstanceTally;

/// What is counted of all instances of a limit's tier.
#[derive(Debug, Default)]
pub(super) struct InstanceTallies {
    /// By the instance's number.
    instances: Vec<InstanceTally>,
    /// Which keys each was asked about.
    seen: HashSet<(u32, u32), RandomState>,
}

impl InstanceTallies {
    /// An instance was asked about a request.
    pub(super) fn asked(&mut self, asked: &Asked, refused: bool) {
        let Ok(number) = usize::try_from(asked.instance) else { return };
        if number >= self.instances.len() {
            // there are as many as the tier has at most
            self.instances.resize(number + 1, InstanceTally::default());
        }
        let fresh = asked.cause != Cause::NoKey && self.seen.insert((asked.instance, asked.key));
        if let Some(tally) = self.instances.get_mut(number) {
            tally.asked += 1;
            tally.refused += u64::from(refused);
            tally.keys += u64::from(fresh);
        }
    }

    /// The result.
    pub(super) fn finish(self) -> Vec<InstanceTally> {
        self.instances
    }
}
