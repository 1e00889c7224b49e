//! What an attack gets in the long run, bursts left out, and how many keys it would need to get all it
//! asks for. Needs no log: whoever asks says how fast the attack is and how many keys it has.

use crate::limiter::Limiter;
use crate::policy::{KeyPart, Limit, MissingKey, Mode, Policy};
use crate::site::Site;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use std::cmp::Ordering;

use super::prepare::{Prepared, PreparedLimit};

/// So many per so many microseconds, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How many.
    pub count: u128,
    /// Microseconds, at least 1.
    pub per_us: u128,
}

/// What a limit is to an attack that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cover {
    /// How many of the limit's keys the attack has.
    pub keys: u64,
    /// The least that one of its requests weighs.
    pub weight: u64,
}

/// How a policy holds an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What gets through in the long run: as much as the attack asks for, if no limit holds it.
    pub sustained: Pace,
    /// The limit that lets so little through, if one does.
    pub by: Option<usize>,
    /// How many keys get all of it through; `None` if no limit covers it.
    pub defeat: Option<Defeat>,
    /// The limit that is there to hold it: of those that cover it, in shadow or not, the one that gives a
    /// client least, or where none tells clients apart, all together.
    pub tightest: Option<usize>,
}

/// What it takes to get all of an attack through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defeat {
    /// So many keys of this limit, the slowest per key.
    Keys {
        /// The limit.
        limit: usize,
        /// How many.
        keys: u64,
    },
    /// No number of keys: this limit tells no clients apart, and admits less.
    Never {
        /// The limit.
        limit: usize,
    },
}

impl Pace {
    /// Compares exactly, whatever the size of the numbers: whole parts first, then the reciprocals of what
    /// is left.
    fn cmp(self, other: Self) -> Ordering {
        let (mut one, mut two) = (self, other);
        let mut turned = false;
        loop {
            let whole = |pace: Self| pace.count / pace.per_us.max(1);
            let rest = |pace: Self| pace.count % pace.per_us.max(1);
            let by_whole = whole(one).cmp(&whole(two));
            let order = match (by_whole, rest(one), rest(two)) {
                (Ordering::Equal, 0, 0) => Ordering::Equal,
                (Ordering::Equal, 0, _) => Ordering::Less,
                (Ordering::Equal, _, 0) => Ordering::Greater,
                (Ordering::Equal, left, right) => {
                    one = Self { count: one.per_us, per_us: left };
                    two = Self { count: two.per_us, per_us: right };
                    turned = !turned;
                    continue;
                }
                (order, ..) => order,
            };
            return if turned { order.reverse() } else { order };
        }
    }

    /// The slower of two; the first if they are the same.
    fn slower(self, other: Self) -> bool {
        self.cmp(other) == Ordering::Less
    }

    /// How often this goes into another, rounded up.
    fn times_in(self, other: Self) -> u64 {
        let all = other.count.saturating_mul(self.per_us);
        let one = other.per_us.saturating_mul(self.count);
        u64::try_from(all.div_ceil(one.max(1))).unwrap_or(u64::MAX)
    }

    fn times(self, by: u64) -> Self {
        Self { count: self.count.saturating_mul(by.into()), ..self }
    }
}

