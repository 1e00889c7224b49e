//! The one list of what a requirement may be about: names, units, and what each means.

use crate::policy::Policy;
use crate::site::Site;
use crate::site::metrics::{ALONE, COHORTS, NAMED, Owner};
use crate::units::slug::slug;

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// As a requirement names it.
    pub name: String,
    /// What its values count.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// What stands for the owner's name where it isn't known.
fn placeholder(owner: Owner) -> &'static str {
    match owner {
        Owner::Cohort => "COHORT",
        Owner::Rule => "RULE",
        Owner::Action => "ACTION",
        Owner::Limit => "LIMIT",
        Owner::Duplicate => "DUPLICATE",
    }
}

/// The metrics of a site and a policy; of what isn't given, the general form.
pub fn list(site: Option<&Site>, policy: Option<&Policy>) -> Vec<Metric> {
    let mut all = Vec::new();
    for (owner, field, unit, about) in NAMED {
        let owners = match (owner, site, policy) {
            (Owner::Cohort, Some(_), _) => COHORTS.map(str::to_owned).to_vec(),
            (Owner::Rule, Some(site), _) => slugs(site.attackers.iter().map(|rule| &rule.name)),
            (Owner::Action, Some(site), _) => slugs(site.actions.iter().map(|action| &action.name)),
            (Owner::Duplicate, Some(site), _) => slugs(site.duplicates.iter().map(|d| &d.name)),
            (Owner::Limit, _, Some(policy)) => slugs(policy.limits.iter().map(|limit| &limit.name)),
            (owner, ..) => vec![placeholder(owner).to_owned()],
        };
        for owner in owners {
            all.push(Metric { name: format!("{owner}.{field}"), unit, about });
        }
    }
    let alone = ALONE.map(|(name, unit, about)| Metric { name: name.to_owned(), unit, about });
    all.extend(alone);
    all
}

fn slugs<'n>(names: impl Iterator<Item = &'n String>) -> Vec<String> {
    names.map(|name| slug(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_listed_by_name() {
        let names: Vec<String> = list(None, None).into_iter().map(|metric| metric.name).collect();
        assert!(names.contains(&"ACTION.bound".to_owned()));
        assert!(names.contains(&"input.bad_share".to_owned()));
        let site = Site::default();
        let of_site = list(Some(&site), None);
        assert!(of_site.iter().any(|metric| metric.name == "customer.identities_refused"));
        assert!(of_site.iter().all(|metric| !metric.name.starts_with("ACTION.")));
    }
}
