//! The limit at fault where a requirement isn't met: the line of the policy to look at first.

use rust_decimal::Decimal;

use crate::policy::coverage::{self, Binding, Ground};
use crate::policy::{Limit, MissingKey, Mode, OnStoreError, Policy};
use crate::site::facts::Requirement;
use crate::site::metrics::Field;

use super::evaluate::{Subject, cohort_figure};
use super::evidence::{Evidence, Log, Told};
use super::value::{End, Value};

/// The limit at fault, as an index of the policy's; `None` where no limit is.
pub(super) fn limit(
    evidence: &Evidence<'_>,
    requirement: &Requirement,
    field: Field,
    subject: Subject,
    value: &Value,
) -> Option<usize> {
    // without a value there is nothing that a limit did
    let Value::Known(of) = value else { return None };
    let too_much = requirement.max.is_some_and(|max| of.hi > End::At(max));
    match subject {
        Subject::Action(action) if field == Field::TimeToAlarmS => rings(evidence, action),
        Subject::Action(action) if too_much => spending(evidence, requirement, field, action),
        Subject::Cohort(cohort) if too_much => {
            refuses_most(evidence, evidence.log?, requirement, field, cohort)
        }
        Subject::Rule(rule) if passes_too_much(field, too_much) => {
            evidence.log?.replayed.held.get(rule)?.tightest
        }
        Subject::Limit(limit) => limit,
        Subject::Growth if !too_much => evidence.log?.replayed.growth_by,
        Subject::Action(_)
        | Subject::Cohort(_)
        | Subject::Rule(_)
        | Subject::Duplicate(_)
        | Subject::Growth
        | Subject::BadShare => None,
    }
}

/// Whether an attack rule's requirement fails since too much of it passes.
fn passes_too_much(field: Field, too_much: bool) -> bool {
    match field {
        Field::AdmittedPerS => too_much,
        _ => !too_much,
    }
}

/// The limit that refused, or held up, most of a cohort; the first of several.
fn refuses_most(
    evidence: &Evidence<'_>,
    log: Log<'_>,
    requirement: &Requirement,
    field: Field,
    cohort: usize,
) -> Option<usize> {
    let told = Told::new(evidence.site, log, requirement, false)?;
    let of = |at: usize| {
        let most = told.figure(|tally| {
            let all_day = || tally.limits.get(at).map(|limit| &limit.cohorts);
            let cohorts = match told.hours(tally) {
                Some(hours) => hours.limits.get(at).map(|limit| &limit.cohorts),
                None => all_day(),
            };
            cohort_figure(field, cohorts?.get(cohort)?).map(Decimal::from)
        });
        most.map_or(Decimal::ZERO, |most| most.hi)
    };
    // what a limit in shadow would refuse counts among its cohorts
    let enforcing = evidence.policy.limits.iter().enumerate().rev();
    let enforcing = enforcing.filter(|(_, limit)| limit.mode == Mode::Enforce);
    let refusing = enforcing.map(|(at, _)| (at, of(at))).filter(|(_, most)| *most > Decimal::ZERO);
    refusing.max_by_key(|(_, most)| *most).map(|(at, _)| at)
}

/// The limit that would bound the spending if it stood there in earnest, or that bounds it and too high.
fn spending(
    evidence: &Evidence<'_>,
    requirement: &Requirement,
    field: Field,
    action: usize,
) -> Option<usize> {
    let (policy, action) = (evidence.policy, evidence.site.actions.get(action)?);
    let bounded = |policy: &Policy| {
        let ground = Ground { policy, ..evidence.ground() };
        coverage::action(&ground, action, requirement.horizon_us)
    };
    let bound = |policy: &Policy| {
        let bounded = bounded(policy);
        let money = if field == Field::BoundAligned { bounded.aligned } else { bounded.money };
        money.map_or(End::Unbounded, End::At)
    };
    let today = bound(policy);
    let mended = policy.limits.iter().enumerate().filter_map(|(at, limit)| {
        let limit = in_earnest(limit)?;
        let mut mended = policy.clone();
        *mended.limits.get_mut(at)? = limit;
        Some((at, bound(&mended))).filter(|(_, bound)| *bound < today)
    });
    let best = mended.min_by_key(|(_, bound)| *bound);
    let meets = |bound: End| requirement.max.is_none_or(|max| bound <= End::At(max));
    let binding = || match bounded(policy).binding {
        Some(Binding::Limit(limit)) => Some(limit),
        _ => None,
    };
    match best {
        Some((at, bound)) if meets(bound) || today == End::Unbounded => Some(at),
        _ => binding(),
    }
}

/// The limit before an action whose alarm there is; the first of several.
fn rings(evidence: &Evidence<'_>, action: usize) -> Option<usize> {
    let ground = evidence.ground();
    let name = &evidence.site.actions.get(action)?.name;
    let before = |limit| ground.paid(limit).any(|paid| paid.name == *name);
    evidence.policy.limits.iter().position(|limit| limit.alarm.is_some() && before(limit))
}

/// A limit without what makes it count for nothing before money; `None` if there is nothing of that.
fn in_earnest(limit: &Limit) -> Option<Limit> {
    let mut mended = limit.clone();
    mended.mode = Mode::Enforce;
    mended.expires_us = None;
    if mended.missing_key == MissingKey::Skip {
        mended.missing_key = MissingKey::Refuse;
    }
    if let Some(store) = &mut mended.store {
        store.on_error = OnStoreError::Refuse;
    }
    (mended != *limit).then_some(mended)
}
