//! What the log tells of one target: who asks, how often, and what size of a limiter refuses none of them.

use crate::limiter::critical::Sizing;
use crate::measure::cohorts::Cohort;
use crate::measure::percentile::nearest_rank;
use crate::policy::Weight;
use crate::replay::keys::Keys;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::{NONE, Traffic};
use crate::units::bracket::{Bracket, BracketKind};
use crate::units::zone::Zone;

use super::confidence::{Confidence, confidence, unseen_hi_ppm};
use super::critical::{AskedKeys, OpenLimit, critical_limits};
use super::form::{Upper, upper};
use super::ground::Ground;
use super::placed;
use super::protects::ProtectTarget;

/// What the log tells of one target.
pub(super) struct Evidence<'a> {
    ground: &'a Ground<'a>,
    pub(super) keys: Keys<'a>,
    /// Requests it would be asked about.
    pub(super) asked: Bitmap,
    /// Of these, requests of those that are real and have the key.
    pub(super) real_requests: u64,
    /// Keys of real requests, ascending.
    pub(super) real_keys: Vec<usize>,
    /// Requests of real ones without the key.
    pub(super) real_missing: u64,
    /// Asked requests that a limiter had refused already.
    pub(super) already_refused: u64,
    /// Of these, those that have the key.
    pub(super) with_key: Bitmap,
    /// Requests of attacks among those with the key.
    pub(super) attack_requests: u64,
    /// Of the requests of those that are real, the most of one key.
    pub(super) most_of_one_key: u64,
    /// Per counter: its requests; one of all for shared counters.
    counters: Vec<Bitmap>,
    weight: Weight,
}

