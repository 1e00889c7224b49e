//! Sizes every target, and replays what is chosen as one policy.

use crate::measure::cohorts::Cohort;
use crate::policy::{self, Limit, Policy};
use crate::replay::run::{Replayed, Scene, replay};
use crate::replay::tally::CohortTally;
use crate::site::Site;
use crate::units::bracket::Bracket;
use crate::units::slug::slug;

use super::alone;
use super::answer::{Expected, Real, Recommendation, Recommended};
use super::chooser::Chooser;
use super::ground::Ground;
use super::protects::ProtectTarget;
use super::{policy_text, requirements, why};

/// Recommends a limit for each target, and replays them as one policy. `None` if stopped.
pub fn recommend(
    scene: &Scene<'_>,
    targets: &[ProtectTarget],
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Recommended> {
    let ground = Ground::new(scene);
    let mut recommendations = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for target in targets {
        if stopped() {
            return None;
        }
        let mut one = Chooser::new(&ground, target).choose(stopped)?;
        if let Some(limit) = &mut one.limit {
            limit.name = unique(&target.name, &mut names);
        }
        recommendations.push(one);
    }
    let policy = policy(scene.site, &recommendations);
    let replayed = match policy.limits.as_slice() {
        [] => None,
        _ => Some(replay(scene, &policy, stopped)?),
    };
    if let Some(replayed) = &replayed {
        for one in &mut recommendations {
            one.expected = expected(&ground, &policy, replayed, one);
            let more = why::of_expected(ground.real, one);
            one.notes.extend(more);
        }
    }
    let times = &scene.traffic.events.times_us;
    let keyless = scene
        .site
        .keys
        .iter()
        .filter(|key| scene.traffic.key(key).is_none_or(|column| column.distinct() == 0));
    Some(Recommended {
        real: ground.real,
        keys_without_evidence: keyless.map(|key| key.name.clone()).collect(),
        findings: requirements::findings(scene.site, &policy),
        requirements: requirements::told(scene, &policy, replayed.as_ref(), stopped)?,
        requests: ground.replayed.count(),
        period_us: times.first().copied().zip(times.last().copied()),
        step_us: ground.resolution.us,
        already_refused: u64::try_from(scene.traffic.count_already_refused()).unwrap_or(u64::MAX),
        recommendations,
        policy,
        replayed,
    })
}

/// A name that no other limit has.
fn unique(name: &str, names: &mut Vec<String>) -> String {
    let mut wanted = name.to_owned();
    let mut number = 1;
    while names.contains(&slug(&wanted)) {
        number += 1;
        wanted = format!("{name} {number}");
    }
    names.push(slug(&wanted));
    wanted
}

/// The limits as a policy: those of single servers first, as requests reach them first.
fn policy(site: &Site, recommendations: &[Recommendation]) -> Policy {
    let limits = || recommendations.iter().filter_map(|one| one.limit.clone());
    let local = |limit: &Limit| limit.at.is_some();
    let first = limits().filter(|limit| local(limit));
    let then = limits().filter(|limit| !local(limit));
    let name = site
        .name
        .as_deref()
        .map_or_else(|| "recommended".to_owned(), |name| format!("{name} recommended"));
    let made = Policy { name, file: String::new(), limits: first.chain(then).collect() };
    // what is replayed is what the file says: grouped, too, as limits of one place are
    let mut text = format!("name = {}\n", policy_text::string(&made.name));
    made.limits.iter().for_each(|limit| text.push_str(&policy_text::limit(limit, site)));
    policy::read::read(text.as_bytes(), "", site).unwrap_or(made)
}

/// What the policy's replay tells of one limit.
fn expected(
    ground: &Ground<'_>,
    policy: &Policy,
    replayed: &Replayed,
    one: &Recommendation,
) -> Option<Expected> {
    let name = &one.limit.as_ref()?.name;
    let at = policy.limits.iter().position(|limit| limit.name == *name)?;
    let figure = |cohort: Cohort, of: fn(&CohortTally) -> u64| {
        let (bracket, _) = replayed.bracket(|tally| {
            tally.limits.get(at).map_or(0, |limit| of(alone::of(&limit.cohorts, cohort)))
        });
        bracket
    };
    let base = replayed.base.limits.get(at)?;
    let known = ground.real == Real::Customers;
    let refused = [Cohort::Customer, Cohort::Attacker, Cohort::Unknown]
        .map(|cohort| figure(cohort, |tally| tally.refused));
    let refuses_nobody = refused.iter().all(|refused| refused.hi == 0);
    Some(Expected {
        real_refused: figure(ground.real_cohort(), |tally| tally.identities_refused),
        unknown_refused: if known {
            figure(Cohort::Unknown, |tally| tally.identities_refused)
        } else {
            Bracket::exact(0)
        },
        attack_requests: alone::of(&base.cohorts, Cohort::Attacker).requests,
        attack_refused: figure(Cohort::Attacker, |tally| tally.refused),
        never_binds: base.never_binds() && refuses_nobody,
    })
}
