//! The doubts of a replay: what the log, the enforcement point or the policy leaves open.

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::policy::{Counters, MissingKey};
use shadowcap_engine::site::facts::Balance;

use super::build::Material;
use super::policies::PolicyMaterial;
use super::warning::Warning;

/// Keys over their limit that AWS WAF holds down at a time.
const MOST_WAF_KEYS: u64 = 10_000;

/// Everything to know before trusting what policies would have done.
pub(super) fn about_policies<'a>(material: &Material<'a>) -> Vec<Warning<'a>> {
    let mut list = about_phones(material);
    let Some(first) = material.policies.first() else { return list };
    list.push(Warning::OpenLoop { described: first.closed_loop });
    let count = len(material.traffic.count_already_refused());
    let of = len(material.traffic.len());
    if count.saturating_mul(100) > of {
        list.push(Warning::RefusedBefore { count, of });
    }
    for policy in material.policies {
        list.extend(about_policy(policy));
        let durations = &material.traffic.events.durations_us;
        let timed = durations.iter().any(|us| *us >= 0);
        for limit in policy.policy.limits.iter().filter(|limit| limit.count_when.is_some()) {
            if !timed {
                let policy = &policy.policy.name;
                list.push(Warning::NoDurations { policy, limit: &limit.name });
            }
        }
    }
    let arranged = material.policies.iter().any(|policy| policy.replayed.depends_on_placement());
    if let (true, Some(step_us)) = (arranged, material.summary.resolution_us()) {
        list.push(Warning::Arrangements { step_us });
    }
    list.extend(about_balance(first, material));
    list.extend(about_outages(first, material));
    list
}

fn about_phones<'a>(material: &Material<'a>) -> Vec<Warning<'a>> {
    let of = len(material.traffic.len());
    let wrong = material.traffic.unnormalised.iter().filter(|(_, count)| *count > 0);
    wrong.map(|(key, count)| Warning::NoPhone { key, count: *count, of }).collect()
}

fn about_policy<'a>(material: &PolicyMaterial<'a>) -> Vec<Warning<'a>> {
    let mut list = Vec::new();
    let policy = material.policy.name.as_str();
    let replayed = material.replayed;
    let limits = material.policy.limits.iter().zip(&replayed.base.limits);
    for ((limit, tally), differs) in limits.zip(&replayed.reclaim_differs) {
        let name = limit.name.as_str();
        if tally.missing_key > 0 {
            let (of, fate) = match limit.missing_key {
                MissingKey::Skip => (tally.asked + tally.missing_key, "are not asked"),
                MissingKey::Shared => (tally.asked, "share one state"),
                MissingKey::Refuse => (tally.asked, "are refused"),
            };
            let key = limit.key.name.as_str();
            let count = tally.missing_key;
            list.push(Warning::LimitKeyMissing { policy, limit: name, key, count, of, fate });
        }
        if matches!(limit.limiter, Limiter::AwsWaf(_)) {
            list.push(Warning::Waf { policy, limit: name });
            if tally.keys_refused > MOST_WAF_KEYS {
                let keys = tally.keys_refused;
                list.push(Warning::WafKeys { policy, limit: name, keys });
            }
        }
        if *differs > 0 {
            list.push(Warning::Reclaim { policy, limit: name, count: *differs });
        }
    }
    list
}

/// What-ifs that can't change anything.
fn about_outages<'a>(first: &PolicyMaterial<'a>, material: &Material<'a>) -> Vec<Warning<'a>> {
    let times = &material.traffic.events.times_us;
    let mut list = Vec::new();
    for of in first.outages {
        let Some(facts) = first.site.outages.get(of.outage) else { continue };
        let outage = facts.name.as_str();
        let meets = |us: &i64| (facts.from_us..facts.to_us.max(facts.from_us + 1)).contains(us);
        if !times.iter().any(meets) {
            list.push(Warning::OutageOutside { outage });
        }
        for policy in material.policies {
            let store = facts.store.as_str();
            let mut stores = policy.policy.limits.iter().filter_map(|limit| limit.store.as_ref());
            if !stores.any(|known| known.name == store) {
                let policy = policy.policy.name.as_str();
                list.push(Warning::OutageElsewhere { outage, store, policy });
            }
        }
    }
    list
}

/// Tiers whose spread is the log's.
fn about_balance<'a>(first: &PolicyMaterial<'a>, material: &Material<'_>) -> Vec<Warning<'a>> {
    let observed = first.site.tiers.iter().filter(|tier| tier.balance == Some(Balance::Observed));
    let used = |name: &str| {
        let limits = material.policies.iter().flat_map(|policy| &policy.policy.limits);
        let mut local = limits.filter(|limit| limit.counters == Counters::Local);
        local.any(|limit| limit.at.as_deref() == Some(name))
    };
    let traffic = material.traffic;
    let (count, of) = (len(traffic.count_without_instance()), len(traffic.len()));
    let seen = len(traffic.instances.len());
    let mut list = Vec::new();
    for tier in observed.filter(|tier| used(&tier.name)) {
        let (name, instances) = (tier.name.as_str(), tier.instances);
        if count > 0 {
            list.push(Warning::Balance { tier: name, count, of });
        }
        if seen > instances {
            list.push(Warning::MoreInstances { tier: name, seen, instances });
        }
        if traffic.instances_are_sources {
            list.push(Warning::InstancesAreFiles { tier: name, files: seen });
        }
    }
    list
}

fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
