//! One limit before one paid action: what it admits at most, or why it doesn't count.

use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::sliding_counter::SlidingCounter;
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::{Algorithm, Bound, Grid, Limiter};
use crate::policy::{KeyPart, Limit, MissingKey, Mode, OnStoreError};
use crate::site::facts::{Action, AfterOutage, OutageKind};
use crate::site::key::KeySpec;
use crate::site::matching::StatusRange;
use crate::units::span;

use super::cover::{covers, covers_statuses, overlaps};
use super::{Ground, whole_ticks};

/// Why a limit doesn't count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// A clause whose subject is the limit: "fails open: without its store everything passes".
    pub why: String,
    /// The one change after which this would be no reason, if there is one.
    pub cure: Option<Cure>,
}

/// A change to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cure {
    /// Out of shadow.
    Enforce,
    /// Fail closed.
    RefuseWithoutStore,
    /// Refuse who has no key.
    RefuseWithoutKey,
}

impl Cure {
    /// What to do, before the limit's name: "set … on".
    pub fn text(self) -> &'static str {
        match self {
            Self::Enforce => "set `mode = \"enforce\"` on",
            Self::RefuseWithoutStore => "set `on_store_error = \"refuse\"` on",
            Self::RefuseWithoutKey => "set `missing_key = \"refuse\"` on",
        }
    }

    /// Does it.
    pub fn mend(self, limit: &mut Limit) {
        match self {
            Self::Enforce => limit.mode = Mode::Enforce,
            Self::RefuseWithoutStore => {
                limit.store.iter_mut().for_each(|store| store.on_error = OnStoreError::Refuse);
            }
            Self::RefuseWithoutKey => limit.missing_key = MissingKey::Refuse,
        }
    }
}

impl LeftOut {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), cure: None }
    }

    fn curable(why: impl Into<String>, cure: Cure) -> Self {
        Self { why: why.into(), cure: Some(cure) }
    }
}

/// What a limit that counts admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Requests in any interval of the horizon's length.
    pub any: u128,
    /// Requests in such an interval that begins with one of the limit's windows; else as `any`.
    pub aligned: u128,
    /// Where these windows begin.
    pub grid: Option<Grid>,
}

/// The most requests of an action that a limit admits in an interval of the horizon.
///
/// # Errors
/// Every reason for which it doesn't count.
pub fn limit(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    horizon_us: i64,
) -> Result<Counted, Vec<LeftOut>> {
    if !overlaps(&limit.matching, &action.matching, ground.site) {
        return Err(vec![LeftOut::new(format!("is asked about no request of `{}`", action.name))]);
    }
    let mut reasons: Vec<LeftOut> = [
        not_enforcing(limit),
        failing_open(limit),
        not_covering(ground, limit, action),
        skipping(ground, limit, action),
        not_lasting(ground, limit, horizon_us),
    ]
    .into_iter()
    .flatten()
    .collect();
    let one = per_key(ground, limit, action, horizon_us);
    // what admits nothing or anything does so for any number of keys
    let keys = match &one {
        Ok(Counted { any: 0, .. }) => Ok(1),
        Ok(_) => keys(ground, limit, action),
        Err(_) => keys(ground, limit, action).or(Ok(1)),
    };
    match (one, keys) {
        (Ok(one), Ok(keys)) if reasons.is_empty() => Ok(Counted {
            any: one.any.saturating_mul(keys),
            aligned: one.aligned.saturating_mul(keys),
            grid: one.grid,
        }),
        (one, keys) => {
            reasons.extend(keys.err());
            reasons.extend(one.err());
            Err(reasons)
        }
    }
}

fn not_enforcing(limit: &Limit) -> Option<LeftOut> {
    (limit.mode == Mode::Shadow).then(|| LeftOut::curable("is in shadow", Cure::Enforce))
}

fn failing_open(limit: &Limit) -> Option<LeftOut> {
    let open = limit.store.as_ref().is_some_and(|store| store.on_error == OnStoreError::Allow);
    let why = "fails open: without its store everything passes";
    open.then(|| LeftOut::curable(why, Cure::RefuseWithoutStore))
}

fn not_covering(ground: &Ground<'_>, limit: &Limit, action: &Action) -> Option<LeftOut> {
    let covered = covers(&limit.matching, &action.matching, ground.site);
    (!covered)
        .then(|| LeftOut::new(format!("isn't asked about every request of `{}`", action.name)))
}

fn skipping(ground: &Ground<'_>, limit: &Limit, action: &Action) -> Option<LeftOut> {
    let skips =
        limit.missing_key == MissingKey::Skip && ground.can_be_missing(limit, &action.matching);
    skips.then(|| {
        let why = format!("lets requests without {} pass", limit.key.name);
        LeftOut::curable(why, Cure::RefuseWithoutKey)
    })
}

