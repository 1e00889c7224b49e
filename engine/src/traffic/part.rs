//! A stretch of the events as a traffic of its own.

use std::ops::Range;

use super::{Events, Traffic};

impl Traffic {
    /// The events of a range, with the same numbers of keys, addresses and places.
    #[must_use]
    pub fn part(&self, range: &Range<usize>) -> Self {
        let events = &self.events;
        let cut = |columns: &[Vec<u32>]| columns.iter().map(|column| of(column, range)).collect();
        Self {
            events: Events {
                times_us: of(&events.times_us, range),
                addresses: of(&events.addresses, range),
                places: of(&events.places, range),
                statuses: of(&events.statuses, range),
                path_hashes: of(&events.path_hashes, range),
                keys: cut(&events.keys),
                conditions: events.conditions.iter().map(|column| of(column, range)).collect(),
                durations_us: of(&events.durations_us, range),
                observed: of(&events.observed, range),
                observed_conn: of(&events.observed_conn, range),
                sources: of(&events.sources, range),
                lines: of(&events.lines, range),
                instances: of(&events.instances, range),
            },
            addresses: self.addresses.clone(),
            places: self.places.clone(),
            places_are_routes: self.places_are_routes,
            key_texts: self.key_texts.clone(),
            address_keys: self.address_keys.clone(),
            unnormalised: self.unnormalised.clone(),
            instances: self.instances.clone(),
            instances_are_sources: self.instances_are_sources,
        }
    }
}

/// A stretch of a column; of one that wasn't asked for, nothing.
fn of<T: Copy>(column: &[T], range: &Range<usize>) -> Vec<T> {
    column.get(range.clone()).unwrap_or_default().to_vec()
}
