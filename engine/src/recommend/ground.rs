//! What all targets have in common: the requests, whose they are, and how well the log tells when.

use crate::measure::cohorts::{Cohort, Cohorts};
use crate::measure::peaks::Resolution;
use crate::replay::arrangement::Arrangement;
use crate::replay::run::Scene;
use crate::replay::spread;
use crate::site::facts::{Balance, Tier};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::{AlreadyRefused, Selector};

use super::answer::Real;

/// Seeds of a random balance that are tried.
const SEEDS: u64 = 8;

/// What all targets have in common.
pub(super) struct Ground<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) selector: Selector<'a>,
    pub(super) cohorts: Cohorts<'a>,
    /// Whom limits are sized for.
    pub(super) real: Real,
    /// Requests that are replayed: all, or all but those that were refused already.
    pub(super) replayed: Bitmap,
    pub(super) resolution: Resolution,
    pub(super) arrangement: Arrangement<'a>,
    /// From the first to the last request, microseconds.
    pub(super) period_us: i64,
}

impl<'a> Ground<'a> {
    pub(super) fn new(scene: &'a Scene<'a>) -> Self {
        let traffic = scene.traffic;
        let selector = scene.selector(AlreadyRefused::NoneMatch);
        let cohorts = Cohorts::new(scene.site, traffic, &selector);
        let customers = !cohorts.requests(Cohort::Customer).is_empty();
        let attackers = !cohorts.requests(Cohort::Attacker).is_empty();
        let real = match (customers, scene.site.customers.is_empty(), attackers) {
            (true, ..) => Real::Customers,
            (false, false, _) => Real::NoCustomerFound,
            (false, true, true) => Real::AllButAttackers,
            (false, true, false) => Real::Everyone,
        };
        let mut replayed = Bitmap::filled(traffic.len(), true);
        if scene.drop_already_refused {
            let refused = |event| traffic.already_refused(event);
            replayed.and_not(&Bitmap::of(traffic.len(), refused));
        }
        let step_us = scene.steps_us.iter().copied().max().unwrap_or(1).max(1);
        let times = &traffic.events.times_us;
        let ends = times.first().zip(times.last());
        Self {
            scene,
            selector,
            cohorts,
            real,
            replayed,
            resolution: Resolution::of(times, step_us),
            arrangement: Arrangement::bunched(traffic),
            period_us: ends.map_or(0, |(first, last)| last - first),
        }
    }

    /// The cohort that limits are sized for.
    pub(super) fn real_cohort(&self) -> Cohort {
        if self.real == Real::Customers { Cohort::Customer } else { Cohort::Unknown }
    }

    /// Requests of those that limits are sized for.
    pub(super) fn real_requests(&self) -> &Bitmap {
        self.cohorts.requests(self.real_cohort())
    }

    /// Requests of attacks.
    pub(super) fn attacks(&self) -> &Bitmap {
        self.cohorts.requests(Cohort::Attacker)
    }

    /// The requests of each counter of a tier, for every way in which they may be spread: one set for
    /// shared counters.
    pub(super) fn counters(&self, tier: Option<&Tier>) -> Vec<Bitmap> {
        let traffic = self.scene.traffic;
        let Some(tier) = tier else { return vec![self.replayed.clone()] };
        let instances = tier.instances_seen(traffic.instances.len());
        if instances <= 1 {
            return vec![self.replayed.clone()];
        }
        let seeds = if tier.balance == Some(Balance::Random) { SEEDS } else { 1 };
        let spreads = (0..seeds).flat_map(|seed| {
            let of_event = spread(tier, traffic, &self.replayed, seed);
            (0..instances).map(move |instance| {
                let here = |event| of_event.get(event).map(|at| u64::from(*at)) == Some(instance);
                Bitmap::of(of_event.len(), here)
            })
        });
        let mut sets: Vec<Bitmap> = spreads.collect();
        for set in &mut sets {
            set.and(&self.replayed);
        }
        sets
    }
}
