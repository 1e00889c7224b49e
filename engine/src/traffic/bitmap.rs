//! One bit per event.

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

    /// How many events are in the set.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The events of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len).filter(|event| self.contains(*event))
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
        assert_eq!(Bitmap::filled(130, false).count(), 0);
    }
}
