//! Which of a policy's places the file is for.

use super::super::ExportError;
use crate::limiter::Limiter;
use crate::policy::{Limit, Policy};

/// The place of the limits that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'p> {
    /// Its name; `None` for limits that don't name one.
    pub(super) at: Option<&'p str>,
}

impl<'p> Place<'p> {
    /// The place that was asked for, else the only one that nginx's limits stand at: those of rates, without
    /// any those of requests in flight, without any blocks.
    ///
    /// # Errors
    /// When they stand at several.
    pub(super) fn of(policy: &'p Policy, at: Option<&'p str>) -> Result<Self, ExportError> {
        if at.is_some() {
            return Ok(Self { at });
        }
        let own_memory = |limit: &Limit| limit.store.is_none() && limit.queue.is_none();
        let kinds: [fn(&Limiter) -> bool; 3] = [
            |limiter| matches!(limiter, Limiter::Nginx(_)),
            |limiter| matches!(limiter, Limiter::Concurrency(_)),
            |limiter| matches!(limiter, Limiter::Block(_)),
        ];
        for is_of in kinds {
            let limits = policy.limits.iter();
            let limits = limits.filter(|limit| is_of(&limit.limiter) && own_memory(limit));
            let mut places: Vec<Option<&str>> = Vec::new();
            for limit in limits {
                if !places.contains(&limit.at.as_deref()) {
                    places.push(limit.at.as_deref());
                }
            }
            match places.as_slice() {
                [] => {}
                [only] => return Ok(Self { at: *only }),
                several => {
                    let named = several.iter().flatten().map(|name| (*name).to_owned()).collect();
                    return Err(ExportError::Places(named));
                }
            }
        }
        Ok(Self { at: None })
    }

    /// Whether a limit stands there. A block without a place counts nothing, so it may stand anywhere.
    pub(super) fn holds(&self, limit: &Limit) -> bool {
        let anywhere = limit.at.is_none() && matches!(limit.limiter, Limiter::Block(_));
        limit.at.as_deref() == self.at || anywhere
    }

    /// Its name for messages.
    pub(super) fn words(&self) -> String {
        self.at.map_or_else(|| "here".to_owned(), |at| format!("at `{at}`"))
    }
}
