//! What requests that cost money come to: each admitted one is charged when it goes on, once per key where
//! that is enough, at its own price.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use crate::measure::cohorts::{Cohort, Cohorts};
use crate::site::Site;
use crate::site::facts::{Action, ProviderQuota, QuotaPeriod};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;
use crate::traffic::{KeyColumn, NONE, Traffic};
use crate::units::slug::slug;
use crate::units::zone::{CalendarUnit, Zone};

use super::observer::{Ended, Observer};

/// Money as a whole number of its smallest units; `lo` takes one unit a request and nothing for keys that
/// no price fits, `hi` takes the most units, and the dearest price for such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Least.
    pub lo: u128,
    /// Most.
    pub hi: u128,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self { lo: self.lo.saturating_add(other.lo), hi: self.hi.saturating_add(other.hi) }
    }

    fn less(self, other: Self) -> Self {
        Self { lo: self.lo.saturating_sub(other.lo), hi: self.hi.saturating_sub(other.hi) }
    }

    fn most(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// What an action came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendTally {
    /// Decimals of the smallest units that amounts are in.
    pub scale: u32,
    /// Requests charged.
    pub charged: u64,
    /// Requests whose key no price fits.
    pub unpriced: u64,
    /// By cohort, as [`Cohort::ALL`].
    pub cohorts: [Amount; 3],
    /// Horizon, microseconds → the most in any interval `(t − horizon, t]`; ascending.
    pub worst: Vec<(i64, Amount)>,
    /// Horizon → the most requests of customers charged in any such interval; ascending.
    pub customers_worst: Vec<(i64, u64)>,
    /// What the provider's quota would have stopped, if it trips.
    pub stopped: Option<Stopped>,
}

/// A provider that stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// When the quota was first used up, microseconds since the epoch.
    pub used_up_us: i64,
    /// When the provider stops: as late as it notices.
    pub from_us: i64,
    /// When it goes on: the period's end.
    pub until_us: i64,
    /// Requests of customers that come to nothing, in all periods.
    pub customer_requests: u64,
    /// Customers behind them.
    pub customers: u64,
}

impl SpendTally {
    /// The sum over cohorts.
    pub fn total(&self) -> Amount {
        self.cohorts.iter().fold(Amount::default(), |sum, amount| sum.plus(*amount))
    }

    /// An amount in the currency; `None` if it is out of range.
    pub fn money(&self, amount: u128) -> Option<Decimal> {
        Decimal::try_from_i128_with_scale(i128::try_from(amount).ok()?, self.scale).ok()
    }

    /// The most in an interval of a horizon that was looked at.
    pub fn worst_in(&self, horizon_us: i64) -> Option<Amount> {
        self.worst.iter().find(|(of, _)| *of == horizon_us).map(|(_, amount)| *amount)
    }
}

/// Watches one action.
#[derive(Debug)]
pub struct SpendWatch<'a> {
    action: &'a Action,
    zone: Zone,
    matching: Bitmap,
    dedupe: Option<KeyColumn<'a>>,
    prices: Prices<'a>,
    horizons_us: Vec<i64>,
    /// When each admitted request goes on, microseconds, and which it is.
    admitted: Vec<(i64, usize)>,
}

/// What each request costs.
#[derive(Debug)]
struct Prices<'a> {
    scale: u32,
    /// The priced key, and per value of it the price; `None` where no prefix fits.
    by_key: Option<(KeyColumn<'a>, Vec<Option<u64>>)>,
    /// The price where all cost the same, else the dearest.
    all: u64,
    units_max: u64,
}

impl<'a> Prices<'a> {
    fn new(action: &Action, traffic: &'a Traffic) -> Self {
        let listed = || action.prices.iter().map(|(_, price)| *price).chain(action.unit_cost);
        let scale = listed().map(|price| price.normalize().scale()).max().unwrap_or(0);
        let whole = |price: Decimal| {
            let mut price = price;
            price.rescale(scale);
            u64::try_from(price.mantissa().max(0)).unwrap_or(u64::MAX)
        };
        let by_prefix: BTreeMap<&[u8], u64> = action
            .prices
            .iter()
            .map(|(prefix, price)| (prefix.as_bytes(), whole(*price)))
            .collect();
        let lengths: BTreeSet<usize> = by_prefix.keys().map(|prefix| prefix.len()).collect();
        let of_text = |text: &[u8]| {
            let mut lengths = lengths.iter().rev();
            lengths.find_map(|length| by_prefix.get(text.get(..*length)?).copied())
        };
        let column = action.priced_key.as_ref().and_then(|key| traffic.key_named(key));
        let by_key = column.map(|column| {
            let prices = (0..column.distinct()).map(|id| of_text(&column.text(id))).collect();
            (column, prices)
        });
        let all = listed().map(whole).max().unwrap_or(0);
        Self { scale, by_key, all, units_max: action.units_max.max(1) }
    }

