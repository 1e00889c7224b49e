//! Requests that are held up: 8 bytes each.

use crate::limiter::Verdict;
use crate::traffic::NONE;

/// Microseconds in a millisecond.
const MS_US: i64 = 1_000;

/// Requests that are held up, and for how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::replay) struct Delayed {
    /// (event, milliseconds): only nginx holds requests up, for whole ones; [`super::super::plan`] sees to it
    /// that they fit.
    list: Vec<(u32, u32)>,
}

impl Delayed {
    /// Notes a verdict, if it is a delay.
    #[inline]
    pub(super) fn note(&mut self, event: u32, verdict: Verdict) {
        if let Verdict::Delay { us } = verdict {
            self.push(event, us);
        }
    }

    pub(super) fn push(&mut self, event: u32, us: i64) {
        self.list.push((event, u32::try_from(us / MS_US).unwrap_or(u32::MAX)));
    }

    /// Adds others; to be sorted anew.
    pub(super) fn extend(&mut self, other: Self) {
        if self.list.is_empty() {
            self.list = other.list;
        } else {
            self.list.extend(other.list);
        }
    }

    pub(super) fn sort(&mut self) {
        self.list.shrink_to_fit();
        self.list.sort_unstable();
    }

    pub(in crate::replay) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many of them fit.
    pub(super) fn count(&self, fits: impl Fn(usize) -> bool) -> u64 {
        u64::try_from(self.iter().filter(|(event, _)| fits(*event)).count()).unwrap_or(u64::MAX)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// (event, microseconds); ascending once sorted.
    pub(in crate::replay) fn iter(&self) -> impl Iterator<Item = (usize, i64)> + Clone + '_ {
        self.list.iter().map(|(event, ms)| {
            (usize::try_from(*event).unwrap_or(usize::MAX), i64::from(*ms) * MS_US)
        })
    }

    /// How long an event of a sorted list is held up, microseconds: 0 if it isn't.
    pub(super) fn of(&self, event: usize) -> i64 {
        let event = u32::try_from(event).unwrap_or(NONE);
        let at = self.list.binary_search_by_key(&event, |(at, _)| *at);
        at.ok().and_then(|at| self.list.get(at)).map_or(0, |(_, ms)| i64::from(*ms) * MS_US)
    }
}
