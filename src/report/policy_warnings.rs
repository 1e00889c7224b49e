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
    list.push(Warning::OpenLoop);
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
    list.extend(about_balance(first, material.policies));
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

/// Tiers whose spread should come from the log.
fn about_balance<'a>(
    first: &PolicyMaterial<'a>,
    policies: &[PolicyMaterial<'a>],
) -> Vec<Warning<'a>> {
    let observed = first.site.tiers.iter().filter(|tier| tier.balance == Some(Balance::Observed));
    let used = |name: &str| {
        let limits = policies.iter().flat_map(|policy| &policy.policy.limits);
        let mut local = limits.filter(|limit| limit.counters == Counters::Local);
        local.any(|limit| limit.at.as_deref() == Some(name))
    };
    observed
        .filter(|tier| used(&tier.name))
        .map(|tier| Warning::Balance { tier: &tier.name })
        .collect()
}

fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
