//! Requests that wait for a limit instead of being refused (Bottleneck, BullMQ): one line per key.
//!
//! As in Bottleneck, who gets a slot leaves the line with it and is told when to start: who only waits
//! for the distance between starts holds a slot, and no longer counts as waiting. Source: `_drainOne`
//! and `_addToQueue` in <https://github.com/SGrondin/bottleneck/blob/master/src/Bottleneck.coffee>,
//! `__submit__` and `__register__` in `LocalDatastore.coffee` beside it.

use std::collections::{BTreeSet, VecDeque};

use crate::limiter::spacing::Spacing;
use crate::limiter::{Limiter, Ready, Verdict};
use crate::policy::Strategy;
use crate::units::span::SECOND_US;

use super::observer::Cause;
use super::outage::Call;
use super::prepare::Unit;
use super::reference::{Flight, Walk};
use super::states::{Answer, Holder, StateKey, floor};

/// What Bottleneck's `BLOCK` waits where starts need no distance, microseconds.
const LEAST_PENALTY_US: i64 = 5 * SECOND_US;
/// What it waits otherwise, in distances between starts.
const PENALTY_DISTANCES: i64 = 15;

/// What waits for one key.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    line: VecDeque<Place>,
    /// All are refused up to this, itself included (strategy `block`), microseconds.
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
        self.line.is_empty() && !self.is_blocked(t_us)
    }

    fn is_blocked(&self, t_us: i64) -> bool {
        self.blocked_until_us.is_some_and(|until| t_us <= until)
    }
}

