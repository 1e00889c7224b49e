//! What an action costs behind a policy: the worst case, what a replay came to, how fast the attack that the
//! site declares burns it, and what is spent until someone answers the alarm.

use rust_decimal::Decimal;

use crate::policy::coverage::{self, Bounded, Cap, Ground};
use crate::replay::run::Replayed;
use crate::replay::spend::{Amount, SpendTally};
use crate::replay::tally::Tally;
use crate::site::facts::{Action, Requirement};
use crate::units::bracket::{Bracket, BracketKind};
use crate::units::slug::slug;
use crate::units::span::DAY_US;

use super::alarm::Times;
use super::attack::{Attacked, attack, pays};

/// What a log shows of an action, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    /// The policy's replay.
    pub replayed: Option<&'a Replayed>,
    /// What the log's requests came to as they were answered.
    pub observed: Option<&'a SpendTally>,
}

/// The figures of a policy and an action for one horizon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The horizon, microseconds.
    pub horizon_us: i64,
    /// The worst case.
    pub bounded: Bounded,
    /// What would bound it, where nothing does.
    pub cap: Option<Cap>,
    /// The site's attack on the action that costs most, as an index of its attacks.
    pub attack: Option<usize>,
    /// How long that attack takes to spend the bound, at the pace it is admitted, microseconds.
    pub time_to_burn_us: Option<u128>,
    /// When it raises an alarm; `None`: never, or there is no attack.
    pub alarm: Option<Times>,
    /// What it spends at most from its first request until someone acts: the alarm at its worst and the
    /// action's response time.
    pub until_response: Option<Decimal>,
    /// The dearest interval of the horizon in the policy's replay, with all that is open about it.
    pub replayed_worst: Option<Bracket<Decimal>>,
}

impl Figures {
    /// The most that any interval of the horizon can cost; `None`: unbounded.
    pub fn bound(&self) -> Option<Decimal> {
        self.bounded.money
    }

    /// The same for intervals that begin where windows do.
    pub fn bound_aligned(&self) -> Option<Decimal> {
        self.bounded.aligned
    }

    /// The alarm at its worst, whole seconds rounded up.
    pub fn time_to_alarm_worst_s(&self) -> Option<u64> {
        self.alarm.and_then(|times| u64::try_from(times.worst_us.div_ceil(1_000_000)).ok())
    }
}

/// The horizon that is asked for, else that of the site's requirement on the action's bound, else a day.
pub fn horizon_us(ground: &Ground<'_>, action: &Action, asked_us: Option<i64>) -> i64 {
    let on_bound = || {
        let is_bound = |metric: &str| metric.rsplit('.').next() == Some("bound");
        on_money(ground, action).find(|requirement| is_bound(&requirement.metric))
    };
    asked_us.or_else(|| on_bound().map(|requirement| requirement.horizon_us)).unwrap_or(DAY_US)
}

/// Requirements on the action's money.
fn on_money<'a>(ground: &Ground<'a>, action: &Action) -> impl Iterator<Item = &'a Requirement> {
    let name = slug(&action.name);
    ground.requirements().iter().filter(move |requirement| {
        requirement.metric.rsplit_once('.').is_some_and(|(of, figure)| {
            of == name && matches!(figure, "bound" | "bound_aligned" | "replayed_worst")
        })
    })
}

