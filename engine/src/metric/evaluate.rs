//! Evaluates the site's requirements for a policy: the value of what each names, whether it is met, and the
//! limit at fault where it isn't.

use rust_decimal::Decimal;

use crate::cost::{self, Seen};
use crate::policy::coverage;
use crate::replay::GROWTH_FACTORS;
use crate::replay::sustained::Defeat;
use crate::replay::tally::{CohortTally, RuleTally, Tally};
use crate::site::facts::{Action, Requirement};
use crate::site::metrics::{self, COHORTS, Field, Form, Owner};
use crate::units::bracket::{Bracket, BracketKind};

use super::evidence::{Evidence, Log, Told};
use super::fault;
use super::value::{Unknown, Value};

/// What the factors of growth, hundredths, are tried from.
const TODAY: u64 = 100;
/// Hundredths of a factor.
const WHOLE: u64 = 100;

/// A requirement evaluated.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// The requirement.
    pub requirement: &'a Requirement,
    /// What it is about.
    pub form: Form,
    /// The action, for what is money.
    pub action: Option<&'a Action>,
    /// The value.
    pub value: Value,
    /// Whether it is met.
    pub pass: bool,
    /// If not, the limit at fault, as an index of the policy's; `None` where none is.
    pub fault: Option<usize>,
}

/// What a requirement is about: indices of the site's and the policy's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A cohort, as `Cohort::ALL`.
    Cohort(usize),
    Rule(usize),
    Action(usize),
    /// `None`: this policy has none of that name.
    Limit(Option<usize>),
    Duplicate(usize),
    Growth,
    BadShare,
}

/// Evaluates the site's requirements, in their order; without a log, those that need none.
pub fn evaluate<'a>(evidence: &Evidence<'a>) -> Vec<Outcome<'a>> {
    let outcome = |requirement: &'a Requirement| {
        let (form, subject) = subject(evidence, requirement)?;
        let value = match (form.field, evidence.log) {
            (Field::Bound | Field::BoundAligned | Field::TimeToAlarmS, _) => {
                without_log(evidence, requirement, form.field, subject)
            }
            (_, Some(log)) => with_log(evidence, log, requirement, form.field, subject),
            (_, None) => return None,
        };
        let pass = value.meets(requirement);
        let fault = if pass {
            None
        } else {
            fault::limit(evidence, requirement, form.field, subject, &value)
        };
        let action = match subject {
            Subject::Action(index) => evidence.site.actions.get(index),
            _ => None,
        };
        Some(Outcome { requirement, form, action, value, pass, fault })
    };
    evidence.site.requirements.iter().filter_map(outcome).collect()
}

/// What a requirement is about; `None` for what a site file can't say.
fn subject(evidence: &Evidence<'_>, requirement: &Requirement) -> Option<(Form, Subject)> {
    let (form, owner) = metrics::find(&requirement.metric)?;
    let Evidence { site, policy, .. } = evidence;
    let subject = match form.owner {
        Owner::Cohort => Subject::Cohort(COHORTS.iter().position(|cohort| *cohort == owner)?),
        Owner::Rule => {
            Subject::Rule(metrics::position(owner, site.attackers.iter().map(|rule| &rule.name))?)
        }
        Owner::Action => {
            Subject::Action(metrics::position(owner, site.actions.iter().map(|of| &of.name))?)
        }
        Owner::Duplicate => {
            Subject::Duplicate(metrics::position(owner, site.duplicates.iter().map(|d| &d.name))?)
        }
        Owner::Limit => {
            let names = policy.limits.iter().map(|limit| &limit.name);
            Subject::Limit(metrics::position(owner, names))
        }
        Owner::Alone if form.field == Field::Growth => Subject::Growth,
        Owner::Alone => Subject::BadShare,
    };
    Some((form, subject))
}

