//! The site's requirements, held against a recommended policy.

use rust_decimal::Decimal;

use crate::metric::{End, Evidence, Log, Outcome, Value, evaluate, outages_required};
use crate::policy::{Policy, lint};
use crate::replay::run::{Replayed, Scene, replay_outage};
use crate::replay::tally::Tally;
use crate::site::Site;
use crate::site::metrics::{Field, MONEY, SECONDS};
use crate::units::money::{self, Round};
use crate::units::slug::slug;

/// What is known of a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What is measured.
    pub metric: String,
    /// Whether it is met; what can't be told isn't.
    pub met: bool,
    /// In words.
    pub text: String,
}

/// What lints find wrong with a policy: what the site asked to have sized may not be enough.
pub(super) fn findings(site: &Site, policy: &Policy) -> Vec<String> {
    let findings = lint::lint(policy, Some(site), None);
    let wrong = findings.into_iter().filter(|finding| finding.severity == lint::Severity::Error);
    wrong.map(|finding| format!("{}; {}", finding.text, finding.help)).collect()
}

/// Evaluates each requirement for the policy and its replay, and in the outages that requirements name;
/// without a replay those that need none. What is about the log alone no limit changes: it is left out. `None`
/// if stopped.
pub(super) fn told(
    scene: &Scene<'_>,
    policy: &Policy,
    replayed: Option<&Replayed>,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Told>> {
    let named = outages_required(scene.site).into_iter().filter(|_| replayed.is_some());
    let outages: Option<Vec<(usize, Tally)>> = named
        .map(|outage| Some((outage, replay_outage(scene, policy, outage, stopped)?.0)))
        .collect();
    let outages = outages?;
    let log = replayed.map(|replayed| Log { replayed, outages: &outages, unreadable: (0, 0) });
    let evidence = Evidence { site: scene.site, policy, log, now_us: None };
    let outcomes = evaluate(&evidence).into_iter();
    let of_policy = outcomes.filter(|outcome| outcome.form.field != Field::BadShare);
    Some(of_policy.map(|outcome| told_of(&outcome, policy)).collect())
}

fn told_of(outcome: &Outcome<'_>, policy: &Policy) -> Told {
    let Outcome { requirement, form, action, value, pass, fault } = outcome;
    let end = |end: End| match (end, action) {
        (End::Unbounded, _) if form.unit == SECONDS => "never".to_owned(),
        (End::Unbounded, _) => "unbounded".to_owned(),
        (End::At(number), Some(action)) if form.unit == MONEY => {
            let amount = money::text(number, &action.currency, Round::Nearest);
            format!("{amount} {}", action.currency)
        }
        (End::At(number), _) => number.round_dp(6).normalize().to_string(),
    };
    let is = match value {
        Value::Known(of) if of.is_exact() => format!("is {}", end(of.lo)),
        Value::Known(of) => format!("is {} to {}", end(of.lo), end(of.hi)),
        Value::Unknown(why) => format!("can't be told: {why}"),
    };
    let at_fault = fault.and_then(|at| policy.limits.get(at));
    let at_fault = at_fault.map_or_else(String::new, |limit| format!(", by `{}`", limit.name));
    Told {
        name: requirement.name.clone(),
        metric: requirement.metric.clone(),
        met: *pass,
        text: format!("{} {is}{at_fault}", requirement.metric),
    }
}

/// The share of the attacks on a target that has to be stopped: what the site requires of their rules, by its
/// strictest, if it requires anything; millionths.
pub(super) fn enough_ppm(scene: &Scene<'_>, rules: &[usize]) -> Option<u64> {
    let names = rules.iter().filter_map(|at| scene.site.attackers.get(*at));
    let metrics: Vec<String> =
        names.map(|rule| format!("{}.refused_share", slug(&rule.name))).collect();
    let required = scene.site.requirements.iter().filter(|r| metrics.contains(&r.metric));
    let shares = required.filter_map(|requirement| requirement.min);
    let ppm = shares.max()?.checked_mul(Decimal::from(1_000_000))?.ceil();
    u64::try_from(ppm.mantissa() / 10_i128.pow(ppm.scale())).ok()
}