/// The figures of an action behind a policy.
pub fn figures(ground: &Ground<'_>, action: &Action, horizon_us: i64, seen: Seen<'_>) -> Figures {
    let bounded = coverage::action(ground, action, horizon_us);
    let index = ground.actions().iter().position(|of| of.name == action.name);
    let spent = |replayed: &Replayed| index.and_then(|at| replayed.base.spends.get(at).cloned());
    let cap = bounded.money.is_none().then(|| {
        let log = seen.observed.cloned().or_else(|| seen.replayed.and_then(spent));
        let need = log.and_then(|spend| {
            let worst = spend.customers_worst.iter().find(|(of, _)| *of == horizon_us);
            worst.map(|(_, requests)| u128::from(*requests)).filter(|requests| *requests > 0)
        });
        let most = on_money(ground, action)
            .filter(|requirement| requirement.horizon_us == horizon_us)
            .find_map(|requirement| requirement.max);
        coverage::cheapest(ground, action, horizon_us, need, most)
    });
    let attacks = ground.site.map_or(&[][..], |site| &site.attacks);
    let mine = attacks.iter().enumerate().filter(|(_, of)| pays(ground, action, of));
    let figured = mine.filter_map(|(at, of)| Some((at, attack(ground, of)?)));
    // the one that spends fastest; of equals the first
    let worst = figured.reduce(|most, other| if faster(&other.1, &most.1) { other } else { most });
    let alarm = worst.as_ref().and_then(|(_, attacked)| attacked.alarm);
    let time_to_burn_us = worst.as_ref().and_then(|(_, attacked)| burn_us(&bounded, attacked));
    let until_response =
        worst.as_ref().and_then(|(_, attacked)| until_response(ground, action, &bounded, attacked));
    let replayed_worst = seen.replayed.zip(index);
    let replayed_worst = replayed_worst.and_then(|(of, at)| worst_of(of, at, horizon_us));
    Figures {
        horizon_us,
        bounded,
        cap,
        attack: worst.map(|(at, _)| at),
        time_to_burn_us,
        alarm,
        until_response,
        replayed_worst,
    }
}

fn faster(one: &Attacked, other: &Attacked) -> bool {
    let cross = |a: &Attacked, b: &Attacked| a.admitted.count.saturating_mul(b.admitted.per_us);
    cross(one, other) > cross(other, one)
}

/// Requests of the bound ÷ requests per time that are admitted.
fn burn_us(bounded: &Bounded, attacked: &Attacked) -> Option<u128> {
    let price = bounded.dearest.filter(|price| !price.is_zero())?;
    let requests = bounded.money?.checked_div(price)?;
    let requests = rust_decimal::prelude::ToPrimitive::to_u128(&requests.ceil())?;
    requests.checked_mul(attacked.admitted.per_us)?.checked_div(attacked.admitted.count)
}

/// What the attack spends until the alarm has rung and someone acts: all that it asks for in that time, or
/// what the policy lets through of it at most.
fn until_response(
    ground: &Ground<'_>,
    action: &Action,
    bounded: &Bounded,
    attacked: &Attacked,
) -> Option<Decimal> {
    let response_us = u128::from(action.response_us?.unsigned_abs());
    let us = attacked.alarm?.worst_us.checked_add(response_us)?;
    let asked = us.checked_mul(attacked.asked.count)?.div_ceil(attacked.asked.per_us);
    let most = coverage::action(ground, action, i64::try_from(us).ok()?);
    let asked = coverage::spend(bounded.dearest?, asked)?;
    Some(most.money.map_or(asked, |most| most.min(asked)))
}

/// The dearest interval of a replay, between all that is open.
fn worst_of(replayed: &Replayed, action: usize, horizon_us: i64) -> Option<Bracket<Decimal>> {
    let spend = replayed.base.spends.get(action)?;
    spend.worst_in(horizon_us)?;
    bracket(replayed, action, |spend| spend.worst_in(horizon_us).unwrap_or_default())
}

/// An amount of an action's replayed spend, from the least to the most over all that is open.
pub fn bracket(
    replayed: &Replayed,
    action: usize,
    amount: impl Fn(&SpendTally) -> Amount,
) -> Option<Bracket<Decimal>> {
    let spend = replayed.base.spends.get(action)?;
    let of = |most: bool| {
        let figure = |tally: &Tally| {
            let amount = tally.spends.get(action).map(&amount).unwrap_or_default();
            u64::try_from(if most { amount.hi } else { amount.lo }).unwrap_or(u64::MAX)
        };
        replayed.bracket(figure).0
    };
    let (least, most) = (of(false), of(true));
    // equal ends of both leave what a request costs
    let inexact = [most, least].into_iter().find(|bracket| !bracket.is_exact());
    let kind = inexact.map_or(BracketKind::Assumed, |bracket| bracket.kind);
    let (lo, hi) = (spend.money(least.lo.into())?, spend.money(most.hi.into())?);
    Some(if lo == hi { Bracket::exact(lo) } else { Bracket { lo, hi, kind } })
}
