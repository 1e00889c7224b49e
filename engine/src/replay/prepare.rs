//! A policy made ready for one traffic: for each limit the events it is asked about, their keys and
//! weights, and which states it shares with others.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::{Counters, GroupCharge, KeyPart, Limit, LimitKey, Policy};
use crate::site::Site;
use crate::site::facts::{Balance, Tier};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;
use crate::traffic::{NONE, Traffic};

use super::states::Holder;

/// A policy made ready for one traffic.
#[derive(Debug)]
pub struct Prepared<'p> {
    /// The policy.
    pub policy: &'p Policy,
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
    pub asked: Bitmap,
    /// The key of each event.
    pub keys: Keys,
    /// The table its states are in: limits of one zone share one.
    pub table: usize,
    /// The tier whose instances count apart, as an index of [`Prepared::tiers`].
    pub tier: Option<usize>,
}

impl PreparedLimit<'_> {
    /// The state that this limit, the policy's `index`-th, is asked about for a request that is there at
    /// `at_us`: `None` if it isn't asked, since it doesn't match or is no longer in force. The key may be
    /// [`NONE`].
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
        let instance = self.tier.and_then(|tier| instances.get(tier).copied().flatten());
        let weight = self.limit.weight.of(traffic.route_of(event));
        Some(Holder { limit: index, key: (instance.unwrap_or(0), self.keys.of(event)), weight })
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

/// The key of every event for one limit.
#[derive(Debug)]
pub struct Keys {
    /// The key's number per event, [`NONE`] where it is missing; `None` if all share one.
    ids: Option<Vec<u32>>,
    /// The texts, by number.
    texts: Vec<Vec<u8>>,
}

impl Keys {
    /// The key of an event, [`NONE`] if it has none.
    pub fn of(&self, event: usize) -> u32 {
        match &self.ids {
            None => 0,
            Some(ids) => ids.get(event).copied().unwrap_or(NONE),
        }
    }

    /// The text of a key; `-` for the state that requests without the key share.
    pub fn text(&self, id: u32) -> &[u8] {
        let text = usize::try_from(id).ok().and_then(|id| self.texts.get(id));
        text.map_or(b"-", Vec::as_slice)
    }

    /// Distinct keys.
    pub fn distinct(&self) -> usize {
        self.texts.len()
    }

    fn global() -> Self {
        Self { ids: None, texts: vec![b"global".to_vec()] }
    }
}

impl<'p> Prepared<'p> {
    /// Makes a policy ready; every key it names must be part of what was read.
    pub fn new(
        policy: &'p Policy,
        site: &'p Site,
        traffic: &Traffic,
        selector: &Selector<'_>,
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
                asked: selector.select(&limit.matching),
                keys: keys(&limit.key, traffic),
                table,
                tier: tier.filter(|_| limit.counters == Counters::Local),
            });
        }
        let units = units(policy, &tiers);
        Self { policy, limits, units, tiers, tables }
    }

    /// Whether a tier spreads requests in a way that the replay has to choose for itself.
    pub fn spreads_at_random(&self) -> bool {
        self.limits.iter().any(|limit| {
            let tier = limit.tier.and_then(|tier| self.tiers.get(tier));
            tier.is_some_and(|tier| tier.instances > 1 && tier.balance == Some(Balance::Random))
        })
    }
}

fn units(policy: &Policy, tiers: &[&Tier]) -> Vec<Unit> {
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

/// The key of every event, and its texts.
pub(super) fn keys(key: &LimitKey, traffic: &Traffic) -> Keys {
    let mut parts: Vec<(Vec<u32>, Vec<Vec<u8>>)> =
        key.parts.iter().map(|part| part_of(part, traffic)).collect();
    match (parts.pop(), parts.is_empty()) {
        (None, _) => Keys::global(),
        (Some((ids, texts)), true) => Keys { ids: Some(ids), texts },
        (Some(last), false) => {
            parts.push(last);
            joined(&parts, traffic.len())
        }
    }
}

fn part_of(part: &KeyPart, traffic: &Traffic) -> (Vec<u32>, Vec<Vec<u8>>) {
    match part {
        KeyPart::Route => {
            let texts = traffic.places.iter().map(|place| place.clone().into_bytes()).collect();
            (traffic.events.places.clone(), texts)
        }
        KeyPart::Key(spec) => match traffic.key(spec) {
            Some(column) => {
                let texts = (0..column.distinct()).map(|id| column.text(id)).collect();
                (column.ids.into_owned(), texts)
            }
            None => (vec![NONE; traffic.len()], Vec::new()),
        },
    }
}

/// Several keys together: numbers by the sorted order of their parts' numbers, which is that of their
/// texts.
fn joined(parts: &[(Vec<u32>, Vec<Vec<u8>>)], len: usize) -> Keys {
    let tuple = |event: usize| -> Option<Vec<u32>> {
        parts.iter().map(|(ids, _)| ids.get(event).copied().filter(|id| *id != NONE)).collect()
    };
    let distinct: BTreeSet<Vec<u32>> = (0..len).filter_map(tuple).collect();
    let numbers: BTreeMap<&Vec<u32>, u32> = distinct.iter().zip(0..NONE).collect();
    let ids = (0..len)
        .map(|event| tuple(event).and_then(|t| numbers.get(&t).copied()).unwrap_or(NONE))
        .collect();
    let text = |tuple: &Vec<u32>| {
        let mut whole = Vec::new();
        for (index, (id, (_, texts))) in tuple.iter().zip(parts).enumerate() {
            if index > 0 {
                whole.push(b'+');
            }
            let part = usize::try_from(*id).ok().and_then(|id| texts.get(id));
            whole.extend_from_slice(part.map_or(b"-", Vec::as_slice));
        }
        whole
    };
    Keys { ids: Some(ids), texts: distinct.iter().map(text).collect() }
}
