//! Events grouped by key: a counting sort, so that what belongs to a key lies together, in order.

use crate::traffic::NONE;

/// Values (arrivals, or numbers of events) by key.
#[derive(Debug)]
pub(super) struct Grouped<T> {
    /// Keys that have any, ascending.
    pub(super) keys: Vec<u32>,
    /// For each key where its values begin in `values`, and one more: where the last ends.
    starts: Vec<usize>,
    values: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// Groups events given as (key, value), their order kept within a key; `distinct` is one more than the
    /// largest key. Events without a key are left out.
    pub(super) fn new(events: impl Iterator<Item = (u32, T)> + Clone, distinct: usize) -> Self {
        let mut counts = vec![0_usize; distinct];
        for (key, _) in events.clone() {
            if let Some(count) = slot(&mut counts, key) {
                *count += 1;
            }
        }
        let mut grouped = Self { keys: Vec::new(), starts: vec![0], values: Vec::new() };
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
        grouped.values = vec![T::default(); total];
        for (key, value) in events {
            if let Some(next) = slot(&mut counts, key) {
                if let Some(place) = grouped.values.get_mut(*next) {
                    *place = value;
                }
                *next += 1;
            }
        }
        grouped
    }

    /// The values of the key at `index` in `keys`.
    pub(super) fn of(&self, index: usize) -> &[T] {
        match self.starts.get(index..index + 2) {
            Some([start, end]) => self.values.get(*start..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// All values that have a key.
    pub(super) fn len(&self) -> usize {
        self.values.len()
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
        assert_eq!(grouped.of(0), [11]);
        assert_eq!(grouped.of(1), [10, 12, 12]);
        assert_eq!(grouped.of(2), [0_i64; 0]);
        assert_eq!(grouped.len(), 4);
    }
}