fn not_lasting(ground: &Ground<'_>, limit: &Limit, horizon_us: i64) -> Option<LeftOut> {
    let (expires, now) = (limit.expires_us?, ground.now_us?);
    if expires <= now {
        return Some(LeftOut::new("has expired"));
    }
    let ends = expires < now.saturating_add(horizon_us);
    ends.then(|| LeftOut::new(format!("expires within {}", span::format(horizon_us))))
}

/// How many keys of the limit an attacker can have among an action's requests: parts multiply.
fn keys(ground: &Ground<'_>, limit: &Limit, action: &Action) -> Result<u128, LeftOut> {
    let mut all: u128 = 1;
    for part in &limit.key.parts {
        let many = match part {
            KeyPart::Route => {
                let all = || ground.site.map_or(0, |site| site.routes.len());
                let [of_limit, paid] = [&limit.matching, &action.matching].map(|m| m.route.len());
                let routes = [paid, of_limit].into_iter().find(|routes| *routes > 0);
                u128::try_from(routes.unwrap_or_else(all)).unwrap_or(u128::MAX)
            }
            KeyPart::Key(spec) => {
                let available = ground.site.map(|site| &site.keys_available);
                let named = |name: &str| available.and_then(|keys| keys.get(name));
                let cut = || named("ip").filter(|_| is_of_addresses(spec));
                let known = named(&spec.name).or_else(cut).ok_or_else(|| {
                    let name = &spec.name;
                    LeftOut::new(format!("is per {name}, of which an attacker can have any number"))
                })?;
                u128::from(*known)
            }
        };
        all = all.saturating_mul(many);
    }
    // requests without the key share one more
    if limit.missing_key == MissingKey::Shared && ground.can_be_missing(limit, &action.matching) {
        all = all.saturating_add(1);
    }
    Ok(all)
}

/// Whether there are no more of a key than of `ip`, which has whole IPv4 addresses and networks of 64 bits: it is
/// made of addresses that are cut as short, at least.
pub fn is_of_addresses(spec: &KeySpec) -> bool {
    spec.address_prefix().is_some_and(|(_, v6)| v6 <= 64)
}

/// What one key is admitted on all its counters.
fn per_key(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    horizon_us: i64,
) -> Result<Counted, LeftOut> {
    let weight = u128::from(lightest(limit, action));
    if weight == 0 {
        return Err(LeftOut::new("has requests that weigh nothing"));
    }
    let tick = limit.tick_us.max(1);
    let horizon_us = whole_ticks(horizon_us, tick);
    let (any, aligned, full) = if let Some(statuses) = &limit.count_when {
        let all = responses(ground, limit, action, statuses, horizon_us)?;
        (all.0, all.0, all.1)
    } else {
        let most = |bound| match bound {
            Bound::AtMost(most) => Ok(u128::from(most)),
            Bound::Unbounded => Err(unbounded(limit)),
        };
        let any = most(limit.limiter.bound(horizon_us, tick))?;
        let aligned = most(limit.limiter.bound_aligned(horizon_us, tick))?;
        (any, aligned, most(limit.limiter.bound(tick, tick))?)
    };
    let local = limit.store.as_ref().is_some_and(|store| store.on_error == OnStoreError::Local);
    let counters = if local { ground.instances(limit) } else { ground.counters(limit) };
    let counters = u128::from(counters);
    let anew = full.saturating_mul(flushes(ground, limit, horizon_us));
    let cleared = full.saturating_mul(clears(limit, horizon_us));
    let of_store = if local { full } else { 0 };
    // starts are counted where weights take slots
    let per_request = if matches!(limit.limiter, Limiter::Spacing(_)) { 1 } else { weight };
    let requests = |most: u128| {
        let most = most.saturating_add(cleared);
        let all = most.saturating_mul(counters).saturating_add(of_store).saturating_add(anew);
        all.checked_div(per_request).unwrap_or(all)
    };
    let grid = limit.limiter.grid().filter(|_| aligned < any);
    Ok(Counted { any: requests(any), aligned: requests(aligned), grid })
}

/// The least that a request of the action weighs.
fn lightest(limit: &Limit, action: &Action) -> u64 {
    let routes = &action.matching.route;
    let known = |route: usize| limit.weight.by_route.iter().find(|(of, _)| *of == route);
    if routes.is_empty() {
        let all = limit.weight.by_route.iter().map(|(_, weight)| *weight);
        return all.chain([limit.weight.default]).min().unwrap_or(1);
    }
    let weights = routes.iter().map(|route| known(*route).map_or(limit.weight.default, |w| w.1));
    weights.min().unwrap_or(limit.weight.default)
}

