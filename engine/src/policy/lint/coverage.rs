//! What bounds a paid action: which limits count for it, which are left out and why, and whether what
//! is left meets the site's requirements. The rule is "a limit counts for a paid action iff …".

use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

use crate::limiter::fixed_window::Window;
use crate::limiter::{Algorithm, Bound, Limiter};
use crate::policy::{KeyPart, Limit, MissingKey, Mode, OnStoreError};
use crate::site::facts::{Action, QuotaPeriod, Requirement};
use crate::site::matching::StatusRange;
use crate::units::span::{self, DAY_US};

use super::Danger;
use super::binding::whole_ticks;
use super::cover::{covers, covers_statuses};
use super::ground::{Ground, figure};

/// Why a limit doesn't count, and the one change after which it would, if there is one.
pub(super) struct LeftOut {
    pub(super) why: String,
    pub(super) cure: Option<&'static str>,
}

impl LeftOut {
    fn new(why: impl Into<String>, cure: Option<&'static str>) -> Self {
        Self { why: why.into(), cure }
    }
}

/// The most requests of an action that a limit admits in any interval of the horizon.
///
/// # Errors
/// Every reason for which it doesn't count.
pub(super) fn bound(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    horizon_us: i64,
) -> Result<u128, Vec<LeftOut>> {
    let mut reasons: Vec<LeftOut> = [
        not_enforcing(limit),
        not_covering(ground, limit, action),
        not_lasting(ground, limit, horizon_us),
    ]
    .into_iter()
    .flatten()
    .collect();
    let keys = keys(ground, limit);
    if let Err(reason) = &keys {
        reasons.push(LeftOut::new(reason.clone(), None));
    }
    let admitted = admitted(ground, limit, action, horizon_us);
    match (admitted, keys) {
        (Err(reason), _) => {
            reasons.push(reason);
            Err(reasons)
        }
        (Ok(one), Ok(keys)) if reasons.is_empty() => Ok(one.saturating_mul(keys)),
        _ => Err(reasons),
    }
}

fn not_enforcing(limit: &Limit) -> Option<LeftOut> {
    let shadow = || LeftOut::new("is in shadow", Some("set `mode = \"enforce\"` on"));
    let open = || {
        let why = "fails open: without its store everything passes";
        LeftOut::new(why, Some("set `on_store_error = \"refuse\"` on"))
    };
    if limit.mode == Mode::Shadow {
        return Some(shadow());
    }
    limit.store.as_ref().filter(|store| store.on_error == OnStoreError::Allow).map(|_| open())
}

fn not_covering(ground: &Ground<'_>, limit: &Limit, action: &Action) -> Option<LeftOut> {
    if !covers(&limit.matching, &action.matching, ground.site) {
        let why = format!("isn't asked about every request of `{}`", action.name);
        return Some(LeftOut::new(why, None));
    }
    (limit.missing_key == MissingKey::Skip && ground.can_be_missing(limit)).then(|| {
        let why = format!("lets requests without {} pass", limit.key.name);
        LeftOut::new(why, Some("set `missing_key = \"refuse\"` on"))
    })
}

fn not_lasting(ground: &Ground<'_>, limit: &Limit, horizon_us: i64) -> Option<LeftOut> {
    let (expires, now) = (limit.expires_us?, ground.now_us?);
    if expires <= now {
        return Some(LeftOut::new("has expired", None));
    }
    let ends = expires < now.saturating_add(horizon_us);
    ends.then(|| LeftOut::new(format!("expires within {}", span::format(horizon_us)), None))
}

/// How many keys of the limit an attacker can have.
fn keys(ground: &Ground<'_>, limit: &Limit) -> Result<u128, String> {
    let site = ground.site.ok_or_else(String::new)?;
    let mut all: u128 = 1;
    for part in &limit.key.parts {
        let many = match part {
            KeyPart::Route => {
                u128::try_from(site.routes.len()).unwrap_or(u128::MAX).saturating_add(1)
            }
            KeyPart::Key(spec) => {
                let by_name = site.keys_available.get(&spec.name);
                // no more networks than addresses
                let cut = || spec.address_prefix().and_then(|_| site.keys_available.get("ip"));
                let known = by_name.or_else(cut).ok_or_else(|| {
                    format!("is per {}, of which an attacker can have any number", spec.name)
                })?;
                u128::from(*known)
            }
        };
        all = all.saturating_mul(many);
    }
    // requests without the key share one more
    if limit.missing_key == MissingKey::Shared && ground.can_be_missing(limit) {
        all = all.saturating_add(1);
    }
    Ok(all)
}

