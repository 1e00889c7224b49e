//! Nearest-rank percentiles over a whole population: exact, no sketch.

use std::collections::BTreeMap;

/// The percentiles that reports show, of values sorted ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles<T> {
    /// Median.
    pub p50: T,
    /// 90 %.
    pub p90: T,
    /// 99 %.
    pub p99: T,
    /// 99.9 %.
    pub p999: T,
    /// Largest.
    pub max: T,
}

impl<T: Copy + Ord> Percentiles<T> {
    /// Percentiles of any values; `None` if there are none.
    pub fn of(values: impl Iterator<Item = T>) -> Option<Self> {
        let mut sorted: Vec<T> = values.collect();
        sorted.sort_unstable();
        Some(Self {
            p50: nearest_rank(&sorted, 1, 2)?,
            p90: nearest_rank(&sorted, 9, 10)?,
            p99: nearest_rank(&sorted, 99, 100)?,
            p999: nearest_rank(&sorted, 999, 1000)?,
            max: sorted.last().copied()?,
        })
    }
}

/// Values below this are counted in a list, greater ones in a map.
const DENSE: usize = 4096;

/// How often each value occurs. Peaks are small and many: counting them is faster than sorting.
#[derive(Debug, Clone)]
pub struct Distribution {
    dense: Vec<u64>,
    sparse: BTreeMap<u64, u64>,
    count: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { dense: vec![0; DENSE], sparse: BTreeMap::new(), count: 0 }
    }
}

impl Distribution {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        match usize::try_from(value).ok().and_then(|at| self.dense.get_mut(at)) {
            Some(count) => *count += 1,
            None => *self.sparse.entry(value).or_insert(0) += 1,
        }
    }

    /// Values that occur, ascending, with how often.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> {
        let dense = (0..).zip(self.dense.iter().copied()).filter(|(_, count)| *count > 0);
        dense.chain(self.sparse.iter().map(|(value, count)| (*value, *count)))
    }

    /// The value at rank ⌈q·n⌉, as [`nearest_rank`].
    pub fn nearest_rank(&self, numerator: u64, denominator: u64) -> Option<u64> {
        let rank = self.count.checked_mul(numerator)?.div_ceil(denominator);
        let mut seen = 0;
        self.entries().find_map(|(value, count)| {
            seen += count;
            (seen >= rank).then_some(value)
        })
    }

    /// Its percentiles; `None` if nothing was counted.
    pub fn percentiles(&self) -> Option<Percentiles<u64>> {
        Some(Percentiles {
            p50: self.nearest_rank(1, 2)?,
            p90: self.nearest_rank(9, 10)?,
            p99: self.nearest_rank(99, 100)?,
            p999: self.nearest_rank(999, 1000)?,
            max: self.nearest_rank(1, 1)?,
        })
    }
}

/// The value at rank ⌈q·n⌉ (from 1) of the n sorted values, for q = `numerator` ÷ `denominator` in
/// (0, 1]; `None` if there are none.
pub fn nearest_rank<T: Copy>(sorted: &[T], numerator: usize, denominator: usize) -> Option<T> {
    let rank = sorted.len().checked_mul(numerator)?.div_ceil(denominator);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counting_gives_what_sorting_gives(
            values in proptest::collection::vec(prop_oneof![0_u64..20, 4_000_u64..5_000], 0..60)
        ) {
            let mut counted = Distribution::default();
            for value in &values {
                counted.add(*value);
            }
            prop_assert_eq!(counted.percentiles(), Percentiles::of(values.iter().copied()));
            prop_assert_eq!(counted.entries().map(|(_, n)| n).sum::<u64>(), counted.count);
        }
    }

    #[test]
    fn ranks_are_rounded_up() {
        assert_eq!(nearest_rank(&[1, 2, 3, 4], 1, 2), Some(2));
        assert_eq!(nearest_rank(&[1, 2, 3, 4, 5], 1, 2), Some(3));
        assert_eq!(nearest_rank(&[7], 1, 2), Some(7));
        assert_eq!(nearest_rank::<u8>(&[], 1, 2), None);
        let thousand: Vec<u32> = (1..=1000).collect();
        let all = Percentiles::of(thousand.into_iter()).unwrap();
        assert_eq!((all.p50, all.p90, all.p99, all.p999, all.max), (500, 900, 990, 999, 1000));
    }
}
