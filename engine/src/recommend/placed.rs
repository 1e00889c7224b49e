//! The limits of what is sized, and where their counters are.

use rust_decimal::Decimal;

use crate::limiter::aws_waf::AwsWaf;
use crate::limiter::block::Block;
use crate::limiter::{Algorithm, Limiter};
use crate::policy::{Counters, Limit, MissingKey, Mode, Place, RetryAfter};
use crate::site::Site;
use crate::site::facts::Tier;
use crate::units::span::MINUTE_US;

use super::protects::ProtectTarget;

/// The algorithm that counts in the memory of a single server; the word for its place where the site has no
/// tier of that name.
const NGINX: &str = "nginx";
/// AWS WAF's lags, where nothing else is known, microseconds.
const WAF_LAG_US: i64 = MINUTE_US;

/// The row of servers where each counts for itself: nginx counts in its own memory, all else is taken to
/// count in one place.
pub(super) fn tier<'s>(target: &ProtectTarget, site: &'s Site) -> Option<&'s Tier> {
    if target.algorithm != NGINX {
        return None;
    }
    let named = site.tiers.iter().find(|tier| tier.name.to_ascii_lowercase().contains(NGINX));
    let only = match site.tiers.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    named.or(only)
}

/// A limit of a target.
pub(super) fn limit(target: &ProtectTarget, limiter: Limiter, site: &Site) -> Limit {
    let tier = tier(target, site);
    let local = tier.is_some_and(|tier| tier.instances.max(tier.instances_max) > 1);
    let alone = (target.algorithm == NGINX).then(|| NGINX.to_owned());
    let limiter = match limiter {
        Limiter::AwsWaf(waf) => {
            Limiter::AwsWaf(AwsWaf { detect_us: WAF_LAG_US, release_us: WAF_LAG_US, ..waf })
        }
        limiter => limiter,
    };
    Limit {
        name: target.name.clone(),
        place: Place::default(),
        at: tier.map(|tier| tier.name.clone()).or(alone),
        matching: target.matching.clone(),
        key: target.key.clone(),
        tick_us: limiter.tick_us(),
        limiter,
        group: None,
        zone: None,
        mode: Mode::Enforce,
        alarm: None,
        expires_us: None,
        retry_after: RetryAfter::None,
        missing_key: MissingKey::Skip,
        weight: target.weight.clone(),
        queue: None,
        ban: None,
        counters: if local { Counters::Local } else { Counters::Shared },
        store: None,
        count_when: None,
        allow: Vec::new(),
    }
}

/// Counters that a key of a target meets.
pub(super) fn counters(target: &ProtectTarget, site: &Site) -> u64 {
    let limiter = Limiter::Block(Block);
    limit(target, limiter, site).counters_of_key(site, |tier| tier.instances)
}

/// What the site says that refusing one customer of a target costs.
pub(super) fn refused_customer_cost(target: &ProtectTarget, site: &Site) -> Option<Decimal> {
    let of_site = site.protects.iter().find(|protect| protect.name == target.name);
    of_site.filter(|_| target.asked_for)?.refused_customer_cost
}
