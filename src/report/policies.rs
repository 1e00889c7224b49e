//! Builds the report's part about policies from what replays counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::fixed_window::Window;
use shadowcap_engine::limiter::token_bucket::Refill;
use shadowcap_engine::measure::cohorts::Cohort as Who;
use shadowcap_engine::policy::{self, Counters, Mode};
use shadowcap_engine::replay::run::Replayed;
use shadowcap_engine::replay::tally::{CohortTally, LimitTally, Tally};
use shadowcap_engine::site::Site;
use shadowcap_engine::units::decimal::ratio;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::rate::Rate;
use shadowcap_engine::units::span::{MINUTE_US, SECOND_US};
use shadowcap_engine::units::time::format_rfc3339;

use super::number::{self, Bracketed, Millionths, Thousandths};
use super::policy_model::{
    Alarm, Cohort, Delay, Duplicates, Fill, Fleet, Limit, PerSecond, Policy, PolicyVerdict, Rule,
    Total,
};

/// A policy and its replay.
pub(crate) struct PolicyMaterial<'a> {
    /// The policy.
    pub(crate) policy: &'a policy::Policy,
    /// Its replay.
    pub(crate) replayed: &'a Replayed,
    /// The site it was replayed for.
    pub(crate) site: &'a Site,
    /// From the first to the last request, microseconds.
    pub(crate) period_us: i64,
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
        engine: "reference",
        limits: limits.map(|(index, limit)| self::limit(material, index, limit)).collect(),
        total: total(material),
        alarms: alarms.collect(),
        outages: Vec::new(),
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
        fleet: fleet(limit, material.site),
        admitted_per_s: PerSecond {
            avg: per_second(admitted, material.period_us).unwrap_or(Thousandths(0)),
            peak: Thousandths(base.most_admitted_in_a_second.saturating_mul(1000)),
        },
        peak_after_reset: None,
        reclaim_differs: replayed.reclaim_differs.get(index).copied().unwrap_or(0),
        per_instance: Vec::new(),
        store_calls_per_s: None,
        state_bytes: None,
        cohorts: cohorts(replayed, move |tally| tally.limits.get(index).map(|l| &l.cohorts)),
    }
}

/// So many over so long; `None` for no time at all.
fn per_second(count: u64, period_us: i64) -> Option<Thousandths> {
    let period_us = u64::try_from(period_us).ok()?;
    ratio(count.saturating_mul(1_000_000), period_us, 3).map(Thousandths)
}

/// The rate that a fleet gives one key, as its limiters store it.
fn fleet(limit: &policy::Limit, site: &Site) -> Option<Fleet> {
    let per_minute = |rate: Rate| {
        let per_us = u64::try_from(rate.per_us).ok()?;
        ratio(rate.count.checked_mul(u64::try_from(MINUTE_US).ok()?)?, per_us, 3)
    };
    let window = |most: u64, us: i64| per_minute(Rate { count: most, per_us: us });
    let milli = match &limit.limiter {
        Limiter::Nginx(nginx) => nginx.rate_milli.checked_mul(60),
        Limiter::TokenBucket(bucket) => match bucket.refill {
            Refill::Continuous(rate) => per_minute(rate),
            Refill::Interval { fill, us } => window(fill, us),
        },
        Limiter::Gcra(gcra) => per_minute(gcra.rate),
        Limiter::SlidingLog(log) => window(log.limit, log.window_us),
        Limiter::SlidingCounter(counter) => window(counter.limit, counter.window_us),
        Limiter::FixedWindow(fixed) => match fixed.window {
            Window::Clock { us, .. } | Window::FirstRequest { us, .. } => window(fixed.limit, us),
            // days and months differ in length
            Window::Calendar { .. } => None,
        },
        Limiter::AwsWaf(waf) => window(waf.limit, waf.window_us),
        Limiter::Spacing(spacing) if spacing.min_time_us > 0 => window(1, spacing.min_time_us),
        Limiter::Spacing(_) | Limiter::Concurrency(_) | Limiter::Block(_) => None,
    }?;
    let tier = limit.at.as_ref().and_then(|at| site.tiers.iter().find(|tier| tier.name == *at));
    let instances = match limit.counters {
        Counters::Local => tier.map_or(1, |tier| tier.instances),
        Counters::Shared => 1,
    };
    Some(Fleet { rate_per_min: Thousandths(milli.saturating_mul(instances)), instances })
}

fn total(material: &PolicyMaterial<'_>) -> Total {
    let replayed = material.replayed;
    let base = &replayed.base;
    let rules = base.rules.iter().enumerate().map(|(index, rule)| {
        let refused = bracket(replayed, move |t| t.rules.get(index).map_or(0, |r| r.refused));
        let admitted_per_s = per_second(rule.requests - rule.refused, rule.lasted_us);
        let value = Rule {
            requests: rule.requests,
            refused,
            admitted_per_s,
            sustained_per_s: None,
            keys_to_defeat: None,
        };
        (text(&rule.name), value)
    });
    let duplicates = base.duplicates.iter().enumerate().map(|(index, (name, ..))| {
        let value = Duplicates {
            seen: bracket(replayed, move |t| t.duplicates.get(index).map_or(0, |d| d.1)),
            admitted: bracket(replayed, move |t| t.duplicates.get(index).map_or(0, |d| d.2)),
        };
        (text(name), value)
    });
    Total {
        requests: base.requests,
        refused: bracket(replayed, |tally| tally.refused),
        delayed: bracket(replayed, |tally| tally.delayed),
        overlap: replayed.overlap,
        growth_to_first_refusal: None,
        cohorts: cohorts(replayed, |tally| Some(&tally.cohorts)),
        retries: 0,
        rules: rules.collect(),
        duplicates: duplicates.collect(),
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
