//! Counts what the fast engine decided on the requests of some times of day: the same figures as the
//! reference's ([`super::super::hours_tally`]), from sets of requests.

use crate::measure::cohorts::Cohort;
use crate::measure::hours::InHours;
use crate::policy::Mode;
use crate::replay::duplicates::DuplicateWatch;
use crate::replay::hours_tally::{HoursLimitTally, HoursTally};
use crate::replay::prepare::PreparedLimit;
use crate::replay::tally::{CohortTally, RuleTally};
use crate::traffic::bitmap::Bitmap;

use super::Round;
use super::decided::{Decided, LimitDecided};
use super::delayed::Delayed;
use super::tally::{Seen, watched};

/// Counts what was decided; `duplicates` watches for those of these times of day.
pub(in crate::replay) fn hours(
    decided: &Decided,
    round: Round<'_, '_>,
    seen: &Seen<'_>,
    hours: &InHours,
    duplicates: Vec<DuplicateWatch<'_>>,
) -> HoursTally {
    let Decided { replayed, limits, refused, delayed } = decided;
    let inside = |set: &Bitmap| both(set, &hours.requests);
    let limit = |(ready, decided): (&PreparedLimit<'_>, &LimitDecided)| {
        let refused = inside(&decided.refused);
        let enforces = ready.limit.mode == Mode::Enforce;
        HoursLimitTally {
            cohorts: cohorts(seen, hours, &inside(&decided.asked), &refused, &decided.delayed),
            identities_refused: if enforces { seen.cohorts.distinct_in(&refused) } else { 0 },
        }
    };
    let (mine, mine_refused) = (inside(replayed), inside(refused));
    HoursTally {
        cohorts: cohorts(seen, hours, &mine, &mine_refused, delayed),
        limits: round.prepared.limits.iter().zip(limits).map(limit).collect(),
        rules: rules(seen, hours, &mine, &mine_refused),
        duplicates: duplicates
            .into_iter()
            .map(|watch| watched(watch, replayed, refused, delayed, round.arrangement))
            .collect(),
    }
}

fn both(one: &Bitmap, other: &Bitmap) -> Bitmap {
    let mut set = one.clone();
    set.and(other);
    set
}

fn cohorts(
    seen: &Seen<'_>,
    hours: &InHours,
    requests: &Bitmap,
    refused: &Bitmap,
    delayed: &Delayed,
) -> [CohortTally; 3] {
    let identities = seen.cohorts.identities_in(requests);
    let identities_refused = seen.cohorts.identities_in(refused);
    let mut tallies = [CohortTally::default(); 3];
    let counts = identities.into_iter().zip(identities_refused);
    for ((tally, cohort), (identities, identities_refused)) in
        tallies.iter_mut().zip(Cohort::ALL).zip(counts)
    {
        let of_cohort = seen.cohorts.requests(cohort);
        let held = |event| of_cohort.contains(event) && hours.requests.contains(event);
        *tally = CohortTally {
            requests: requests.count_both(of_cohort),
            refused: refused.count_both(of_cohort),
            delayed: delayed.count(held),
            identities,
            identities_refused,
        };
    }
    tallies
}

fn rules(seen: &Seen<'_>, hours: &InHours, requests: &Bitmap, refused: &Bitmap) -> Vec<RuleTally> {
    let rule = |(name, map): &(String, Bitmap)| {
        let mine = both(map, requests);
        RuleTally {
            name: name.clone(),
            requests: mine.count(),
            refused: mine.count_both(refused),
            seconds: seen.period_us(&mine).map_or(0, |period_us| hours.seconds(period_us)),
        }
    };
    seen.cohorts.rules.iter().map(rule).collect()
}
