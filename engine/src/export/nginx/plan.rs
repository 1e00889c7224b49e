//! Which limits nginx can have, and what is other there than in the policy.

use super::keys::Value;
use super::maps::Why;
use super::place::Place;
use super::zones::MOST_CONNECTIONS;
use crate::limiter::nginx::Nginx;
use crate::limiter::{Algorithm as _, Limiter};
use crate::policy::{GroupCharge, Limit, MissingKey, Mode, RetryAfter};

/// What nginx does for a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'p> {
    /// It refuses at once.
    Block,
    /// `limit_req`.
    Requests(&'p Nginx),
    /// `limit_conn`, with so many in flight.
    Connections(u64),
}

impl Kind<'_> {
    /// The order in which nginx comes to them.
    fn phase(self) -> u8 {
        match self {
            Self::Block => 0,
            Self::Requests(_) => 1,
            Self::Connections(_) => 2,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Block => "what refuses at once",
            Self::Requests(_) => "limit_req",
            Self::Connections(_) => "limit_conn",
        }
    }
}

/// The variables of a limit.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// Those that are all 1 for the requests that it is about.
    pub(super) flags: Vec<String>,
    /// Those that make its key.
    pub(super) values: Vec<Value>,
    /// Those that are 1 where a part of the key is present.
    pub(super) has: Vec<String>,
}

/// A limit that is written.
#[derive(Debug)]
pub(super) struct Planned<'p> {
    pub(super) limit: &'p Limit,
    pub(super) kind: Kind<'p>,
    pub(super) parts: Parts,
    /// What is to be said of its key and its requests.
    pub(super) remarks: Vec<String>,
    /// The blocks that it is the first to need.
    pub(super) maps: String,
}

/// All limits of a policy, with why some are left out.
pub(super) type Plans<'a, 'p> = &'a [(&'p Limit, Result<Planned<'p>, Why>)];

/// What nginx does for a limit.
///
/// # Errors
/// Why nothing.
pub(super) fn kind<'p>(place: &Place<'_>, limit: &'p Limit) -> Result<Kind<'p>, Why> {
    let kind = match &limit.limiter {
        Limiter::Nginx(nginx) => Kind::Requests(nginx),
        Limiter::Concurrency(slots) => Kind::Connections(slots.limit),
        Limiter::Block(_) => Kind::Block,
        other => return Err(format!("nginx has no {}", other.name())),
    };
    if !place.holds(limit) {
        let at = limit.at.as_ref().map_or("no place".to_owned(), |at| format!("`{at}`"));
        return Err(format!("it stands at {at}, and this file is for limits {}", place.words()));
    }
    if kind == Kind::Block {
        return Ok(kind);
    }
    if let Some(store) = &limit.store {
        return Err(format!(
            "it counts in `{}`, and each nginx counts in its own memory",
            store.name
        ));
    }
    if limit.queue.is_some() {
        return Err("requests wait for it in a queue, and limit_conn refuses".to_owned());
    }
    if limit.weight.default != 1 || limit.weight.by_route.iter().any(|(_, weight)| *weight != 1) {
        return Err("it has weights, and nginx counts each request as one".to_owned());
    }
    if let Kind::Connections(most) = kind
        && !(1..=MOST_CONNECTIONS).contains(&most)
    {
        return Err(format!("limit_conn takes 1 to {MOST_CONNECTIONS}"));
    }
    if let Kind::Requests(nginx) = kind
        && super::zones::rate(nginx).is_none()
    {
        return Err("nginx has no such rate".to_owned());
    }
    Ok(kind)
}

