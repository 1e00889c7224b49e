//! Duplicates: a further matching request of a key soon after one that was admitted.

use std::collections::BTreeMap;

use crate::site::Site;
use crate::site::facts::Duplicate;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;
use crate::traffic::{NONE, Traffic};

/// Watches for one kind of duplicate.
#[derive(Debug)]
pub struct DuplicateWatch<'a> {
    duplicate: &'a Duplicate,
    matching: Bitmap,
    keys: Vec<u32>,
    /// When each key's last matching request was admitted, microseconds.
    admitted_us: BTreeMap<u32, i64>,
    /// The only requests that are counted as duplicates, if not all.
    within: Option<&'a Bitmap>,
    seen: u64,
    admitted: u64,
}

impl<'a> DuplicateWatch<'a> {
    /// A watch for each kind that the site names.
    pub fn all(site: &'a Site, traffic: &Traffic, selector: &Selector<'_>) -> Vec<Self> {
        let watch = |duplicate: &'a Duplicate| {
            let keys = traffic.key_named(&duplicate.key);
            Self {
                duplicate,
                matching: selector.select(&duplicate.matching),
                keys: keys.map_or_else(Vec::new, |column| column.ids.into_owned()),
                admitted_us: BTreeMap::new(),
                within: None,
                seen: 0,
                admitted: 0,
            }
        };
        site.duplicates.iter().map(watch).collect()
    }

    /// Counts as duplicates only such as are in a set; what they repeat may be outside.
    #[must_use]
    pub(super) fn within(self, set: &'a Bitmap) -> Self {
        Self { within: Some(set), ..self }
    }

    /// Requests that it looks at.
    pub(super) fn matching(&self) -> &Bitmap {
        &self.matching
    }

    /// A request ended; a further attempt of its client is no other request, but may be admitted.
    pub(super) fn ended(&mut self, event: usize, t_us: i64, admitted: bool, further: bool) {
        let key = self.keys.get(event).copied().unwrap_or(NONE);
        if key == NONE || !self.matching.contains(event) {
            return;
        }
        let earlier = self.admitted_us.get(&key);
        let soon = earlier.is_some_and(|earlier| t_us - earlier <= self.duplicate.within_us);
        let again = soon && self.within.is_none_or(|set| set.contains(event));
        self.seen += u64::from(again && !further);
        self.admitted += u64::from(again && admitted);
        if admitted {
            self.admitted_us.insert(key, t_us);
        }
    }

    /// (name, seen, admitted).
    pub(super) fn finish(self) -> (String, u64, u64) {
        (self.duplicate.name.clone(), self.seen, self.admitted)
    }
}
