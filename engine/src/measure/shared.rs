//! How many values of one key go with one value of another: users behind an address, addresses of a
//! user.

use crate::traffic::{KeyColumn, NONE};

use super::percentile::Percentiles;

/// Percentiles, over the values of `key` that have any, of the distinct values of `other` seen with
/// them; `None` if no event has both.
pub fn distinct_per_key(key: &KeyColumn<'_>, other: &KeyColumn<'_>) -> Option<Percentiles<u64>> {
    let mut pairs: Vec<(u32, u32)> = key
        .ids
        .iter()
        .copied()
        .zip(other.ids.iter().copied())
        .filter(|(key, other)| *key != NONE && *other != NONE)
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let counts =
        pairs.chunk_by(|a, b| a.0 == b.0).map(|same| u64::try_from(same.len()).unwrap_or(u64::MAX));
    Percentiles::of(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::KeyTexts;

    #[test]
    fn distinct_companions_are_counted_once() {
        let column =
            |ids: &[u32]| KeyColumn { ids: ids.to_vec().into(), texts: KeyTexts::Texts(&[]) };
        let per =
            distinct_per_key(&column(&[0, 0, 0, 1, 2, NONE]), &column(&[7, 8, 7, 7, NONE, 9]));
        let per = per.unwrap();
        assert_eq!((per.p50, per.max), (1, 2));
        assert_eq!(distinct_per_key(&column(&[0]), &column(&[NONE])), None);
    }
}
