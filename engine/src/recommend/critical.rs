//! The critical limits of all keys of a traffic, for many algorithms and windows at once: requests are
//! grouped by key once, and each key's requests pass each open limiter while the cores share out the keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use crate::limiter::critical::{Critical, Sizing, SizingVisitor};
use crate::measure::cohorts::{Cohort, Cohorts};
use crate::policy::Weight;
use crate::replay::arrangement::Arrangement;
use crate::replay::fast::grouping::Grouping;
use crate::replay::keys::Keys;
use crate::replay::states::floor;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;

/// An algorithm with its size left open, and its clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLimit {
    /// The algorithm.
    pub sizing: Sizing,
    /// Its clock's step, microseconds, at least 1.
    pub tick_us: i64,
}

impl OpenLimit {
    /// With the clock that the algorithm has where nothing else is said.
    pub fn new(sizing: Sizing) -> Self {
        Self { tick_us: sizing.tick_us(), sizing }
    }
}

/// Requests that limits would be asked about, grouped by key. Those without the key aren't asked, as with
/// `missing_key = "skip"`.
#[derive(Debug)]
pub struct AskedKeys<'a> {
    traffic: &'a Traffic,
    weight: &'a Weight,
    /// Whose each request is, if that is to be told apart.
    cohorts: Option<&'a Cohorts<'a>>,
    grouping: Grouping,
}

impl<'a> AskedKeys<'a> {
    /// Groups the requests of a set by their keys.
    pub fn new(
        traffic: &'a Traffic,
        arrangement: &Arrangement<'_>,
        set: &Bitmap,
        keys: &Keys<'_>,
        weight: &'a Weight,
    ) -> Self {
        let grouping = Grouping::new(set, keys, arrangement, rayon::current_num_threads());
        Self { traffic, weight, cohorts: None, grouping }
    }

    /// Has the critical limits told for each cohort as well.
    #[must_use]
    pub fn by_cohort(self, cohorts: &'a Cohorts<'a>) -> Self {
        Self { cohorts: Some(cohorts), ..self }
    }

    /// How many keys the traffic has, asked or not.
    pub fn keys(&self) -> usize {
        self.grouping.groups().saturating_sub(1)
    }

    /// How many requests of a key are asked.
    pub fn requests_of(&self, key: usize) -> usize {
        if key < self.keys() { self.grouping.times_us(key).len() } else { 0 }
    }

    /// The requests of a key: (event, arrival in microseconds), by arrival.
    pub fn of(&self, key: usize) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.grouping.of(key)
    }

    /// How many keys are asked at all.
    pub fn asked(&self) -> usize {
        (0..self.keys()).filter(|key| self.requests_of(*key) > 0).count()
    }

    /// The weight of every request, if all weigh the same.
    pub fn same_weight(&self) -> Option<u64> {
        self.weight.by_route.is_empty().then_some(self.weight.default)
    }

    /// Ranges of keys with about as many requests each, some for each core.
    pub(super) fn parts(&self) -> Vec<Range<usize>> {
        self.grouping.parts(false)
    }

    /// How many requests the traffic has, asked or not.
    pub(super) fn events(&self) -> usize {
        self.traffic.len()
    }

    pub(super) fn weight(&self, event: u32) -> u64 {
        // looking up a request's route is a leap in memory
        self.same_weight().unwrap_or_else(|| self.weight.of(self.traffic.route_of(index(event))))
    }

    fn cohort(&self, event: u32) -> usize {
        self.cohorts.map_or(0, |cohorts| match cohorts.of(index(event)) {
            Cohort::Customer => 0,
            Cohort::Attacker => 1,
            Cohort::Unknown => 2,
        })
    }

    /// When a request that arrived then completes, microseconds: it holds its slots for a tick at least.
    pub(super) fn end_us(&self, event: u32, t_us: i64, tick_us: i64) -> i64 {
        let lasted_us = self.traffic.duration_us(index(event)).unwrap_or(0);
        t_us.saturating_add(lasted_us.max(tick_us))
    }
}

fn index(event: u32) -> usize {
    usize::try_from(event).unwrap_or(usize::MAX)
}

/// The critical limit of every key, for one open limiter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriticalLimits {
    /// By the key's number: the smallest size that refuses none of its requests; 0 for a key that isn't
    /// asked (and with `nginx`, whose size is a burst, for one that needs none).
    pub limits: Vec<u64>,
    /// The same for the requests of each cohort alone, as [`Cohort::ALL`], if cohorts were told apart;
    /// else empty. Requests of all cohorts fill the limiter: where a key has those of several, a smaller
    /// size may do, since what it refuses of one makes room for another.
    pub by_cohort: [Vec<u64>; 3],
}

impl CriticalLimits {
    /// How many keys a limiter of that size would refuse at least once.
    pub fn keys_refused(&self, size: u64) -> u64 {
        let refused = self.limits.iter().filter(|critical| **critical > size);
        u64::try_from(refused.count()).unwrap_or(u64::MAX)
    }

    /// Critical limits of a cohort's keys; empty if cohorts weren't told apart.
    pub fn of(&self, cohort: Cohort) -> &[u64] {
        let [customer, attacker, unknown] = &self.by_cohort;
        match cohort {
            Cohort::Customer => customer,
            Cohort::Attacker => attacker,
            Cohort::Unknown => unknown,
        }
    }
}

