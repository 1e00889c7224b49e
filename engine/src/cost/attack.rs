//! What a policy does to an attack that the site declares: how much gets through at the start, over its
//! length and in the long run, how many keys defeat it, how long it needs, what it costs, when an alarm rings.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::limiter::nginx::{Nginx, Reclaim};
use crate::limiter::{Bound, Limiter};
use crate::policy::coverage::{self, Ground, covers, is_of_addresses, whole_ticks};
use crate::policy::{KeyPart, Limit, MissingKey, Policy};
use crate::replay::sustained::{Cover, Defeat, Pace, held};
use crate::site::Site;
use crate::site::facts::{Action, Attack};
use crate::units::rate::Rate;
use crate::units::span::{DAY_US, SECOND_US};

use super::alarm::{Times, rings};

/// How many keys get all of an attack through a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stops {
    /// So many.
    Keys(u64),
    /// No number: it tells no clients apart.
    Never,
}

/// How long it takes to get all of an attack's requests through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// Microseconds, at the pace of the long run.
    Us(u128),
    /// Nothing ever gets through.
    Never,
}

/// An attack behind a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attacked {
    /// How fast it asks.
    pub asked: Pace,
    /// What gets through in the long run, bursts left out.
    pub sustained: Pace,
    /// The limit that holds it so, as an index of the policy's.
    pub by: Option<usize>,
    /// Requests that the limit `by` lets through at once when the attack begins, on all its keys.
    pub start: u64,
    /// What gets through over the attack's length; without one, as `sustained`.
    pub admitted: Pace,
    /// Key name of a limit → how many keys of it get all through.
    pub keys_to_defeat: BTreeMap<String, Stops>,
    /// How long its requests need; `None` if the site says no number of them.
    pub needed: Option<Needed>,
    /// When the first alarm rings; `None`: never.
    pub alarm: Option<Times>,
    /// What it costs over its length: the action, as an index of the site's, and the money. `None` if it pays
    /// for nothing, or has no length.
    pub spend: Option<(usize, Decimal)>,
}

/// What a policy does to an attack; `None` if the attack has no pace. Limits that don't match all of its
/// requests, are in shadow or have expired hold nothing; nor do those by a key of which the site doesn't say
/// how many the attack has. Requests are taken to be answered as `count_when` counts them.
pub fn attack(ground: &Ground<'_>, attack: &Attack) -> Option<Attacked> {
    let nowhere = Site::default();
    let site = ground.site.unwrap_or(&nowhere);
    let asked = pace(attack.rate?);
    let policy = ground.policy;
    let covers: Vec<Option<Cover>> =
        policy.limits.iter().map(|limit| cover(ground, limit, attack)).collect();
    let held = held(policy, site, asked, &covers, 0);
    let pairs = || policy.limits.iter().zip(&covers).enumerate();
    let holds = |index: usize, horizon_us: Option<i64>| {
        let limit = policy.limits.get(index)?;
        let cover = covers.get(index).copied().flatten()?;
        through(site, limit, cover, asked, horizon_us)
    };
    // whatever one of them lets through at once, the others hold too
    let enforcing = || pairs().filter(|(_, (limit, _))| enforces(limit)).map(|(index, _)| index);
    let refusing = pairs().filter(|(_, (limit, _))| refuses(limit)).map(|(index, _)| index);
    let at_once = refusing.filter_map(|index| holds(index, None)).min();
    let start = held.by.and_then(|by| at_once.or_else(|| holds(by, None))).unwrap_or(0);
    let length_us = attack.requests.and_then(|requests| length_us(requests, asked));
    let admitted = length_us.zip(attack.requests).map_or(held.sustained, |(us, requests)| {
        let least = enforcing().filter_map(|index| holds(index, Some(us))).min();
        let count = least.map_or(requests, |least| least.min(requests));
        Pace { count: count.into(), per_us: u128::from(us.unsigned_abs()).max(1) }
    });
    let spend = length_us.and_then(|_| {
        let actions = site.actions.iter().enumerate();
        let (index, paid) = actions.into_iter().find(|(_, action)| pays(ground, action, attack))?;
        let price = coverage::dearest(ground, paid, DAY_US)?;
        Some((index, coverage::spend(price, once(paid, attack, admitted.count))?))
    });
    let needed = attack.requests.map(|requests| {
        let us = u128::from(requests).saturating_mul(held.sustained.per_us);
        us.checked_div(held.sustained.count).map_or(Needed::Never, Needed::Us)
    });
    Some(Attacked {
        asked,
        sustained: held.sustained,
        by: held.by,
        start: start.min(attack.requests.unwrap_or(u64::MAX)),
        admitted,
        keys_to_defeat: keys_to_defeat(policy, site, asked, &covers),
        needed,
        alarm: alarm(policy, site, asked, &covers),
        spend,
    })
}

