//! What a crowd does: sessions of a slice of time, each from a stream of its own.
//!
//! An identity may begin a session in every sixth slice only and has gone before the next of these, so it has
//! one session at a time, and its busiest minute is that of one session.

use super::curve::hour_of;
use super::event::Event;
use super::random::{Stream, choose, mixed};
use super::scenario::{Crowd, Gap, Habit, Members, Request, Scenario};
use crate::units::span::{MINUTE_US, SECOND_US};

/// Length of a slice, microseconds.
pub const SLICE_US: i64 = 10 * MINUTE_US;
/// An identity may begin a session in one of so many slices.
pub const TURNS: u64 = 6;
/// The longest that a session goes on, microseconds.
pub const LONGEST_US: i64 = 50 * MINUTE_US;
/// Whole milliseconds.
const TICK_US: i64 = 1_000;
/// The longest that a request takes, microseconds.
const SLOWEST_US: u32 = 9 * 60_000_000;

/// Streams of the same group that are for different things.
const PRESENCE: u64 = 0;
const SESSION: u64 = 1;

/// How many of so many identities may begin a session in the `slice`th slice.
pub fn eligible(identities: u32, slice: i64) -> u64 {
    let first = first_eligible(slice);
    u64::from(identities).saturating_sub(first).div_ceil(TURNS)
}

/// The first identity that may: those whose number and the slice's are 0 together modulo the turns.
fn first_eligible(slice: i64) -> u64 {
    let turns = i64::try_from(TURNS).unwrap_or(1);
    u64::try_from(slice.saturating_neg().rem_euclid(turns)).unwrap_or(0)
}

/// Sessions of the `slice`th slice that the eligible identities from the `from`th on, `many` of them, begin.
pub fn sessions(
    scenario: &Scenario,
    crowd: &Crowd,
    slice: i64,
    from: u64,
    many: u64,
    mut take: impl FnMut(Event),
) {
    let Some(group) = scenario.groups.get(crowd.group) else { return };
    let begins_us = slice.saturating_mul(SLICE_US);
    let share = crowd.curve.share(scenario.zone, begins_us, SLICE_US, crowd.per_day_milli);
    let share = share.saturating_mul(TURNS);
    let hour = hour_of(scenario.zone, begins_us);
    let what = |stream: u64| u64::try_from(crowd.group).unwrap_or(0) * 2 + stream;
    let when = slice.cast_unsigned();
    let mut presence = Stream::new(scenario.seed, what(PRESENCE), 0, when).at(from);
    for ordinal in from..from.saturating_add(many) {
        if u64::from(presence.word()) >= share {
            continue;
        }
        let identity = first_eligible(slice) + ordinal * TURNS;
        let Ok(identity) = u32::try_from(identity) else { return };
        if identity >= group.identities {
            return;
        }
        let Some(habit) = habit_of(&crowd.habits, identity) else { continue };
        if habit.hour.is_some_and(|only| only != hour) {
            continue;
        }
        let mut stream = Stream::new(scenario.seed, what(SESSION), identity.into(), when);
        let within = stream.below(SLICE_US.unsigned_abs() / TICK_US.unsigned_abs());
        let start_us = begins_us + i64::try_from(within).unwrap_or(0) * TICK_US;
        session(scenario, crowd.group, identity, habit, start_us, &mut stream, &mut take);
    }
}

/// The habit of an identity.
fn habit_of(habits: &[Habit], identity: u32) -> Option<&Habit> {
    let mut taken = 0_u32;
    for (salt, habit) in (31..).zip(habits) {
        match habit.members {
            Members::Identities(many) => {
                if (taken..taken.saturating_add(many)).contains(&identity) {
                    return Some(habit);
                }
                taken = taken.saturating_add(many);
            }
            Members::OneIn(many) => {
                if identity >= taken
                    && mixed(identity.into(), salt).is_multiple_of(many.max(1).into())
                {
                    return Some(habit);
                }
            }
            Members::Rest => return Some(habit),
        }
    }
    None
}

fn session(
    scenario: &Scenario,
    group: usize,
    identity: u32,
    habit: &Habit,
    start_us: i64,
    stream: &mut Stream,
    take: &mut impl FnMut(Event),
) {
    let mut at_us = start_us;
    let mut logged_in = habit.logged_in;
    let mut sequence = 0;
    for step in &habit.steps {
        let Some(request) = scenario.requests.get(step.request) else { continue };
        let times = stream.between(step.times);
        if !stream.chance(step.chance_ppm) {
            continue;
        }
        for time in 0..times {
            let gap_us = match (&step.gap, step.pause_us) {
                (_, Some(pause_us)) if time == 0 => pause_us,
                _ if sequence == 0 => 0,
                (Gap::Every(gap_us), _) => *gap_us,
                (Gap::Think(length), _) => length.us(stream.word()),
            };
            at_us += i64::from(gap_us) / TICK_US * TICK_US;
            if at_us - start_us >= LONGEST_US {
                return;
            }
            let asked = Asked { group, identity, sequence, kind: step.request, at_us };
            let event = answered(&asked, request, stream.long());
            take(Event { logged_in, logs_in: step.logs_in, ..event });
            logged_in |= step.logs_in;
            sequence += 1;
        }
    }
}

/// A request before it is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) group: usize,
    pub(super) identity: u32,
    pub(super) sequence: u64,
    pub(super) kind: usize,
    /// Arrival, microseconds since the epoch.
    pub(super) at_us: i64,
}

/// The answer that these random bits give.
pub(super) fn answered(asked: &Asked, request: &Request, bits: u64) -> Event {
    let Asked { group, identity, sequence, kind, at_us } = *asked;
    let low = u32::try_from(mixed(bits, 41) >> 32).unwrap_or(0);
    let tick = u32::try_from(TICK_US).unwrap_or(1);
    let duration_us = request.duration.us(low).min(SLOWEST_US).next_multiple_of(tick);
    Event {
        end_us: at_us + i64::from(duration_us),
        group: u16::try_from(group).unwrap_or(u16::MAX),
        identity,
        sequence,
        request: u16::try_from(kind).unwrap_or(u16::MAX),
        status: choose(mixed(bits, 42), &request.statuses).copied().unwrap_or(200),
        duration_us,
        bits,
        logged_in: false,
        logs_in: false,
    }
}

/// The slice an instant lies in.
pub fn slice_of(us: i64) -> i64 {
    us.div_euclid(SLICE_US)
}

/// The slowest answer and the longest session: nothing that ends in a slice began so many slices before.
pub const SLICES_BACK: i64 = (LONGEST_US + 9 * 60 * SECOND_US) / SLICE_US + 1;
