//! Which instance of a tier each request is at, where instances count apart: 4 bytes a request.

use crate::replay::arrangement::Arrangement;
use crate::replay::tiers::Balancers;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;

/// The instance of every request that reached a tier.
#[derive(Debug)]
pub(in crate::replay) struct Instances {
    of_event: Vec<u32>,
    count: usize,
}

impl Instances {
    /// Gives each request of a set the instance that its tier's balancer picks, in the order of arrival.
    pub(super) fn assign(
        tier: usize,
        set: &Bitmap,
        balancers: &mut Balancers<'_>,
        arrangement: &Arrangement<'_>,
        traffic: &Traffic,
    ) -> Self {
        let mut of_event = vec![0; traffic.len()];
        let mut most = 0;
        for (event, _) in arrangement.in_order_of(set) {
            let instance = balancers.assign(tier, event, 1, traffic);
            most = most.max(instance);
            if let Some(slot) = of_event.get_mut(event) {
                *slot = instance;
            }
        }
        Self { of_event, count: usize::try_from(most).unwrap_or(0) + 1 }
    }

    /// Numbers up to the highest in use.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The instance of a request.
    pub(super) fn of(&self, event: u32) -> usize {
        let event = usize::try_from(event).unwrap_or(usize::MAX);
        self.of_event.get(event).and_then(|instance| usize::try_from(*instance).ok()).unwrap_or(0)
    }
}