/// The critical limits of every key for each of these, in their order.
pub fn critical_limits(asked: &AskedKeys<'_>, open: &[OpenLimit]) -> Vec<CriticalLimits> {
    let parts = asked.parts();
    let jobs = open.iter().flat_map(|open| parts.iter().map(move |part| (open, part.clone())));
    let jobs: Vec<(&OpenLimit, Range<usize>)> = jobs.collect();
    let tell = |(open, groups): (&OpenLimit, Range<usize>)| {
        open.sizing.visit(Part { asked, open, groups })
    };
    let told: Vec<Told> = jobs.into_par_iter().map(tell).collect();
    let mut told = told.into_iter();
    let join = |_: &OpenLimit| {
        let mut all = CriticalLimits::default();
        for part in told.by_ref().take(parts.len()) {
            all.limits.extend(part.limits);
            for (all, part) in all.by_cohort.iter_mut().zip(part.by_cohort) {
                all.extend(part);
            }
        }
        all
    };
    open.iter().map(join).collect()
}

/// What is told of some of the keys.
#[derive(Debug, Default)]
struct Told {
    limits: Vec<u64>,
    by_cohort: [Vec<u64>; 3],
}

/// Some of the keys, for one open limiter.
struct Part<'a> {
    asked: &'a AskedKeys<'a>,
    open: &'a OpenLimit,
    groups: Range<usize>,
}

impl SizingVisitor for Part<'_> {
    type Output = Told;

    fn visit<A: Critical>(self, open: &A) -> Told
    where
        A::State: Send,
    {
        let (asked, tick_us) = (self.asked, self.open.tick_us);
        let holds = self.open.sizing.counts_in_flight();
        let plain = asked.same_weight().filter(|_| asked.cohorts.is_none() && !holds);
        let mut told = Told::default();
        let mut lane = Lane::new(asked, open, tick_us, holds);
        for group in self.groups {
            let times_us = asked.grouping.times_us(group);
            let mut most = [None; 3];
            if let (Some(weight), false) = (plain, times_us.is_empty()) {
                most = [Some(lane.most_of(times_us, weight)), None, None];
            } else {
                lane.each_demand(group, |event, _, demand| {
                    if let Some(most) = most.get_mut(asked.cohort(event)) {
                        *most = (*most).max(Some(demand));
                    }
                });
            }
            let size = |demand: Option<i128>| demand.map_or(0, |demand| open.size_for(demand));
            told.limits.push(size(most.iter().copied().max().flatten()));
            if asked.cohorts.is_some() {
                for (limits, most) in told.by_cohort.iter_mut().zip(most) {
                    limits.push(size(most));
                }
            }
        }
        told
    }
}

/// One key after the other, with the state of the one at hand.
pub(super) struct Lane<'a, A: Critical> {
    asked: &'a AskedKeys<'a>,
    open: &'a A,
    tick_us: i64,
    /// Whether requests hold what they take until they complete.
    holds: bool,
    state: A::State,
    /// Completions to come: when, microseconds, and how heavy.
    completions: BinaryHeap<Reverse<(i64, u64)>>,
}

impl<'a, A: Critical> Lane<'a, A> {
    pub(super) fn new(asked: &'a AskedKeys<'a>, open: &'a A, tick_us: i64, holds: bool) -> Self {
        let (state, completions) = (open.fresh(), BinaryHeap::new());
        Self { asked, open, tick_us: tick_us.max(1), holds, state, completions }
    }

    /// The greatest demand of a key whose requests all weigh the same: most are so, and this is where the
    /// time goes.
    #[inline]
    fn most_of(&mut self, times_us: &[i64], weight: u64) -> i128 {
        let Self { open, tick_us, state, .. } = self;
        open.reset(state);
        let demand = |t_us: &i64| open.demand(state, floor(*t_us, *tick_us), weight);
        times_us.iter().map(demand).max().unwrap_or(0)
    }

    /// Tells of each of a key's requests: which, its arrival in microseconds, its demand.
    pub(super) fn each_demand(&mut self, group: usize, mut each: impl FnMut(u32, i64, i128)) {
        self.open.reset(&mut self.state);
        self.completions.clear();
        for (event, t_us) in self.asked.grouping.of(group) {
            let weight = self.asked.weight(event);
            if self.holds {
                // at one instant completions come before arrivals
                self.complete_until(t_us);
                let end_us = self.asked.end_us(event, t_us, self.tick_us);
                self.completions.push(Reverse((end_us, weight)));
            }
            let now_us = floor(t_us, self.tick_us);
            each(event, t_us, self.open.demand(&mut self.state, now_us, weight));
        }
    }

    /// What completes until an instant, it included.
    fn complete_until(&mut self, until_us: i64) {
        while let Some(Reverse((end_us, weight))) = self.completions.peek().copied() {
            if end_us > until_us {
                return;
            }
            self.completions.pop();
            let now_us = floor(end_us, self.tick_us);
            self.open.complete(&mut self.state, now_us, weight);
        }
    }
}