fn without_log(
    evidence: &Evidence<'_>,
    requirement: &Requirement,
    field: Field,
    subject: Subject,
) -> Value {
    let Subject::Action(index) = subject else { return Value::Unknown(Unknown::NotWorkedOut) };
    let Some(action) = evidence.site.actions.get(index) else {
        return Value::Unknown(Unknown::NotWorkedOut);
    };
    let ground = evidence.ground();
    if field == Field::TimeToAlarmS {
        let figures = cost::figures(&ground, action, requirement.horizon_us, Seen::default());
        return match (figures.attack, figures.time_to_alarm_worst_s()) {
            (None, _) => Value::Unknown(Unknown::NoAttack),
            (_, Some(seconds)) => Value::exact(seconds),
            (_, None) => Value::unbounded(),
        };
    }
    let bounded = coverage::action(&ground, action, requirement.horizon_us);
    let money = if field == Field::Bound { bounded.money } else { bounded.aligned };
    money.map_or_else(Value::unbounded, Value::exact)
}

fn with_log(
    evidence: &Evidence<'_>,
    log: Log<'_>,
    requirement: &Requirement,
    field: Field,
    subject: Subject,
) -> Value {
    let value = match subject {
        Subject::BadShare => bad_share(log),
        Subject::Growth => growth(evidence, log),
        Subject::Action(action) => replayed_worst(evidence, log, requirement, action)
            .map(Value::between)
            .ok_or(Unknown::NotWorkedOut),
        Subject::Rule(rule) if field == Field::KeysToDefeat => keys_to_defeat(log, rule),
        _ => counted(evidence, log, requirement, field, subject),
    };
    value.unwrap_or_else(Value::Unknown)
}

/// What is told from the requests that were counted.
fn counted(
    evidence: &Evidence<'_>,
    log: Log<'_>,
    requirement: &Requirement,
    field: Field,
    subject: Subject,
) -> Result<Value, Unknown> {
    let all_day = matches!(subject, Subject::Limit(_)) && field == Field::IdentitiesRefused;
    let told = Told::new(evidence.site, log, requirement, all_day).ok_or(Unknown::NotWorkedOut)?;
    let none = match requirement.between_min {
        Some(_) => Unknown::NoRequestThen,
        None => Unknown::NoRequest,
    };
    let figure = |of: &dyn Fn(&Tally) -> Option<Decimal>| told.figure(of).map(Value::between);
    match subject {
        Subject::Cohort(at) => {
            let cohort = |tally: &Tally| told_cohort(told, tally, at);
            let any = |of: fn(&CohortTally) -> u64| {
                let most = told.figure(|tally| cohort(tally).map(|cohort| of(&cohort).into()));
                most.is_some_and(|most| most.hi > Decimal::ZERO)
            };
            if !any(|cohort| cohort.requests) {
                return Err(none);
            }
            if field == Field::IdentitiesRefused && !any(|cohort| cohort.identities) {
                return Err(Unknown::NoIdentity);
            }
            let of = |tally: &Tally| Some(cohort_figure(field, &cohort(tally)?)?.into());
            figure(&of).ok_or(Unknown::NotWorkedOut)
        }
        Subject::Rule(at) => {
            let of = |tally: &Tally| {
                let rules = told.hours(tally).map_or(&tally.rules, |hours| &hours.rules);
                rule_figure(field, rules.get(at)?)
            };
            figure(&of).ok_or(none)
        }
        Subject::Limit(Some(at)) => {
            if told.base().limits.get(at).is_none_or(|limit| limit.asked == 0) {
                return Err(Unknown::NotAsked);
            }
            if field == Field::FillMax {
                // only the base case is asked for it
                let fill = told.base().limits.get(at).map(|limit| limit.fill);
                let share = fill.and_then(|fill| share(fill.max_milli, fill.of_milli));
                return share.map(Value::exact).ok_or(Unknown::NotAsked);
            }
            let limit = told.hours_limit(told.base(), at).ok_or(Unknown::NotWorkedOut)?;
            if limit.cohorts.iter().all(|cohort| cohort.requests == 0) {
                return Err(none);
            }
            if limit.cohorts.iter().all(|cohort| cohort.identities == 0) {
                return Err(Unknown::NoIdentity);
            }
            let of = |tally: &Tally| Some(told.hours_limit(tally, at)?.identities_refused.into());
            figure(&of).ok_or(Unknown::NotWorkedOut)
        }
        Subject::Duplicate(at) => {
            let of = |tally: &Tally| {
                let all = told.hours(tally).map_or(&tally.duplicates, |hours| &hours.duplicates);
                all.get(at).map(|(_, _, admitted)| Decimal::from(*admitted))
            };
            figure(&of).ok_or(Unknown::NotWorkedOut)
        }
        Subject::Limit(None) => Err(Unknown::NoLimit),
        Subject::Action(_) | Subject::Growth | Subject::BadShare => Err(Unknown::NotWorkedOut),
    }
}

