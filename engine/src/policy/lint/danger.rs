//! Which requirement on money is missed as a limit is, and met as it would be mended.

use crate::policy::Limit;
use crate::policy::coverage::{self, Ground};
use crate::site::facts::{Action, Requirement};

use super::Danger;
use super::ground::figure;

/// Whether the limits that count for an action miss a requirement on its money, and how sure that is.
fn misses(ground: &Ground<'_>, action: &Action, requirement: &Requirement) -> Option<Danger> {
    let max = requirement.max?;
    if figure(requirement, &action.name, &["bound"]) {
        let bounded = coverage::action(ground, action, requirement.horizon_us);
        let met = bounded.money.is_some_and(|money| money <= max);
        return (!met).then_some(Danger::Certain);
    }
    let unbounded = figure(requirement, &action.name, &["bound_aligned", "replayed_worst"])
        && coverage::requests(ground, action, requirement.horizon_us).is_none();
    unbounded.then_some(Danger::Possible)
}

/// The first requirement on money that is missed as the limit is, and met as it would be mended.
pub(super) fn broken_by<'a>(
    ground: &Ground<'a>,
    limit: &'a Limit,
    mend: impl Fn(&mut Limit),
) -> Option<(&'a Requirement, Danger)> {
    let mut policy = ground.policy.clone();
    policy.limits.iter_mut().filter(|other| other.name == limit.name).for_each(mend);
    let mended = Ground { policy: &policy, site: ground.site, now_us: ground.now_us };
    let (bounds, others): (Vec<&Requirement>, Vec<&Requirement>) =
        ground.requirements().iter().partition(|r| r.metric.rsplit('.').next() == Some("bound"));
    ground.paid(limit).find_map(|action| {
        bounds.iter().chain(&others).find_map(|requirement| {
            let danger = misses(ground, action, requirement)?;
            misses(&mended, action, requirement).is_none().then_some((*requirement, danger))
        })
    })
}
