//! One bit per event.

use std::ops::Range;

/// A set of events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// All of `len` events, or none.
    pub fn filled(len: usize, value: bool) -> Self {
        let word = if value { u64::MAX } else { 0 };
        let mut map = Self { words: vec![word; len.div_ceil(64)], len };
        map.clear_tail();
        map
    }

    /// The events for which `holds` is true.
    pub fn of(len: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        let mut words = Vec::with_capacity(len.div_ceil(64));
        let mut start = 0;
        while start < len {
            let end = len.min(start + 64);
            let word = (start..end)
                .enumerate()
                .fold(0, |word, (bit, event)| word | u64::from(holds(event)) << bit);
            words.push(word);
            start = end;
        }
        Self { words, len }
    }

    /// Whether an event is in the set.
    pub fn contains(&self, event: usize) -> bool {
        self.words.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    /// Keeps only what is in the other set too.
    pub fn and(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= theirs;
        }
    }

    /// Keeps only what is not in the other set.
    pub fn and_not(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= !theirs;
        }
    }

    /// Adds what is in the other set.
    pub fn or(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Keeps what is in one of the two sets only.
    pub fn xor(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine ^= theirs;
        }
    }

    /// How many events are in the set.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many events are in both sets.
    pub fn count_both(&self, other: &Self) -> u64 {
        let words = self.words.iter().zip(&other.words);
        words.map(|(mine, theirs)| u64::from((mine & theirs).count_ones())).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds an event; one beyond the end is ignored.
    pub fn insert(&mut self, event: usize) {
        if event < self.len
            && let Some(word) = self.words.get_mut(event / 64)
        {
            *word |= 1 << (event % 64);
        }
    }

    /// The events of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..).step_by(64).zip(&self.words).flat_map(|(first, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = usize::try_from(left.trailing_zeros()).ok().filter(|_| left != 0)?;
                left &= left - 1;
                Some(first + bit)
            })
        })
    }

    /// Does something for each event of the set, ascending: faster than iterating.
    pub fn for_each(&self, each: impl FnMut(usize)) {
        self.for_each_within(&(0..self.len), each);
    }

    /// Does something for each event of the set in a range that begins with a whole word of 64, ascending:
    /// faster than iterating.
    pub fn for_each_within(&self, range: &Range<usize>, mut each: impl FnMut(usize)) {
        let words = range.start / 64..range.end.div_ceil(64);
        let words = self.words.get(words).unwrap_or_default();
        for (first, word) in (range.start..).step_by(64).zip(words) {
            let mut left = *word;
            while left != 0 {
                let event = first + usize::try_from(left.trailing_zeros()).unwrap_or(0);
                if event < range.end {
                    each(event);
                }
                left &= left - 1;
            }
        }
    }

    /// Does something for each event of both sets, ascending: faster than iterating.
    pub fn for_each_of_both(&self, other: &Self, mut each: impl FnMut(usize)) {
        for ((first, mine), theirs) in (0..).step_by(64).zip(&self.words).zip(&other.words) {
            let mut left = mine & theirs;
            while left != 0 {
                each(first + usize::try_from(left.trailing_zeros()).unwrap_or(0));
                left &= left - 1;
            }
        }
    }

    fn clear_tail(&mut self) {
        let used = self.len % 64;
        if used > 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << used) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_combined_bit_by_bit() {
        let even = Bitmap::of(130, |event| event % 2 == 0);
        let third = Bitmap::of(130, |event| event % 3 == 0);
        let mut both = even.clone();
        both.and(&third);
        assert_eq!(both.iter().take(3).collect::<Vec<_>>(), [0, 6, 12]);
        let mut rest = Bitmap::filled(130, true);
        rest.and_not(&even);
        assert_eq!((rest.count(), rest.contains(129), rest.contains(130)), (65, true, false));
        rest.or(&even);
        assert_eq!(rest, Bitmap::filled(130, true));
        assert!(Bitmap::filled(130, false).is_empty());
        assert_eq!(rest.iter().collect::<Vec<_>>(), (0..130).collect::<Vec<_>>());
        assert_eq!((even.count_both(&third), even.is_empty()), (22, false));
        let mut both = Vec::new();
        even.for_each_of_both(&third, |event| both.push(event));
        assert_eq!((both.len(), both[1]), (22, 6));
        rest.xor(&even);
        assert_eq!((rest.count(), rest.contains(1), rest.contains(2)), (65, true, false));
        let mut within = Vec::new();
        even.for_each_within(&(64..70), |event| within.push(event));
        assert_eq!(within, [64, 66, 68]);
        let mut one = Bitmap::filled(130, false);
        one.insert(129);
        one.insert(130);
        assert_eq!(one.iter().collect::<Vec<_>>(), [129]);
    }
}