    /// What a request costs, and whether its price is known.
    fn of(&self, event: usize) -> (Amount, bool) {
        let known = match &self.by_key {
            None => Some(self.all),
            Some((column, prices)) => {
                let id = column.ids.get(event).copied().unwrap_or(NONE);
                usize::try_from(id).ok().and_then(|id| prices.get(id)).copied().flatten()
            }
        };
        let most = u128::from(known.unwrap_or(self.all)).saturating_mul(self.units_max.into());
        (Amount { lo: known.unwrap_or(0).into(), hi: most }, known.is_some())
    }
}

impl<'a> SpendWatch<'a> {
    /// A watch for each action of the site, in its order. Besides `horizon_us`, those of the site's
    /// requirements on the action are looked at.
    pub fn all(
        site: &'a Site,
        traffic: &'a Traffic,
        selector: &Selector<'_>,
        horizon_us: i64,
    ) -> Vec<Self> {
        let watch = |action: &'a Action| {
            let name = slug(&action.name);
            let mine = site.requirements.iter().filter(|requirement| {
                requirement.metric.rsplit_once('.').is_some_and(|(of, _)| of == name)
            });
            let horizons = mine.map(|requirement| requirement.horizon_us).chain([horizon_us]);
            let horizons: BTreeSet<i64> = horizons.filter(|us| *us > 0).collect();
            let dedupe = action.dedupe.as_ref();
            Self {
                action,
                zone: site.zone,
                matching: selector.select(&action.matching),
                dedupe: dedupe.and_then(|dedupe| traffic.key_named(&dedupe.key)),
                prices: Prices::new(action, traffic),
                horizons_us: horizons.into_iter().collect(),
                admitted: Vec::new(),
            }
        };
        site.actions.iter().map(watch).collect()
    }

    /// The requests that it looks at.
    pub(super) fn matching(&self) -> &Bitmap {
        &self.matching
    }

    /// A request was admitted, and went on at an instant.
    pub(super) fn admitted(&mut self, event: usize, t_us: i64) {
        if self.matching.contains(event) {
            self.admitted.push((t_us, event));
        }
    }

    /// What it all came to.
    pub(super) fn finish(mut self, cohorts: &Cohorts<'_>) -> SpendTally {
        // attempts of one client are charged each, so nothing is told apart by the event
        self.admitted.sort_unstable();
        let mut tally = SpendTally { scale: self.prices.scale, ..SpendTally::default() };
        let mut charges: Vec<Charge> = Vec::new();
        let mut last_us: BTreeMap<u32, i64> = BTreeMap::new();
        for (t_us, event) in &self.admitted {
            if !self.is_charged(*event, *t_us, &mut last_us) {
                continue;
            }
            let (amount, known) = self.prices.of(*event);
            let cohort = cohorts.of(*event);
            let at = Cohort::ALL.iter().position(|of| *of == cohort);
            if let Some(sum) = at.and_then(|at| tally.cohorts.get_mut(at)) {
                *sum = sum.plus(amount);
            }
            tally.charged += 1;
            tally.unpriced += u64::from(!known);
            charges.push(Charge { t_us: *t_us, amount, event: *event, cohort });
        }
        for horizon_us in &self.horizons_us {
            let (worst, customers) = worst(&charges, *horizon_us);
            tally.worst.push((*horizon_us, worst));
            tally.customers_worst.push((*horizon_us, customers));
        }
        let quota = self.action.provider_quota.as_ref();
        tally.stopped = quota.and_then(|quota| self.stopped(quota, &charges, cohorts));
        tally
    }

    /// Whether a request is charged, or was with an earlier one of its key.
    fn is_charged(&self, event: usize, t_us: i64, last_us: &mut BTreeMap<u32, i64>) -> bool {
        let (Some(dedupe), Some(column)) = (&self.action.dedupe, &self.dedupe) else { return true };
        let key = column.ids.get(event).copied().unwrap_or(NONE);
        if key == NONE {
            return true;
        }
        let again = last_us.get(&key).is_some_and(|last| {
            dedupe.within_us.is_none_or(|within_us| t_us.saturating_sub(*last) <= within_us)
        });
        if !again {
            last_us.insert(key, t_us);
        }
        !again
    }

    /// When the quota is used up, and what the provider then stops.
    fn stopped(
        &self,
        quota: &ProviderQuota,
        charges: &[Charge],
        cohorts: &Cohorts<'_>,
    ) -> Option<Stopped> {
        let unit = match quota.per {
            QuotaPeriod::Day => CalendarUnit::Day,
            QuotaPeriod::Month => CalendarUnit::Month,
        };
        let mut scaled = quota.amount;
        scaled.rescale(self.prices.scale.max(scaled.scale()));
        let finer = 10_u128.checked_pow(scaled.scale().saturating_sub(self.prices.scale))?;
        let amount = u128::try_from(scaled.mantissa()).ok()?.div_ceil(finer.max(1));
        let mut found: Option<Stopped> = None;
        let mut customers: BTreeSet<usize> = BTreeSet::new();
        // the period under way: its end, what was spent in it, and from when the provider stops
        let (mut until_us, mut spent, mut from_us) = (i64::MIN, 0_u128, None);
        for charge in charges {
            if charge.t_us >= until_us {
                until_us = self.zone.period_us(unit, charge.t_us).1;
                (spent, from_us) = (0, None);
            }
            if from_us.is_some_and(|from_us| charge.t_us >= from_us) {
                if let Some(found) = &mut found
                    && charge.cohort == Cohort::Customer
                {
                    found.customer_requests += 1;
                    customers.extend(cohorts.identity(charge.event));
                }
                continue;
            }
            spent = spent.saturating_add(charge.amount.hi);
            if from_us.is_none() && spent >= amount {
                let stops_us = charge.t_us.saturating_add(quota.late_us);
                from_us = Some(stops_us);
                found.get_or_insert(Stopped {
                    used_up_us: charge.t_us,
                    from_us: stops_us,
                    until_us: until_us.max(stops_us),
                    customer_requests: 0,
                    customers: 0,
                });
            }
        }
        let customers = u64::try_from(customers.len()).unwrap_or(u64::MAX);
        found.map(|found| Stopped { customers, ..found })
    }
}

