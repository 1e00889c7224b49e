//! Builds the report's parts about money from what the engine worked out.

use shadowcap_engine::cost::{
    self, Attacked, Basis, Book, Figures, Load, Needed, Seen, Stops, Times, per_s,
};
use shadowcap_engine::policy::Policy;
use shadowcap_engine::policy::coverage::{Binding, Bounded, Ground, overlaps};
use shadowcap_engine::replay::run::Replayed;
use shadowcap_engine::replay::spend::{Amount, SpendTally, Stopped};
use shadowcap_engine::site::Site;
use shadowcap_engine::site::facts::{Action, Attack};
use shadowcap_engine::units::bracket::{Bracket, BracketKind};
use shadowcap_engine::units::escape;
use shadowcap_engine::units::money::{Decimal, Round, text as money};
use shadowcap_engine::units::span::SECOND_US;
use shadowcap_engine::units::time::format_rfc3339;

use super::cost_model::{
    Attack as AttackEntry, Cap, Cost, CostPolicy, Infrastructure, LeftOut, QuotaTrip, Spend,
    TimeToAlarm,
};
use super::model::Seconds;
use super::number::{Bracketed, Kind, Pace};

/// What the parts about money are made of.
#[derive(Clone, Copy)]
pub(crate) struct CostMaterial<'a> {
    pub(crate) site: &'a Site,
    /// Policies, each with its replay if there is a log.
    pub(crate) policies: &'a [(&'a Policy, Option<&'a Replayed>)],
    /// `--horizon`, microseconds.
    pub(crate) horizon_us: Option<i64>,
    /// `--now`, microseconds since the epoch.
    pub(crate) now_us: Option<i64>,
    /// What the log came to, per action of the site; none without a log.
    pub(crate) observed: &'a [SpendTally],
    /// Length of the log, microseconds, and its requests.
    pub(crate) log: Option<(i64, u64)>,
    pub(crate) book: &'a Book,
}

