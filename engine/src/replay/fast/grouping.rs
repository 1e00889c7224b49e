//! A limit's requests grouped by key, each key's in the order of their arrival: what makes it possible to
//! decide them key by key, with one state in registers, on all cores.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use rayon::prelude::*;

use crate::replay::arrangement::Arrangement;
use crate::replay::keys::Keys;
use crate::traffic::NONE;
use crate::traffic::bitmap::Bitmap;

/// Parts of the keys for each core: more than one, since keys differ in how many requests they have.
const PARTS_PER_CORE: usize = 2;

/// Requests grouped by key: 12 bytes each.
#[derive(Debug)]
pub(super) struct Grouping {
    /// Where each key's requests begin, by the key's number; the last group is of requests without it.
    begins: Vec<u32>,
    events: Vec<u32>,
    times_us: Vec<i64>,
}

impl Grouping {
    /// Groups the requests of a set, on so many threads: each takes a part of the time. On more than one,
    /// the caller must hold nothing that other work on these threads waits for.
    pub(super) fn new(
        set: &Bitmap,
        keys: &Keys<'_>,
        arrangement: &Arrangement<'_>,
        threads: usize,
    ) -> Self {
        let groups = keys.distinct() + 1;
        let group_of = |event: usize| match keys.of(event) {
            NONE => groups - 1,
            key => usize::try_from(key).unwrap_or(0).min(groups - 1),
        };
        let parts = arrangement.parts(threads);
        let counted = |part: &Range<usize>| {
            let mut counts = vec![0_u32; groups];
            arrangement.for_each_in(part, set, |event, _| {
                if let Some(count) = counts.get_mut(group_of(event)) {
                    *count += 1;
                }
            });
            counts
        };
        let mut next: Vec<Vec<u32>> = if threads > 1 {
            parts.par_iter().map(counted).collect()
        } else {
            parts.iter().map(counted).collect()
        };
        // counts become places: a group's requests of one part come after those of the parts before
        let mut begins = vec![0_u32; groups + 1];
        let mut sum = 0;
        for (group, begin) in begins.iter_mut().enumerate() {
            *begin = sum;
            for place in next.iter_mut().filter_map(|part| part.get_mut(group)) {
                let count = std::mem::replace(place, sum);
                sum += count;
            }
        }
        let total = usize::try_from(sum).unwrap_or(0);
        // every place is written once, by whichever thread
        let empty_events = || -> Vec<AtomicU32> { (0..total).map(|_| AtomicU32::new(0)).collect() };
        let empty_times = || -> Vec<AtomicI64> { (0..total).map(|_| AtomicI64::new(0)).collect() };
        let (events, times_us) = if threads > 1 {
            rayon::join(empty_events, empty_times)
        } else {
            (empty_events(), empty_times())
        };
        let scatter = |(part, next): (&Range<usize>, &mut Vec<u32>)| {
            arrangement.for_each_in(part, set, |event, t_us| {
                let Some(place) = next.get_mut(group_of(event)) else { return };
                let at = usize::try_from(*place).unwrap_or(usize::MAX);
                *place += 1;
                if let (Some(slot), Some(time)) = (events.get(at), times_us.get(at)) {
                    slot.store(u32::try_from(event).unwrap_or(NONE), Ordering::Relaxed);
                    time.store(t_us, Ordering::Relaxed);
                }
            });
        };
        if threads > 1 {
            parts.par_iter().zip(&mut next).for_each(scatter);
        } else {
            parts.iter().zip(&mut next).for_each(scatter);
        }
        Self {
            begins,
            events: events.into_iter().map(AtomicU32::into_inner).collect(),
            times_us: times_us.into_iter().map(AtomicI64::into_inner).collect(),
        }
    }

    /// How many requests.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// How many groups, empty ones too.
    pub(super) fn groups(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Ranges of keys with about as many requests each, some for each core.
    pub(super) fn parts(&self, with_keyless: bool) -> Vec<Range<usize>> {
        let parts = rayon::current_num_threads() * PARTS_PER_CORE;
        let groups = self.keyless() + usize::from(with_keyless);
        let mut ranges = Vec::new();
        let mut from = 0;
        for part in 1..=parts {
            let until = self.len() * part / parts.max(1);
            let to =
                self.begins.partition_point(|begin| usize::try_from(*begin).unwrap_or(0) < until);
            let to = if part == parts { groups } else { to.clamp(from, groups) };
            if to > from {
                ranges.push(from..to);
            }
            from = to;
        }
        ranges
    }

    /// When a group's requests arrive, microseconds.
    pub(super) fn times_us(&self, group: usize) -> &[i64] {
        let range = place(&self.begins, group)..place(&self.begins, group + 1);
        self.times_us.get(range).unwrap_or_default()
    }

    /// The group of requests without the key.
    fn keyless(&self) -> usize {
        self.begins.len().saturating_sub(2)
    }

    /// Requests without the key.
    pub(super) fn without_key(&self) -> impl Iterator<Item = u32> + '_ {
        self.of(self.keyless()).map(|(event, _)| event)
    }

    /// A group's requests: (event, arrival in microseconds).
    pub(super) fn of(&self, group: usize) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = place(&self.begins, group)..place(&self.begins, group + 1);
        let events = self.events.get(range.clone()).unwrap_or_default();
        let times = self.times_us.get(range).unwrap_or_default();
        events.iter().copied().zip(times.iter().copied())
    }
}

/// Where a group's requests begin.
fn place(begins: &[u32], group: usize) -> usize {
    begins.get(group).and_then(|begin| usize::try_from(*begin).ok()).unwrap_or(0)
}
