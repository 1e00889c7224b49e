//! Interning: texts and addresses as small numbers, first per worker, then joined in sorted order so
//! that the numbers depend on what was read and not on who read it first.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use ahash::RandomState;

use crate::units::address::Address;

/// Bytes that an entry takes besides its text, about: in the table, and in the lists made of it.
const ENTRY_BYTES: u64 = 96;

/// A value that can be interned, and the bytes it has on the heap.
pub trait Value: Eq + Hash + Ord {
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
}

impl Value for Box<[u8]> {
    fn heap_bytes(&self) -> usize {
        self.len()
    }
}

/// Gives each distinct value a number, in order of first sight.
#[derive(Debug)]
pub struct Interner<K> {
    // seeded per process: keys come from whoever sends requests
    ids: HashMap<K, u32, RandomState>,
    heap_bytes: u64,
}

impl<K: Value> Default for Interner<K> {
    fn default() -> Self {
        Self { ids: HashMap::default(), heap_bytes: 0 }
    }
}

impl<K: Value> Interner<K> {
    /// The number of a value; a new one if it wasn't seen before.
    pub fn id<Q>(&mut self, value: &Q) -> u32
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
        K: for<'q> From<&'q Q>,
    {
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let id = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        let key = K::from(value);
        self.heap_bytes += u64::try_from(key.heap_bytes()).unwrap_or(u64::MAX);
        self.ids.insert(key, id);
        id
    }

    /// Distinct values so far.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of memory that the values take, about.
    pub fn bytes(&self) -> u64 {
        let entries = u64::try_from(self.ids.len()).unwrap_or(u64::MAX);
        self.heap_bytes.saturating_add(entries.saturating_mul(ENTRY_BYTES))
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Gives each distinct address a number. IPv4 addresses have a table of their own: most are, and its
/// entries are a quarter of the size, so that more of it stays in the cache.
#[derive(Debug, Default)]
pub struct AddressInterner {
    v4: HashMap<u32, u32, RandomState>,
    v6: HashMap<Address, u32, RandomState>,
}

impl AddressInterner {
    /// The number of an address; a new one if it wasn't seen before.
    pub fn id(&mut self, address: Address) -> u32 {
        let v4 = address.v4_bits();
        let known = match v4 {
            Some(bits) => self.v4.get(&bits),
            None => self.v6.get(&address),
        };
        if let Some(id) = known {
            return *id;
        }
        let next = u32::try_from(self.v4.len() + self.v6.len()).unwrap_or(u32::MAX);
        match v4 {
            Some(bits) => self.v4.insert(bits, next),
            None => self.v6.insert(address, next),
        };
        next
    }

    /// Bytes of memory that the addresses take, about.
    pub fn bytes(&self) -> u64 {
        let entries = u64::try_from(self.v4.len() + self.v6.len()).unwrap_or(u64::MAX);
        entries.saturating_mul(ENTRY_BYTES)
    }
}

/// A dictionary's values with their numbers, sorted by value.
pub trait Entries {
    /// What is interned.
    type Key: Ord;
    /// The entries.
    fn into_sorted(self) -> Vec<(Self::Key, u32)>;
}

impl<K: Value> Entries for Interner<K> {
    type Key = K;

    fn into_sorted(self) -> Vec<(K, u32)> {
        let mut entries: Vec<(K, u32)> = self.ids.into_iter().collect();
        entries.sort_unstable();
        entries
    }
}

impl Entries for AddressInterner {
    type Key = Address;

    fn into_sorted(self) -> Vec<(Address, u32)> {
        let v4 = self.v4.into_iter().map(|(bits, id)| (Address::from_v4_bits(bits), id));
        let mut entries: Vec<(Address, u32)> = v4.chain(self.v6).collect();
        entries.sort_unstable();
        entries
    }
}

/// Several workers' values in one sorted list, and for each worker the new number of each old one.
#[derive(Debug)]
pub struct Joined<K> {
    /// Distinct values, sorted; the index is the number.
    pub values: Vec<K>,
    /// Per worker: old number → new number.
    pub remaps: Vec<Vec<u32>>,
}

/// Joins the workers' dictionaries.
pub fn join<D: Entries>(workers: Vec<D>) -> Joined<D::Key> {
    let entries: Vec<Vec<(D::Key, u32)>> = workers.into_iter().map(D::into_sorted).collect();
    let mut remaps: Vec<Vec<u32>> = entries.iter().map(|list| vec![0; list.len()]).collect();
    let mut lists: Vec<Sorted<D::Key>> =
        entries.into_iter().map(|list| list.into_iter().peekable()).collect();
    let mut values = Vec::new();
    loop {
        let least = lists.iter_mut().filter_map(|list| list.peek().map(|(value, _)| value)).min();
        if least.is_none() {
            return Joined { values, remaps };
        }
        let id = u32::try_from(values.len()).unwrap_or(u32::MAX);
        take_least(&mut lists, &mut remaps, &mut values, id);
    }
}

type Sorted<K> = std::iter::Peekable<std::vec::IntoIter<(K, u32)>>;

/// Takes the least value from every list that begins with it and notes its new number.
fn take_least<K: Ord>(
    lists: &mut [Sorted<K>],
    remaps: &mut [Vec<u32>],
    values: &mut Vec<K>,
    id: u32,
) {
    let mut taken: Option<K> = None;
    let least = {
        let firsts = lists.iter_mut().enumerate();
        firsts
            .filter_map(|(index, list)| list.peek().map(|(value, _)| (value, index)))
            .min()
            .map(|(_, index)| index)
    };
    for (index, (list, remap)) in lists.iter_mut().zip(remaps.iter_mut()).enumerate() {
        // lists before the least one hold greater values: nothing to take there
        if least.is_some_and(|first| index < first) {
            continue;
        }
        let equal = |(value, _): &(K, u32)| taken.as_ref().is_none_or(|t| t == value);
        if let Some((value, old)) = list.next_if(equal) {
            if let Some(slot) = usize::try_from(old).ok().and_then(|old| remap.get_mut(old)) {
                *slot = id;
            }
            taken.get_or_insert(value);
        }
    }
    values.extend(taken);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_numbers_depend_on_values_alone() {
        let fill = |words: &[&str]| {
            let mut interner = Interner::<Box<[u8]>>::default();
            for word in words {
                interner.id(word.as_bytes());
            }
            interner
        };
        let joined =
            join(vec![fill(&["pear", "fig"]), fill(&["fig", "apple", "pear", "fig"]), fill(&[])]);
        let values: Vec<&[u8]> = joined.values.iter().map(AsRef::as_ref).collect();
        assert_eq!(values, [b"apple".as_slice(), b"fig", b"pear"]);
        assert_eq!(joined.remaps, [vec![2, 1], vec![1, 0, 2], vec![]]);
    }
}
