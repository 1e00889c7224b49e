//! What is worth a line beside the tables about a policy: only where there is something to say.

use super::number::{Thousandths, grouped, plural};
use super::policy_model::{AtInstance, KeysToDefeat, Limit, PerSecond, Policy, Rule};
use super::terminal::{Look, wrapped};

/// Refusals are concentrated where ten keys have so much of them, millionths.
const MUCH: u64 = 500_000;
/// As many keys as share all refusals that are told of.
const TOP_KEYS: u64 = 10;
/// State is worth a line from so many bytes on.
const LARGE: u64 = 1_000_000;

/// Writes a policy's lines: room to grow, each limit's, what stores bear.
pub(super) fn about_limits(out: &mut String, policy: &Policy, look: Look) {
    let mut lines = vec![room(policy)];
    lines.extend(policy.limits.iter().map(limit));
    lines.extend([stores(policy), retries(policy)]);
    for line in lines.into_iter().flatten() {
        out.push_str(&wrapped(&line, look.width, 4));
    }
}

/// How much more traffic the policy bears.
fn room(policy: &Policy) -> Option<String> {
    let customers = policy.total.cohorts.get("customer");
    let known = customers.is_some_and(|cohort| cohort.identities.ends().1 > 0);
    let whom = if known { "customer" } else { "client" };
    let growth = policy.total.growth_to_first_refusal;
    if policy.total.requests == 0 || !policy.limits.iter().any(|limit| limit.mode == "enforce") {
        return None;
    }
    Some(match growth {
        // the table says so
        Some(Thousandths(..=1000)) => return None,
        Some(factor) => format!(
            "room: the first {whom} is refused at {} times the traffic (every limit, rate and burst divided by that)",
            decimal(factor, 3)
        ),
        None => {
            let waits = policy.total.delayed.ends().1 > 0;
            let waits = if waits { "; what waits, waits longer" } else { "" };
            format!(
                "room: no {whom} is refused even at twice the traffic (every limit, rate and burst halved){waits}"
            )
        }
    })
}

/// What is to say of a limit.
fn limit(limit: &Limit) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(fleet) = limit.fleet.as_ref().filter(|fleet| fleet.instances > 1) {
        let each = Thousandths(fleet.rate_per_min.0 / fleet.instances);
        parts.push(format!(
            "each of {} instances counts for itself: {} a minute and key on each, {} on all",
            grouped(fleet.instances),
            decimal(each, 2),
            decimal(fleet.rate_per_min, 2)
        ));
    }
    let instances = &limit.per_instance;
    if instances.len() > 1 {
        let span = |of: fn(&AtInstance) -> u64| {
            let least = instances.iter().map(of).min().unwrap_or(0);
            let most = instances.iter().map(of).max().unwrap_or(0);
            if least == most {
                grouped(most)
            } else {
                format!("{} to {}", grouped(least), grouped(most))
            }
        };
        parts.push(format!(
            "an instance was asked {} times and refused {}",
            span(|instance| instance.asked),
            span(|instance| instance.refused)
        ));
    }
    let refusals = limit.refused.ends().1 + limit.shadow_refused.ends().1;
    if let Some(peak) = limit.peak_after_reset.filter(|peak| *peak > 1 && refusals > 0) {
        parts.push(format!(
            "up to {} admitted in the first second of a window",
            plural(peak, "request", "requests")
        ));
    }
    let (keys, _) = limit.keys_refused.ends();
    if let Some(share) = limit.top_keys_share.filter(|share| share.0 >= MUCH && keys > TOP_KEYS) {
        let percent = share.0 / 10_000;
        parts.push(format!(
            "{TOP_KEYS} of the {} keys refused have {percent} % of the refusals",
            grouped(keys)
        ));
    }
    if let Some(bytes) = limit.state_bytes.filter(|bytes| *bytes >= LARGE) {
        parts.push(format!("its counters take about {}", size(bytes)));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", limit.name, parts.join("; ")))
}

