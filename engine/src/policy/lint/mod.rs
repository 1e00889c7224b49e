//! What is questionable about a policy as it stands, without any log. One file per family of lints;
//! what each says, and when it doesn't, is in `docs/lints.md`, whose examples are its tests.

mod allow;
mod binding;
mod code;
mod danger;
mod deployment;
mod ground;
mod identity;
mod lifetime;
mod money;
mod nginx;
mod pace;
mod paths;

pub use code::{Code, Severity};

use crate::policy::coverage::Ground;
use crate::policy::{Limit, Place, Policy};
use crate::site::Site;
use crate::site::facts::Requirement;

/// Which file a finding points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Within {
    /// The policy file.
    Policy,
    /// The site file.
    Site,
}

/// Something questionable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Which file `place` is in.
    pub file: Within,
    /// Where: the limit's table, the policy's first line for what no limit is to blame, or in the site
    /// the route's table.
    pub place: Place,
    /// Name of the limit.
    pub limit: Option<String>,
    /// Name of the site's requirement that is in danger.
    pub requirement: Option<String>,
    /// What is wrong, with the numbers: one sentence without its full stop.
    pub text: String,
    /// What to do: one sentence without its full stop.
    pub help: String,
}

/// How sure it is that a requirement fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Danger {
    /// Its figure follows from the files alone and is over the mark.
    Certain,
    /// It depends on traffic, or on prices that other limits may keep out.
    Possible,
}

impl Finding {
    /// A finding about a limit, as bad as its code usually is.
    fn on(limit: &Limit, code: Code, text: String, help: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            file: Within::Policy,
            place: limit.place,
            limit: Some(limit.name.clone()),
            requirement: None,
            text,
            help: help.into(),
        }
    }

    /// The same, naming the requirement in danger, if there is one.
    fn endangering(mut self, requirement: Option<(&Requirement, Danger)>) -> Self {
        if let Some((requirement, danger)) = requirement {
            let (name, metric) = (&requirement.name, &requirement.metric);
            let text = &self.text;
            self.text = match danger {
                Danger::Certain => {
                    format!("{text}, so the requirement `{name}` ({metric}) cannot hold")
                }
                Danger::Possible => {
                    format!("{text}, which puts the requirement `{name}` ({metric}) at risk")
                }
            };
            self.requirement = Some(name.clone());
        }
        self
    }
}

/// What is questionable about a policy, sorted by (file, line, code). `now_us` is the
/// instant of `--now`, microseconds since the epoch; without it nothing has expired. Without a site
/// nothing is known of tiers, paid actions and where keys come from.
///
/// Silenced findings are left out; findings about an action as a whole can't be silenced.
pub fn lint(policy: &Policy, site: Option<&Site>, now_us: Option<i64>) -> Vec<Finding> {
    let ground = Ground { policy, site, now_us };
    let mut found = Vec::new();
    for family in [
        binding::lint,
        nginx::lint,
        deployment::lint,
        identity::lint,
        paths::lint,
        lifetime::lint,
        money::lint,
    ] {
        family(&ground, &mut found);
    }
    let mut kept = allow::silence(&ground, found);
    kept.sort_by_key(|finding| (finding.file, finding.place.line, finding.code));
    kept
}
