//! A policy made ready for one traffic: for each limit the events it is asked about, their keys and
//! weights, and which states it shares with others.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::policy::{Counters, GroupCharge, Limit, LimitKey, Policy};
use crate::site::Site;
use crate::site::facts::{Balance, Tier};
use crate::site::matching::Match;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;

use super::keys::Keys;
use super::states::{Holder, Home, Memory};

/// A policy made ready for one traffic.
#[derive(Debug)]
pub struct Prepared<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// The site.
    pub site: &'p Site,
    /// Its limits, in their order.
    pub limits: Vec<PreparedLimit<'p>>,
    /// What is asked one after another: single limits, and groups.
    pub units: Vec<Unit>,
    /// Tiers by number, as limits name them.
    pub tiers: Vec<&'p Tier>,
    /// How many separate tables of states the limits have.
    pub tables: usize,
}

/// A limit made ready.
#[derive(Debug)]
pub struct PreparedLimit<'p> {
    /// The limit.
    pub limit: &'p Limit,
    /// The events that match.
    pub asked: Arc<Bitmap>,
    /// The key of each event.
    pub keys: Arc<Keys<'p>>,
    /// The table its states are in: limits of one zone share one.
    pub table: usize,
    /// The tier whose instances count apart, as an index of [`Prepared::tiers`].
    pub tier: Option<usize>,
    /// The call that asks it in its store, by number: members of a group share one. `None` without a store.
    pub call: Option<usize>,
    /// The tier it stands at, whoever counts, as an index of [`Prepared::tiers`].
    pub stands_at: Option<usize>,
}

impl PreparedLimit<'_> {
    /// The state that this limit, the policy's `index`-th, is asked about for a request that is there at
    /// `at_us`: `None` if it isn't asked, since it doesn't match or is no longer in force. The key may be
    /// [`NONE`](crate::traffic::NONE).
    pub(super) fn holder(
        &self,
        index: usize,
        traffic: &Traffic,
        event: usize,
        at_us: i64,
        instances: &[Option<u32>],
    ) -> Option<Holder> {
        let in_force = self.limit.expires_us.is_none_or(|expires| at_us < expires);
        if !in_force || !self.asked.contains(event) {
            return None;
        }
        let instance_at = |tier: Option<usize>| {
            tier.and_then(|tier| instances.get(tier).copied().flatten()).unwrap_or(0)
        };
        let home = Home { memory: Memory::Own, instance: instance_at(self.tier) };
        let weight = self.limit.weight.of(traffic.route_of(event));
        let key = (home, self.keys.of(event));
        Some(Holder { limit: index, key, weight, stand_in: instance_at(self.stands_at) })
    }
}

/// Limits that are asked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Indices of limits, ascending.
    pub members: Vec<usize>,
    /// What a refusal by one means for the others.
    pub charge: GroupCharge,
    /// Whether it is a group, be it of one.
    pub grouped: bool,
    /// The tier it stands at, as an index of [`Prepared::tiers`].
    pub tier: Option<usize>,
}

impl Unit {
    /// Whether a refusal charges the limit that refuses: by one member of a group that charges none, it
    /// doesn't, itself included.
    pub(super) fn refusals_count(&self) -> bool {
        !self.grouped || self.charge == GroupCharge::All
    }
}

/// What policies for one traffic have in common, worked out once: which requests a match means, and keys.
#[derive(Debug, Default)]
pub struct Memo<'t> {
    selected: Vec<(Match, Arc<Bitmap>)>,
    keys: Vec<(LimitKey, Arc<Keys<'t>>)>,
}

/// The value known for a key, or one that is made now.
fn once<K: Clone + PartialEq, V>(
    known: &mut Vec<(K, Arc<V>)>,
    key: &K,
    make: impl FnOnce() -> V,
) -> Arc<V> {
    if let Some((_, value)) = known.iter().find(|(of, _)| of == key) {
        return Arc::clone(value);
    }
    let value = Arc::new(make());
    known.push((key.clone(), Arc::clone(&value)));
    value
}

impl<'p> Prepared<'p> {
    /// Makes a policy ready; every key it names must be part of what was read.
    pub fn new(
        policy: &'p Policy,
        site: &'p Site,
        traffic: &'p Traffic,
        selector: &Selector<'_>,
        memo: &mut Memo<'p>,
    ) -> Self {
        let tiers: Vec<&Tier> = site.tiers.iter().collect();
        let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
        let mut tables = 0;
        let mut limits = Vec::new();
        for limit in &policy.limits {
            let mut fresh = || {
                tables += 1;
                tables - 1
            };
            let table = match &limit.zone {
                Some(zone) => *zones.entry(zone).or_insert_with(fresh),
                None => fresh(),
            };
            let tier = limit.at.as_ref().and_then(|at| tiers.iter().position(|t| t.name == *at));
            limits.push(PreparedLimit {
                limit,
                asked: once(&mut memo.selected, &limit.matching, || {
                    selector.select(&limit.matching)
                }),
                keys: once(&mut memo.keys, &limit.key, || Keys::new(&limit.key, traffic)),
                table,
                tier: tier.filter(|_| limit.counters == Counters::Local),
                call: call(&policy.limits, limits.len()),
                stands_at: tier,
            });
        }
        let units = units(policy, &tiers);
        Self { policy, site, limits, units, tiers, tables }
    }

    /// Whether a tier spreads requests in a way that the replay has to choose for itself.
    pub fn spreads_at_random(&self) -> bool {
        self.limits.iter().any(|limit| {
            let tier = limit.tier.and_then(|tier| self.tiers.get(tier));
            tier.is_some_and(|tier| tier.instances > 1 && tier.balance == Some(Balance::Random))
        })
    }
}

/// The number of a limit's store call: that of the first member of its group that asks the same store.
fn call(limits: &[Limit], index: usize) -> Option<usize> {
    let limit = limits.get(index)?;
    let store = &limit.store.as_ref()?.name;
    let Some(group) = &limit.group else { return Some(index) };
    let is_member = |of: &Limit| of.group.as_ref().is_some_and(|theirs| theirs.name == group.name);
    let asks_it = |of: &Limit| of.store.as_ref().is_some_and(|theirs| theirs.name == *store);
    // members are adjacent
    let before = limits.iter().enumerate().take(index).rev();
    let members = before.take_while(|(_, of)| is_member(of));
    let first = members.filter(|(_, of)| asks_it(of)).last();
    Some(first.map_or(index, |(first, _)| first))
}

/// What is asked one after another.
pub(super) fn units(policy: &Policy, tiers: &[&Tier]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut open: Option<&str> = None;
    for (index, limit) in policy.limits.iter().enumerate() {
        let tier = limit.at.as_ref().and_then(|at| tiers.iter().position(|t| t.name == *at));
        let group = limit.group.as_ref();
        match (group, units.last_mut()) {
            (Some(group), Some(unit)) if open == Some(group.name.as_str()) => {
                unit.members.push(index);
            }
            _ => {
                let charge = group.map_or(GroupCharge::None, |group| group.charge);
                let grouped = group.is_some();
                units.push(Unit { members: vec![index], charge, grouped, tier });
            }
        }
        open = group.map(|group| group.name.as_str());
    }
    units
}