fn enforces(limit: &Limit) -> bool {
    limit.mode == crate::policy::Mode::Enforce
}

/// Whether it refuses what is too much at once; elsewhere that waits, and gets through later.
fn refuses(limit: &Limit) -> bool {
    enforces(limit) && limit.queue.is_none()
}

/// How long an attack of so many requests lasts at its pace, microseconds, rounded up.
fn length_us(requests: u64, pace: Pace) -> Option<i64> {
    let us = u128::from(requests).checked_mul(pace.per_us)?.div_ceil(pace.count.max(1));
    i64::try_from(us.max(1)).ok()
}

pub(super) fn pace(rate: Rate) -> Pace {
    Pace { count: rate.count.into(), per_us: u128::from(rate.per_us.unsigned_abs()).max(1) }
}

/// Whether every request of an attack is one that an action charges, if it is answered so.
pub(super) fn pays(ground: &Ground<'_>, action: &Action, attack: &Attack) -> bool {
    let mut asked = action.matching.clone();
    asked.status = Vec::new();
    covers(&asked, &attack.matching, ground.site)
}

/// Requests that are charged: where each key is charged once for ever, no more than there are keys.
fn once(action: &Action, attack: &Attack, requests: u128) -> u128 {
    let ever = action.dedupe.as_ref().filter(|dedupe| dedupe.within_us.is_none());
    let keys = ever.and_then(|dedupe| attack.keys.get(&dedupe.key));
    keys.map_or(requests, |keys| requests.min((*keys).into()))
}

/// What a limit is to an attack; `None` if it doesn't hold it.
fn cover(ground: &Ground<'_>, limit: &Limit, attack: &Attack) -> Option<Cover> {
    if !ground.in_force(limit) || !covers(&limit.matching, &attack.matching, ground.site) {
        return None;
    }
    let mut keys: u64 = 1;
    for part in &limit.key.parts {
        let many = match part {
            KeyPart::Route => attack.matching.route.len().try_into().ok().filter(|n| *n > 0)?,
            KeyPart::Key(spec) => {
                let whole = || attack.keys.get("ip").filter(|_| is_of_addresses(spec));
                *attack.keys.get(&spec.name).or_else(whole)?
            }
        };
        keys = keys.saturating_mul(many);
    }
    // a key that requests may lack is left out by whoever pays for having it
    let skips =
        limit.missing_key == MissingKey::Skip && ground.can_be_missing(limit, &attack.matching);
    let names_it = limit.key.parts.iter().all(|part| match part {
        KeyPart::Route => true,
        KeyPart::Key(spec) => attack.keys.contains_key(&spec.name),
    });
    if skips && !names_it {
        return None;
    }
    let routes = &attack.matching.route;
    let weights = routes.iter().map(|route| limit.weight.of(Some(*route)));
    Some(Cover { keys, weight: weights.min().unwrap_or_else(|| limit.weight.of(None)) })
}

/// The most that a steady attack gets through one limit on all its keys: at once, or in a time that begins
/// with the attack. What a busy nginx frees is left out: these keys are never idle.
fn through(
    site: &Site,
    limit: &Limit,
    cover: Cover,
    asked: Pace,
    horizon_us: Option<i64>,
) -> Option<u64> {
    let tick = limit.tick_us.max(1);
    // who never pauses is admitted once and then no more
    let horizon_us = horizon_us.filter(|_| !stays_out(site, limit, cover, asked));
    let most_us = whole_ticks(horizon_us.unwrap_or(tick), tick);
    let counters = limit.counters_of_key(site, |tier| tier.instances);
    let states = u128::from(counters).saturating_mul(cover.keys.into());
    let one = match &limit.limiter {
        // it notices late, and then lets as much through as a key that keeps to the limit gets
        Limiter::AwsWaf(waf) => {
            let per_us = asked.per_us.saturating_mul(states.max(1));
            let late_us = u128::from(waf.detect_us.unsigned_abs()).saturating_add(10_000_000);
            let late = asked.count.saturating_mul(late_us).div_ceil(per_us);
            let after_us = horizon_us.map_or(0, |us| u128::from(us.unsigned_abs()));
            let window_us = u128::from(waf.window_us.max(1).unsigned_abs());
            late.saturating_add(u128::from(waf.limit).saturating_mul(after_us) / window_us)
        }
        limiter => {
            let steady = match limiter {
                Limiter::Nginx(nginx) => {
                    &Limiter::Nginx(Nginx { reclaim: Reclaim::None, ..*nginx })
                }
                other => other,
            };
            match steady.bound_aligned(most_us, tick) {
                Bound::AtMost(most) => u128::from(most) / u128::from(cover.weight.max(1)),
                Bound::Unbounded => return None,
            }
        }
    };
    (cover.weight > 0).then(|| u64::try_from(one.saturating_mul(states)).unwrap_or(u64::MAX))
}

