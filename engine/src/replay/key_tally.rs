//! What a replay counts of each key of a limit: refusals, lock-outs, how full its state was; and the sums
//! over all keys.

use crate::limiter::Level;

use super::tally::{Detail, LimitTally};

/// Keys whose share of all refusals is told.
const TOP_KEYS: usize = 10;

/// How full a limit's states were, in thousandths of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FillTally {
    /// 99 % of all keys were never fuller.
    pub p99_milli: u64,
    /// The fullest.
    pub max_milli: u64,
    /// What may be used.
    pub of_milli: u64,
    /// When the fullest was, microseconds since the epoch.
    pub at_us: Option<i64>,
}

/// What is counted of one key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyTally {
    asked: u64,
    refused: u64,
    /// When the refusals began that nothing has interrupted.
    refused_since_us: Option<i64>,
    longest_lockout_us: i64,
    fullest_milli: u64,
    fullest_at_us: Option<i64>,
}

impl KeyTally {
    /// The key was asked about.
    pub(super) fn asked(&mut self, t_us: i64, refused: bool) {
        self.asked += 1;
        if refused {
            self.refused(t_us);
        } else {
            self.admitted();
        }
    }

    /// A key that is asked about so often, of which verdicts are to be told.
    pub(super) fn of(asked: u64) -> Self {
        Self { asked, ..Self::default() }
    }

    /// One of its requests was refused.
    #[inline]
    pub(super) fn refused(&mut self, t_us: i64) {
        self.refused += 1;
        let since_us = *self.refused_since_us.get_or_insert(t_us);
        self.longest_lockout_us = self.longest_lockout_us.max(t_us - since_us);
    }

    /// One of its requests went on.
    #[inline]
    pub(super) fn admitted(&mut self) {
        self.refused_since_us = None;
    }

    /// How full its state became.
    pub(super) fn filled(&mut self, used_milli: u64, t_us: i64) {
        if used_milli > self.fullest_milli {
            self.fullest_milli = used_milli;
            self.fullest_at_us = Some(t_us);
        }
    }
}

/// Sums over keys. Those of parts of the keys make up those of all.
#[derive(Debug)]
pub(super) struct KeySums {
    keys: u64,
    keys_refused: u64,
    /// How often the keys were refused that were most.
    refused: Top,
    /// How full the fullest keys' states were, thousandths of a request.
    fullest_milli: Top,
    longest_lockout_us: i64,
    fill: FillTally,
}

impl KeySums {
    /// For keys of which there are at most so many.
    pub(super) fn new(distinct: usize) -> Self {
        Self {
            keys: 0,
            keys_refused: 0,
            refused: Top::new(TOP_KEYS),
            // one that 99 % don't exceed is among the fullest 1 %, or just below
            fullest_milli: Top::new(distinct / 100 + 2),
            longest_lockout_us: 0,
            fill: FillTally::default(),
        }
    }

    /// Adds a key, if it was ever asked about.
    pub(super) fn add(&mut self, key: &KeyTally) {
        if key.asked == 0 {
            return;
        }
        self.keys += 1;
        if key.refused > 0 {
            self.keys_refused += 1;
            self.refused.push(key.refused);
        }
        self.fullest_milli.push(key.fullest_milli);
        self.longest_lockout_us = self.longest_lockout_us.max(key.longest_lockout_us);
        self.fuller(key.fullest_milli, key.fullest_at_us);
    }

    /// Adds the sums over other keys.
    pub(super) fn merge(&mut self, other: Self) {
        self.keys += other.keys;
        self.keys_refused += other.keys_refused;
        self.refused.merge(other.refused);
        self.fullest_milli.merge(other.fullest_milli);
        self.longest_lockout_us = self.longest_lockout_us.max(other.longest_lockout_us);
        self.fill.of_milli = self.fill.of_milli.max(other.fill.of_milli);
        self.fuller(other.fill.max_milli, other.fill.at_us);
    }

    /// What a state may hold, thousandths of a request.
    pub(super) fn may_hold(&mut self, of_milli: u64) {
        self.fill.of_milli = self.fill.of_milli.max(of_milli);
    }

    /// Of several that were as full, the first is told.
    fn fuller(&mut self, milli: u64, at_us: Option<i64>) {
        let fill = &mut self.fill;
        if milli > fill.max_milli {
            (fill.max_milli, fill.at_us) = (milli, at_us);
        } else if milli == fill.max_milli {
            fill.at_us = fill.at_us.into_iter().chain(at_us).min();
        }
    }

