//! The fast replay: limit by limit instead of request by request, on whole columns. It decides as the
//! reference does, which a property test holds it to, and can do all but what [`super::plan`] lists.

mod decided;
mod delayed;
mod figures;
pub(crate) mod grouping;
mod hours;
mod instances;
mod keyed;
mod seconds;
mod shared;
mod slot;
mod table;
mod tally;
mod together;

use std::sync::Arc;

use crate::limiter::Limiter;
use crate::limiter::nginx::Nginx;
use crate::policy::{MissingKey, Mode};
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;

use super::arrangement::Arrangement;
use super::prepare::{Prepared, PreparedLimit, Unit};
use super::tally::Detail;
use super::tiers::Balancers;
use super::variant::Variant;

use self::decided::LimitDecided;
use self::delayed::Delayed;
use self::instances::Instances;
use self::keyed::Keyed;
use self::slot::Rule;
use self::together::{Frees, Member};

pub(super) use self::decided::Decided;
pub(super) use self::hours::hours;
pub(super) use self::shared::Shared;
pub(super) use self::tally::{Seen, spends, tally};

/// A policy in one arrangement of a traffic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a, 't> {
    pub(super) prepared: &'a Prepared<'t>,
    pub(super) traffic: &'t Traffic,
    pub(super) arrangement: &'a Arrangement<'a>,
    pub(super) shared: &'a Shared<'t>,
}

