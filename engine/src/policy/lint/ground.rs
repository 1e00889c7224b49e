//! What every lint asks: how many instances count, what stands before money, which requirement is
//! in danger.

use crate::policy::{KeyPart, Limit, Policy};
use crate::site::Site;
use crate::site::facts::{Action, Requirement, Tier};
use crate::site::key::{KeySpec, Source};
use crate::site::route::RoutePath;
use crate::units::slug::slug;

use super::Danger;
use super::cover::overlaps;

/// Files to judge, and when.
pub(super) struct Ground<'a> {
    pub(super) policy: &'a Policy,
    pub(super) site: Option<&'a Site>,
    pub(super) now_us: Option<i64>,
}

impl<'a> Ground<'a> {
    /// What costs money.
    pub(super) fn actions(&self) -> &'a [Action] {
        self.site.map_or(&[], |site| &site.actions)
    }

    /// What must hold.
    pub(super) fn requirements(&self) -> &'a [Requirement] {
        self.site.map_or(&[], |site| &site.requirements)
    }

    /// Most instances of the limit's place, at least 1.
    pub(super) fn instances(&self, limit: &Limit) -> u64 {
        self.site.and_then(|site| limit.tier(site)).map_or(1, most_instances)
    }

    /// How many counters a key of the limit can have: 1 for shared ones, and for local ones where each
    /// client always meets the same instance.
    pub(super) fn counters(&self, limit: &Limit) -> u64 {
        self.site.map_or(1, |site| limit.counters_of_key(site, most_instances))
    }

    /// Whether a key of the limit always meets the same instance.
    pub(super) fn is_sticky(&self, limit: &Limit) -> bool {
        self.site.is_some_and(|site| limit.is_sticky(site))
    }

    /// Whether the limit still has its effect at the instant of `--now`.
    pub(super) fn in_force(&self, limit: &Limit) -> bool {
        match (limit.expires_us, self.now_us) {
            (Some(expires), Some(now)) => now < expires,
            _ => true,
        }
    }

    /// The actions that a limit stands before: one of their requests can be one it is asked about.
    pub(super) fn paid(&self, limit: &'a Limit) -> impl Iterator<Item = &'a Action> {
        let site = self.site;
        self.actions()
            .iter()
            .filter(move |action| overlaps(&limit.matching, &action.matching, site))
    }

    /// Whether a request that the limit is asked about can lack its key.
    pub(super) fn can_be_missing(&self, limit: &Limit) -> bool {
        let lacks = |spec: &KeySpec| {
            spec.parts.iter().any(|sources| {
                !sources.iter().any(|source| match source {
                    Source::Address { .. } => true,
                    // what can't be normalised is missing
                    _ if spec.normalise.is_some() => false,
                    Source::Client | Source::Method | Source::Path => true,
                    Source::Capture(name) => self.always_captures(limit, name),
                    _ => false,
                })
            })
        };
        limit.key.parts.iter().any(|part| match part {
            KeyPart::Route => false,
            KeyPart::Key(spec) => lacks(spec),
        })
    }

    /// Whether the limit is about routes alone whose paths all have a placeholder of this name.
    fn always_captures(&self, limit: &Limit, name: &str) -> bool {
        let routes = &limit.matching.route;
        let captures = |route: &usize| {
            let route = self.site.and_then(|site| site.routes.get(*route));
            // a group of a regular expression may be optional
            route.is_some_and(|r| matches!(r.path(), RoutePath::Pattern(p) if p.has(name)))
        };
        !routes.is_empty() && routes.iter().all(captures)
    }

    /// The first requirement that says how many customers may be refused or delayed.
    pub(super) fn customers(&self) -> Option<(&'a Requirement, Danger)> {
        let hurt = |metric: &str| {
            metric.split_once('.').is_some_and(|(cohort, what)| {
                matches!(cohort, "customer" | "unknown")
                    && matches!(what, "identities_refused" | "requests_refused" | "delayed")
            })
        };
        let requirement =
            self.requirements().iter().find(|r| r.max.is_some() && hurt(&r.metric))?;
        Some((requirement, Danger::Possible))
    }

    /// The first requirement on one of an action's or limit's figures: `sms.time_to_alarm_s`.
    pub(super) fn requirement(&self, of: &str, figures: &[&str]) -> Option<&'a Requirement> {
        self.requirements().iter().find(|requirement| figure(requirement, of, figures))
    }
}

/// Whether a requirement is about one of the figures of an action or limit.
pub(super) fn figure(requirement: &Requirement, of: &str, figures: &[&str]) -> bool {
    requirement
        .metric
        .rsplit_once('.')
        .is_some_and(|(name, what)| name == slug(of) && figures.contains(&what))
}

/// Most instances of a tier.
fn most_instances(tier: &Tier) -> u64 {
    tier.instances_max.max(tier.instances).max(1)
}

/// Whether a part is the client's address, whole or cut.
pub(super) fn is_address(part: &KeyPart) -> bool {
    let mut any = false;
    let mut all = true;
    for source in part.sources() {
        any = true;
        all &= matches!(source, Source::Address { .. } | Source::Client);
    }
    any && all
}
