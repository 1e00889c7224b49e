//! Counts by slot of time (a second, a window), to find the fullest.

use std::collections::BTreeMap;

/// Counts by slot of time. The order in which it is told doesn't matter, so parts may be counted apart
/// and put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Fullest {
    /// The slot told last, which is most likely to be told next, and its count since then.
    open: Option<(i64, u64)>,
    counts: BTreeMap<i64, u64>,
}

impl Fullest {
    /// Counts one in a slot.
    pub(super) fn add(&mut self, slot: i64) {
        match &mut self.open {
            Some((open, count)) if *open == slot => *count += 1,
            _ => {
                self.close();
                self.open = Some((slot, 1));
            }
        }
    }

    /// Counts all that another counted.
    pub(super) fn merge(&mut self, mut other: Self) {
        other.close();
        for (slot, count) in other.counts {
            *self.counts.entry(slot).or_default() += count;
        }
    }

    /// All that was counted.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.open.map_or(0, |(_, count)| count)
    }

    /// What the fullest slot counts.
    pub(super) fn most(&self) -> u64 {
        let of_open = self
            .open
            .map_or(0, |(slot, count)| count + self.counts.get(&slot).copied().unwrap_or_default());
        self.counts.values().copied().max().unwrap_or(0).max(of_open)
    }

    fn close(&mut self) {
        if let Some((slot, count)) = self.open.take() {
            *self.counts.entry(slot).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(slots: &[i64]) -> Fullest {
        let mut fullest = Fullest::default();
        for slot in slots {
            fullest.add(*slot);
        }
        fullest
    }

    #[test]
    fn the_fullest_slot_is_found_in_any_order_and_in_parts() {
        assert_eq!((of(&[]).most(), of(&[]).total()), (0, 0));
        let whole = of(&[1, 1, 2, 1, 3, 3, 1]);
        assert_eq!((whole.most(), whole.total()), (4, 7));
        let mut parts = of(&[1, 1, 3]);
        parts.merge(of(&[2, 1, 3, 1]));
        assert_eq!((parts.most(), parts.total()), (4, 7));
        // the open slot counts beside what was told of it before
        assert_eq!(of(&[5, 6, 5]).most(), 2);
    }
}