/// A request that is charged.
#[derive(Debug, Clone, Copy)]
struct Charge {
    t_us: i64,
    amount: Amount,
    event: usize,
    cohort: Cohort,
}

/// The most in any `(t − horizon, t]`, of charges in order of time: money, and requests of customers.
fn worst(charges: &[Charge], horizon_us: i64) -> (Amount, u64) {
    let (mut most, mut most_customers) = (Amount::default(), 0);
    let (mut sum, mut customers) = (Amount::default(), 0_u64);
    let is_customer = |charge: &Charge| u64::from(charge.cohort == Cohort::Customer);
    let mut oldest = charges.iter().peekable();
    for charge in charges {
        sum = sum.plus(charge.amount);
        customers += is_customer(charge);
        let left = charge.t_us.saturating_sub(horizon_us);
        while let Some(old) = oldest.next_if(|old| old.t_us <= left) {
            sum = sum.less(old.amount);
            customers = customers.saturating_sub(is_customer(old));
        }
        most = most.most(sum);
        most_customers = most_customers.max(customers);
    }
    (most, most_customers)
}

/// Watches all actions of a site while a replay runs.
#[derive(Debug)]
pub(super) struct Spending<'a> {
    pub(super) watches: Vec<SpendWatch<'a>>,
}

impl Spending<'_> {
    /// What it all came to.
    pub(super) fn finish(self, cohorts: &Cohorts<'_>) -> Vec<SpendTally> {
        self.watches.into_iter().map(|watch| watch.finish(cohorts)).collect()
    }
}

impl Observer for Spending<'_> {
    fn ended(&mut self, ended: &Ended) {
        if ended.refused_by.is_none() {
            for watch in &mut self.watches {
                watch.admitted(ended.event, ended.t_us);
            }
        }
    }
}

/// What the requests of a log came to as they were answered: whatever a limiter had refused cost nothing.
pub fn observed(
    site: &Site,
    traffic: &Traffic,
    selector: &Selector<'_>,
    cohorts: &Cohorts<'_>,
    horizon_us: i64,
) -> Vec<SpendTally> {
    let watches = SpendWatch::all(site, traffic, selector, horizon_us).into_iter();
    let tally = |mut watch: SpendWatch<'_>| {
        let mut mine = watch.matching.clone();
        if traffic.any_already_refused() {
            mine.and_not(&Bitmap::of(traffic.len(), |event| traffic.already_refused(event)));
        }
        mine.for_each(|event| {
            let t_us = traffic.events.times_us.get(event).copied().unwrap_or(0);
            watch.admitted(event, t_us);
        });
        watch.finish(cohorts)
    };
    watches.map(tally).collect()
}

#[cfg(test)]
#[path = "spend_tests.rs"]
mod tests;
