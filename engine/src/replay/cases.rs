//! The cases of a policy's replay: the base, and each thing that is open varied on its own.

use crate::limiter::Limiter;
use crate::policy::Limit;
use crate::traffic::select::AlreadyRefused;
use crate::units::span::SECOND_US;

use super::arrangement::Placement;
use super::prepare::Prepared;
use super::run::{Doubt, Scene};
use super::variant::{Variant, Waf};

/// One case of a replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// What it varies; `None` for the base.
    pub(super) doubt: Option<Doubt>,
    pub(super) placement: Placement,
    pub(super) variant: Variant,
    pub(super) already_refused: AlreadyRefused,
}

impl Case {
    /// The base: nothing is varied.
    pub(super) fn base(variant: Variant) -> Self {
        Self {
            doubt: None,
            placement: Placement::Bunched,
            variant,
            already_refused: AlreadyRefused::NoneMatch,
        }
    }
}

impl Case {
    /// Whether it takes lines that were refused already for matching.
    pub(super) fn sees_all_match(&self) -> bool {
        self.already_refused == AlreadyRefused::AllMatch
    }
}

/// All cases, the base first.
pub(super) fn cases(scene: &Scene<'_>, prepared: &Prepared<'_>, base: Variant) -> Vec<Case> {
    let policy = prepared.policy;
    let case = |doubt| Case { doubt: Some(doubt), ..Case::base(base) };
    let mut list = vec![Case::base(base)];
    let finest = policy.limits.iter().map(|limit| limit.tick_us).min().unwrap_or(i64::MAX);
    if scene.steps_us.iter().any(|step| *step > finest) {
        for placement in [Placement::Spread, Placement::Border] {
            list.push(Case { placement, ..case(Doubt::Resolution) });
        }
    }
    if policy.limits.iter().any(|limit| matches!(limit.limiter, Limiter::AwsWaf(_))) {
        for phase_us in (0..10).map(|second| second * SECOND_US) {
            for waf in [Waf::Lenient(phase_us), Waf::Strict(phase_us)] {
                list.push(Case { variant: Variant { waf, ..base }, ..case(Doubt::Waf) });
            }
        }
    }
    if prepared.spreads_at_random() {
        for seed in 1..8 {
            list.push(Case { variant: Variant { seed, ..base }, ..case(Doubt::Balance) });
        }
    }
    let counts_responses = |limit: &Limit| limit.count_when.is_some();
    let open = policy.limits.iter().any(counts_responses) || scene.site.looks_at_status();
    if open && scene.traffic.any_already_refused() && !base.drop_already_refused {
        let already_refused = AlreadyRefused::AllMatch;
        list.push(Case { already_refused, ..case(Doubt::AlreadyRefused) });
    }
    list
}
