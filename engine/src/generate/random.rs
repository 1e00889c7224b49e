//! Random numbers that depend on nothing but what they are for: a stream of `ChaCha8` per seed, place and time.
//! No state is shared, so neither threads nor the order of work can change a byte.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of a seed and three numbers that say what it is for.
    pub fn new(seed: u64, what: u64, of: u64, when: u64) -> Self {
        let mut key = [0; 32];
        let words = [seed, what, of, when].map(u64::to_le_bytes);
        for (place, byte) in key.iter_mut().zip(words.iter().flatten()) {
            *place = *byte;
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Goes on at the `word`th number of 32 bits.
    #[must_use]
    pub fn at(mut self, word: u64) -> Self {
        self.0.set_word_pos(word.into());
        self
    }

    /// 32 bits.
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 bits.
    pub fn long(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, 0 if that is 0; the error of the multiplication is below `end` ÷ 2⁶⁴.
    pub fn below(&mut self, end: u64) -> u64 {
        below(self.long(), end)
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, (least, most): (u32, u32)) -> u32 {
        let many = u64::from(most.saturating_sub(least)) + 1;
        least.saturating_add(u32::try_from(self.below(many)).unwrap_or(0))
    }

    /// True so often in a million.
    pub fn chance(&mut self, ppm: u64) -> bool {
        self.below(1_000_000) < ppm
    }
}

/// 64 random bits as a number below `end`.
pub fn below(bits: u64, end: u64) -> u64 {
    u64::try_from((u128::from(bits) * u128::from(end)) >> 64).unwrap_or(0)
}

/// One of several things, in proportion to their weights; `None` where all are 0.
pub fn choose<T>(bits: u64, weighted: &[(T, u64)]) -> Option<&T> {
    let mut left = below(bits, weighted.iter().map(|(_, weight)| weight).sum());
    weighted.iter().find_map(|(thing, weight)| match left.checked_sub(*weight) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(thing),
    })
}

/// Bits that look random and depend on two numbers alone (the finaliser of splitmix64, Steele, Lea and Flood
/// 2014): for properties of an identity, which are needed without a stream.
pub fn mixed(of: u64, salt: u64) -> u64 {
    let mut bits = of.wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_anywhere() {
        let mut whole = Stream::new(1, 2, 3, 4);
        let words: Vec<u32> = (0..100).map(|_| whole.word()).collect();
        assert_eq!(Stream::new(1, 2, 3, 4).at(57).word(), words[57]);
        assert_ne!(Stream::new(1, 2, 4, 3).word(), words[0]);
    }

    #[test]
    fn what_is_chosen_keeps_its_share() {
        let mut stream = Stream::new(1, 0, 0, 0);
        let weighted = [(0, 1), (1, 0), (2, 3)];
        let mut counts = [0_u32; 3];
        (0..10_000).for_each(|_| counts[*choose(stream.long(), &weighted).unwrap()] += 1);
        assert_eq!(counts[1], 0);
        assert!((2_300..2_700).contains(&counts[0]), "{counts:?}");
        assert_eq!(choose(7, &[(0, 0)]), None);
        let drawn: Vec<u32> = (0..1_000).map(|_| stream.between((3, 5))).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
    }
}
