//! What is known of single events.

use crate::site::key::KeySpec;
use crate::units::address::Address;

use super::{KeyColumn, NONE, Observed, Traffic};

impl Traffic {
    /// The values of a key by its name; `None` if it wasn't part of what was read.
    pub fn key_named(&self, name: &str) -> Option<KeyColumn<'_>> {
        if let Some(spec) = self.address_keys.iter().find(|spec| spec.name == name) {
            return self.key(spec);
        }
        let at = self.key_texts.iter().position(|(known, _)| known == name);
        if at.is_none() && name == "ip" {
            return self.key(&KeySpec::ip(64));
        }
        self.key_column(at?)
    }

    /// The client's address; `None` where the log has none.
    pub fn address_of(&self, event: usize) -> Option<Address> {
        let id = self.events.addresses.get(event).copied().filter(|id| *id != NONE)?;
        self.addresses.get(usize::try_from(id).ok()?).copied()
    }

    /// The route, as an index of the site's; `None` outside every route.
    pub fn route_of(&self, event: usize) -> Option<usize> {
        let place = self.events.places.get(event).copied().filter(|place| *place != NONE)?;
        usize::try_from(place).ok().filter(|_| self.places_are_routes)
    }

    /// The name of its route or path template.
    pub fn place_name(&self, event: usize) -> Option<&str> {
        let place = self.events.places.get(event)?;
        self.places.get(usize::try_from(*place).ok()?).map(String::as_str)
    }

    /// Where it stands: the source, as an index of the sources read, and the line in it, from 1.
    pub fn origin(&self, event: usize) -> Option<(usize, u32)> {
        let source = usize::try_from(*self.events.sources.get(event)?).ok()?;
        Some((source, self.events.lines.get(event).copied()?))
    }

    /// How long a request took, microseconds; `None` where the log doesn't tell.
    pub fn duration_us(&self, event: usize) -> Option<i64> {
        self.events.durations_us.get(event).copied().filter(|us| *us >= 0)
    }

    /// The number of the instance that got a request; `None` where nothing tells.
    pub fn instance_of(&self, event: usize) -> Option<u32> {
        self.events.instances.get(event).copied().filter(|number| *number != NONE)
    }

    /// How many requests nothing tells the instance of; all, if that wasn't asked for.
    pub fn count_without_instance(&self) -> usize {
        (0..self.len()).filter(|event| self.instance_of(*event).is_none()).count()
    }

    /// Whether a limiter had refused the request when the log was written: it said so, or it answered
    /// 429. A limiter in dry run refuses nothing.
    pub fn already_refused(&self, event: usize) -> bool {
        let columns = [&self.events.observed, &self.events.observed_conn];
        columns.iter().any(|column| column.get(event) == Some(&Observed::Refuse))
    }

    /// How many requests had been refused.
    pub fn count_already_refused(&self) -> usize {
        (0..self.len()).filter(|event| self.already_refused(*event)).count()
    }

    /// Whether any request had been refused.
    pub fn any_already_refused(&self) -> bool {
        let columns = [&self.events.observed, &self.events.observed_conn];
        columns.iter().any(|column| column.contains(&Observed::Refuse))
    }
}