/// Whether keys of a steady attack stay out once they are refused: what is refused counts as well, and each
/// asks faster than the limit.
fn stays_out(site: &Site, limit: &Limit, cover: Cover, asked: Pace) -> bool {
    let counts_refused = matches!(&limit.limiter, Limiter::SlidingLog(log) if log.count_refused);
    let Some(rate) = limit.limiter.long_run().filter(|_| counts_refused) else { return false };
    let counters = limit.counters_of_key(site, |tier| tier.instances);
    let states = u128::from(counters).saturating_mul(cover.keys.into());
    let of_state = asked.count.saturating_mul(u128::from(rate.per_us.unsigned_abs()));
    let allowed = u128::from(rate.count).saturating_mul(asked.per_us).saturating_mul(states.max(1));
    of_state.saturating_mul(cover.weight.into()) > allowed
}

/// Per key of the limits that hold the attack: how many of it get all through each of them.
fn keys_to_defeat(
    policy: &Policy,
    site: &Site,
    asked: Pace,
    covers: &[Option<Cover>],
) -> BTreeMap<String, Stops> {
    let mut needed: BTreeMap<String, Stops> = BTreeMap::new();
    for (limit, cover) in policy.limits.iter().zip(covers) {
        let alone = Policy { limits: vec![limit.clone()], ..Policy::default() };
        let stops = match held(&alone, site, asked, &[*cover], 0).defeat {
            Some(Defeat::Keys { keys, .. }) => Stops::Keys(keys),
            Some(Defeat::Never { .. }) => Stops::Never,
            None => continue,
        };
        let most = match (needed.get(&limit.key.name), stops) {
            (Some(Stops::Keys(known)), Stops::Keys(keys)) => Stops::Keys(keys.max(*known)),
            (Some(Stops::Never), _) => Stops::Never,
            (_, stops) => stops,
        };
        needed.insert(limit.key.name.clone(), most);
    }
    needed
}

/// When the first alarm rings: each limit is asked what those before it let through, at once as fast as it
/// comes, then in the long run.
fn alarm(policy: &Policy, site: &Site, asked: Pace, covers: &[Option<Cover>]) -> Option<Times> {
    let limits = policy.limits.iter().zip(covers).enumerate();
    let each = limits.filter_map(|(index, (limit, cover))| {
        let keys = (*cover)?.keys.max(1);
        let before = Policy { limits: policy.limits.get(..index)?.to_vec(), ..Policy::default() };
        let covers = covers.get(..index)?;
        let of_key = |pace: Pace| Pace { per_us: pace.per_us.saturating_mul(keys.into()), ..pace };
        let holding = || {
            let all = before.limits.iter().zip(covers).filter(|(limit, _)| refuses(limit));
            all.filter_map(|(limit, cover)| Some((limit, (*cover)?)))
        };
        let at_once = holding().filter_map(|(l, cover)| through(site, l, cover, asked, None)).min();
        let starved = holding().any(|(limit, cover)| stays_out(site, limit, cover, asked));
        let reaches = held(&before, site, asked, covers, 0).sustained;
        let steady = rings(limit, of_key(reaches)).filter(|_| !starved);
        let Some(at_once) = at_once.map(|count| count / keys) else { return steady };
        let alarm = limit.alarm?;
        let burst = rings(limit, of_key(asked)).filter(|_| at_once > alarm);
        match (burst, steady) {
            // enough for the rest of a window and for the next
            (Some(burst), _) if at_once > alarm.saturating_mul(2) => Some(burst),
            // what is left of a window may take the burst without a sound
            (Some(burst), Some(steady)) => Some(Times {
                typical_us: burst.typical_us,
                worst_us: burst.worst_us.saturating_add(steady.worst_us),
            }),
            (Some(burst), None) if burst.typical_us == burst.worst_us => Some(burst),
            (Some(_), None) => None,
            (None, steady) => steady,
        }
    });
    let all: Vec<Times> = each.collect();
    Some(Times {
        typical_us: all.iter().map(|times| times.typical_us).min()?,
        worst_us: all.iter().map(|times| times.worst_us).min()?,
    })
}

/// Requests per second in units of 10^-`places`, rounded half away from zero.
pub fn per_s(pace: Pace, places: u32) -> u64 {
    let second = u128::from(SECOND_US.unsigned_abs());
    let scale = 10_u128.saturating_pow(places).saturating_mul(second);
    let doubled = pace.count.saturating_mul(scale).saturating_mul(2);
    let rounded = doubled.saturating_add(pace.per_us) / pace.per_us.saturating_mul(2).max(1);
    u64::try_from(rounded).unwrap_or(u64::MAX)
}