/// Replays a traffic through a policy that [`super::plan::fast`] lets through; `None` if stopped.
pub(super) fn replay(
    round: Round<'_, '_>,
    selector: &Selector<'_>,
    variant: &Variant,
    detail: Detail,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Decided> {
    let Round { prepared, traffic, .. } = round;
    let events = traffic.len();
    let mut replayed = Bitmap::filled(events, true);
    if variant.drop_already_refused {
        replayed.and_not(&Bitmap::of(events, |event| traffic.already_refused(event)));
    }
    let mut run = Run {
        round,
        selector,
        variant,
        detail,
        stopped,
        alive: replayed.clone(),
        balancers: Balancers::new(&prepared.tiers, variant.seed),
        instances: vec![None; prepared.tiers.len()],
        decided: Decided {
            replayed,
            limits: prepared.limits.iter().map(|_| LimitDecided::none(0)).collect(),
            refused: Bitmap::filled(events, false),
            delayed: Arc::default(),
        },
    };
    for unit in &prepared.units {
        if stopped() {
            return None;
        }
        run.unit(unit)?;
    }
    Some(run.decided)
}

/// A replay under way.
struct Run<'a, 't> {
    round: Round<'a, 't>,
    selector: &'a Selector<'a>,
    variant: &'a Variant,
    detail: Detail,
    stopped: &'a (dyn Fn() -> bool + Sync),
    /// Requests that no limit has refused so far.
    alive: Bitmap,
    balancers: Balancers<'a>,
    /// Per tier that was reached and where instances count apart: who is where.
    instances: Vec<Option<Arc<Instances>>>,
    decided: Decided,
}

impl<'t> Run<'_, 't> {
    /// Decides what is asked together; `None` if stopped.
    fn unit(&mut self, unit: &Unit) -> Option<()> {
        self.reach(unit);
        let members = unit.members.iter().filter_map(|index| {
            let ready = self.round.prepared.limits.get(*index)?;
            Some((*index, ready, self.variant.limiter(&ready.limit.limiter)))
        });
        let members: Vec<(usize, &PreparedLimit<'t>, Limiter)> = members.collect();
        match members.as_slice() {
            // keys that free each other are taken together only if that matters for any of them
            [(index, ready, limiter)] if self.keyed(*index, ready, limiter, unit) => Some(()),
            _ => {
                let nginx = |limiter: &Limiter| match limiter {
                    Limiter::Nginx(nginx) => Some(*nginx),
                    _ => None,
                };
                let all: Option<Vec<Nginx>> = members.iter().map(|m| nginx(&m.2)).collect();
                if let Some(all) = all {
                    let members = members.iter().zip(all).map(|((i, ready, _), n)| (*i, *ready, n));
                    self.together(unit, members.collect())
                } else {
                    self.together(unit, members)
                }
            }
        }
    }

    /// Requests reach a unit's tier: the first time, each is given its instance there.
    fn reach(&mut self, unit: &Unit) {
        let Some(tier) = unit.tier else { return };
        let seen = self.round.traffic.instances.len();
        let tiers = &self.round.prepared.tiers;
        let apart = tiers.get(tier).is_some_and(|tier| tier.instances_seen(seen) > 1);
        let matters = self.round.prepared.limits.iter().any(|limit| limit.tier == Some(tier));
        if apart
            && matters
            && let Some(slot @ None) = self.instances.get_mut(tier)
        {
            *slot = Some(Arc::new(Instances::assign(
                tier,
                &self.alive,
                &mut self.balancers,
                self.round.arrangement,
                self.round.traffic,
            )));
        }
    }

    /// The requests that a limit is asked about, with or without its key.
    fn matching(&self, ready: &PreparedLimit<'_>) -> Bitmap {
        let mut set = self.alive.clone();
        set.and(&ready.asked);
        if let Some(expires_us) = ready.limit.expires_us {
            let in_force = |event| self.round.arrangement.time_us(event) < expires_us;
            set.and(&Bitmap::of(self.round.traffic.len(), in_force));
        }
        set
    }

    fn instances_of(&self, ready: &PreparedLimit<'_>) -> Option<Arc<Instances>> {
        ready.tier.and_then(|tier| self.instances.get(tier)?.clone())
    }

    /// A single limit, key by key; `false` if its keys can't be taken apart.
    fn keyed(
        &mut self,
        index: usize,
        ready: &PreparedLimit<'t>,
        limiter: &Limiter,
        unit: &Unit,
    ) -> bool {
        let limit = ready.limit;
        let mut asked = self.matching(ready);
        let grouping = self.round.shared.grouping(&asked, &ready.keys, self.round.arrangement);
        let instances = self.instances_of(ready);
        let keyed = Keyed {
            limit,
            limiter,
            rule: Rule::new(limit, unit.refusals_count()),
            traffic: self.round.traffic,
            selector: self.selector,
            grouping: &grouping,
            instances: instances.as_deref(),
            detail: self.detail,
        };
        let mut outcome = keyed.decide(limit.missing_key == MissingKey::Shared);
        if outcome.freed {
            return false;
        }
        let without_key = || grouping.without_key().filter_map(|event| usize::try_from(event).ok());
        let missing = u64::try_from(without_key().count()).unwrap_or(u64::MAX);
        if missing > 0 && limit.missing_key != MissingKey::Shared {
            let mut keyless = Bitmap::filled(self.round.traffic.len(), false);
            without_key().for_each(|event| keyless.insert(event));
            match limit.missing_key {
                MissingKey::Refuse => outcome.refused.or(&keyless),
                _ => asked.and_not(&keyless),
            }
        }
        outcome.delayed.sort();
        let (refused, delayed) = (outcome.refused, Arc::new(outcome.delayed));
        if limit.mode == Mode::Enforce {
            self.end(&refused, &delayed);
        }
        let (keys, freed) = (outcome.keys, false);
        self.keep(index, LimitDecided { asked, refused, delayed, missing, keys, instances, freed });
        true
    }

    /// Limits that are asked together, or whose keys free each other.
    fn together<A: Frees>(
        &mut self,
        unit: &Unit,
        members: Vec<(usize, &PreparedLimit<'t>, A)>,
    ) -> Option<()> {
        let events = self.round.traffic.len();
        let members = members.into_iter().map(|(index, ready, algorithm)| {
            let (set, instances) = (self.matching(ready), self.instances_of(ready));
            Member::new(index, ready, algorithm, unit, set, instances, events)
        });
        let Round { arrangement, traffic, .. } = self.round;
        let members = members.collect();
        let outcome = together::decide(unit, members, arrangement, traffic, self.stopped)?;
        self.end(&outcome.refused, &Arc::new(outcome.delayed));
        for (index, decided) in outcome.limits {
            self.keep(index, decided);
        }
        Some(())
    }

    /// Some requests end here, and some go on late.
    fn end(&mut self, refused: &Bitmap, delayed: &Arc<Delayed>) {
        self.alive.and_not(refused);
        self.decided.refused.or(refused);
        if !delayed.is_empty() {
            self.decided.delayed = Arc::clone(delayed);
        }
    }

    fn keep(&mut self, index: usize, decided: LimitDecided) {
        if let Some(slot) = self.decided.limits.get_mut(index) {
            *slot = decided;
        }
    }
}
