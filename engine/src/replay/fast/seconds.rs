//! Requests by second, in a list from the first second to the last.

use std::collections::BTreeMap;

/// Seconds that a list may have per request counted; beyond, far-apart requests would make it the data.
const MOST_SPARSE: usize = 4;

/// Counts by second.
#[derive(Debug, Clone)]
pub(super) struct Seconds {
    first: i64,
    counts: Vec<u32>,
    /// Counts outside the list.
    others: BTreeMap<i64, i64>,
}

impl Seconds {
    /// Counts requests, told by the second in which each is.
    pub(super) fn of(seconds: impl Iterator<Item = i64> + Clone) -> Self {
        let mut ends = None;
        let mut total = 0;
        for second in seconds.clone() {
            let (first, last) = ends.unwrap_or((second, second));
            ends = Some((second.min(first), second.max(last)));
            total += 1;
        }
        let (first, last) = ends.unwrap_or((0, 0));
        let length = usize::try_from(last - first).unwrap_or(usize::MAX).saturating_add(1);
        let length = if length / MOST_SPARSE > total { 0 } else { length };
        let mut counted = Self { first, counts: vec![0; length], others: BTreeMap::new() };
        for second in seconds {
            counted.add(second);
        }
        counted
    }

    pub(super) fn add(&mut self, second: i64) {
        match self.slot(second) {
            Some(count) => *count += 1,
            None => *self.others.entry(second).or_default() += 1,
        }
    }

    /// Takes back a request that was counted in a second.
    pub(super) fn subtract(&mut self, second: i64) {
        match self.slot(second) {
            Some(count) => *count = count.saturating_sub(1),
            None => *self.others.entry(second).or_default() -= 1,
        }
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
