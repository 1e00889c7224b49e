//! Nearest-rank percentiles over a whole population: exact, no sketch.

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

/// The value at rank ⌈q·n⌉ (from 1) of the n sorted values, for q = `numerator` ÷ `denominator` in
/// (0, 1]; `None` if there are none.
pub fn nearest_rank<T: Copy>(sorted: &[T], numerator: usize, denominator: usize) -> Option<T> {
    let rank = sorted.len().checked_mul(numerator)?.div_ceil(denominator);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

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
