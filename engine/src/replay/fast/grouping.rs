//! A limit's requests grouped by key, each key's in the order of their arrival: what makes it possible to
//! decide them key by key, with one state in registers, on all cores.

use std::ops::Range;
use std::slice::IterMut;

use rayon::prelude::*;

use crate::replay::arrangement::Arrangement;
use crate::replay::keys::Keys;
use crate::traffic::NONE;
use crate::traffic::bitmap::Bitmap;

/// Parts of the keys for each core: more than one, since keys differ in how many requests they have.
const PARTS_PER_CORE: usize = 2;
/// Requests of a bucket, so few that they stay in a core's cache while they are put in order.
const BUCKET: usize = if cfg!(test) { 4 } else { 1 << 14 };
/// Buckets at most: so many places can be written to in turn.
const MOST_BUCKETS: usize = 512;

/// Requests grouped by key: 12 bytes each.
#[derive(Debug)]
pub(crate) struct Grouping {
    /// Where each key's requests begin, by the key's number; the last group is of requests without it.
    begins: Vec<u32>,
    events: Vec<u32>,
    times_us: Vec<i64>,
}

impl Grouping {
    /// Groups the requests of a set, on so many threads. On more than one, the caller must hold nothing that
    /// other work on these threads waits for.
    ///
    /// Writing each request to its key's place at once would miss all caches. So they are written to buckets
    /// of some keys first, each thread taking a part of the time, and bucket by bucket put in order then.
    pub(crate) fn new(
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
        let counts: Vec<Vec<u32>> = if threads > 1 {
            parts.par_iter().map(counted).collect()
        } else {
            parts.iter().map(counted).collect()
        };
        let mut begins = vec![0_u32; groups + 1];
        let mut sum = 0;
        for (group, begin) in begins.iter_mut().enumerate() {
            *begin = sum;
            sum += counts.iter().filter_map(|part| part.get(group)).sum::<u32>();
        }
        let total = usize::try_from(sum).unwrap_or(0);
        let buckets = Buckets::new(&begins, total);
        let (mut events, mut times_us) = (vec![0_u32; total], vec![0_i64; total]);

        // every bucket's place in pieces, one for each part, so that requests stay in their order
        let mut pieces: Vec<Vec<Piece<'_>>> = parts.iter().map(|_| Vec::new()).collect();
        let mut left = Piece::of(&mut events, &mut times_us);
        for bucket in &buckets.groups {
            for (pieces, counts) in pieces.iter_mut().zip(&counts) {
                let counts = counts.get(bucket.clone()).unwrap_or_default();
                pieces.push(left.split_off(counts.iter().sum()));
            }
        }
        drop(counts);
        let work = parts.iter().zip(pieces).collect();
        for_each(threads, work, |(part, mut pieces): (&Range<usize>, Vec<Piece<'_>>)| {
            arrangement.for_each_in(part, set, |event, t_us| {
                if let Some(piece) = pieces.get_mut(buckets.of(group_of(event))) {
                    piece.push(u32::try_from(event).unwrap_or(NONE), t_us);
                }
            });
        });

        let mut left = Piece::of(&mut events, &mut times_us);
        let work = buckets.groups.iter().map(|bucket| {
            let begins = begins.get(bucket.start..=bucket.end).unwrap_or_default();
            (bucket.start, begins, left.split_off(size(begins)))
        });
        let work = work.collect();
        for_each(threads, work, |(first, begins, bucket): (usize, &[u32], Piece<'_>)| {
            bucket.order(begins, |event| group_of(event) - first);
        });
        Self { begins, events, times_us }
    }

