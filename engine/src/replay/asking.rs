//! Asks limits about a request: alone or in groups, charges them, and tells what they said.

use crate::limiter::Verdict;
use crate::policy::{GroupCharge, Limit, MissingKey, Mode};
use crate::traffic::NONE;

use super::observer::{Asked, Cause};
use super::outage::{Call, Try};
use super::prepare::Unit;
use super::reference::{Flight, Step, Walk};
use super::states::{Answer, Holder};

/// What a unit's members are to the rule by which they are asked together.
pub(super) trait Members {
    /// What a limit says, nothing charged; `None` if it isn't asked.
    fn answer(&mut self, limit: usize) -> Option<Verdict>;

    /// Whether a limit refuses in earnest.
    fn enforces(&self, limit: usize) -> bool;

    /// Charges the limit that gave the n-th answer.
    fn charge(&mut self, answer: usize, limit: usize);

    /// Accounts for the refusal that is the n-th answer.
    fn refuse(&mut self, answer: usize, limit: usize);

    /// The n-th answer is settled, as this verdict.
    fn settled(&mut self, answer: usize, limit: usize, verdict: Verdict);
}

/// Asks a unit's members together and charges them as the unit charges; `answers` is only lent.
pub(super) fn together(
    unit: &Unit,
    members: &mut impl Members,
    answers: &mut Vec<(usize, Verdict)>,
) -> Step {
    answers.clear();
    let mut refused_by = None;
    let none = unit.charge == GroupCharge::None;
    // a refusal in shadow keeps the other members in shadow from being charged, as it would in earnest
    let mut would_refuse = false;
    for limit in &unit.members {
        if none && would_refuse && !members.enforces(*limit) {
            continue;
        }
        let Some(verdict) = members.answer(*limit) else { continue };
        answers.push((*limit, verdict));
        would_refuse |= !verdict.admits();
        if !verdict.admits() && members.enforces(*limit) {
            refused_by = refused_by.or(Some(*limit));
            if none {
                break;
            }
        }
    }
    let charged = refused_by.is_none() || unit.charge == GroupCharge::All;
    let mut delay_us = 0;
    for (at, (limit, verdict)) in answers.iter().enumerate() {
        let enforces = members.enforces(*limit);
        if *verdict == Verdict::Refuse {
            members.refuse(at, *limit);
        } else if charged && !(none && would_refuse && !enforces) {
            members.charge(at, *limit);
        }
        if let (Verdict::Delay { us }, true) = (*verdict, enforces) {
            delay_us = delay_us.max(us);
        }
        // what would have been held up isn't: another member refuses
        let held = matches!(verdict, Verdict::Delay { .. }) && refused_by.is_some();
        members.settled(at, *limit, if held { Verdict::Pass } else { *verdict });
    }
    match (refused_by, delay_us) {
        (Some(limit), _) => Step::Refuse(limit),
        (None, 0) => Step::Pass,
        (None, us) => Step::Delay(us),
    }
}

/// A request at a unit of the reference replay.
struct Asking<'w, 'a> {
    walk: &'w mut Walk<'a>,
    flight: &'w mut Flight,
    unit: &'w Unit,
    t_us: i64,
    answers: Vec<Answer>,
}

impl Members for Asking<'_, '_> {
    fn answer(&mut self, limit: usize) -> Option<Verdict> {
        let answer = self.walk.answer(limit, self.flight, self.t_us)?;
        self.answers.push(answer);
        Some(answer.verdict)
    }

    fn enforces(&self, limit: usize) -> bool {
        self.walk.enforces(limit)
    }

    fn charge(&mut self, answer: usize, _limit: usize) {
        if let Some(answer) = self.answers.get(answer) {
            self.walk.charge(self.flight, answer, self.t_us);
        }
    }

    fn refuse(&mut self, answer: usize, _limit: usize) {
        if let Some(answer) = self.answers.get(answer) {
            self.walk.settle_refusal(answer, self.unit, self.t_us);
        }
    }

    fn settled(&mut self, answer: usize, _limit: usize, verdict: Verdict) {
        if let Some(answer) = self.answers.get(answer) {
            self.walk.tell(&Answer { verdict, ..*answer }, self.flight.of(), self.t_us);
        }
    }
}

