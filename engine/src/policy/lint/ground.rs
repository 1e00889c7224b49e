//! What lints ask of the ground they judge: which requirement is in danger.

use crate::policy::KeyPart;
use crate::policy::coverage::Ground;
use crate::site::facts::Requirement;
use crate::site::key::Source;
use crate::units::slug::slug;

use super::Danger;

impl<'a> Ground<'a> {
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
