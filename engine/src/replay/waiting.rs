//! Requests that wait for a limit instead of being refused (Bottleneck, BullMQ): one line per key.

use std::collections::VecDeque;

use crate::limiter::spacing::Spacing;
use crate::limiter::{Limiter, Ready, Verdict};
use crate::policy::Strategy;
use crate::units::span::SECOND_US;

use super::observer::Cause;
use super::prepare::Unit;
use super::reference::{Flight, Walk};
use super::states::{Answer, StateKey};

/// What Bottleneck's `BLOCK` waits where starts need no distance, microseconds.
const LEAST_PENALTY_US: i64 = 5 * SECOND_US;
/// What it waits otherwise, in distances between starts.
const PENALTY_DISTANCES: i64 = 15;

/// What waits for one key.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    line: VecDeque<Place>,
    /// Nothing starts before this (strategy `block`), microseconds.
    blocked_until_us: Option<i64>,
    /// When it is looked at again, microseconds.
    planned_us: Option<i64>,
}

/// A place in the line.
#[derive(Debug)]
struct Place {
    flight: Flight,
    answer: Answer,
    since_us: i64,
}

impl Waiting {
    /// Whether a new request may start without waiting.
    pub(super) fn lets_through(&self, t_us: i64) -> bool {
        self.line.is_empty() && self.blocked_until_us.is_none_or(|until| t_us >= until)
    }
}

