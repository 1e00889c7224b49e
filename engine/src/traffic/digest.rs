//! A digest of the events, from which pseudonyms are keyed: the same events give the same digest,
//! in whatever order, files or compression they came.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::{Events, Traffic};

impl Traffic {
    /// 32 bytes that depend on the multiset of (arrival, client address) and nothing else.
    pub fn digest(&self) -> [u8; 32] {
        let Events { times_us, addresses, .. } = &self.events;
        let bits = |id: u32| {
            usize::try_from(id)
                .ok()
                .and_then(|id| self.addresses.get(id))
                .map_or(0, |address| address.bits())
        };
        // a sum forgets the order of events with one arrival, which is that of their files
        let sum = times_us
            .par_iter()
            .zip(addresses)
            .map(|(time, id)| {
                let mut event = [0; 24];
                let (head, tail) = event.split_at_mut(8);
                head.copy_from_slice(&time.to_le_bytes());
                tail.copy_from_slice(&bits(*id).to_le_bytes());
                xxh3_128(&event)
            })
            .reduce(|| 0, u128::wrapping_add);
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"shadowcap events 1");
        hasher.update(&sum.to_le_bytes());
        hasher.update(&self.len().to_le_bytes());
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::address::Address;

    fn traffic(times: &[i64], ids: &[u32]) -> Traffic {
        let addresses =
            ["9.0.0.1", "10.0.0.1"].map(|a| Address::parse(a.as_bytes()).unwrap()).to_vec();
        let events =
            Events { times_us: times.to_vec(), addresses: ids.to_vec(), ..Events::default() };
        Traffic { events, addresses, ..Traffic::default() }
    }

    #[test]
    fn only_what_happened_counts() {
        let one = traffic(&[5, 5, 6], &[0, 1, 1]).digest();
        assert_eq!(one, traffic(&[5, 5, 6], &[1, 0, 1]).digest());
        assert_ne!(one, traffic(&[5, 5, 6], &[0, 0, 1]).digest());
        assert_ne!(one, traffic(&[5, 5, 7], &[0, 1, 1]).digest());
    }
}
