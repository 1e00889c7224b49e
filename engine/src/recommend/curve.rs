//! Curves: what every size of a limiter would refuse, from what each key needs.
//!
//! Keys refused follow from critical limits, for all sizes at once. Where a refusal makes no room for
//! later requests, so does everything else: a request is refused iff it needs more. Elsewhere what a size
//! refuses is replayed at that size, for the keys that need more.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use rayon::prelude::*;

use crate::limiter::critical::{Critical, SizingVisitor};
use crate::measure::cohorts::{Cohort, Cohorts};

use super::critical::{AskedKeys, CriticalLimits, Lane, OpenLimit};
use super::points::MOST_POINTS;
use super::trial;

/// Where a point's figures are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// From one pass that tells them for every size.
    Exact,
    /// Keys as above; requests and identities from a replay at this size.
    Replayed,
}

impl Basis {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Replayed => "replayed",
        }
    }
}

/// What one size of a limiter would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The size.
    pub size: u64,
    /// Where its figures are from.
    pub basis: Basis,
    /// Keys refused at least once.
    pub keys_refused: u64,
    /// Requests refused, by cohort as [`Cohort::ALL`].
    pub requests_refused: [u64; 3],
    /// Identities with a request of that cohort refused, likewise.
    pub identities_refused: [u64; 3],
}

/// Requests asked, by cohort as [`Cohort::ALL`].
pub fn requests(asked: &AskedKeys<'_>, cohorts: &Cohorts<'_>) -> [u64; 3] {
    let mut counts = [0; 3];
    for key in 0..asked.keys() {
        for (event, _) in asked.of(key) {
            if let Some(count) = counts.get_mut(place(cohorts, event)) {
                *count += 1;
            }
        }
    }
    counts
}

/// The points of a curve at these sizes, ascending and at most [`MOST_POINTS`]: those beyond are left
/// out. `critical` are the critical limits for the same requests.
pub fn curve(
    asked: &AskedKeys<'_>,
    cohorts: &Cohorts<'_>,
    open: &OpenLimit,
    critical: &CriticalLimits,
    sizes: &[u64],
) -> Vec<Point> {
    let sizes = sizes.get(..MOST_POINTS).unwrap_or(sizes);
    if open.sizing.tells_requests(asked.same_weight().is_some()) {
        return told(asked, cohorts, open, critical, sizes);
    }
    let replayed = |size: &u64| {
        let refused = trial::refused(asked, open, critical, *size);
        Point {
            size: *size,
            basis: Basis::Replayed,
            keys_refused: critical.keys_refused(*size),
            requests_refused: Cohort::ALL
                .map(|cohort| refused.count_both(cohorts.requests(cohort))),
            identities_refused: cohorts.identities_in(&refused),
        }
    };
    sizes.par_iter().map(replayed).collect()
}

/// The place of a request's cohort in [`Cohort::ALL`].
fn place(cohorts: &Cohorts<'_>, event: u32) -> usize {
    match cohorts.of(usize::try_from(event).unwrap_or(usize::MAX)) {
        Cohort::Customer => 0,
        Cohort::Attacker => 1,
        Cohort::Unknown => 2,
    }
}

/// The points where no refusal makes room: one pass for all.
fn told(
    asked: &AskedKeys<'_>,
    cohorts: &Cohorts<'_>,
    open: &OpenLimit,
    critical: &CriticalLimits,
    sizes: &[u64],
) -> Vec<Point> {
    let unseen = || (0..cohorts.distinct).map(|_| AtomicU8::new(0)).collect();
    let refusing: [Vec<AtomicU8>; 3] = [unseen(), unseen(), unseen()];
    let count = |groups: Range<usize>| {
        open.sizing.visit(Needs {
            asked,
            cohorts,
            open,
            critical,
            sizes,
            refusing: &refusing,
            groups,
        })
    };
    let add = |mut all: Needed, part: Needed| {
        for (all, part) in all.iter_mut().zip(part) {
            for (all, part) in all.iter_mut().zip(part) {
                *all += part;
            }
        }
        all
    };
    let none = || [(); 3].map(|()| vec![0; sizes.len() + 1]);
    let requests: Needed = asked.parts().into_par_iter().map(count).reduce(none, add);
    let mut identities: Needed = none();
    for (counts, refusing) in identities.iter_mut().zip(&refusing) {
        for refusing in refusing {
            let refusing = usize::from(refusing.load(Ordering::Relaxed));
            if let Some(count) = counts.get_mut(refusing) {
                *count += 1;
            }
        }
    }
    // what so many of the sizes refuse, the first of them do
    let beyond = |counts: &Needed, at: usize| {
        let mut sums = [0; 3];
        for (sum, counts) in sums.iter_mut().zip(counts) {
            *sum = counts.iter().skip(at + 1).sum();
        }
        sums
    };
    let point = |(at, size): (usize, &u64)| Point {
        size: *size,
        basis: Basis::Exact,
        keys_refused: critical.keys_refused(*size),
        requests_refused: beyond(&requests, at),
        identities_refused: beyond(&identities, at),
    };
    sizes.iter().enumerate().map(point).collect()
}

/// By cohort: how many are refused by one, two … of the sizes; the first, of what none refuses, says nothing.
type Needed = [Vec<u64>; 3];

/// Counts requests of some of the keys by how many of the sizes refuse them, and notes for each identity
/// the most.
struct Needs<'a> {
    asked: &'a AskedKeys<'a>,
    cohorts: &'a Cohorts<'a>,
    open: &'a OpenLimit,
    critical: &'a CriticalLimits,
    sizes: &'a [u64],
    refusing: &'a [Vec<AtomicU8>; 3],
    groups: Range<usize>,
}

impl SizingVisitor for Needs<'_> {
    type Output = Needed;

    fn visit<A: Critical>(self, open: &A) -> Needed
    where
        A::State: Send,
    {
        let mut counts = [(); 3].map(|()| vec![0; self.sizes.len() + 1]);
        let holds = self.open.sizing.counts_in_flight();
        let mut lane = Lane::new(self.asked, open, self.open.tick_us, holds);
        // none refuses what the smallest doesn't, and most keys need no more
        let smallest = self.sizes.first().copied().unwrap_or(u64::MAX);
        let needs_more =
            |key: &usize| self.critical.limits.get(*key).is_some_and(|l| *l > smallest);
        for group in self.groups.filter(needs_more) {
            lane.each_demand(group, |event, _, demand| {
                let needed = open.size_for(demand);
                if needed <= smallest {
                    return;
                }
                let refusing = self.sizes.partition_point(|size| *size < needed);
                let cohort = place(self.cohorts, event);
                if let Some(count) = counts.get_mut(cohort).and_then(|of| of.get_mut(refusing)) {
                    *count += 1;
                }
                let who = self.cohorts.identity(usize::try_from(event).unwrap_or(usize::MAX));
                let of_cohort = self.refusing.get(cohort);
                if let Some(most) = who.and_then(|who| of_cohort.and_then(|of| of.get(who))) {
                    let refusing = u8::try_from(refusing).unwrap_or(u8::MAX);
                    most.fetch_max(refusing, Ordering::Relaxed);
                }
            });
        }
        counts
    }
}

#[cfg(test)]
#[path = "curve_tests.rs"]
mod tests;