impl<'a> CostMaterial<'a> {
    fn ground(&self, policy: &'a Policy) -> Ground<'a> {
        Ground { policy, site: Some(self.site), now_us: self.now_us }
    }
}

/// What each action costs.
pub(super) fn costs(material: &CostMaterial<'_>) -> Vec<Cost> {
    let actions = material.site.actions.iter().enumerate();
    let cost = |(index, action): (usize, &Action)| Cost {
        action: text(&action.name),
        currency: text(&action.currency),
        observed: observed(material, index, action),
        policies: material
            .policies
            .iter()
            .map(|(policy, replayed)| behind(material, policy, *replayed, index, action))
            .collect(),
    };
    actions.map(cost).collect()
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

/// The horizon of what the log came to: the first policy's, since it depends on the site alone.
fn horizon_us(material: &CostMaterial<'_>, action: &Action) -> i64 {
    let nothing = Policy::default();
    let policy = material.policies.first().map_or(&nothing, |(policy, _)| *policy);
    let ground = Ground { policy, site: Some(material.site), now_us: material.now_us };
    cost::horizon_us(&ground, action, material.horizon_us)
}

fn observed(material: &CostMaterial<'_>, index: usize, action: &Action) -> Option<Spend> {
    let spend = material.observed.get(index)?;
    let horizon_us = horizon_us(material, action);
    let exact = |amount: Amount| {
        let (lo, hi) = (spend.money(amount.lo)?, spend.money(amount.hi)?);
        Some(Bracket { lo, hi, kind: BracketKind::Assumed })
    };
    of_cohorts(action, spend, |of| exact(of(spend)), horizon_us)
}

/// Spend by cohort; `figure` gives an amount of a tally with all that is open.
fn of_cohorts(
    action: &Action,
    spend: &SpendTally,
    figure: impl Fn(&dyn Fn(&SpendTally) -> Amount) -> Option<Bracket<Decimal>>,
    horizon_us: i64,
) -> Option<Spend> {
    let shown = |of: &dyn Fn(&SpendTally) -> Amount| Some(bracketed(figure(of)?, &action.currency));
    let cohort =
        |at: usize| shown(&move |spend| spend.cohorts.get(at).copied().unwrap_or_default());
    Some(Spend {
        total: shown(&|spend| spend.total())?,
        customer: cohort(0)?,
        attacker: cohort(1)?,
        unknown: cohort(2)?,
        worst_horizon: shown(&move |spend| spend.worst_in(horizon_us).unwrap_or_default())?,
        quota: spend.stopped.as_ref().map(trip),
    })
}

fn trip(stopped: &Stopped) -> QuotaTrip {
    QuotaTrip {
        used_up: format_rfc3339(stopped.used_up_us),
        stops: format_rfc3339(stopped.from_us),
        until: format_rfc3339(stopped.until_us),
        customer_requests: stopped.customer_requests,
        customers: stopped.customers,
    }
}

fn bracketed(bracket: Bracket<Decimal>, currency: &str) -> Bracketed<String> {
    let (lo, hi) =
        (money(bracket.lo, currency, Round::Nearest), money(bracket.hi, currency, Round::Nearest));
    if lo == hi {
        return Bracketed::Exact(lo);
    }
    let kind = match bracket.kind {
        BracketKind::Proven => Kind::Proven,
        BracketKind::Sampled => Kind::Sampled,
        BracketKind::Assumed => Kind::Assumed,
    };
    Bracketed::Between { lo, hi, kind, base: None }
}

fn behind(
    material: &CostMaterial<'_>,
    policy: &Policy,
    replayed: Option<&Replayed>,
    index: usize,
    action: &Action,
) -> CostPolicy {
    let ground = Ground { policy, site: Some(material.site), now_us: material.now_us };
    let horizon_us = cost::horizon_us(&ground, action, material.horizon_us);
    let seen = Seen { replayed, observed: material.observed.get(index) };
    let figures = cost::figures(&ground, action, horizon_us, seen);
    let spend = replayed.and_then(|replayed| {
        let base = replayed.base.spends.get(index)?;
        of_cohorts(action, base, |of| cost::bracket(replayed, index, of), horizon_us)
    });
    let bound = |amount: Option<Decimal>| {
        amount.map_or_else(unbounded, |amount| money(amount, &action.currency, Round::Up))
    };
    let Figures { bounded, .. } = &figures;
    let attack = figures.attack.and_then(|at| material.site.attacks.get(at));
    CostPolicy {
        policy: text(&policy.name),
        replayed: spend,
        cap: figures.cap.as_ref().map(|cap| Cap {
            text: text(&cap.text),
            limit: cap.limit.and_then(|at| policy.limits.get(at)).map(|limit| text(&limit.name)),
            bound: cap.bound.map(|bound| money(bound, &action.currency, Round::Up)),
        }),
        horizon_s: Seconds { us: horizon_us },
        bound: bound(bounded.money),
        bound_aligned: bound(bounded.aligned),
        aligned_to: bounded.aligned_to.map(|grid| text(&grid.name())),
        binding: bounded.binding.map(|binding| self::binding(policy, binding)),
        dearest: bounded.dearest.map(|price| price.normalize().to_string()),
        assumes_store: bounded.kept_by.as_deref().map(text),
        until: bounded.until_us.map(format_rfc3339),
        left_out: left_out(material, policy, bounded, action),
        attack: attack.map(|attack| text(&attack.name)),
        time_to_burn_s: figures.time_to_burn_us.map(whole_seconds),
        time_to_alarm_s: figures.alarm.map(times),
        spend_until_response: figures
            .until_response
            .map(|amount| money(amount, &action.currency, Round::Up)),
    }
}

fn unbounded() -> String {
    "unbounded".to_owned()
}

fn binding(policy: &Policy, binding: Binding) -> String {
    match binding {
        Binding::Limit(at) => {
            policy.limits.get(at).map_or_else(String::new, |limit| text(&limit.name))
        }
        Binding::Dedupe => "one charge per key".to_owned(),
        Binding::Quota => "provider quota".to_owned(),
    }
}

fn left_out(
    material: &CostMaterial<'_>,
    policy: &Policy,
    bounded: &Bounded,
    action: &Action,
) -> Vec<LeftOut> {
    let entries = bounded.left_out.iter().filter_map(|out| {
        let limit = policy.limits.get(out.limit)?;
        let whys: Vec<&str> = out.reasons.iter().map(|reason| reason.why.as_str()).collect();
        Some(LeftOut {
            limit: text(&limit.name),
            why: text(&whys.join("; ")),
            stands_before: overlaps(&limit.matching, &action.matching, Some(material.site)),
        })
    });
    entries.collect()
}

/// Rounded up.
fn whole_seconds(us: u128) -> u64 {
    u64::try_from(us.div_ceil(u128::from(SECOND_US.unsigned_abs()))).unwrap_or(u64::MAX)
}

fn times(times: Times) -> TimeToAlarm {
    TimeToAlarm { typical: whole_seconds(times.typical_us), worst: whole_seconds(times.worst_us) }
}

/// What each policy does to each attack that the site declares: by attack, then policy.
pub(super) fn attacks(material: &CostMaterial<'_>) -> Vec<AttackEntry> {
    let pairs = material
        .site
        .attacks
        .iter()
        .flat_map(|attack| material.policies.iter().map(move |(policy, _)| (attack, *policy)));
    let entries = pairs.filter_map(|(attack, policy)| {
        let attacked = cost::attack(&material.ground(policy), attack)?;
        Some(entry(material, policy, attack, &attacked))
    });
    entries.collect()
}

fn entry(
    material: &CostMaterial<'_>,
    policy: &Policy,
    attack: &Attack,
    attacked: &Attacked,
) -> AttackEntry {
    let paid = attacked.spend.and_then(|(at, amount)| {
        let action = material.site.actions.get(at)?;
        Some((money(amount, &action.currency, Round::Nearest), text(&action.currency)))
    });
    let (spend, currency) = paid.unzip();
    let stops = |stops: &Stops| match stops {
        Stops::Keys(keys) => Some(*keys),
        Stops::Never => None,
    };
    let pace = |pace| Pace { milli: per_s(pace, 3), micro: per_s(pace, 6) };
    AttackEntry {
        name: text(&attack.name),
        policy: text(&policy.name),
        rate_per_s: pace(attacked.asked),
        admitted_per_s: pace(attacked.admitted),
        sustained_per_s: pace(attacked.sustained),
        start: attacked.start,
        held_by: attacked.by.and_then(|at| policy.limits.get(at)).map(|l| text(&l.name)),
        keys_to_defeat: attacked
            .keys_to_defeat
            .iter()
            .map(|(key, of)| (text(key), stops(of)))
            .collect(),
        time_needed_s: attacked.needed.and_then(|needed| match needed {
            Needed::Us(us) => Some(whole_seconds(us)),
            Needed::Never => None,
        }),
        time_to_alarm_s: attacked.alarm.map(times),
        spend,
        currency,
    }
}

/// What the limits run on: as the site says without a log, else as each policy's replay asked.
pub(super) fn infrastructure(material: &CostMaterial<'_>) -> Vec<Infrastructure> {
    let Some(facts) = &material.site.infrastructure else { return Vec::new() };
    let currency = text(&material.book.currency);
    let date = format_rfc3339(material.book.date_us);
    let date = date.split('T').next().unwrap_or_default();
    let prices = text(&format!("{}, {date}", material.book.name));
    let bill = |load: Option<Load>, policy: Option<&Policy>| {
        let (months, problems) = cost::bill(material.book, facts, load);
        let policy = policy.map(|policy| text(&policy.name));
        let months = months.into_iter().map(|month| Infrastructure {
            item: month.item.to_owned(),
            policy: policy.clone(),
            month: Some(money(month.month, &material.book.currency, Round::Nearest)),
            currency: currency.clone(),
            basis: text(&month.basis),
            prices: prices.clone(),
            break_even_calls_per_s: month.break_even_calls_per_s_milli.map(|milli| milli / 1_000),
        });
        let problems = problems.into_iter().map(|problem| Infrastructure {
            item: text(&problem.item),
            policy: policy.clone(),
            month: None,
            currency: currency.clone(),
            basis: text(&problem.why),
            prices: prices.clone(),
            break_even_calls_per_s: None,
        });
        months.chain(problems).collect::<Vec<_>>()
    };
    let replayed = material.policies.iter().filter_map(|(policy, replayed)| {
        let load = of_log(material.log?, (*replayed)?)?;
        Some((*policy, load))
    });
    let replayed: Vec<(&Policy, Load)> = replayed.collect();
    if replayed.is_empty() {
        return bill(material.site.traffic.as_ref().map(Load::of_site), None);
    }
    let many = replayed.len();
    let of_each = replayed.into_iter().flat_map(|(policy, load)| bill(Some(load), Some(policy)));
    let mut all: Vec<Infrastructure> = Vec::new();
    for entry in of_each {
        let same = |other: &Infrastructure| {
            (&other.item, &other.month, &other.basis) == (&entry.item, &entry.month, &entry.basis)
        };
        match all.iter_mut().find(|other| same(other)) {
            // what is the same for several policies is told once
            Some(other) => other.policy = None,
            None => all.push(entry),
        }
    }
    if many > 1 {
        all.sort_by_key(|entry| entry.policy.is_some());
    }
    all
}

/// The load of a log and of a policy's calls in it; `None` of an empty one.
fn of_log((period_us, requests): (i64, u64), replayed: &Replayed) -> Option<Load> {
    let per_s_milli = |count: u64| {
        let milli = u128::from(count) * 1_000 * u128::from(SECOND_US.unsigned_abs());
        let period_us = u128::from(u64::try_from(period_us).ok()?);
        milli.checked_div(period_us).and_then(|rate| u64::try_from(rate).ok())
    };
    let limits = &replayed.base.limits;
    Some(Load {
        requests_per_s_milli: per_s_milli(requests)?,
        store_calls_per_s_milli: per_s_milli(limits.iter().map(|l| l.store_calls).sum()),
        state_bytes: Some(limits.iter().filter_map(|limit| limit.state_bytes).sum()),
        basis: Basis::Log,
    })
}