impl Walk<'_> {
    /// Asks a limit whose requests wait; gives the request back if it may go on at once.
    pub(super) fn line_up(&mut self, mut flight: Flight, unit: &Unit, t_us: i64) -> Option<Flight> {
        let index = *unit.members.first()?;
        self.charge_late(&mut flight, unit, t_us);
        let Some(answer) = self.answer(index, &flight, t_us) else { return Some(flight) };
        let key = answer.holder.key;
        let now_us = floor(t_us, self.states.tick_us(index));
        let free = self.waits(index, key).is_none_or(|waiting| waiting.lets_through(now_us));
        // with no store to ask, there is nothing to wait for
        let free = free || !answer.is_of_state();
        if answer.verdict.admits() && free {
            self.charge(&mut flight, &answer, t_us);
            self.tell(&answer, flight.of(), t_us);
            return Some(flight);
        }
        if !self.enforces(index) {
            // in shadow nothing waits: what would have is told as held up till it could start
            let verdict = match self.states.ready(answer.holder, t_us) {
                Ready::At(at) if at > t_us && answer.is_of_state() => {
                    Verdict::Delay { us: at - t_us }
                }
                _ => answer.verdict,
            };
            self.tell(&Answer { verdict, ..answer }, flight.of(), t_us);
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

    /// A waiting request starts, now or at an instant that it is given now.
    fn start(&mut self, place: Place, answer: &Answer, start_us: i64, t_us: i64) {
        let Place { mut flight, since_us, .. } = place;
        self.charge(&mut flight, answer, start_us);
        let us = start_us - since_us;
        let verdict = if us > 0 { Verdict::Delay { us } } else { Verdict::Pass };
        self.tell_later(&Answer { verdict, ..*answer }, flight.of(), since_us, start_us);
        if start_us > t_us {
            self.go_later(flight, start_us);
        } else {
            self.go(flight, t_us);
        }
    }

    /// Whether the first of a line starts, as whose word, and when.
    fn first_starts(&mut self, limit: usize, key: StateKey, t_us: i64) -> Option<(Answer, i64)> {
        let first = self.waits(limit, key)?.line.front()?;
        match self.call(first.answer.holder, first.flight.of(), t_us) {
            Call::Failed(error, holder) => {
                let answer = Answer::without_store(error, holder);
                answer.verdict.admits().then_some((answer, t_us))
            }
            Call::Answered(holder) => {
                let start_us = self.start_us(holder, t_us)?;
                let level = self.detail.then(|| self.states.level(holder, start_us));
                // whatever it waited for, that it starts is the algorithm's word
                let (verdict, cause) = (Verdict::Pass, Cause::Algorithm);
                let before = level.unwrap_or_default();
                Some((Answer { holder, verdict, cause, before }, start_us))
            }
        }
    }

    /// When the first of a line starts if it needn't wait for a slot: what then has one. Other limits
    /// than `spacing` give nothing out before its time.
    fn start_us(&mut self, holder: Holder, t_us: i64) -> Option<i64> {
        if self.states.ask(holder, t_us).verdict.admits() {
            return Some(t_us);
        }
        let spacing = self.limit(holder.limit).map(|ready| &ready.limit.limiter);
        match (spacing, self.states.ready(holder, t_us)) {
            (Some(Limiter::Spacing(_)), Ready::At(at_us)) => {
                // its clock shows the distance only at its next step
                let tick_us = self.states.tick_us(holder.limit);
                Some(at_us + (-at_us).rem_euclid(tick_us))
            }
            _ => None,
        }
    }

    /// A waiting request, or one that can't even wait, is refused.
    fn turn_away(&mut self, flight: Flight, answer: &Answer, cause: Cause, t_us: i64) {
        let answer = Answer { verdict: Verdict::Refuse, cause, ..*answer };
        if answer.is_of_state() {
            self.states.refuse(&answer, true, t_us);
        }
        self.tell(&answer, flight.of(), t_us);
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
        let now_us = floor(t_us, self.states.tick_us(limit));
        let waiting = self.line(limit, key);
        let blocked = waiting.is_blocked(now_us);
        // a light one that could start but for a heavy one before it lines up in any case, and a line
        // that got longer by it is no longer held to its length
        let waits = u64::try_from(waiting.line.len()).unwrap_or(u64::MAX);
        let full = !answer.verdict.admits() && queue.high_water == Some(waits);
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
        self.wake(limit, key, t_us);
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
        let until_us = floor(t_us, self.states.tick_us(limit)).saturating_add(penalty_us);
        self.states.pause(answer.holder, until_us);
        let waiting = self.line(limit, key);
        waiting.blocked_until_us = Some(until_us);
        let dropped = std::mem::take(&mut waiting.line);
        for place in dropped {
            self.turn_away(place.flight, &place.answer, Cause::QueueFull, t_us);
        }
        self.turn_away(flight, answer, Cause::QueueFull, t_us);
    }

    /// The store that holds a limit's states goes, comes back or forgets: what waits goes on waiting for
    /// the state that answers now, the longest first, and is looked at.
    pub(super) fn line_up_anew(&mut self, limit: usize, t_us: i64) {
        let lines = self.waiting.iter_mut().filter(|((of, _), _)| *of == limit);
        let mut places: Vec<Place> =
            lines.flat_map(|(_, waiting)| std::mem::take(&mut waiting.line)).collect();
        places.sort_by_key(|place| (place.since_us, place.flight.event));
        let mut keys = BTreeSet::new();
        for mut place in places {
            let (Call::Answered(holder) | Call::Failed(_, holder)) =
                self.call(place.answer.holder, place.flight.of(), t_us);
            place.answer.holder = holder;
            keys.insert(holder.key);
            self.line(limit, holder.key).line.push_back(place);
        }
        for key in keys {
            self.schedule_wake(t_us, limit, key);
        }
    }

    /// Lets those start that can, in order.
    pub(super) fn wake(&mut self, limit: usize, key: StateKey, t_us: i64) {
        loop {
            if self.waits(limit, key).is_none_or(|waiting| waiting.line.is_empty()) {
                return;
            }
            let Some((answer, start_us)) = self.first_starts(limit, key, t_us) else {
                return self.plan_wake(limit, key, t_us);
            };
            let Some(place) = self.line(limit, key).line.pop_front() else { return };
            self.start(place, &answer, start_us, t_us);
        }
    }

    /// Notes when the first in the line may start.
    fn plan_wake(&mut self, limit: usize, key: StateKey, t_us: i64) {
        let waiting = self.line(limit, key);
        let Some(first) = waiting.line.front() else { return };
        let (holder, of) = (first.answer.holder, first.flight.of());
        // without its store it is looked at again when the outage ends
        let Call::Answered(holder) = self.call(holder, of, t_us) else { return };
        if let Ready::At(at_us) = self.states.ready(holder, t_us) {
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