/// What a planned limit says otherwise than the policy.
pub(super) fn remarks(plans: Plans<'_, '_>, index: usize, plan: &Planned<'_>) -> Vec<String> {
    let mut all = plan.remarks.clone();
    let (limit, counts) = (plan.limit, plan.kind != Kind::Block);
    all.extend(apart(plans, index, plan));
    if limit.ban.is_some() && counts {
        all.push(
            "there is no ban: who was refused is only refused while the limit is full".to_owned(),
        );
    }
    if limit.expires_us.is_some() {
        all.push(
            "nginx knows no end: take this out when the policy's `expires` is over".to_owned(),
        );
    }
    if limit.retry_after != RetryAfter::None {
        all.push("refused clients are told no Retry-After".to_owned());
    }
    if counts && limit.tick_us != limit.limiter.tick_us() && plan.kind.phase() == 1 {
        all.push("nginx counts by its own clock of 1 ms".to_owned());
    }
    if limit.missing_key == MissingKey::Refuse && !plan.parts.has.is_empty() && counts {
        all.push(
            "requests without its key are refused at once, before limits in front of it count them"
                .to_owned(),
        );
    }
    if let Some(group) = &limit.group {
        if group.charge == GroupCharge::All && counts {
            all.push(
                "charge = \"all\": what one limit of a place refuses, nginx charges to none"
                    .to_owned(),
            );
        }
        let others = plans.iter().filter_map(|(_, other)| other.as_ref().ok());
        let first = others
            .filter(|other| other.kind.phase() == plan.kind.phase())
            .find_map(|other| other.limit.group.as_ref());
        if let Some(first) = first.filter(|first| first.name != group.name && counts) {
            all.push(format!(
                "nginx asks all its limits together, and what one refuses is charged to none: the groups `{}` and `{}` are one here",
                first.name, group.name
            ));
        }
    }
    all.extend(order(plans, index, plan));
    all
}

/// What nginx asks in another order than the policy.
fn order(plans: Plans<'_, '_>, index: usize, plan: &Planned<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let before = plans.get(..index).unwrap_or_default();
    let later_there = before.iter().find(|(_, other)| {
        other.as_ref().is_ok_and(|other| other.kind.phase() > plan.kind.phase())
    });
    if let Some((other, _)) = later_there {
        all.push(format!(
            "nginx comes to {} before \u{201c}{}\u{201d}, which in the policy is asked first",
            plan.kind.words(),
            other.name
        ));
    }
    let elsewhere = before.iter().find(|(_, other)| other.is_err());
    if let Some((other, _)) = elsewhere {
        all.push(format!(
            "in the policy \u{201c}{}\u{201d} is asked first, and counts what this refuses; it isn't in this file",
            other.name
        ));
    }
    all
}

/// Why a limit can't be asked beside all others, and stands in a comment for a location of its own.
pub(super) fn apart(plans: Plans<'_, '_>, index: usize, plan: &Planned<'_>) -> Option<String> {
    if Zone::of(plans, index).members.len() > 1 {
        return Some(
            "limits of one zone differ in burst or delay, and nginx asks a zone once: it isn't asked here. Put this line into a location for its requests, beside all others that are to be asked there:"
                .to_owned(),
        );
    }
    let same_phase = |other: &&Planned<'_>| other.kind.phase() == plan.kind.phase();
    let mut others = plans.iter().filter_map(|(_, other)| other.as_ref().ok()).filter(same_phase);
    let mixed = others.any(|other| other.limit.mode == Mode::Enforce);
    let shadow = plan.limit.mode == Mode::Shadow && plan.kind != Kind::Block;
    (shadow && mixed).then(|| {
        "it is in shadow, others are not, and a dry run is one of all limits of a location: it isn't asked here. To watch it, put this line into a location for its requests, where no other limit is asked then:"
            .to_owned()
    })
}

/// The limits that share a zone.
#[derive(Debug)]
pub(super) struct Zone<'a> {
    /// The index of the first, which names it.
    pub(super) first: usize,
    /// What all of them need.
    pub(super) members: Vec<&'a Parts>,
}

impl<'a> Zone<'a> {
    /// The zone of a planned limit.
    pub(super) fn of(plans: Plans<'a, '_>, index: usize) -> Self {
        let named = plans.get(index).and_then(|(limit, _)| limit.zone.as_ref());
        let mut members = Vec::new();
        let mut first = None;
        for (at, (limit, plan)) in plans.iter().enumerate() {
            let shares = at == index || (named.is_some() && limit.zone.as_ref() == named);
            if let (true, Ok(plan)) = (shares, plan) {
                first = first.or(Some(at));
                members.push(&plan.parts);
            }
        }
        Self { first: first.unwrap_or(index), members }
    }
}
