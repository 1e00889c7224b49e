//! The one list of what a requirement may be about: names, units, what each means; and the values of all,
//! from which requirements are evaluated.

mod evaluate;
mod evidence;
mod fault;
mod value;

pub use evaluate::{Outcome, evaluate};
pub use evidence::{Evidence, Log};
pub use value::{End, Unknown, Value};

use crate::policy::Policy;
use crate::site::Site;
use crate::site::facts::Requirement;
use crate::site::metrics::{self, COHORTS, FORMS, Field, Form, Owner};
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
        Owner::Alone => "",
    }
}

/// The metrics of a site and a policy; of what isn't given, the general form.
pub fn list(site: Option<&Site>, policy: Option<&Policy>) -> Vec<Metric> {
    let mut all = Vec::new();
    for Form { owner, field, unit, about, .. } in FORMS {
        let owners = match (owner, site, policy) {
            (Owner::Cohort, Some(_), _) => COHORTS.map(str::to_owned).to_vec(),
            (Owner::Rule, Some(site), _) => slugs(site.attackers.iter().map(|rule| &rule.name)),
            (Owner::Action, Some(site), _) => slugs(site.actions.iter().map(|action| &action.name)),
            (Owner::Duplicate, Some(site), _) => slugs(site.duplicates.iter().map(|d| &d.name)),
            (Owner::Limit, _, Some(policy)) => slugs(policy.limits.iter().map(|limit| &limit.name)),
            (Owner::Alone, ..) => {
                all.push(Metric { name: field.name().to_owned(), unit, about });
                continue;
            }
            (owner, ..) => vec![placeholder(owner).to_owned()],
        };
        for owner in owners {
            all.push(Metric { name: format!("{owner}.{}", field.name()), unit, about });
        }
    }
    all
}

/// The what-ifs in which requirements are evaluated that need a replay there, as indices of the site's,
/// ascending.
pub fn outages_required(site: &Site) -> Vec<usize> {
    let named = |name: &String| {
        let replayed = |requirement: &&Requirement| {
            // a bound holds in all of them
            let files_alone =
                |field| matches!(field, Field::Bound | Field::BoundAligned | Field::TimeToAlarmS);
            metrics::find(&requirement.metric).is_some_and(|(form, _)| !files_alone(form.field))
        };
        let mut requirements = site.requirements.iter().filter(replayed);
        requirements.any(|requirement| requirement.outage.as_ref() == Some(name))
    };
    let outages = site.outages.iter().enumerate();
    outages.filter(|(_, outage)| named(&outage.name)).map(|(index, _)| index).collect()
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
