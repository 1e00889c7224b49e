//! Which events a [`Match`] means.

use rayon::prelude::*;

use crate::site::labels::LabelIndex;
use crate::site::matching::{Match, StatusRange, TextCondition};
use crate::site::phone;

use super::bitmap::Bitmap;
use super::{KeyTexts, NONE, Traffic};

/// What is taken for the status of a line that a limiter had refused already: its response under
/// another policy is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlreadyRefused {
    /// None of them matches a condition on the status.
    #[default]
    NoneMatch,
    /// All of them do.
    AllMatch,
}

/// What is needed to answer a [`Match`] besides the events.
#[derive(Debug, Clone, Copy)]
pub struct Selector<'t> {
    traffic: &'t Traffic,
    /// The conditions whose answers are in the events' columns, in their order.
    conditions: &'t [TextCondition],
    labels: &'t LabelIndex,
    /// What is assumed of lines that were refused already.
    pub already_refused: AlreadyRefused,
}

impl<'t> Selector<'t> {
    /// `conditions` are those of the projection that the traffic was read with.
    pub fn new(
        traffic: &'t Traffic,
        conditions: &'t [TextCondition],
        labels: &'t LabelIndex,
    ) -> Self {
        Self { traffic, conditions, labels, already_refused: AlreadyRefused::default() }
    }

    /// The events that match.
    pub fn select(&self, matching: &Match) -> Bitmap {
        let len = self.traffic.len();
        let mut map = Bitmap::filled(len, true);
        if !matching.route.is_empty() {
            map.and(&self.routes(&matching.route));
        }
        for condition in &matching.texts {
            map.and(&self.text(condition));
        }
        if !matching.label.is_empty() {
            map.and(&self.labelled(&matching.label));
        }
        if !matching.not_label.is_empty() {
            map.and_not(&self.labelled(&matching.not_label));
        }
        if let Some(wanted) = matching.logged_in {
            let present = self.by_key("user", |_| true);
            if wanted { map.and(&present) } else { map.and_not(&present) }
        }
        for (key, prefixes) in &matching.key_prefix {
            let fits = |text: &[u8]| prefixes.iter().any(|p| text.starts_with(p.as_bytes()));
            map.and(&self.by_key(key, fits));
        }
        for (key, countries) in &matching.key_country {
            let fits = |text: &[u8]| {
                let country = std::str::from_utf8(text).ok().and_then(phone::country);
                country.is_some_and(|country| countries.contains(&country))
            };
            map.and(&self.by_key(key, fits));
        }
        if !matching.status.is_empty() {
            map.and(&Bitmap::of(len, |event| self.status_fits(event, &matching.status)));
        }
        if let Some(not) = &matching.not {
            map.and_not(&self.select(not));
        }
        map
    }

    /// Whether the response of an event has one of these statuses.
    pub fn status_fits(&self, event: usize, ranges: &[StatusRange]) -> bool {
        if self.traffic.already_refused(event) {
            return self.already_refused == AlreadyRefused::AllMatch;
        }
        let status = self.traffic.events.statuses.get(event).copied().unwrap_or(0);
        ranges.iter().any(|range| range.contains(status))
    }

    fn routes(&self, routes: &[usize]) -> Bitmap {
        let places = &self.traffic.events.places;
        let known = self.traffic.places_are_routes;
        Bitmap::of(places.len(), |event| {
            let place = places.get(event).and_then(|place| usize::try_from(*place).ok());
            known && place.is_some_and(|place| routes.contains(&place))
        })
    }

    fn text(&self, condition: &TextCondition) -> Bitmap {
        let at = self.conditions.iter().position(|known| known == condition);
        Bitmap::of(self.traffic.len(), |event| at.is_some_and(|at| self.traffic.fits(at, event)))
    }

    fn labelled(&self, labels: &[usize]) -> Bitmap {
        let table: Vec<bool> = self
            .traffic
            .addresses
            .par_iter()
            .map(|address| self.labels.labels_of(*address).iter().any(|l| labels.contains(l)))
            .collect();
        of_ids(&self.traffic.events.addresses, &table)
    }

    /// Events whose value of a key fits; none where the key is missing.
    fn by_key(&self, key: &str, fits: impl Fn(&[u8]) -> bool) -> Bitmap {
        let Some(column) = self.traffic.key_named(key) else {
            return Bitmap::filled(self.traffic.len(), false);
        };
        let table: Vec<bool> = match &column.texts {
            KeyTexts::Texts(texts) => texts.iter().map(|text| fits(text)).collect(),
            KeyTexts::Addresses(..) => {
                (0..column.distinct()).map(|id| fits(&column.text(id))).collect()
            }
        };
        of_ids(&column.ids, &table)
    }
}

/// Events whose number has a true entry in the table.
fn of_ids(ids: &[u32], table: &[bool]) -> Bitmap {
    Bitmap::of(ids.len(), |event| {
        let id = ids.get(event).copied().unwrap_or(NONE);
        usize::try_from(id).ok().and_then(|id| table.get(id)).copied().unwrap_or(false)
    })
}