impl Walk<'_> {
    /// The state that a request belongs to; `None` if the limit isn't about it. The key may be missing.
    fn belongs_to(&self, index: usize, flight: &Flight) -> Option<Holder> {
        let (event, arrived_us) = (flight.event, flight.arrived_us);
        self.limit(index)?.holder(index, self.traffic, event, arrived_us, &flight.instances)
    }

    /// The state that a limit asks for a request; `None` if it isn't about it, or the key is missing and
    /// such don't share a state.
    pub(super) fn state_for(&self, index: usize, flight: &Flight) -> Option<Holder> {
        let share = self.limit(index)?.limit.missing_key == MissingKey::Shared;
        self.belongs_to(index, flight).filter(|holder| holder.key.1 != NONE || share)
    }

    /// What one limit says, nothing charged.
    pub(super) fn answer(&mut self, index: usize, flight: &Flight, t_us: i64) -> Option<Answer> {
        let holder = self.belongs_to(index, flight)?;
        let missing_key = self.limit(index)?.limit.missing_key;
        if holder.key.1 == NONE {
            if flight.attempt == 1 {
                self.observer.missing(flight.event, index);
            }
            match missing_key {
                MissingKey::Skip => return None,
                MissingKey::Shared => {}
                MissingKey::Refuse => {
                    let before = self.states.level(holder, t_us);
                    let (verdict, cause) = (Verdict::Refuse, Cause::NoKey);
                    return Some(Answer { holder, verdict, cause, before });
                }
            }
        }
        Some(match self.call(holder, flight.of(), t_us) {
            Call::Failed(error, holder) => Answer::without_store(error, holder),
            Call::Answered(holder) => {
                let answer = self.states.ask(holder, t_us);
                for (limit, key) in self.states.take_freed() {
                    self.observer.reclaimed(limit, key, t_us);
                }
                answer
            }
        })
    }

    /// Asks a unit's members together and charges them.
    pub(super) fn ask(&mut self, flight: &mut Flight, unit: &Unit, t_us: i64) -> Step {
        self.charge_late(flight, unit, t_us);
        let mut asking = Asking { walk: self, flight, unit, t_us, answers: Vec::new() };
        together(unit, &mut asking, &mut Vec::with_capacity(unit.members.len()))
    }

    pub(super) fn enforces(&self, index: usize) -> bool {
        self.limit(index).is_some_and(|ready| ready.limit.mode == Mode::Enforce)
    }

    /// Charges a limit, or notes that it will be once the response is there. A store that couldn't be asked
    /// isn't charged; once the response is there, it may be back.
    pub(super) fn charge(&mut self, flight: &mut Flight, answer: &Answer, t_us: i64) {
        let holder = answer.holder;
        let limit: Option<&Limit> = self.limit(holder.limit).map(|ready| ready.limit);
        if limit.is_some_and(|limit| limit.count_when.is_some()) {
            flight.counts.push(holder);
            return;
        }
        if !answer.is_of_state() {
            return;
        }
        self.states.charge(holder, t_us);
        if self.states.holds(holder.limit) {
            flight.held.push(holder);
        }
    }

    pub(super) fn settle_refusal(&mut self, answer: &Answer, unit: &Unit, t_us: i64) {
        if answer.is_of_state() {
            self.states.refuse(answer, unit.refusals_count(), t_us);
        }
    }

    pub(super) fn tell(&mut self, answer: &Answer, of: Try, t_us: i64) {
        self.tell_later(answer, of, t_us, t_us);
    }

    /// The same for a request that reached the limit at `t_us` and was decided at `decided_us`.
    pub(super) fn tell_later(&mut self, answer: &Answer, of: Try, t_us: i64, decided_us: i64) {
        let Answer { holder, verdict, cause, before } = *answer;
        let ready = (self.detail && !verdict.admits() && answer.is_of_state())
            .then(|| self.states.ready(holder, t_us));
        self.observer.asked(&Asked {
            event: of.0,
            limit: holder.limit,
            key: holder.key.1,
            instance: holder.key.0.instance,
            attempt: of.1,
            t_us,
            weight: holder.weight,
            verdict,
            shadow: !self.enforces(holder.limit),
            cause,
            before,
            after: self.states.level(holder, decided_us),
            ready,
        });
    }
}
