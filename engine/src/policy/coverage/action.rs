//! A paid action behind a whole policy: what any interval can cost, what binds, and what was left out.

use rust_decimal::Decimal;

use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::{Algorithm, Bound, Grid, Limiter};
use crate::policy::OnStoreError;
use crate::site::facts::{Action, OutageKind, ProviderQuota, QuotaPeriod};
use crate::units::zone::{CalendarUnit, Zone};

use super::Ground;
use super::limit::{Counted, LeftOut, limit};
use super::price::{dearest, spend};

/// What bounds an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// A limit, as an index of the policy's.
    Limit(usize),
    /// It is charged once per key, and there are so many.
    Dedupe,
    /// The provider stops.
    Quota,
}

/// A limit that was left out, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    /// The limit, as an index of the policy's.
    pub limit: usize,
    /// Each reason.
    pub reasons: Vec<LeftOut>,
}

/// The worst case of an action behind a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// The most requests that limits and keys let through in any interval of the horizon; `None`: any number.
    pub requests: Option<u128>,
    /// The most money in any interval of the horizon; `None` if nothing bounds it.
    pub money: Option<Decimal>,
    /// The most money in one that begins where windows do; never above `money`.
    pub aligned: Option<Decimal>,
    /// The instants that `aligned` holds for; `None` if it holds for all.
    pub aligned_to: Option<Grid>,
    /// What gives `money`.
    pub binding: Option<Binding>,
    /// The dearest that one request can be.
    pub dearest: Option<Decimal>,
    /// Limits that don't count.
    pub left_out: Vec<Out>,
    /// The store of the binding limit, which is assumed to keep its counters: no flush is declared.
    pub kept_by: Option<String>,
    /// The earliest instant at which one of the limits that count expires, microseconds since the epoch:
    /// nothing here holds after it.
    pub until_us: Option<i64>,
}

/// The most requests of an action that the policy lets through in any interval of the horizon, without its
/// provider's quota; `None` if nothing bounds them.
pub fn requests(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<u128> {
    let chain = Chain::new(ground, action, horizon_us);
    chain.tightest(|counted| counted.any).map(|(requests, _)| requests)
}

/// The worst case of an action in intervals of the horizon.
pub fn action(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Bounded {
    let chain = Chain::new(ground, action, horizon_us);
    let price = dearest(ground, action, horizon_us);
    let of = |requests: u128| spend(price?, requests);
    let any = chain.tightest(|counted| counted.any);
    let aligned = chain.tightest(|counted| counted.aligned);
    let mut money = any.and_then(|(requests, _)| of(requests));
    let mut binding = any.map(|(_, binding)| binding);
    let by_limits = aligned.and_then(|(requests, _)| of(requests));
    let mut to_grid = by_limits;
    if let Some(quota) = &action.provider_quota
        && let Some(late) = requests(ground, action, quota.late_us.max(1)).and_then(of)
        && let Some(by_quota) = by_quota(ground, quota, late, horizon_us)
    {
        if money.is_none_or(|money| by_quota < money) {
            (money, binding) = (Some(by_quota), Some(Binding::Quota));
        }
        to_grid = to_grid.map(|to_grid| to_grid.min(by_quota)).or(Some(by_quota));
    }
    let aligned_to = aligned
        .filter(|_| to_grid.is_some() && to_grid < money && to_grid == by_limits)
        .and_then(|(_, binding)| chain.grid(binding));
    let Chain { counted, left_out, .. } = &chain;
    let expires = counted.iter().filter_map(|(index, _)| {
        ground.policy.limits.get(*index).and_then(|limit| limit.expires_us)
    });
    Bounded {
        requests: any.map(|(requests, _)| requests),
        money,
        aligned: to_grid,
        aligned_to,
        binding: binding.filter(|_| money.is_some()),
        dearest: price,
        left_out: left_out.clone(),
        kept_by: binding.and_then(|binding| kept_by(ground, binding)),
        until_us: expires.min(),
    }
}

/// The provider's amount and what passes until it notices, once per period that the horizon can meet.
fn by_quota(
    ground: &Ground<'_>,
    quota: &ProviderQuota,
    late: Decimal,
    horizon_us: i64,
) -> Option<Decimal> {
    let unit = match quota.per {
        QuotaPeriod::Day => CalendarUnit::Day,
        QuotaPeriod::Month => CalendarUnit::Month,
    };
    let zone = ground.site.map_or(Zone::UTC, |site| site.zone);
    let window = Window::Calendar { unit, zone };
    let periods = Limiter::FixedWindow(FixedWindow { limit: 1, window, count_refused: false });
    let Bound::AtMost(periods) = periods.bound(horizon_us.max(1), 1) else { return None };
    quota.amount.checked_add(late)?.checked_mul(Decimal::from(periods))
}

/// The store of a limit, if the bound rests on its counters being kept.
fn kept_by(ground: &Ground<'_>, binding: Binding) -> Option<String> {
    let Binding::Limit(index) = binding else { return None };
    let store = ground.policy.limits.get(index)?.store.as_ref()?;
    let declared = ground.site.is_some_and(|site| {
        site.outages.iter().any(|o| o.store == store.name && o.kind == OutageKind::Flush)
    });
    (!declared && store.on_error != OnStoreError::Allow).then(|| store.name.clone())
}

/// The limits before an action.
struct Chain {
    /// Those that count, with their index.
    counted: Vec<(usize, Counted)>,
    left_out: Vec<Out>,
    /// What is charged, where each key is charged once.
    once: Option<u128>,
}

impl Chain {
    fn new(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Self {
        let mut chain = Self { counted: Vec::new(), left_out: Vec::new(), once: None };
        for (index, of) in ground.policy.limits.iter().enumerate() {
            match limit(ground, of, action, horizon_us) {
                Ok(counted) => chain.counted.push((index, counted)),
                Err(reasons) => chain.left_out.push(Out { limit: index, reasons }),
            }
        }
        chain.once = once(ground, action, horizon_us);
        chain
    }

    /// The least of what its limits and keys admit, and which.
    fn tightest(&self, of: impl Fn(&Counted) -> u128) -> Option<(u128, Binding)> {
        let limits = self.counted.iter().map(|(i, counted)| (of(counted), Binding::Limit(*i)));
        let once = self.once.map(|keys| (keys, Binding::Dedupe));
        limits.chain(once).min_by_key(|(requests, _)| *requests)
    }

    fn grid(&self, binding: Binding) -> Option<Grid> {
        let found = self.counted.iter().find(|(index, _)| Binding::Limit(*index) == binding);
        found.and_then(|(_, counted)| counted.grid)
    }
}

/// The most that can be charged where each key is charged once within a time. Requests without the key are
/// charged each, so it takes one that none of them lacks.
fn once(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<u128> {
    let dedupe = action.dedupe.as_ref()?;
    let keys = u128::from(*ground.site?.keys_available.get(&dedupe.key)?);
    let spec = ground.site?.keys.iter().find(|key| key.name == dedupe.key);
    let routes = &action.matching.route;
    if dedupe.key != "ip" && spec.is_none_or(|spec| ground.may_lack(spec, routes)) {
        return None;
    }
    let Some(within_us) = dedupe.within_us else { return Some(keys) };
    let horizon = u128::from(horizon_us.max(1).unsigned_abs());
    Some(keys.saturating_mul(horizon.div_ceil(u128::from(within_us.max(1).unsigned_abs()))))
}
