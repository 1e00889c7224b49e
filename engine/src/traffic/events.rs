//! The columns of the event table and the questions they answer.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::site::key::KeySpec;
use crate::units::address::Address;

use super::Observed;

/// Stands in a column of numbers for "this event has none".
pub const NONE: u32 = u32::MAX;
/// Stands in [`Events::durations_us`] for "its line doesn't tell".
pub const NO_DURATION: i64 = -1;

/// Columns of equal length, one entry per event; those that weren't asked for are empty.
#[derive(Debug, Default)]
pub struct Events {
    /// Arrival, microseconds since the epoch.
    pub times_us: Vec<i64>,
    /// Client address, as an index of [`Traffic::addresses`]; [`NONE`] where the log has none.
    pub addresses: Vec<u32>,
    /// Route or path template, as an index of [`Traffic::places`]; [`NONE`] outside every route.
    pub places: Vec<u32>,
    /// Status of the response; 0 where the log has none.
    pub statuses: Vec<u16>,
    /// A hash of the normalised path, 64 bits: the same paths have the same, in one run and the next.
    /// Not kept for a replay.
    pub path_hashes: Vec<u64>,
    /// One column per defined key that isn't made of the address alone.
    pub keys: Vec<Vec<u32>>,
    /// Which conditions fit: condition i is bit i % 64 of column i / 64.
    pub conditions: Vec<Vec<u64>>,
    /// How long the request took, microseconds; [`NO_DURATION`] where the log doesn't tell. For a
    /// replay, as all that follow.
    pub durations_us: Vec<i64>,
    /// What a limiter of rates decided in service.
    pub observed: Vec<Observed>,
    /// What a limiter of connections decided in service.
    pub observed_conn: Vec<Observed>,
    /// The source, as an index of the sources sorted by name (`Summary::sources`).
    pub sources: Vec<u32>,
    /// The line in its source, from 1; the highest number stands for all lines beyond.
    pub lines: Vec<u32>,
    /// The instance that got the request, as an index of [`Traffic::instances`]; [`NONE`] where nothing
    /// tells. For tiers whose spread is observed.
    pub instances: Vec<u32>,
}

/// Everything that was read, ordered by (arrival, source, line).
#[derive(Debug, Default)]
pub struct Traffic {
    /// The events.
    pub events: Events,
    /// Distinct client addresses, sorted.
    pub addresses: Vec<Address>,
    /// Names of routes or path templates.
    pub places: Vec<String>,
    /// Whether places are routes, and not path templates.
    pub places_are_routes: bool,
    /// For each column of [`Events::keys`]: the key's name and its distinct texts, sorted.
    pub key_texts: Vec<(String, Vec<Box<[u8]>>)>,
    /// Keys made of the address alone.
    pub address_keys: Vec<KeySpec>,
    /// For each key that is normalised: its name, and the events that have none since their text can't
    /// be.
    pub unnormalised: Vec<(String, u64)>,
    /// Names of the instances that got requests, sorted; for tiers whose spread is observed.
    pub instances: Vec<String>,
    /// Whether these are files, since no line names an instance.
    pub instances_are_sources: bool,
}

/// The texts of a key's values.
#[derive(Debug)]
pub enum KeyTexts<'t> {
    /// Addresses, each cut to so many leading bits (IPv4, IPv6).
    Addresses(Vec<Address>, (u8, u8)),
    /// Texts from the log.
    Texts(&'t [Box<[u8]>]),
}

/// A key of every event.
#[derive(Debug)]
pub struct KeyColumn<'t> {
    /// The key's value per event, [`NONE`] where it is missing.
    pub ids: std::borrow::Cow<'t, [u32]>,
    /// What the values are.
    pub texts: KeyTexts<'t>,
}