/// A cohort at the requirement's times of day.
pub(super) fn told_cohort(told: Told<'_>, tally: &Tally, at: usize) -> Option<CohortTally> {
    let cohorts = told.hours(tally).map_or(&tally.cohorts, |hours| &hours.cohorts);
    cohorts.get(at).copied()
}

/// A figure of a cohort.
pub(super) fn cohort_figure(field: Field, cohort: &CohortTally) -> Option<u64> {
    match field {
        Field::IdentitiesRefused => Some(cohort.identities_refused),
        Field::RequestsRefused => Some(cohort.refused),
        Field::Delayed => Some(cohort.delayed),
        _ => None,
    }
}

fn rule_figure(field: Field, rule: &RuleTally) -> Option<Decimal> {
    let admitted = rule.requests.checked_sub(rule.refused)?;
    match field {
        Field::RefusedShare => share(rule.refused, rule.requests),
        _ => Decimal::from(admitted).checked_div(rule.seconds.into()),
    }
}

/// A part of a whole, to 28 digits; `None` of nothing.
fn share(part: u64, whole: u64) -> Option<Decimal> {
    Decimal::from(part).checked_div(whole.into())
}

/// The dearest interval as long as the horizon.
fn replayed_worst(
    evidence: &Evidence<'_>,
    log: Log<'_>,
    requirement: &Requirement,
    at: usize,
) -> Option<Bracket<Decimal>> {
    let horizon_us = requirement.horizon_us;
    let told = Told::new(evidence.site, log, requirement, false)?;
    if told.is_of_an_outage() {
        let spend = told.base().spends.get(at)?;
        let worst = spend.worst_in(horizon_us)?;
        let (lo, hi) = (spend.money(worst.lo)?, spend.money(worst.hi)?);
        // the ends are what one request may cost
        return Some(Bracket { lo, hi, kind: BracketKind::Assumed });
    }
    let action = evidence.site.actions.get(at)?;
    let seen = Seen { replayed: Some(log.replayed), observed: None };
    cost::figures(&evidence.ground(), action, horizon_us, seen).replayed_worst
}

fn keys_to_defeat(log: Log<'_>, rule: usize) -> Result<Value, Unknown> {
    let requests = log.replayed.base.rules.get(rule).map_or(0, |rule| rule.requests);
    let held = log.replayed.held.get(rule).filter(|_| requests > 0).ok_or(Unknown::NoRequest)?;
    Ok(match held.defeat {
        // there is nothing to defeat
        None => Value::exact(0_u64),
        Some(Defeat::Keys { keys, .. }) => Value::exact(keys),
        Some(Defeat::Never { .. }) => Value::unbounded(),
    })
}

/// Between the last factor at which nobody was refused and the first at which someone was.
fn growth(evidence: &Evidence<'_>, log: Log<'_>) -> Result<Value, Unknown> {
    let factor = |hundredths: u64| Decimal::from(hundredths).checked_div(WHOLE.into());
    let replayed = log.replayed;
    if replayed.base.requests == 0 {
        return Err(Unknown::NoRequest);
    }
    let tried = GROWTH_FACTORS;
    let value = match replayed.growth {
        _ if evidence.policy.limits.is_empty() => Some(Value::unbounded()),
        None => tried.last().and_then(|last| factor(*last)).map(Value::at_least),
        Some(first) => {
            let before = tried.iter().rev().find(|tried| **tried < first);
            let before = before.copied().unwrap_or(TODAY.min(first));
            let kind = BracketKind::Sampled;
            factor(before)
                .zip(factor(first))
                .map(|(lo, hi)| Value::between(Bracket { lo, hi, kind }))
        }
    };
    value.ok_or(Unknown::NotWorkedOut)
}

fn bad_share(log: Log<'_>) -> Result<Value, Unknown> {
    let (unreadable, meant) = log.unreadable;
    share(unreadable, meant).map(Value::exact).ok_or(Unknown::NothingRead)
}