/// What one key is admitted on all its counters.
fn admitted(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    horizon_us: i64,
) -> Result<u128, LeftOut> {
    if limit.weight.default == 0 || limit.weight.by_route.iter().any(|(_, weight)| *weight == 0) {
        return Err(LeftOut::new("has requests that weigh nothing", None));
    }
    let counters = u128::from(ground.counters(limit));
    if let Some(statuses) = &limit.count_when {
        return counted(ground, limit, action, statuses, horizon_us)
            .map(|n| n.saturating_mul(counters));
    }
    let tick = limit.tick_us.max(1);
    let unbounded = || {
        let why = match limit.limiter {
            Limiter::Concurrency(_) => {
                "bounds how many requests are in flight, not how many there are"
            }
            _ => "admits any number in the worst case",
        };
        LeftOut::new(why, None)
    };
    let at_most = |us: i64| match limit.limiter.bound(whole_ticks(us, tick), tick) {
        Bound::AtMost(most) => Ok(u128::from(most)),
        Bound::Unbounded => Err(unbounded()),
    };
    let most = at_most(horizon_us)?;
    if limit.store.as_ref().is_some_and(|store| store.on_error == OnStoreError::Local) {
        let instances = u128::from(ground.instances(limit));
        return Ok(most.saturating_mul(instances).saturating_add(at_most(tick)?));
    }
    Ok(most.saturating_mul(counters))
}

/// What a limit that counts responses admits of those it counts.
fn counted(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    statuses: &[StatusRange],
    horizon_us: i64,
) -> Result<u128, LeftOut> {
    if !covers_statuses(statuses, &action.matching.status) {
        return Err(LeftOut::new("counts other responses than the action's", None));
    }
    let Some(flight) = in_flight(ground, limit) else {
        let why = "counts responses, which any number of requests in flight can outrun";
        return Err(LeftOut::new(why, None));
    };
    let (most, window_us) = match &limit.limiter {
        Limiter::SlidingLog(log) => (log.limit, log.window_us),
        Limiter::FixedWindow(fixed) => match fixed.window {
            Window::Clock { us, .. } | Window::FirstRequest { us, .. } => (fixed.limit, us),
            Window::Calendar { .. } => (fixed.limit, DAY_US),
        },
        Limiter::SlidingCounter(counter) => (counter.limit, counter.window_us),
        _ => return Err(LeftOut::new("counts responses", None)),
    };
    // a window of fixed borders can be met once more than fits
    let windows = u128::from(horizon_us.unsigned_abs())
        .div_ceil(u128::from(window_us.max(1).unsigned_abs()))
        + 1;
    let once = u128::from(most).saturating_sub(1).saturating_add(flight.into());
    Ok(once.saturating_mul(windows))
}

/// Most requests of a key of this limit that are in flight together: by an earlier limit on them, or by
/// the site's word.
pub(super) fn in_flight(ground: &Ground<'_>, limit: &Limit) -> Option<u64> {
    let earlier = ground.policy.limits.iter().take_while(|other| other.name != limit.name);
    let by_limit = earlier
        .filter(|other| {
            let key_is_coarser = other.key.parts.iter().all(|p| limit.key.parts.contains(p));
            let skips = other.missing_key == MissingKey::Skip && ground.can_be_missing(other);
            let open = other.store.as_ref().is_some_and(|s| s.on_error != OnStoreError::Refuse);
            other.mode == Mode::Enforce
                && key_is_coarser
                && (!skips || limit.missing_key == MissingKey::Skip)
                && !open
                && ground.in_force(other)
                && covers(&other.matching, &limit.matching, ground.site)
        })
        .filter_map(|other| {
            let slots = match &other.limiter {
                Limiter::Concurrency(concurrency) => Some(concurrency.limit),
                Limiter::Spacing(spacing) => spacing.max_concurrent,
                _ => None,
            }?;
            Some(slots.saturating_mul(ground.counters(other)))
        })
        .min();
    let said = ground.site.and_then(|site| site.max_in_flight.get(&limit.key.name)).copied();
    [by_limit, said].into_iter().flatten().min()
}

