//! Arrivals grouped by key: a counting sort, so that each key's arrivals lie together and ascend.

use crate::traffic::NONE;

/// Arrivals by key.
#[derive(Debug, Default)]
pub(super) struct Grouped {
    /// Keys that have arrivals, ascending.
    pub(super) keys: Vec<u32>,
    /// For each key where its arrivals begin in `times`, and one more: where the last ends.
    starts: Vec<usize>,
    times: Vec<i64>,
}

impl Grouped {
    /// Groups events given as (key, arrival) in order of arrival; `distinct` is one more than the
    /// largest key. Events without a key are left out.
    pub(super) fn new(events: impl Iterator<Item = (u32, i64)> + Clone, distinct: usize) -> Self {
        let mut counts = vec![0_usize; distinct];
        for (key, _) in events.clone() {
            if let Some(count) = slot(&mut counts, key) {
                *count += 1;
            }
        }
        let mut grouped = Self { starts: vec![0], ..Self::default() };
        let mut total = 0;
        for (key, count) in (0_u32..).zip(&mut counts) {
            let start = total;
            total += *count;
            if *count > 0 {
                grouped.keys.push(key);
                grouped.starts.push(total);
            }
            *count = start; // from here on: where the key's next arrival goes
        }
        grouped.times = vec![0; total];
        for (key, time) in events {
            if let Some(next) = slot(&mut counts, key) {
                if let Some(place) = grouped.times.get_mut(*next) {
                    *place = time;
                }
                *next += 1;
            }
        }
        grouped
    }

    /// The arrivals of the key at `index` in `keys`.
    pub(super) fn arrivals(&self, index: usize) -> &[i64] {
        match self.starts.get(index..index + 2) {
            Some([start, end]) => self.times.get(*start..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// All arrivals that have a key.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }
}

fn slot(counts: &mut [usize], key: u32) -> Option<&mut usize> {
    if key == NONE {
        return None;
    }
    usize::try_from(key).ok().and_then(|key| counts.get_mut(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_lie_together_and_keep_their_order() {
        let events = [(2, 10), (0, 11), (2, 12), (NONE, 13), (2, 12)];
        let grouped = Grouped::new(events.into_iter(), 4);
        assert_eq!(grouped.keys, [0, 2]);
        assert_eq!(grouped.arrivals(0), [11]);
        assert_eq!(grouped.arrivals(1), [10, 12, 12]);
        assert_eq!(grouped.arrivals(2), [0_i64; 0]);
        assert_eq!(grouped.len(), 4);
    }
}