    /// Writes the sums.
    pub(super) fn finish(self, into: &mut LimitTally, detail: Detail) {
        into.keys = self.keys;
        into.keys_refused = self.keys_refused;
        if detail == Detail::Verdicts {
            return;
        }
        into.top_keys_refused = self.refused.largest_first().iter().sum();
        into.longest_lockout_us = self.longest_lockout_us;
        into.fill = self.fill;
        // the value at rank ⌈0.99·n⌉ from below is that at this place from above
        let above = usize::try_from(self.keys - (self.keys * 99).div_ceil(100)).unwrap_or(0);
        let fullest = self.fullest_milli.largest_first();
        into.fill.p99_milli = fullest.get(above).copied().unwrap_or(0);
    }
}

/// The largest of many values.
#[derive(Debug)]
struct Top {
    most: usize,
    /// At most twice as many; the largest are among them.
    values: Vec<u64>,
}

impl Top {
    fn new(most: usize) -> Self {
        Self { most, values: Vec::new() }
    }

    fn push(&mut self, value: u64) {
        self.values.push(value);
        if self.values.len() >= self.most * 2 {
            self.values.select_nth_unstable_by(self.most, |a, b| b.cmp(a));
            self.values.truncate(self.most);
        }
    }

    fn merge(&mut self, other: Self) {
        other.values.into_iter().for_each(|value| self.push(value));
    }

    fn largest_first(mut self) -> Vec<u64> {
        self.values.sort_unstable_by(|a, b| b.cmp(a));
        self.values.truncate(self.most);
        self.values
    }
}

/// What is counted of every key of a limit.
#[derive(Debug)]
pub(super) struct KeyTallies {
    /// By the key's number; the last is for requests without the key.
    keys: Vec<KeyTally>,
    sums: KeySums,
}

impl KeyTallies {
    pub(super) fn new(distinct: usize) -> Self {
        Self { keys: vec![KeyTally::default(); distinct + 1], sums: KeySums::new(distinct + 1) }
    }

    /// A key was asked about.
    pub(super) fn asked(&mut self, key: u32, t_us: i64, refused: bool) {
        if let Some(tally) = self.tally(key) {
            tally.asked(t_us, refused);
        }
    }

    /// How full a key's state became.
    pub(super) fn filled(&mut self, key: u32, level: Level, t_us: i64) {
        if let Some(tally) = self.tally(key) {
            tally.filled(level.used_milli, t_us);
        }
        self.sums.may_hold(level.of_milli);
    }

    /// The sums.
    pub(super) fn finish(mut self) -> KeySums {
        for key in &self.keys {
            self.sums.add(key);
        }
        self.sums
    }

    fn tally(&mut self, key: u32) -> Option<&mut KeyTally> {
        let last = self.keys.len().checked_sub(1)?;
        let at = usize::try_from(key).unwrap_or(last).min(last);
        self.keys.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::percentile::nearest_rank;

    proptest! {
        #[test]
        fn what_is_told_of_the_fullest_is_what_sorting_all_tells(
            fullest in prop::collection::vec(0_u64..50, 1..700),
            parts in 1_usize..5,
        ) {
            let sums = |part: usize| {
                let mut sums = KeySums::new(fullest.len());
                for milli in fullest.iter().skip(part).step_by(parts) {
                    let refused = *milli / 2;
                    sums.add(&KeyTally { asked: 1, refused, fullest_milli: *milli, ..KeyTally::default() });
                }
                sums
            };
            let mut all = sums(0);
            (1..parts).for_each(|part| all.merge(sums(part)));
            let mut tally = LimitTally::default();
            all.finish(&mut tally, Detail::Figures);
            let mut sorted = fullest.clone();
            sorted.sort_unstable();
            prop_assert_eq!(Some(tally.fill.p99_milli), nearest_rank(&sorted, 99, 100));
            let refused = sorted.iter().filter(|milli| **milli > 1).count();
            prop_assert_eq!(tally.keys_refused, u64::try_from(refused).unwrap());
            let top: u64 = sorted.iter().rev().take(TOP_KEYS).map(|milli| milli / 2).sum();
            prop_assert_eq!(tally.top_keys_refused, top);
        }
    }
}
