//! What policies replayed side by side in one arrangement have in common. Each asks for the same as the
//! one before as a rule, so the last answer is kept, and no more: it is as large as a column or two.

use std::sync::{Arc, Mutex, PoisonError};

use crate::replay::arrangement::Arrangement;
use crate::replay::keys::Keys;
use crate::replay::prepare::Prepared;
use crate::traffic::bitmap::Bitmap;

use super::grouping::Grouping;
use super::seconds::Seconds;
use super::tally::Seen;

/// The last answers.
#[derive(Debug, Default)]
pub(in crate::replay) struct Shared<'t> {
    grouping: Mutex<Option<Grouped<'t>>>,
    seconds: Mutex<Option<(Bitmap, Seconds)>>,
}

#[derive(Debug)]
struct Grouped<'t> {
    keys: Arc<Keys<'t>>,
    set: Bitmap,
    grouping: Arc<Grouping>,
}

impl<'t> Shared<'t> {
    /// Has at hand what a policy's first limit asks for, before policies ask for it side by side and wait
    /// for each other.
    pub(in crate::replay) fn prime(
        &self,
        prepared: &Prepared<'t>,
        seen: &Seen<'_>,
        arrangement: &Arrangement<'_>,
    ) {
        let Some(first) = prepared.limits.first() else { return };
        let (set, keys) = (&first.asked, &first.keys);
        let grouped = || Grouping::new(set, keys, arrangement, rayon::current_num_threads());
        let rest = || (self.seconds_of(set, arrangement), seen.prime(set));
        let (grouping, _) = rayon::join(grouped, rest);
        let (keys, set) = (Arc::clone(keys), Bitmap::clone(set));
        let mut last = self.grouping.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Grouped { keys, set, grouping: Arc::new(grouping) });
    }

    /// Requests of a set grouped by key.
    pub(super) fn grouping(
        &self,
        set: &Bitmap,
        keys: &Arc<Keys<'t>>,
        arrangement: &Arrangement<'_>,
    ) -> Arc<Grouping> {
        // whoever panicked while holding it left what it held whole
        let mut last = self.grouping.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref()
            && Arc::ptr_eq(&known.keys, keys)
            && known.set == *set
        {
            return Arc::clone(&known.grouping);
        }
        // the memory of the one before is free before another is made, unless someone still works with it
        *last = None;
        let grouping = Arc::new(Grouping::new(set, keys, arrangement, 1));
        let (keys, set) = (Arc::clone(keys), set.clone());
        *last = Some(Grouped { keys, set, grouping: Arc::clone(&grouping) });
        grouping
    }

    /// Requests of a set by second.
    pub(super) fn seconds_of(&self, set: &Bitmap, arrangement: &Arrangement<'_>) -> Seconds {
        let known = || self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, seconds)) = known().as_ref()
            && of == set
        {
            return seconds.clone();
        }
        let seconds = Seconds::of(set, arrangement);
        *known() = Some((set.clone(), seconds.clone()));
        seconds
    }
}
