//! What comes by a schedule: requests evenly, or one burst of each identity.

use super::event::Event;
use super::random::{Stream, mixed};
use super::scenario::{Pattern, Scenario, Schedule};
use super::sessions::{Asked, SLICE_US, answered};

/// The stream of a schedule that says when bursts begin.
const BURST: u64 = 1 << 32;

/// How many pieces of work a schedule has in a slice: requests, or identities that may begin their burst.
pub fn pieces(scenario: &Scenario, schedule: &Schedule, slice: i64) -> (u64, u64) {
    let (from_us, to_us) = (slice * SLICE_US, (slice + 1) * SLICE_US);
    match schedule.pattern {
        Pattern::Even(requests) => {
            let at = |us: i64| index_at(schedule, requests, us);
            (at(from_us), at(to_us))
        }
        Pattern::Bursts(..) => {
            let ends_us = schedule.from_us.saturating_add(schedule.length_us);
            let identities =
                scenario.groups.get(schedule.group).map_or(0, |group| group.identities);
            if to_us <= schedule.from_us || from_us >= ends_us {
                (0, 0)
            } else {
                (0, identities.into())
            }
        }
    }
}

/// The first request of an even schedule that arrives no sooner than an instant.
fn index_at(schedule: &Schedule, requests: u64, us: i64) -> u64 {
    let since_us = us.saturating_sub(schedule.from_us).clamp(0, schedule.length_us).unsigned_abs();
    let length_us = u128::from(schedule.length_us.max(1).unsigned_abs());
    let index = (u128::from(since_us) * u128::from(requests)).div_ceil(length_us);
    u64::try_from(index).unwrap_or(u64::MAX).min(requests)
}

/// The requests of pieces `from` to `to` of a schedule in a slice.
pub fn requests(
    scenario: &Scenario,
    schedule: &Schedule,
    slice: i64,
    (from, to): (u64, u64),
    mut take: impl FnMut(Event),
) {
    let Some(group) = scenario.groups.get(schedule.group) else { return };
    let Some(request) = scenario.requests.get(schedule.request) else { return };
    let salt = mixed(scenario.seed, u64::try_from(schedule.group).unwrap_or(0));
    let mut asked = |identity: u32, sequence: u64, at_us: i64| {
        let at_us = at_us.div_euclid(1_000) * 1_000;
        let asked =
            Asked { group: schedule.group, identity, sequence, kind: schedule.request, at_us };
        let bits = mixed(mixed(salt, sequence), identity.into());
        take(Event {
            logged_in: schedule.logged_in,
            logs_in: schedule.logs_in,
            ..answered(&asked, request, bits)
        });
    };
    match schedule.pattern {
        Pattern::Even(requests) => {
            for index in from..to {
                let passed = u128::from(schedule.length_us.unsigned_abs()) * u128::from(index);
                let passed = passed / u128::from(requests.max(1));
                let at_us = schedule.from_us + i64::try_from(passed).unwrap_or(i64::MAX / 2);
                let identity = index % u64::from(group.identities.max(1));
                asked(u32::try_from(identity).unwrap_or(0), index, at_us);
            }
        }
        Pattern::Bursts(each, within_us) => {
            for identity in from..to {
                let Ok(identity) = u32::try_from(identity) else { return };
                let what = BURST + u64::try_from(schedule.group).unwrap_or(0);
                let mut stream = Stream::new(scenario.seed, what, identity.into(), 0);
                let room_us = schedule.length_us.saturating_sub(within_us).max(1);
                let start = stream.below(room_us.unsigned_abs());
                let start_us = schedule.from_us + i64::try_from(start).unwrap_or(0);
                if start_us.div_euclid(SLICE_US) != slice {
                    continue;
                }
                let many = i64::from(stream.between(each));
                for (sequence, at) in (0..).zip(0..many) {
                    asked(identity, sequence, start_us + within_us * at / (many - 1).max(1));
                }
            }
        }
    }
}
