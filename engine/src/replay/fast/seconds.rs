//! Requests by second, in a list from the first second to the last.

use std::collections::BTreeMap;

use crate::replay::arrangement::Arrangement;
use crate::traffic::bitmap::Bitmap;
use crate::units::span::SECOND_US;

/// Seconds that a list may have per request counted; beyond, far-apart requests would make it the data.
const MOST_SPARSE: usize = 4;

/// Counts by second.
#[derive(Debug, Clone)]
pub(super) struct Seconds {
    first: i64,
    counts: Vec<u32>,
    /// Counts outside the list.
    others: BTreeMap<i64, i64>,
    /// The second that was told last, which is most likely to be told next.
    open: Second,
}

/// A second of the clock.
#[derive(Debug, Clone, Copy)]
struct Second {
    /// Its number since the epoch.
    number: i64,
    begin_us: i64,
    until_us: i64,
}

impl Second {
    fn of(t_us: i64) -> Self {
        let number = t_us.div_euclid(SECOND_US);
        let begin_us = number.saturating_mul(SECOND_US);
        Self { number, begin_us, until_us: begin_us.saturating_add(SECOND_US) }
    }

    /// Itself if an instant is in it, else the one that is: dividing only where seconds change.
    #[inline]
    fn at(self, t_us: i64) -> Self {
        if self.begin_us <= t_us && t_us < self.until_us { self } else { Self::of(t_us) }
    }
}

impl Seconds {
    /// Counts the requests of a set.
    pub(super) fn of(set: &Bitmap, arrangement: &Arrangement<'_>) -> Self {
        let mut ends: Option<(i64, i64)> = None;
        let mut total = 0;
        arrangement.for_each(set, |_, t_us| {
            let (first, last) = ends.unwrap_or((t_us, t_us));
            ends = Some((first.min(t_us), last.max(t_us)));
            total += 1;
        });
        let (first, last) = ends.unwrap_or((0, 0));
        let (open, last) = (Second::of(first), Second::of(last));
        let length = last.number.saturating_sub(open.number);
        let length = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1);
        let length = if length / MOST_SPARSE > total { 0 } else { length };
        let counts = vec![0; length];
        let mut counted = Self { first: open.number, counts, others: BTreeMap::new(), open };
        arrangement.for_each(set, |_, t_us| counted.add(t_us));
        counted
    }

    /// Counts a request.
    #[inline]
    pub(super) fn add(&mut self, t_us: i64) {
        let second = self.turn_to(t_us);
        match self.slot(second) {
            Some(count) => *count += 1,
            None => *self.others.entry(second).or_default() += 1,
        }
    }

    /// Takes back a request that was counted.
    #[inline]
    pub(super) fn subtract(&mut self, t_us: i64) {
        let second = self.turn_to(t_us);
        match self.slot(second) {
            Some(count) => *count = count.saturating_sub(1),
            None => *self.others.entry(second).or_default() -= 1,
        }
    }

    /// The number of the second that an instant is in.
    #[inline]
    fn turn_to(&mut self, t_us: i64) -> i64 {
        self.open = self.open.at(t_us);
        self.open.number
    }

    /// Adds what another counted.
    pub(super) fn merge(&mut self, other: &Self) {
        for (second, count) in (other.first..).zip(&other.counts).filter(|(_, count)| **count > 0) {
            match self.slot(second) {
                Some(mine) => *mine += count,
                None => *self.others.entry(second).or_default() += i64::from(*count),
            }
        }
        for (second, count) in &other.others {
            match self.slot(*second) {
                Some(mine) => {
                    *mine = mine.saturating_add_signed(i32::try_from(*count).unwrap_or(0));
                }
                None => *self.others.entry(*second).or_default() += count,
            }
        }
    }

    /// What the fullest second counts.
    pub(super) fn most(&self) -> u64 {
        let listed = self.counts.iter().copied().max().map_or(0, u64::from);
        let others = self.others.values().copied().max().unwrap_or(0);
        listed.max(u64::try_from(others).unwrap_or(0))
    }

    fn slot(&mut self, second: i64) -> Option<&mut u32> {
        let at = usize::try_from(second.checked_sub(self.first)?).ok()?;
        self.counts.get_mut(at)
    }
}
