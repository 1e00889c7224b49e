//! What single limits would do: each replayed alone, and what that means for customers and attacks.

use rayon::prelude::*;
use rust_decimal::Decimal;

use crate::measure::cohorts::Cohort;
use crate::policy::{Limit, Policy};
use crate::replay::run::{replay_period, replay_plainly};
use crate::replay::tally::{CohortTally, LimitTally};
use crate::traffic::bitmap::Bitmap;

use super::answer::{Point, Real};
use super::ground::Ground;
use super::holdout::Holdout;

/// A cohort's figures among those of all.
pub(super) fn of(cohorts: &[CohortTally; 3], cohort: Cohort) -> &CohortTally {
    let [customer, attacker, unknown] = cohorts;
    match cohort {
        Cohort::Customer => customer,
        Cohort::Attacker => attacker,
        Cohort::Unknown => unknown,
    }
}

/// A policy of one limit.
pub(super) fn alone(limit: &Limit) -> Policy {
    Policy { name: limit.name.clone(), file: String::new(), limits: vec![limit.clone()] }
}

/// What each limit would do by itself; `None` if stopped.
pub(super) fn trials(
    ground: &Ground<'_>,
    limits: &[Limit],
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Point>> {
    let policies: Vec<Policy> = limits.iter().map(alone).collect();
    let tallies = replay_plainly(ground.scene, &policies, stopped)?;
    let nothing = LimitTally::default();
    let points = tallies.iter().zip(limits).map(|(tally, limit)| {
        let tally = tally.limits.first().unwrap_or(&nothing);
        let unknown = of(&tally.cohorts, Cohort::Unknown).identities_refused;
        let attack = of(&tally.cohorts, Cohort::Attacker);
        Point {
            limiter: limit.limiter.clone(),
            real_refused: of(&tally.cohorts, ground.real_cohort()).identities_refused,
            unknown_refused: if ground.real == Real::Customers { unknown } else { 0 },
            attack_requests: attack.requests,
            attack_refused: attack.refused,
            cost: None,
        }
    });
    Some(points.collect())
}

/// What each limit would do by itself to the requests of a period; `None` if stopped.
pub(super) fn held_out(
    ground: &Ground<'_>,
    limits: &[&Limit],
    period_us: (i64, i64),
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Holdout>> {
    let each = |limit: &&Limit| {
        let tally = replay_period(ground.scene, &alone(limit), period_us, stopped)?;
        let real = of(&tally.cohorts, ground.real_cohort());
        let attack = of(&tally.cohorts, Cohort::Attacker);
        let unknown = of(&tally.cohorts, Cohort::Unknown).identities_refused;
        Some(Holdout {
            from_us: period_us.0,
            to_us: period_us.1,
            requests: tally.refused + tally.admitted,
            real_identities: real.identities,
            real_refused: real.identities_refused,
            unknown_refused: if ground.real == Real::Customers { unknown } else { 0 },
            attack_requests: attack.requests,
            attack_refused: attack.refused,
        })
    };
    limits.par_iter().map(each).collect()
}

/// What a request of the attacks on a target costs at most, and how many of them cost anything; `None` if the
/// site prices none of them.
pub(super) fn price(ground: &Ground<'_>, asked: &Bitmap) -> Option<(Decimal, u64)> {
    let mut attacks = asked.clone();
    attacks.and(ground.attacks());
    let priced = ground.scene.site.actions.iter().filter_map(|action| {
        let count = attacks.count_both(&ground.selector.select(&action.matching));
        let dearest = action.prices.iter().map(|(_, price)| *price).max();
        let unit = action.unit_cost.or(dearest)?;
        (count > 0).then_some((unit, count))
    });
    // of several actions the dearest: nothing is paid twice over
    priced.max_by_key(|(unit, count)| *unit * Decimal::from(*count))
}

/// Gives each point what it costs: customers refused, and paid requests of attacks that pass.
pub(super) fn priced(points: &mut [Point], customer: Decimal, (unit, paid): (Decimal, u64)) {
    for point in points {
        let passed = point.attack_requests - point.attack_refused;
        // as many of the paid ones pass as of all: exactly so where every request of the attack is paid
        let paid = Decimal::from(paid) * Decimal::from(passed);
        let paid = paid.checked_div(Decimal::from(point.attack_requests)).unwrap_or_default();
        point.cost = Some((Decimal::from(point.real_refused) * customer + paid * unit).normalize());
    }
}
