//! The one list of what a requirement may be about: names, units, and what each means.

use crate::policy::Policy;
use crate::site::Site;

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

/// What stands before the dot of a metric's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Cohort,
    Rule,
    Action,
    Limit,
    Duplicate,
}

impl Owner {
    fn placeholder(self) -> &'static str {
        match self {
            Self::Cohort => "COHORT",
            Self::Rule => "RULE",
            Self::Action => "ACTION",
            Self::Limit => "LIMIT",
            Self::Duplicate => "DUPLICATE",
        }
    }
}

/// Every form: owner, what stands after the dot, unit, meaning.
const FORMS: [(Owner, &str, &str, &str); 13] = [
    (Owner::Cohort, "identities_refused", "identities", "people with a request refused"),
    (Owner::Cohort, "requests_refused", "requests", "requests refused"),
    (Owner::Cohort, "delayed", "requests", "requests admitted later than they came"),
    (
        Owner::Rule,
        "refused_share",
        "share, 0 to 1",
        "of the requests that the rule matches, refused",
    ),
    (Owner::Rule, "admitted_per_s", "requests/s", "admitted over the time of the attack"),
    (Owner::Rule, "keys_to_defeat", "keys", "how many keys make the limits useless"),
    (Owner::Action, "bound", "money", "the most that any interval as long as the horizon can cost"),
    (
        Owner::Action,
        "bound_aligned",
        "money",
        "the same for intervals aligned to the limits' windows",
    ),
    (
        Owner::Action,
        "replayed_worst",
        "money",
        "the dearest interval as long as the horizon, replayed",
    ),
    (
        Owner::Action,
        "time_to_alarm_s",
        "seconds",
        "from the beginning of the attack to an alarm, at worst",
    ),
    (Owner::Limit, "fill_max", "share, 0 to 1", "how full its fullest state was"),
    (Owner::Limit, "identities_refused", "identities", "people with a request it refused"),
    (Owner::Duplicate, "admitted", "requests", "duplicates that were still admitted"),
];

/// Metrics that stand alone.
const ALONE: [(&str, &str, &str); 2] = [
    (
        "growth_to_first_refusal",
        "factor",
        "how much the traffic can grow until a customer is refused",
    ),
    ("input.bad_share", "share, 0 to 1", "of the lines meant to be requests, unreadable"),
];

/// The metrics of a site and a policy; of what isn't given, the general form.
pub fn list(site: Option<&Site>, policy: Option<&Policy>) -> Vec<Metric> {
    let mut all = Vec::new();
    for (owner, field, unit, about) in FORMS {
        let owners = match (owner, site, policy) {
            (Owner::Cohort, Some(_), _) => {
                ["customer", "attacker", "unknown"].map(str::to_owned).to_vec()
            }
            (Owner::Rule, Some(site), _) => slugs(site.attackers.iter().map(|rule| &rule.name)),
            (Owner::Action, Some(site), _) => slugs(site.actions.iter().map(|action| &action.name)),
            (Owner::Duplicate, Some(site), _) => slugs(site.duplicates.iter().map(|d| &d.name)),
            (Owner::Limit, _, Some(policy)) => slugs(policy.limits.iter().map(|limit| &limit.name)),
            (owner, ..) => vec![owner.placeholder().to_owned()],
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

/// A name as metrics have it: small letters and digits, everything between as one `-`.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            out.push(character);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Whether a site can have a metric of this name: limits aren't known yet, so any may be meant.
pub fn is_known(name: &str, site: &Site) -> bool {
    let exact = list(Some(site), None).iter().any(|metric| metric.name == name);
    let of_limit = || {
        let (owner, field) = name.rsplit_once('.')?;
        let limit = FORMS.iter().any(|(of, known, ..)| *of == Owner::Limit && *known == field);
        Some(limit && !owner.is_empty() && slug(owner) == owner)
    };
    exact || of_limit().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_slugged() {
        assert_eq!(slug("SMS hard stop"), "sms-hard-stop");
        assert_eq!(slug("  a -- b! "), "a-b");
    }

    #[test]
    fn metrics_are_listed_by_name() {
        let names: Vec<String> = list(None, None).into_iter().map(|metric| metric.name).collect();
        assert!(names.contains(&"ACTION.bound".to_owned()));
        assert!(names.contains(&"input.bad_share".to_owned()));
        let site = Site::default();
        assert!(is_known("customer.identities_refused", &site));
        assert!(is_known("sms-hard-stop.fill_max", &site));
        assert!(!is_known("sms hard stop.fill_max", &site) && !is_known("sms.bound", &site));
    }
}
