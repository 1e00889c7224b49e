//! Builds the report's part about policies from what replays counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::measure::cohorts::Cohort as Who;
use shadowcap_engine::policy::{self, Mode};
use shadowcap_engine::replay::OutageTally;
use shadowcap_engine::replay::run::Replayed;
use shadowcap_engine::replay::sustained::{Defeat, Held};
use shadowcap_engine::replay::tally::{CohortTally, InstanceTally, LimitTally, RuleTally, Tally};
use shadowcap_engine::site::Site;
use shadowcap_engine::site::facts::Balance;
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::decimal::ratio;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::span::{MINUTE_US, SECOND_US};
use shadowcap_engine::units::time::format_rfc3339;

use super::number::{self, Bracketed, Millionths, Thousandths};
use super::policy_model::{
    Alarm, AtInstance, Cohort, Delay, Duplicates, Fill, Fleet, KeysToDefeat, Limit, Outage,
    PerSecond, Policy, PolicyVerdict, Rule, Total,
};

/// A policy and its replay.
pub(crate) struct PolicyMaterial<'a> {
    /// The policy.
    pub(crate) policy: &'a policy::Policy,
    /// Its replay.
    pub(crate) replayed: &'a Replayed,
    /// The same in outages.
    pub(crate) outages: &'a [InOutage],
    /// The site it was replayed for.
    pub(crate) site: &'a Site,
    /// What was replayed.
    pub(crate) traffic: &'a Traffic,
    /// Whether the site's clients reacted to refusals.
    pub(crate) closed_loop: bool,
    /// From the second of the first request to that of the last, both included, microseconds.
    pub(crate) period_us: i64,
}

/// What a policy did in an outage.
pub(crate) struct InOutage {
    /// Which, as an index of the site's.
    pub(crate) outage: usize,
    /// What was counted.
    pub(crate) tally: OutageTally,
}

