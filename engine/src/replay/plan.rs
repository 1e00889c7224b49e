//! Which engine replays a policy. The fast one goes limit by limit, so it needs to know, when it reaches a
//! limit, which requests are asked and when: whatever makes that depend on later decisions is listed here,
//! and there is nothing else that it can't do.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::limiter::Limiter;
use crate::limiter::nginx::Delay;
use crate::policy::coverage::overlaps;
use crate::policy::{Limit, Mode, Policy};
use crate::site::Site;
use crate::site::facts::Tier;

use super::prepare::{Unit, units};
use super::run::Scene;

/// Which engine is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The fast one where it can.
    #[default]
    Auto,
    /// The reference.
    Reference,
    /// The fast one. Whoever asks for it looks first whether it can ([`fast`]): else the reference is used.
    Fast,
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Request by request.
    Reference,
    /// Limit by limit.
    Fast,
}

impl Engine {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Fast => "fast",
        }
    }
}

/// Why a policy needs the reference engine: the first limit that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Reason {
    /// Requests wait in a line.
    #[error("its requests wait in a queue")]
    Queue,
    /// How long a slot is held depends on limits behind it.
    #[error("it counts requests in flight and isn't the last limit of its requests")]
    InFlight,
    /// What counts depends on limits behind it.
    #[error("it counts by response and isn't the last limit of its requests")]
    CountWhen,
    /// When a request reaches the limits behind it depends on what it decides.
    #[error("it delays requests before another limit")]
    Delay,
    /// Whole milliseconds of it don't fit 32 bits: more than 49 days.
    #[error("it may delay requests for more than 49 days")]
    LongDelay,
    /// Several places charge one state in turn.
    #[error("it shares its zone with a limit that isn't asked together with it")]
    Zone,
    /// Members that charge when requests complete.
    #[error("it is asked together with others and charges at completion")]
    Group,
}

/// Whether the fast engine can replay a policy; else the limit that is in the way, and why.
///
/// # Errors
/// With the index of the limit, if the reference is needed.
pub fn fast(policy: &Policy, site: &Site) -> Result<(), (usize, Reason)> {
    let tiers: Vec<&Tier> = site.tiers.iter().collect();
    let units = units(policy, &tiers);
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        let behind = units.get(number + 1..).unwrap_or_default();
        let behind = || behind.iter().flat_map(|unit| &unit.members);
        for index in &unit.members {
            let Some(limit) = policy.limits.get(*index) else { continue };
            // what is asked about other requests alone changes nothing for these; but in which order requests
            // reach it, and so which instance gets which, changes with every delay
            let mut asked = behind().filter_map(|index| policy.limits.get(*index));
            let last = !asked.any(|later| {
                delays(limit) || overlaps(&limit.matching, &later.matching, Some(site))
            });
            let zone = limit.zone.as_ref();
            let foreign = zone.is_some_and(|zone| *zones.entry(zone).or_insert(number) != number);
            if let Some(reason) = reason(limit, unit, last, foreign) {
                return Err((*index, reason));
            }
        }
    }
    Ok(())
}

fn reason(limit: &Limit, unit: &Unit, last: bool, foreign_zone: bool) -> Option<Reason> {
    let completes = limit.counts_in_flight() || limit.count_when.is_some();
    if limit.queue.is_some() {
        Some(Reason::Queue)
    } else if limit.counts_in_flight() && !last {
        Some(Reason::InFlight)
    } else if limit.count_when.is_some() && !last {
        Some(Reason::CountWhen)
    } else if delays(limit) && !last {
        Some(Reason::Delay)
    } else if longest_delay_ms(limit) > u128::from(u32::MAX) {
        Some(Reason::LongDelay)
    } else if foreign_zone {
        Some(Reason::Zone)
    } else if completes && unit.members.len() > 1 {
        Some(Reason::Group)
    } else {
        None
    }
}

/// Whether it may hold a request up.
fn delays(limit: &Limit) -> bool {
    match &limit.limiter {
        Limiter::Nginx(nginx) => nginx.delay != Delay::None && limit.mode == Mode::Enforce,
        _ => false,
    }
}

/// The longest that it may hold a request up, milliseconds.
fn longest_delay_ms(limit: &Limit) -> u128 {
    match &limit.limiter {
        Limiter::Nginx(nginx) if nginx.delay != Delay::None => {
            // the excess of a full burst, leaking
            u128::from(nginx.burst) * 1_000_000 / u128::from(nginx.rate_milli.max(1))
        }
        _ => 0,
    }
}

/// The engine for a policy: as was asked for, where it can. Clients that react to refusals make when
/// requests come depend on what is decided, so they need the reference. So do outages, which
/// [`super::run::replay_outage`] replays.
pub fn engine(scene: &Scene<'_>, policy: &Policy) -> Engine {
    let can = !scene.closed_loop && fast(policy, scene.site).is_ok();
    match scene.engine {
        EngineChoice::Auto | EngineChoice::Fast if can => Engine::Fast,
        _ => Engine::Reference,
    }
}

/// A sentence for a policy that the fast engine can't replay.
pub fn refusal(policy: &Policy, (index, reason): (usize, Reason)) -> String {
    let limit = policy.limits.get(index);
    let (name, line) = limit.map_or(("", 0), |limit| (limit.name.as_str(), limit.place.line));
    format!("{}:{line}: \u{201c}{name}\u{201d} needs the reference engine: {reason}", policy.file)
}