impl Walk<'_> {
    /// Asks a limit whose requests wait; gives the request back if it may go on at once.
    pub(super) fn line_up(&mut self, mut flight: Flight, unit: &Unit, t_us: i64) -> Option<Flight> {
        let index = *unit.members.first()?;
        let Some(answer) = self.answer(index, &flight, t_us) else { return Some(flight) };
        let key = answer.holder.key;
        let free = self.waits(index, key).is_none_or(|waiting| waiting.lets_through(t_us));
        if answer.verdict.admits() && free {
            self.charge(&mut flight, answer.holder, t_us);
            self.tell(&answer, flight.event, t_us);
            return Some(flight);
        }
        if !self.enforces(index) {
            // in shadow nothing waits: what would have is told as held up till it could start
            let verdict = match self.states.ready(answer.holder, t_us) {
                Ready::At(at) if at > t_us => Verdict::Delay { us: at - t_us },
                _ => answer.verdict,
            };
            self.tell(&Answer { verdict, ..answer }, flight.event, t_us);
            return Some(flight);
        }
        self.wait(flight, &answer, t_us);
        None
    }

    /// What waits for a key of a limit.
    fn line(&mut self, limit: usize, key: StateKey) -> &mut Waiting {
        self.waiting.entry((limit, key)).or_default()
    }

    /// What waits for a key of a limit, if anything ever did.
    pub(super) fn waits(&self, limit: usize, key: StateKey) -> Option<&Waiting> {
        self.waiting.get(&(limit, key))
    }

    /// A waiting request starts.
    fn start(&mut self, mut flight: Flight, answer: &Answer, since_us: i64, t_us: i64) {
        self.charge(&mut flight, answer.holder, t_us);
        let us = t_us - since_us;
        let verdict = if us > 0 { Verdict::Delay { us } } else { Verdict::Pass };
        self.tell_later(&Answer { verdict, ..*answer }, flight.event, since_us, t_us);
        self.go(flight, t_us);
    }

    /// A waiting request, or one that can't even wait, is refused.
    fn turn_away(&mut self, flight: Flight, answer: &Answer, cause: Cause, t_us: i64) {
        let answer = Answer { verdict: Verdict::Refuse, cause, ..*answer };
        if cause != Cause::NoKey {
            self.states.refuse(&answer, true, t_us);
        }
        self.tell(&answer, flight.event, t_us);
        self.refuse(flight, answer.holder.limit, t_us);
    }

    /// A request that can't start lines up, if there is room.
    fn wait(&mut self, flight: Flight, answer: &Answer, t_us: i64) {
        let (limit, key) = (answer.holder.limit, answer.holder.key);
        if answer.cause != Cause::Algorithm && !answer.verdict.admits() {
            // a ban, or the lack of a key, is no reason to wait
            return self.turn_away(flight, answer, answer.cause, t_us);
        }
        if self.states.ready(answer.holder, t_us) == Ready::Never {
            return self.turn_away(flight, answer, Cause::TooHeavy, t_us);
        }
        let Some(queue) = self.limit(limit).and_then(|ready| ready.limit.queue) else { return };
        let waiting = self.line(limit, key);
        let blocked = waiting.blocked_until_us.is_some_and(|until| t_us < until);
        let full = queue
            .high_water
            .is_some_and(|most| u64::try_from(waiting.line.len()).unwrap_or(u64::MAX) >= most);
        match queue.strategy {
            Strategy::Block if full || blocked => return self.block(flight, answer, t_us),
            Strategy::Overflow if full => {
                return self.turn_away(flight, answer, Cause::QueueFull, t_us);
            }
            Strategy::Leak if full => {
                // the one that waits longest goes; with no one waiting, the new one
                let oldest = self.line(limit, key).line.pop_front();
                let Some(oldest) = oldest else {
                    return self.turn_away(flight, answer, Cause::QueueFull, t_us);
                };
                self.turn_away(oldest.flight, &oldest.answer, Cause::QueueFull, t_us);
            }
            _ => {}
        }
        self.line(limit, key).line.push_back(Place { flight, answer: *answer, since_us: t_us });
        self.plan_wake(limit, key, t_us);
    }

    /// Bottleneck's `BLOCK`: all that wait go, and for a while everything does.
    fn block(&mut self, flight: Flight, answer: &Answer, t_us: i64) {
        let (limit, key) = (answer.holder.limit, answer.holder.key);
        let distance_us = match self.limit(limit).map(|ready| &ready.limit.limiter) {
            Some(Limiter::Spacing(Spacing { min_time_us, .. })) => *min_time_us,
            _ => 0,
        };
        let penalty_us = match distance_us.saturating_mul(PENALTY_DISTANCES) {
            0 => LEAST_PENALTY_US,
            us => us,
        };
        let waiting = self.line(limit, key);
        waiting.blocked_until_us = Some(t_us.saturating_add(penalty_us));
        let dropped = std::mem::take(&mut waiting.line);
        for place in dropped {
            self.turn_away(place.flight, &place.answer, Cause::QueueFull, t_us);
        }
        self.turn_away(flight, answer, Cause::QueueFull, t_us);
    }

    /// Lets those start that can, in order.
    pub(super) fn wake(&mut self, limit: usize, key: StateKey, t_us: i64) {
        loop {
            let Some(waiting) = self.waits(limit, key) else { return };
            let blocked = waiting.blocked_until_us.is_some_and(|until| t_us < until);
            let Some(holder) = waiting.line.front().map(|place| place.answer.holder) else {
                return;
            };
            let answer = self.states.ask(holder, t_us);
            if blocked || !answer.verdict.admits() {
                return self.plan_wake(limit, key, t_us);
            }
            let Some(place) = self.line(limit, key).line.pop_front() else { return };
            self.start(place.flight, &answer, place.since_us, t_us);
        }
    }

    /// Notes when the first in the line may start.
    fn plan_wake(&mut self, limit: usize, key: StateKey, t_us: i64) {
        let waiting = self.line(limit, key);
        let not_before_us = waiting.blocked_until_us.unwrap_or(t_us).max(t_us);
        let Some(holder) = waiting.line.front().map(|place| place.answer.holder) else { return };
        if let Ready::At(at_us) = self.states.ready(holder, not_before_us) {
            // what could start now would have: the next step of the limiter's clock at the earliest
            let at_us = at_us.max(t_us + 1);
            let planned_us = &mut self.line(limit, key).planned_us;
            // once is enough, however many wait
            if planned_us.is_none_or(|planned| planned <= t_us || planned > at_us) {
                *planned_us = Some(at_us);
                self.schedule_wake(at_us, limit, key);
            }
        }
    }
}
