//! Clients that react to refusals: they try again, or come no more.

use std::collections::BTreeMap;

use crate::limiter::fixed_window::Window;
use crate::limiter::{Limiter, Ready};
use crate::policy::RetryAfter;
use crate::site::Site;
use crate::site::facts::{Client, ClientKind};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;
use crate::traffic::{NONE, Traffic};

use super::outage::Call;
use super::reference::{Flight, Walk};

/// The site's clients while a replay runs.
#[derive(Debug)]
pub(super) struct Clients<'p> {
    /// With the requests that each matches; the first that matches is whose a request is.
    known: Vec<(&'p Client, Bitmap)>,
    /// Per request its identity; [`NONE`] if nobody knows.
    identities: Vec<u32>,
    /// Refusals in a row of those that may give up, by client and identity.
    refusals: BTreeMap<(usize, u32), u64>,
}

impl<'p> Clients<'p> {
    pub(super) fn new(site: &'p Site, traffic: &Traffic, selector: &Selector<'_>) -> Self {
        let clients = site.clients.iter();
        let clients = clients.map(|client| (client, selector.select(&client.matching)));
        let identities = traffic.key_named(&site.identity);
        Self {
            known: clients.collect(),
            identities: identities.map_or_else(Vec::new, |column| column.ids.into_owned()),
            refusals: BTreeMap::new(),
        }
    }

    fn of(&self, event: usize) -> Option<(usize, &'p Client)> {
        let at = self.known.iter().position(|(_, matching)| matching.contains(event))?;
        self.known.get(at).map(|(client, _)| (at, *client))
    }

    /// Whom a request is from that may give up, and after how many refusals. A request of nobody known is
    /// of none.
    fn patience(&self, event: usize) -> Option<((usize, u32), u64)> {
        let (at, client) = self.of(event)?;
        let identity = self.identities.get(event).copied().filter(|id| *id != NONE)?;
        (client.kind == ClientKind::GivesUp).then_some(((at, identity), client.attempts))
    }

    /// Whether a request doesn't come since its client has given up.
    pub(super) fn has_given_up(&self, event: usize) -> bool {
        let patience = self.patience(event);
        patience.is_some_and(|(who, most)| self.refusals.get(&who).is_some_and(|n| *n >= most))
    }

    /// A request was answered.
    pub(super) fn answered(&mut self, event: usize, refused: bool) {
        let Some((who, most)) = self.patience(event) else { return };
        let in_a_row = self.refusals.entry(who).or_default();
        // who has given up stays away, whatever answer is still to come
        if *in_a_row < most {
            *in_a_row = if refused { *in_a_row + 1 } else { 0 };
        }
    }

    /// How long a client pauses after an attempt that was refused, microseconds; `None` if it doesn't try
    /// again. `told_us` is what the limit tells refused clients.
    fn pause_us(
        &self,
        event: usize,
        attempt: u32,
        told_us: impl Fn() -> Option<i64>,
    ) -> Option<i64> {
        let (_, client) = self.of(event)?;
        if client.kind == ClientKind::GivesUp || u64::from(attempt) >= client.attempts {
            return None;
        }
        let told_us = if client.kind == ClientKind::HonoursRetryAfter { told_us() } else { None };
        let doubled = 2_i64.saturating_pow(attempt.saturating_sub(1));
        let grown_us = || client.backoff_us.saturating_mul(doubled).min(client.cap_us);
        Some(told_us.unwrap_or_else(grown_us).max(1))
    }
}

impl Walk<'_> {
    /// How long the client of a request that a limit just refused pauses before it tries again,
    /// microseconds; `None` if it doesn't.
    pub(super) fn pause_us(&self, flight: &Flight, limit: usize, t_us: i64) -> Option<i64> {
        let (event, attempt) = flight.of();
        let clients = self.clients.as_ref()?;
        clients.pause_us(event, attempt, || self.told_us(flight, limit, t_us))
    }

    /// What the limit that refused tells its client: how long to wait, microseconds.
    fn told_us(&self, flight: &Flight, limit: usize, t_us: i64) -> Option<i64> {
        let ready = self.limit(limit)?;
        match ready.limit.retry_after {
            RetryAfter::None => None,
            RetryAfter::Fixed(us) => Some(us),
            RetryAfter::Exact => self.exact_us(flight, limit, t_us),
            RetryAfter::Window => {
                window_us(&ready.limit.limiter, t_us).or_else(|| self.exact_us(flight, limit, t_us))
            }
        }
    }

    /// How long until the limit would admit the request; `None` if it can't know.
    fn exact_us(&self, flight: &Flight, limit: usize, t_us: i64) -> Option<i64> {
        let holder = self.state_for(limit, flight)?;
        let Call::Answered(holder) = self.call(holder, flight.of(), t_us) else { return None };
        match self.states.ready(holder, t_us) {
            Ready::At(at_us) => Some(at_us - t_us),
            Ready::AfterCompletion | Ready::Never => None,
        }
    }
}

/// The length of a limiter's window around an instant, microseconds; `None` if it has none.
fn window_us(limiter: &Limiter, t_us: i64) -> Option<i64> {
    match limiter {
        Limiter::FixedWindow(fixed) => Some(match fixed.window {
            Window::Clock { us, .. } | Window::FirstRequest { us, .. } => us,
            Window::Calendar { unit, zone } => {
                let (begin_us, end_us) = zone.period_us(unit, t_us);
                end_us - begin_us
            }
        }),
        Limiter::SlidingLog(log) => Some(log.window_us),
        Limiter::SlidingCounter(counter) => Some(counter.window_us),
        Limiter::AwsWaf(waf) => Some(waf.window_us),
        _ => None,
    }
}