/// Builds the part about one policy.
pub(crate) fn policy(material: &PolicyMaterial<'_>) -> Policy {
    let PolicyMaterial { policy, replayed, .. } = material;
    let limits = policy.limits.iter().enumerate();
    let alarms = replayed.base.alarms.iter().filter_map(|alarm| {
        Some(Alarm {
            limit: text(&policy.limits.get(alarm.limit)?.name),
            first: format_rfc3339(alarm.first_us),
            after_s: alarm.after_us.map(|us| us.div_euclid(SECOND_US)),
        })
    });
    let (_, doubt) = replayed.bracket(|tally| tally.refused + tally.delayed);
    Policy {
        name: text(&policy.name),
        file: text(&policy.file),
        engine: replayed.engine.name(),
        limits: limits.map(|(index, limit)| self::limit(material, index, limit)).collect(),
        total: total(material),
        alarms: alarms.collect(),
        outages: material.outages.iter().filter_map(|of| outage(of, material)).collect(),
        doubt: doubt.map(|doubt| doubt.name().to_owned()),
    }
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

fn limit(material: &PolicyMaterial<'_>, index: usize, limit: &policy::Limit) -> Limit {
    let replayed = material.replayed;
    let nothing = LimitTally::default();
    let base = replayed.base.limits.get(index).unwrap_or(&nothing);
    let figure = |of: fn(&LimitTally) -> u64| {
        bracket(replayed, move |tally| tally.limits.get(index).map_or(0, of))
    };
    let delay = |per_thousand| base.delay_us(per_thousand).unwrap_or(0);
    let admitted = base.asked - base.refused - base.shadow_refused;
    let refusals = base.refused + base.shadow_refused;
    Limit {
        name: text(&limit.name),
        line: limit.place.line,
        algorithm: limit.limiter.name(),
        key: text(&limit.key.name),
        mode: if limit.mode == Mode::Shadow { "shadow" } else { "enforce" },
        asked: figure(|tally| tally.asked),
        refused: figure(|tally| tally.refused),
        shadow_refused: figure(|tally| tally.shadow_refused),
        delayed: figure(|tally| tally.delayed),
        delay_us: (base.delayed > 0).then(|| Delay {
            p50: delay(500),
            p99: delay(990),
            max: delay(1000),
        }),
        missing_key: base.missing_key,
        keys: base.keys,
        keys_refused: figure(|tally| tally.keys_refused),
        top_keys_share: number::share(base.top_keys_refused, refusals),
        first_refusal: base.first_refusal_us.map(format_rfc3339),
        longest_lockout_s: u64::try_from(base.longest_lockout_us / SECOND_US).unwrap_or(0),
        never_binds: base.never_binds(),
        fill: Fill {
            p99: number::share(base.fill.p99_milli, base.fill.of_milli).unwrap_or(Millionths(0)),
            max: number::share(base.fill.max_milli, base.fill.of_milli).unwrap_or(Millionths(0)),
            at: base.fill.at_us.map(format_rfc3339),
        },
        fleet: fleet(limit, material.site, material.traffic.instances.len()),
        admitted_per_s: rate(admitted, base.most_admitted_in_a_second, material),
        peak_after_reset: base.peak_after_reset,
        reclaim_differs: replayed.reclaim_differs.get(index).copied().unwrap_or(0),
        per_instance: instances(material, limit, &base.instances),
        store_calls_per_s: limit
            .store
            .as_ref()
            .map(|_| rate(base.store_calls, base.most_store_calls_in_a_second, material)),
        state_bytes: base.state_bytes,
        cohorts: cohorts(replayed, move |tally| tally.limits.get(index).map(|l| &l.cohorts)),
    }
}

/// What each instance was asked, by name where the log tells them.
fn instances(
    material: &PolicyMaterial<'_>,
    limit: &policy::Limit,
    tallies: &[InstanceTally],
) -> Vec<AtInstance> {
    let tier = limit.tier(material.site);
    let observed = tier.is_some_and(|tier| tier.balance == Some(Balance::Observed));
    let names = if observed { material.traffic.instances.as_slice() } else { &[] };
    let instances = tallies.iter().enumerate().map(|(at, tally)| AtInstance {
        instance: names.get(at).map_or_else(|| (at + 1).to_string(), |name| text(name)),
        asked: tally.asked,
        refused: tally.refused,
        keys: tally.keys,
    });
    instances.collect()
}

fn outage(of: &InOutage, material: &PolicyMaterial<'_>) -> Option<Outage> {
    let facts = material.site.outages.get(of.outage)?;
    // as long as both the outage and the log last
    let times = &material.traffic.events.times_us;
    let (first, last) = times.first().zip(times.last()).unwrap_or((&0, &0));
    let lasted_us = facts.to_us.min(last + SECOND_US) - facts.from_us.max(*first);
    let InOutage { tally, .. } = of;
    let cohorts = Who::ALL.iter().zip(&tally.cohorts);
    let exactly = Bracketed::Exact;
    let cohorts = cohorts.map(|(who, tally)| {
        let cohort = Cohort {
            requests: exactly(tally.requests),
            refused: exactly(tally.refused),
            delayed: exactly(tally.delayed),
            identities: exactly(tally.identities),
            identities_refused: exactly(tally.identities_refused),
        };
        (who.name(), cohort)
    });
    Some(Outage {
        name: text(&facts.name),
        refused: tally.refused,
        admitted: tally.admitted,
        admitted_per_s: per_second(tally.admitted, lasted_us.max(0)),
        cohorts: cohorts.collect(),
    })
}

/// So many in all, and so many in the fullest second.
fn rate(count: u64, most: u64, material: &PolicyMaterial<'_>) -> PerSecond {
    PerSecond {
        avg: per_second(count, material.period_us).unwrap_or(Thousandths(0)),
        peak: Thousandths(most.saturating_mul(1000)),
    }
}

/// So many over so long; `None` for no time at all.
fn per_second(count: u64, period_us: i64) -> Option<Thousandths> {
    let period_us = u64::try_from(period_us).ok()?;
    ratio(count.saturating_mul(1_000_000), period_us, 3).map(Thousandths)
}

/// A pace; `None` for one over no time at all, or too fast to be true.
fn pace(count: u128, per_us: u128) -> Option<number::Pace> {
    let count = u64::try_from(count.checked_mul(1_000_000)?).ok()?;
    let per_us = u64::try_from(per_us).ok()?;
    Some(number::Pace { milli: ratio(count, per_us, 3)?, micro: ratio(count, per_us, 6)? })
}

/// The rate that a fleet gives one key, as its limiters store it.
fn fleet(limit: &policy::Limit, site: &Site, seen: usize) -> Option<Fleet> {
    if let Limiter::FixedWindow(FixedWindow { window: Window::Calendar { .. }, .. }) = limit.limiter
    {
        // days and months differ in length
        return None;
    }
    let rate = limit.limiter.long_run()?;
    let instances = limit.counters_of_key(site, |tier| tier.instances_seen(seen));
    let count = rate.count.checked_mul(u64::try_from(MINUTE_US).ok()?)?;
    let milli = ratio(count.checked_mul(instances)?, u64::try_from(rate.per_us).ok()?, 3)?;
    Some(Fleet { rate_per_min: Thousandths(milli), instances })
}

fn total(material: &PolicyMaterial<'_>) -> Total {
    let replayed = material.replayed;
    let base = &replayed.base;
    let rules = base.rules.iter().zip(&replayed.held).enumerate();
    let rules = rules.map(|(index, (rule, held))| {
        let refused = bracket(replayed, move |t| t.rules.get(index).map_or(0, |r| r.refused));
        (text(&rule.name), self::rule(material.policy, rule, held, refused))
    });
    let duplicates = base.duplicates.iter().enumerate().map(|(index, (name, ..))| {
        let value = Duplicates {
            seen: bracket(replayed, move |t| t.duplicates.get(index).map_or(0, |d| d.1)),
            admitted: bracket(replayed, move |t| t.duplicates.get(index).map_or(0, |d| d.2)),
        };
        (text(name), value)
    });
    let stored = material.policy.limits.iter().any(|limit| limit.store.is_some());
    Total {
        requests: base.requests,
        refused: bracket(replayed, |tally| tally.refused),
        delayed: bracket(replayed, |tally| tally.delayed),
        overlap: replayed.overlap,
        growth_to_first_refusal: replayed.growth.map(|hundredths| Thousandths(hundredths * 10)),
        store_calls_per_s: stored.then(|| {
            let calls = base.limits.iter().map(|limit| limit.store_calls).sum();
            rate(calls, base.most_store_calls_in_a_second, material)
        }),
        cohorts: cohorts(replayed, |tally| Some(&tally.cohorts)),
        retries: base.retries,
        retries_admitted: base.retries_admitted,
        given_up: base.given_up,
        rules: rules.collect(),
        duplicates: duplicates.collect(),
    }
}

fn rule(policy: &policy::Policy, rule: &RuleTally, held: &Held, refused: Bracketed<u64>) -> Rule {
    let name = |index: usize| policy.limits.get(index).map(|limit| text(&limit.name));
    let (keys_to_defeat, keys_of) = match held.defeat.filter(|_| rule.seconds > 0) {
        None => (None, None),
        Some(Defeat::Keys { limit, keys }) => (Some(KeysToDefeat::Keys(keys)), name(limit)),
        Some(Defeat::Never { limit }) => (Some(KeysToDefeat::Never("unbounded")), name(limit)),
    };
    let lasted_us = i64::try_from(rule.seconds).unwrap_or(0).saturating_mul(SECOND_US);
    Rule {
        requests: rule.requests,
        refused,
        admitted_per_s: pace(
            (rule.requests - rule.refused).into(),
            lasted_us.try_into().unwrap_or(0),
        ),
        sustained_per_s: (rule.seconds > 0)
            .then(|| pace(held.sustained.count, held.sustained.per_us))
            .flatten(),
        sustained_by: held.by.filter(|_| rule.seconds > 0).and_then(name),
        keys_to_defeat,
        keys_of,
    }
}

fn bracket(replayed: &Replayed, figure: impl Fn(&Tally) -> u64) -> Bracketed<u64> {
    let base = figure(&replayed.base);
    Bracketed::new(replayed.bracket(figure).0, |count| count).around(base)
}

fn cohorts<'r>(
    replayed: &'r Replayed,
    of: impl Fn(&Tally) -> Option<&[CohortTally; 3]> + 'r,
) -> BTreeMap<&'static str, Cohort> {
    let figure = |at: usize, field: fn(&CohortTally) -> u64| {
        bracket(replayed, |tally| of(tally).and_then(|all| all.get(at)).map_or(0, field))
    };
    let named = Who::ALL.iter().enumerate().map(|(at, who)| {
        let cohort = Cohort {
            requests: figure(at, |tally| tally.requests),
            refused: figure(at, |tally| tally.refused),
            delayed: figure(at, |tally| tally.delayed),
            identities: figure(at, |tally| tally.identities),
            identities_refused: figure(at, |tally| tally.identities_refused),
        };
        (who.name(), cohort)
    });
    named.collect()
}

/// What the replay says in a sentence or two.
pub(crate) fn verdict(policy: &Policy, knows_cohorts: bool) -> PolicyVerdict {
    let total = &policy.total;
    let refused = number::range(&total.refused);
    let mut sentence = if policy.limits.is_empty() {
        "no limits: every request is admitted".to_owned()
    } else {
        format!(
            "refuses {refused} of {} requests ({})",
            number::grouped(total.requests),
            number::percent_range(&total.refused, total.requests)
        )
    };
    if knows_cohorts && !policy.limits.is_empty() {
        let customers = total.cohorts.get("customer");
        if let Some(cohort) = customers.filter(|cohort| cohort.identities.ends().1 > 0) {
            let _ = write!(
                sentence,
                "; {} of {} customers are refused at least once",
                number::range(&cohort.identities_refused),
                number::range(&cohort.identities)
            );
        }
    }
    let idle: Vec<&str> = policy
        .limits
        .iter()
        .filter(|limit| limit.never_binds)
        .map(|limit| limit.name.as_str())
        .collect();
    if !idle.is_empty() {
        let _ = write!(sentence, "; never binding: {}", idle.join(", "));
    }
    PolicyVerdict { policy: policy.name.clone(), text: sentence }
}
