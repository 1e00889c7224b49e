//! A policy on its site at an instant: how many counters count, what stands before money, who can lack
//! a key.

use crate::policy::{KeyPart, Limit, Policy};
use crate::site::Site;
use crate::site::facts::{Action, Requirement, Tier};
use crate::site::key::{KeySpec, Source};
use crate::site::matching::Match;
use crate::site::route::RoutePath;

use super::cover::overlaps;

/// A policy, the site it is for, and when: what is asked without any log.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The site; without one nothing is known of tiers, paid actions and where keys come from.
    pub site: Option<&'a Site>,
    /// The instant of `--now`, microseconds since the epoch; without it nothing has expired.
    pub now_us: Option<i64>,
}

impl<'a> Ground<'a> {
    /// What costs money.
    pub fn actions(&self) -> &'a [Action] {
        self.site.map_or(&[], |site| &site.actions)
    }

    /// What must hold.
    pub fn requirements(&self) -> &'a [Requirement] {
        self.site.map_or(&[], |site| &site.requirements)
    }

    /// Most instances of the limit's place, at least 1.
    pub fn instances(&self, limit: &Limit) -> u64 {
        self.site.and_then(|site| limit.tier(site)).map_or(1, most_instances)
    }

    /// How many counters a key of the limit can have: 1 for shared ones, and for local ones where each
    /// client always meets the same instance.
    pub fn counters(&self, limit: &Limit) -> u64 {
        self.site.map_or(1, |site| limit.counters_of_key(site, most_instances))
    }

    /// Whether a key of the limit always meets the same instance.
    pub fn is_sticky(&self, limit: &Limit) -> bool {
        self.site.is_some_and(|site| limit.is_sticky(site))
    }

    /// Whether the limit still has its effect at the instant of `--now`.
    pub fn in_force(&self, limit: &Limit) -> bool {
        match (limit.expires_us, self.now_us) {
            (Some(expires), Some(now)) => now < expires,
            _ => true,
        }
    }

    /// The actions that a limit stands before: one of their requests can be one it is asked about.
    pub fn paid(&self, limit: &'a Limit) -> impl Iterator<Item = &'a Action> {
        let site = self.site;
        self.actions()
            .iter()
            .filter(move |action| overlaps(&limit.matching, &action.matching, site))
    }

    /// Whether a request among these can lack the key of a limit that is asked about it.
    pub fn can_be_missing(&self, limit: &Limit, among: &Match) -> bool {
        let routes = if among.route.is_empty() { &limit.matching.route } else { &among.route };
        limit.key.parts.iter().any(|part| match part {
            // a request may be of no route
            KeyPart::Route => routes.is_empty(),
            KeyPart::Key(spec) => self.may_lack(spec, routes),
        })
    }

    /// Whether a request of these routes may lack a key.
    pub(super) fn may_lack(&self, spec: &KeySpec, routes: &[usize]) -> bool {
        spec.parts.iter().any(|sources| {
            !sources.iter().any(|source| match source {
                Source::Address { .. } => true,
                // what can't be normalised is missing
                _ if spec.normalise.is_some() => false,
                Source::Client | Source::Method | Source::Path => true,
                Source::Capture(name) => self.always_captures(routes, name),
                _ => false,
            })
        })
    }

    /// Whether there are routes, whose paths all have a placeholder of this name.
    fn always_captures(&self, routes: &[usize], name: &str) -> bool {
        let captures = |route: &usize| {
            let route = self.site.and_then(|site| site.routes.get(*route));
            // a group of a regular expression may be optional
            route.is_some_and(|r| matches!(r.path(), RoutePath::Pattern(p) if p.has(name)))
        };
        !routes.is_empty() && routes.iter().all(captures)
    }
}

/// Most instances of a tier.
fn most_instances(tier: &Tier) -> u64 {
    tier.instances_max.max(tier.instances).max(1)
}