/// How a policy holds an attack of such a pace; `covers` tells what each of its limits is to it, `None` for
/// one that isn't asked about all of its requests, or isn't in force.
///
/// `seen`: how many instances were observed, for tiers whose spread is; 0 without a log.
pub fn held(
    policy: &Policy,
    site: &Site,
    attack: Pace,
    covers: &[Option<Cover>],
    seen: usize,
) -> Held {
    let mut sustained = attack;
    let mut by = None;
    let mut slowest: Option<(usize, Pace)> = None;
    let mut never: Option<(usize, Pace)> = None;
    // whether it tells clients apart comes first
    let mut tightest: Option<(bool, Pace, usize)> = None;
    for (index, (limit, cover)) in policy.limits.iter().zip(covers).enumerate() {
        let Some(cover) = cover else { continue };
        let Some(per_key) = per_key(limit, site, seen, cover.weight) else { continue };
        let apart = tells_clients_apart(limit);
        if tightest.is_none_or(|(tells, pace, _)| {
            apart && !tells || (apart == tells && per_key.slower(pace))
        }) {
            tightest = Some((apart, per_key, index));
        }
        if limit.mode != Mode::Enforce {
            continue;
        }
        let in_all = per_key.times(cover.keys);
        if in_all.slower(sustained) {
            sustained = in_all;
            by = Some(index);
        }
        let slot = if apart && per_key.count > 0 {
            &mut slowest
        } else if in_all.slower(attack) {
            &mut never
        } else {
            continue;
        };
        if slot.is_none_or(|(_, slowest)| per_key.slower(slowest)) {
            *slot = Some((index, per_key));
        }
    }
    let keys = slowest.map(|(limit, pace)| Defeat::Keys { limit, keys: pace.times_in(attack) });
    let defeat = never.map(|(limit, _)| Defeat::Never { limit }).or(keys);
    Held { sustained, by, defeat, tightest: tightest.map(|(_, _, index)| index) }
}

/// What one key is admitted in the long run on all its counters, in requests of such a weight.
fn per_key(limit: &Limit, site: &Site, seen: usize, weight: u64) -> Option<Pace> {
    if matches!(limit.limiter, Limiter::Block(_)) {
        return Some(Pace { count: 0, per_us: 1 });
    }
    let rate = limit.limiter.long_run()?;
    let counters = limit.counters_of_key(site, |tier| tier.instances_seen(seen));
    let per_us = u128::from(rate.per_us.unsigned_abs()).saturating_mul(weight.into());
    // what weighs nothing is not held
    (weight > 0).then(|| Pace { count: rate.count.into(), per_us: per_us.max(1) }.times(counters))
}

/// Whether more clients are more keys.
fn tells_clients_apart(limit: &Limit) -> bool {
    limit.key.parts.iter().any(|part| *part != KeyPart::Route)
}

/// What each limit is to the requests of an attack rule, as a log shows them.
pub fn covers(prepared: &Prepared<'_>, traffic: &Traffic, attack: &Bitmap) -> Vec<Option<Cover>> {
    let last_us = attack.iter().filter_map(|event| traffic.events.times_us.get(event)).max();
    let cover = |ready: &PreparedLimit<'_>| {
        let limit = ready.limit;
        let lasts = limit.expires_us.zip(last_us).is_none_or(|(expires, last)| *last < expires);
        let mut outside = attack.clone();
        outside.and_not(&ready.asked);
        let same_weight = limit.weight.by_route.is_empty();
        let mut weight = if same_weight { limit.weight.default } else { u64::MAX };
        // by the key's number; the last is for requests without it
        let mut seen = vec![false; ready.keys.distinct() + 1];
        let keyless = ready.keys.distinct();
        attack.for_each(|event| {
            let key = usize::try_from(ready.keys.of(event)).unwrap_or(keyless).min(keyless);
            if let Some(seen) = seen.get_mut(key) {
                *seen = true;
            }
            if !same_weight {
                weight = weight.min(limit.weight.of(traffic.route_of(event)));
            }
        });
        let without_key = seen.last() == Some(&true);
        let skips = limit.missing_key == MissingKey::Skip && without_key;
        let refuses = limit.missing_key == MissingKey::Refuse && without_key;
        let keys = seen.iter().filter(|seen| **seen).count() - usize::from(refuses);
        let keys = u64::try_from(keys).unwrap_or(u64::MAX);
        (lasts && outside.is_empty() && !skips).then_some(Cover { keys, weight })
    };
    prepared.limits.iter().map(cover).collect()
}

#[cfg(test)]
#[path = "sustained_tests.rs"]
mod tests;