    /// How many requests.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// How many groups, empty ones too.
    pub(crate) fn groups(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Ranges of keys with about as many requests each, some for each core.
    pub(crate) fn parts(&self, with_keyless: bool) -> Vec<Range<usize>> {
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
    pub(crate) fn times_us(&self, group: usize) -> &[i64] {
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
    pub(crate) fn of(&self, group: usize) -> impl ExactSizeIterator<Item = (u32, i64)> + '_ {
        let range = place(&self.begins, group)..place(&self.begins, group + 1);
        let events = self.events.get(range.clone()).unwrap_or_default();
        let times = self.times_us.get(range).unwrap_or_default();
        events.iter().copied().zip(times.iter().copied())
    }
}

/// Some keys each, with about as many requests: one has more only if a single key does.
struct Buckets {
    /// The groups of each.
    groups: Vec<Range<usize>>,
    /// The bucket of each group.
    of_group: Vec<u16>,
}

impl Buckets {
    fn new(begins: &[u32], total: usize) -> Self {
        let most = u32::try_from(BUCKET.max(total / MOST_BUCKETS)).unwrap_or(u32::MAX);
        let mut buckets = Self { groups: Vec::new(), of_group: Vec::with_capacity(begins.len()) };
        let (mut from, mut begin) = (0, 0);
        for (group, ends) in begins.windows(2).enumerate() {
            let &[this, next] = ends else { continue };
            if group > from && next - begin > most {
                buckets.groups.push(from..group);
                (from, begin) = (group, this);
            }
            buckets.of_group.push(u16::try_from(buckets.groups.len()).unwrap_or(u16::MAX));
        }
        buckets.groups.push(from..begins.len().saturating_sub(1));
        buckets
    }

    #[inline]
    fn of(&self, group: usize) -> usize {
        self.of_group.get(group).copied().map_or(0, usize::from)
    }
}

/// A piece of what is grouped, as far as nothing was written to it.
struct Piece<'a> {
    events: IterMut<'a, u32>,
    times_us: IterMut<'a, i64>,
}

impl<'a> Piece<'a> {
    fn of(events: &'a mut [u32], times_us: &'a mut [i64]) -> Self {
        Self { events: events.iter_mut(), times_us: times_us.iter_mut() }
    }

    /// Takes so many from the beginning.
    fn split_off(&mut self, count: u32) -> Self {
        let count = usize::try_from(count).unwrap_or(0);
        let mut events = std::mem::take(&mut self.events).into_slice();
        let mut times_us = std::mem::take(&mut self.times_us).into_slice();
        let taken = Self::of(
            events.split_off_mut(..count).unwrap_or_default(),
            times_us.split_off_mut(..count).unwrap_or_default(),
        );
        *self = Self::of(events, times_us);
        taken
    }

    #[inline]
    fn push(&mut self, event: u32, t_us: i64) {
        if let (Some(slot), Some(time)) = (self.events.next(), self.times_us.next()) {
            (*slot, *time) = (event, t_us);
        }
    }

    /// Puts requests in the order of their groups, given where each group begins and the last ends; those of
    /// a group stay in theirs.
    fn order(self, begins: &[u32], group_of: impl Fn(usize) -> usize) {
        if begins.len() <= 2 {
            return;
        }
        let (events, times_us) = (self.events.into_slice(), self.times_us.into_slice());
        let first = begins.first().copied().unwrap_or(0);
        let mut next: Vec<u32> = begins.iter().map(|begin| begin - first).collect();
        let unordered = (events.to_vec(), times_us.to_vec());
        for (event, t_us) in unordered.0.into_iter().zip(unordered.1) {
            let group = group_of(usize::try_from(event).unwrap_or(usize::MAX));
            let Some(next) = next.get_mut(group) else { continue };
            let at = usize::try_from(*next).unwrap_or(usize::MAX);
            *next += 1;
            if let (Some(slot), Some(time)) = (events.get_mut(at), times_us.get_mut(at)) {
                (*slot, *time) = (event, t_us);
            }
        }
    }
}

/// Does some pieces of work, on more than one thread if there are more.
fn for_each<T: Send>(threads: usize, work: Vec<T>, each: impl Fn(T) + Sync + Send) {
    if threads > 1 {
        work.into_par_iter().for_each(each);
    } else {
        work.into_iter().for_each(each);
    }
}

/// How many requests groups have together, given where each begins and the last ends.
fn size(begins: &[u32]) -> u32 {
    let ends = begins.first().zip(begins.last());
    ends.map_or(0, |(begin, end)| end - begin)
}

/// Where a group's requests begin.
fn place(begins: &[u32], group: usize) -> usize {
    begins.get(group).and_then(|begin| usize::try_from(*begin).ok()).unwrap_or(0)
}