fn unbounded(limit: &Limit) -> LeftOut {
    LeftOut::new(match limit.limiter {
        Limiter::Concurrency(_) => "bounds how many requests are in flight, not how many there are",
        Limiter::AwsWaf(_) => "notices a flood late, however large it is by then",
        _ => "admits any number in the worst case",
    })
}

/// The most times that the limit's store forgets within the horizon, as the site declares it: flushes, and
/// outages after which it is empty.
fn flushes(ground: &Ground<'_>, limit: &Limit, horizon_us: i64) -> u128 {
    let (Some(site), Some(store)) = (ground.site, &limit.store) else { return 0 };
    let mine = site.outages.iter().filter(|outage| outage.store == store.name);
    let forgets = mine.filter_map(|outage| match (outage.kind, outage.after) {
        (OutageKind::Flush, _) => Some(outage.from_us),
        (OutageKind::Down, AfterOutage::Empty) => Some(outage.to_us),
        _ => None,
    });
    let instants: Vec<i64> = forgets.collect();
    let within = |from: &i64| {
        let until = from.saturating_add(horizon_us);
        instants.iter().filter(|at| *from <= **at && **at < until).count()
    };
    u128::try_from(instants.iter().map(within).max().unwrap_or(0)).unwrap_or(u128::MAX)
}

/// The most times that bans empty one counter within the horizon: bans are at least their length apart.
fn clears(limit: &Limit, horizon_us: i64) -> u128 {
    let Some(ban) = limit.ban.filter(|ban| ban.clears) else { return 0 };
    let apart = u128::from(ban.us.max(limit.tick_us).max(1).unsigned_abs());
    u128::from(horizon_us.unsigned_abs()).div_ceil(apart).saturating_add(1)
}

/// What a limit that counts responses admits of those it counts, on one counter; and a full limit of it.
///
/// A window holds at most limit − 1 that were counted before the last was asked, and those on their way.
fn responses(
    ground: &Ground<'_>,
    limit: &Limit,
    action: &Action,
    statuses: &[StatusRange],
    horizon_us: i64,
) -> Result<(u128, u128), LeftOut> {
    if !covers_statuses(statuses, &action.matching.status) {
        return Err(LeftOut::new("counts other responses than the action's"));
    }
    let Some(flight) = in_flight(ground, limit, horizon_us) else {
        let why = "counts responses, which any number of requests in flight can outrun";
        return Err(LeftOut::new(why));
    };
    // how many windows can be met: what a limit of one admits
    let (most, single, opens_late) = match &limit.limiter {
        Limiter::SlidingLog(log) => {
            (log.limit, Limiter::SlidingLog(SlidingLog { limit: 1, ..*log }), false)
        }
        Limiter::FixedWindow(fixed) => {
            // one that opens with a response leaves requests before it outside
            let late = matches!(fixed.window, Window::FirstRequest { .. });
            (fixed.limit, Limiter::FixedWindow(FixedWindow { limit: 1, ..*fixed }), late)
        }
        Limiter::SlidingCounter(counter) => {
            let single = SlidingCounter { limit: 1, ..*counter };
            (counter.limit, Limiter::SlidingCounter(single), true)
        }
        _ => return Err(LeftOut::new("counts responses")),
    };
    let Bound::AtMost(windows) = single.bound(horizon_us, limit.tick_us.max(1)) else {
        return Err(unbounded(limit));
    };
    let windows = u128::from(windows).saturating_add(opens_late.into());
    let once = u128::from(most).saturating_sub(1).saturating_add(flight.into());
    Ok((once.saturating_mul(windows), once))
}

/// Most requests of a key of this limit that are in flight together for the whole horizon: by an earlier
/// limit on them, or by the site's word. `None` if nothing bounds them.
pub fn in_flight(ground: &Ground<'_>, limit: &Limit, horizon_us: i64) -> Option<u64> {
    let earlier = ground.policy.limits.iter().take_while(|other| other.name != limit.name);
    let by_limit = earlier
        .filter(|other| {
            let key_is_coarser = other.key.parts.iter().all(|p| limit.key.parts.contains(p));
            let skips = other.missing_key == MissingKey::Skip
                && ground.can_be_missing(other, &limit.matching);
            let open = other.store.as_ref().is_some_and(|s| s.on_error != OnStoreError::Refuse);
            other.mode == Mode::Enforce
                && key_is_coarser
                && (!skips || limit.missing_key == MissingKey::Skip)
                && !open
                && not_lasting(ground, other, horizon_us).is_none()
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