impl KeyColumn<'_> {
    /// Distinct values.
    pub fn distinct(&self) -> usize {
        match &self.texts {
            KeyTexts::Addresses(list, _) => list.len(),
            KeyTexts::Texts(list) => list.len(),
        }
    }

    /// The text of a value; empty for a number that isn't one.
    pub fn text(&self, id: usize) -> Vec<u8> {
        match &self.texts {
            KeyTexts::Addresses(list, (v4, v6)) => {
                let text = |address: &Address| address.with_prefix(*v4, *v6).into_bytes();
                list.get(id).map_or_else(Vec::new, text)
            }
            KeyTexts::Texts(list) => list.get(id).map_or_else(Vec::new, |text| text.to_vec()),
        }
    }
}

impl Traffic {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.times_us.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.times_us.is_empty()
    }

    /// Whether a condition of the projection, by its index there, fits an event.
    pub fn fits(&self, condition: usize, event: usize) -> bool {
        self.condition(condition)(event)
    }

    /// Tells of an event whether a condition of the projection, by its index there, fits it; of none if
    /// there is no such condition.
    pub fn condition(&self, index: usize) -> impl Fn(usize) -> bool {
        let column = self.events.conditions.get(index / 64).map_or(&[][..], Vec::as_slice);
        let bit = index % 64;
        move |event| column.get(event).is_some_and(|word| word >> bit & 1 == 1)
    }

    /// The values of a key; `None` if the key wasn't part of what was read.
    pub fn key(&self, spec: &KeySpec) -> Option<KeyColumn<'_>> {
        if let Some((v4, v6)) = spec.address_prefix() {
            return Some(self.by_prefix(v4, v6));
        }
        let at = self.key_texts.iter().position(|(name, _)| *name == spec.name)?;
        self.key_column(at)
    }

    /// The values of a key that has a column, by its place among such.
    pub(super) fn key_column(&self, at: usize) -> Option<KeyColumn<'_>> {
        let (_, texts) = self.key_texts.get(at)?;
        let ids = self.events.keys.get(at)?;
        Some(KeyColumn { ids: ids.as_slice().into(), texts: KeyTexts::Texts(texts) })
    }

    fn by_prefix(&self, v4: u8, v6: u8) -> KeyColumn<'_> {
        let prefixes: Vec<Address> = self.addresses.iter().map(|a| a.truncate(v4, v6)).collect();
        if prefixes == self.addresses {
            let ids = self.events.addresses.as_slice().into();
            return KeyColumn { ids, texts: KeyTexts::Addresses(prefixes, (v4, v6)) };
        }
        let distinct: Vec<Address> =
            prefixes.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let number =
            |prefix| distinct.binary_search(prefix).ok().and_then(|n| u32::try_from(n).ok());
        let map: Vec<u32> = prefixes.iter().map(|prefix| number(prefix).unwrap_or(NONE)).collect();
        let ids: Vec<u32> = self
            .events
            .addresses
            .par_iter()
            .map(|id| usize::try_from(*id).ok().and_then(|id| map.get(id)).copied().unwrap_or(NONE))
            .collect();
        KeyColumn { ids: ids.into(), texts: KeyTexts::Addresses(distinct, (v4, v6)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_clients_are_grouped_by_prefix_and_ipv4_is_left_whole() {
        let address = |text: &str| Address::parse(text.as_bytes()).unwrap();
        let mut addresses: Vec<Address> =
            ["::1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"].map(address).to_vec();
        addresses.sort_unstable();
        let events = Events { addresses: vec![0, 1, 2, 3, 4, NONE], ..Events::default() };
        let traffic = Traffic { events, addresses, ..Traffic::default() };
        let by_64 = traffic.key(&KeySpec::ip(64)).unwrap();
        assert_eq!(&*by_64.ids, [0, 1, 2, 3, 3, NONE]);
        assert_eq!(by_64.distinct(), 4);
        assert_eq!(by_64.text(3), b"2001:db8::/64");
        let by_128 = traffic.key(&KeySpec::ip(128)).unwrap();
        assert_eq!(&*by_128.ids, [0, 1, 2, 3, 4, NONE]);
        assert!(traffic.key(&KeySpec::parse("u=client", 64).unwrap()).is_none());
    }
}
