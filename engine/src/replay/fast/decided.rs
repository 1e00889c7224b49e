//! What the fast engine decides: sets of requests instead of one call per request.

use std::sync::Arc;

use crate::limiter::Limiter;
use crate::replay::key_tally::KeySums;
use crate::replay::prepare::Prepared;
use crate::traffic::bitmap::Bitmap;

use super::delayed::Delayed;
use super::instances::Instances;

/// What one limit says.
#[derive(Debug)]
pub(in crate::replay) struct LimitDecided {
    /// Requests it was asked about.
    pub(in crate::replay) asked: Bitmap,
    /// Of these, refused, be it in shadow.
    pub(in crate::replay) refused: Bitmap,
    /// Of these, held up, sorted.
    pub(in crate::replay) delayed: Arc<Delayed>,
    /// Requests without its key.
    pub(in crate::replay) missing: u64,
    /// What is counted of its keys.
    pub(in crate::replay) keys: KeySums,
    /// The instance of each request, where instances count apart.
    pub(in crate::replay) instances: Option<Arc<Instances>>,
    /// Whether nginx would have freed idle keys so that it may matter.
    pub(in crate::replay) freed: bool,
}

impl LimitDecided {
    /// Nothing decided yet, for so many events.
    pub(in crate::replay) fn none(events: usize) -> Self {
        let empty = || Bitmap::filled(events, false);
        Self {
            asked: empty(),
            refused: empty(),
            delayed: Arc::default(),
            missing: 0,
            keys: KeySums::new(0),
            instances: None,
            freed: false,
        }
    }

    /// How many requests get another verdict, or are asked in one of both only.
    pub(in crate::replay) fn differing(&self, other: &Self) -> u64 {
        let mut differ = self.asked.clone();
        differ.xor(&other.asked);
        let mut refused = self.refused.clone();
        refused.xor(&other.refused);
        differ.or(&refused);
        let (mut mine, mut theirs) = (self.delayed.iter(), other.delayed.iter());
        let (mut next, mut other) = (mine.next(), theirs.next());
        while let Some((event, _)) = next.into_iter().chain(other).min() {
            let of_event = |entry: Option<(usize, i64)>| entry.filter(|(at, _)| *at == event);
            if of_event(next) != of_event(other) {
                differ.insert(event);
            }
            if of_event(next).is_some() {
                next = mine.next();
            }
            if of_event(other).is_some() {
                other = theirs.next();
            }
        }
        differ.count()
    }
}

/// What a policy does.
#[derive(Debug)]
pub(in crate::replay) struct Decided {
    /// Requests replayed.
    pub(in crate::replay) replayed: Bitmap,
    /// Per limit, in the policy's order.
    pub(in crate::replay) limits: Vec<LimitDecided>,
    /// Requests refused by any limit in earnest.
    pub(in crate::replay) refused: Bitmap,
    /// Requests admitted later than they came, sorted.
    pub(in crate::replay) delayed: Arc<Delayed>,
}

impl Decided {
    /// Per limit, how many verdicts of nginx limits differ.
    pub(in crate::replay) fn differing(&self, other: &Self, prepared: &Prepared<'_>) -> Vec<u64> {
        let both = self.limits.iter().zip(&other.limits).zip(&prepared.limits);
        both.map(|((mine, theirs), ready)| match ready.limit.limiter {
            Limiter::Nginx(_) => mine.differing(theirs),
            _ => 0,
        })
        .collect()
    }
}