/// What stores are asked, and hold.
fn stores(policy: &Policy) -> Option<String> {
    let PerSecond { avg, peak } = policy.total.store_calls_per_s.as_ref()?;
    let stored = policy.limits.iter().filter(|limit| limit.store_calls_per_s.is_some());
    let bytes: u64 = stored.filter_map(|limit| limit.state_bytes).sum();
    Some(format!(
        "store: {} calls a second on average, {} in the fullest; its keys take about {} at most",
        decimal(*avg, 1),
        grouped(peak.0 / 1000),
        size(bytes)
    ))
}

/// What refused clients did next.
fn retries(policy: &Policy) -> Option<String> {
    let total = &policy.total;
    let given_up = match total.given_up {
        0 => String::new(),
        count => format!(
            "; {} never came, since their client had given up",
            plural(count, "request", "requests")
        ),
    };
    (total.retries + total.given_up > 0).then(|| {
        format!(
            "clients tried again {}, {} of them admitted{given_up}",
            plural(total.retries, "time", "times"),
            grouped(total.retries_admitted)
        )
    })
}

/// A rate with one decimal, or nothing.
pub(super) fn per_second(rate: Option<Thousandths>) -> String {
    rate.map_or_else(String::new, |rate| {
        let tenths = rate.0.saturating_add(50) / 100;
        format!("{}.{}", grouped(tenths / 10), tenths % 10)
    })
}

/// What holds an attack, where a limit does.
pub(super) fn about_rule(name: &str, rule: &Rule) -> Option<String> {
    match (&rule.keys_to_defeat, &rule.keys_of, &rule.sustained_by) {
        (Some(KeysToDefeat::Never(_)), Some(limit), _) => Some(format!(
            "{name}: \u{201c}{limit}\u{201d} holds it, with however many keys it comes"
        )),
        (Some(KeysToDefeat::Keys(_)), Some(limit), Some(by)) if limit != by => Some(format!(
            "{name}: \u{201c}{by}\u{201d} lets least through; the keys to defeat are those of \u{201c}{limit}\u{201d}"
        )),
        _ => None,
    }
}

/// How many keys get all of an attack through: `2,350 (ip)`.
pub(super) fn keys_to_defeat(rule: &Rule, policy: &Policy) -> String {
    let of = || policy.limits.iter().find(|limit| Some(&limit.name) == rule.keys_of.as_ref());
    match &rule.keys_to_defeat {
        Some(KeysToDefeat::Keys(keys)) => {
            of().map_or_else(|| grouped(*keys), |limit| format!("{} {}", grouped(*keys), limit.key))
        }
        Some(KeysToDefeat::Never(_)) => "no number".to_owned(),
        None if rule.requests == 0 => String::new(),
        None => "not held".to_owned(),
    }
}

/// Thousandths with at most so many decimals, cut, without needless zeros.
fn decimal(value: Thousandths, places: usize) -> String {
    let decimals: String = format!("{:03}", value.0 % 1000).chars().take(places).collect();
    match decimals.trim_end_matches('0') {
        "" => grouped(value.0 / 1000),
        decimals => format!("{}.{decimals}", grouped(value.0 / 1000)),
    }
}

/// Bytes in the unit that people say: `960 B`, `12 kB`, `3.4 MB`.
fn size(bytes: u64) -> String {
    let tenths = |unit: u64| (bytes / (unit / 10)).max(1);
    let (tenths, name) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (tenths(1_000), "kB"),
        1_000_000..1_000_000_000 => (tenths(1_000_000), "MB"),
        _ => (tenths(1_000_000_000), "GB"),
    };
    format!("{} {name}", decimal(Thousandths(tenths * 100), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_decimals_are_short() {
        assert_eq!([0, 999, 1_000, 12_345].map(size), ["0 B", "999 B", "1 kB", "12.3 kB"]);
        assert_eq!((size(1_290_000), size(70_000_000_000)), ("1.2 MB".into(), "70 GB".into()));
        let two = |value| decimal(Thousandths(value), 2);
        assert_eq!(
            [7_980, 63_840, 1_500, 2_000, 1_234_567].map(two),
            ["7.98", "63.84", "1.5", "2", "1,234.56"]
        );
    }
}