/// What size of a limiter each key needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    /// By the key's number: for its real requests, where attacks are left out.
    pub(super) own: Vec<u64>,
    /// For its real requests, where attacks fill the limiter too.
    pub(super) beside_attacks: Vec<u64>,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(ground: &'a Ground<'a>, target: &ProtectTarget) -> Self {
        let traffic = ground.scene.traffic;
        let mut asked = ground.selector.select(&target.matching);
        asked.and(&ground.replayed);
        let keys = Keys::new(&target.key, traffic);
        let mut counts = vec![0_u64; keys.distinct()];
        let (mut real_requests, mut real_missing) = (0, 0);
        asked.for_each_of_both(ground.real_requests(), |event| {
            match usize::try_from(keys.of(event)).ok().and_then(|key| counts.get_mut(key)) {
                Some(count) => {
                    *count += 1;
                    real_requests += 1;
                }
                None => real_missing += 1,
            }
        });
        let mut with_key = asked.clone();
        with_key.and(&Bitmap::of(traffic.len(), |event| keys.of(event) != NONE));
        let mut already_refused = 0;
        asked.for_each(|event| already_refused += u64::from(traffic.already_refused(event)));
        let with_any = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let real_keys = with_any.map(|(key, _)| key).collect();
        Self {
            attack_requests: with_key.count_both(ground.attacks()),
            with_key,
            most_of_one_key: counts.iter().copied().max().unwrap_or(0),
            counters: ground.counters(placed::tier(target, ground.scene.site)),
            weight: target.weight.clone(),
            ground,
            keys,
            asked,
            real_requests,
            real_keys,
            real_missing,
            already_refused,
        }
    }

    /// Both ends of what each key needs, the upper one for safety; proven where stamps leave nothing else.
    pub(super) fn needs(&self, sizing: &Sizing) -> (Needs, Needs, bool) {
        let zone_is_whole = self.ground.scene.site.zone == Zone::UTC || self.whole_zone();
        let Upper { sizing: wider, plus, proven } =
            upper(sizing, self.ground.resolution, zone_is_whole);
        let both = self.needs_of(&[sizing.clone(), wider]);
        let [low, high] = both.as_slice() else { return (empty(), empty(), false) };
        let lift = |of: &[u64]| of.iter().map(|need| need.saturating_add(plus)).collect();
        let high = Needs { own: lift(&high.own), beside_attacks: lift(&high.beside_attacks) };
        // what the step's refill may add to a bucket it may take away as well; one who asks needs one
        let sink = |of: &[u64]| {
            of.iter().map(|need| need.saturating_sub(plus).max((*need).min(1))).collect()
        };
        let low = Needs { own: sink(&low.own), beside_attacks: sink(&low.beside_attacks) };
        (low, high, proven)
    }

    /// Whether the site's clock differs from UTC by whole steps of the stamps.
    fn whole_zone(&self) -> bool {
        let times = &self.ground.scene.traffic.events.times_us;
        let step_us = self.ground.resolution.us.max(1);
        let zone = self.ground.scene.site.zone;
        let mut ends = times.first().into_iter().chain(times.last());
        ends.all(|us| zone.offset_us(*us).rem_euclid(step_us) == 0)
    }

    fn needs_of(&self, sizings: &[Sizing]) -> Vec<Needs> {
        let Ground { scene, cohorts, arrangement, .. } = self.ground;
        let open: Vec<OpenLimit> = sizings.iter().cloned().map(OpenLimit::new).collect();
        let mut all: Vec<Needs> = sizings.iter().map(|_| empty()).collect();
        let real = self.ground.real_cohort();
        let attacked = self.attack_requests > 0;
        for counter in &self.counters {
            let mut here = self.asked.clone();
            here.and(counter);
            let tell = |set: &Bitmap| {
                let asked =
                    AskedKeys::new(scene.traffic, arrangement, set, &self.keys, &self.weight);
                critical_limits(&asked.by_cohort(cohorts), &open)
            };
            let with = tell(&here);
            let without = attacked.then(|| {
                here.and_not(cohorts.requests(Cohort::Attacker));
                tell(&here)
            });
            let own = without.as_ref().unwrap_or(&with);
            for ((needs, own), with) in all.iter_mut().zip(own).zip(&with) {
                at_least(&mut needs.own, own.of(real));
                at_least(&mut needs.beside_attacks, with.of(real));
            }
        }
        all
    }

    /// How sure a size is, by the needs it was found from. Of several counters what each says of days is
    /// taken together.
    pub(super) fn confidence(&self, sizing: &Sizing, size: u64, needs: &[u64]) -> Confidence {
        let Ground { scene, cohorts, arrangement, .. } = self.ground;
        let open = OpenLimit::new(sizing.clone());
        let real = self.ground.real_requests();
        let mut all = Confidence { keys: 0, days: 0, unseen_hi_ppm: 0, bootstrap: None };
        for counter in &self.counters {
            let mut here = self.asked.clone();
            here.and(counter);
            here.and_not(cohorts.requests(Cohort::Attacker));
            let asked = AskedKeys::new(scene.traffic, arrangement, &here, &self.keys, &self.weight);
            let told = confidence(&asked, &open, real, size, (1, 1), scene.site.zone);
            all.days = all.days.max(told.days);
            all.bootstrap = match (all.bootstrap, told.bootstrap) {
                (Some(mine), Some(other)) => Some((mine.0.max(other.0), mine.1.max(other.1))),
                (mine, other) => mine.or(other),
            };
        }
        let above = self.sorted(needs).iter().filter(|need| **need > size).count();
        all.keys = u64::try_from(self.real_keys.len()).unwrap_or(u64::MAX);
        all.unseen_hi_ppm = unseen_hi_ppm(all.keys, u64::try_from(above).unwrap_or(u64::MAX));
        all
    }

    /// What real keys need, ascending.
    pub(super) fn sorted(&self, needs: &[u64]) -> Vec<u64> {
        let of_real = self.real_keys.iter().map(|key| needs.get(*key).copied().unwrap_or(0));
        let mut sorted: Vec<u64> = of_real.collect();
        sorted.sort_unstable();
        sorted
    }

    /// The real key that needs most, the first by its text of several.
    pub(super) fn busiest(&self, needs: &[u64]) -> Option<usize> {
        let most = self.real_keys.iter().filter_map(|key| needs.get(*key)).max()?;
        self.real_keys.iter().copied().find(|key| needs.get(*key) == Some(most))
    }

    /// Distinct users seen with a key in all of the log, if users are known.
    pub(super) fn users_of(&self, key: usize) -> Option<u64> {
        let traffic: &Traffic = self.ground.scene.traffic;
        let users = traffic.key_named("user")?;
        let key = u32::try_from(key).ok()?;
        let with = users.ids.iter().enumerate();
        let with = with.filter(|(event, user)| **user != NONE && self.keys.of(*event) == key);
        let mut ids: Vec<u32> = with.map(|(_, user)| *user).collect();
        ids.sort_unstable();
        ids.dedup();
        u64::try_from(ids.len()).ok().filter(|count| *count > 0)
    }
}

/// A rank of both ends of what keys need, each ranked by itself.
pub(super) fn ranked(low: &[u64], high: &[u64], per_thousand: usize, proven: bool) -> Bracket<u64> {
    let at = |sorted: &[u64]| nearest_rank(sorted, per_thousand, 1_000).unwrap_or(0);
    let kind = if proven { BracketKind::Proven } else { BracketKind::Assumed };
    let (lo, hi) = (at(low), at(high));
    Bracket { lo: lo.min(hi), hi: lo.max(hi), kind }
}

fn empty() -> Needs {
    Needs { own: Vec::new(), beside_attacks: Vec::new() }
}

/// Raises each number to another's.
fn at_least(all: &mut Vec<u64>, others: &[u64]) {
    if all.len() < others.len() {
        all.resize(others.len(), 0);
    }
    for (mine, other) in all.iter_mut().zip(others) {
        *mine = (*mine).max(*other);
    }
}