/// The most requests of an action that the whole policy lets through, `None` if nothing bounds them.
pub(super) fn chain(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<u128> {
    let counted = |limit| bound(ground, limit, action, horizon_us).ok();
    let by_limits = ground.policy.limits.iter().filter_map(counted).min();
    // what is charged once per key and has so many keys
    let once = action.dedupe.as_ref().filter(|dedupe| dedupe.within_us.is_none());
    let by_keys = once
        .and_then(|dedupe| ground.site?.keys_available.get(&dedupe.key))
        .map(|keys| u128::from(*keys));
    [by_limits, by_keys].into_iter().flatten().min()
}

/// The dearest that one request of an action can be.
pub(super) fn dearest(action: &Action) -> Option<Decimal> {
    let prices = action.prices.iter().map(|(_, price)| *price);
    let price = prices.chain(action.unit_cost).max()?;
    price.checked_mul(Decimal::from(action.units_max.max(1)))
}

/// What so many requests of an action cost at most; `None` if the figure is out of range.
pub(super) fn spend(action: &Action, requests: u128) -> Option<Decimal> {
    dearest(action)?.checked_mul(Decimal::from_u128(requests)?)
}

/// What an action can cost in any interval of the horizon; `None` if nothing bounds it.
fn money(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<Decimal> {
    let by_limits = spend(action, chain(ground, action, horizon_us)?)?;
    let Some(quota) = &action.provider_quota else { return Some(by_limits) };
    let late = spend(action, chain(ground, action, quota.late_us.max(1))?)?;
    let period_us = match quota.per {
        QuotaPeriod::Day => DAY_US,
        QuotaPeriod::Month => 28 * DAY_US,
    };
    let periods = horizon_us.checked_div(period_us).unwrap_or(0).saturating_add(2);
    let once = quota.amount.checked_add(late)?;
    once.checked_mul(Decimal::from(periods)).map(|by_quota| by_quota.min(by_limits))
}

/// Whether the limits that count for an action miss a requirement on its money, and how sure that is.
fn misses(ground: &Ground<'_>, action: &Action, requirement: &Requirement) -> Option<Danger> {
    let max = requirement.max?;
    if figure(requirement, &action.name, &["bound"]) {
        let met = money(ground, action, requirement.horizon_us).is_some_and(|money| money <= max);
        // a block may keep the dearest prices out
        let danger = if action.prices.is_empty() { Danger::Certain } else { Danger::Possible };
        return (!met).then_some(danger);
    }
    let unbounded = figure(requirement, &action.name, &["bound_aligned", "replayed_worst"])
        && chain(ground, action, requirement.horizon_us).is_none();
    unbounded.then_some(Danger::Possible)
}

/// The first requirement on money that is missed as the limit is, and met as it would be mended.
pub(super) fn broken_by<'a>(
    ground: &Ground<'a>,
    limit: &'a Limit,
    mend: impl Fn(&mut Limit),
) -> Option<(&'a Requirement, Danger)> {
    let mut policy = ground.policy.clone();
    policy.limits.iter_mut().filter(|other| other.name == limit.name).for_each(mend);
    let mended = Ground { policy: &policy, site: ground.site, now_us: ground.now_us };
    let (bounds, others): (Vec<&Requirement>, Vec<&Requirement>) =
        ground.requirements().iter().partition(|r| r.metric.rsplit('.').next() == Some("bound"));
    ground.paid(limit).find_map(|action| {
        bounds.iter().chain(&others).find_map(|requirement| {
            let danger = misses(ground, action, requirement)?;
            misses(&mended, action, requirement).is_none().then_some((*requirement, danger))
        })
    })
}
