//! Asks limits about a request: alone or in groups, charges them, and tells what they said.

use crate::limiter::Verdict;
use crate::policy::{GroupCharge, Limit, MissingKey, Mode};
use crate::traffic::NONE;

use super::observer::{Asked, Cause};
use super::prepare::Unit;
use super::reference::{Flight, Step, Walk};
use super::states::{Answer, Holder};

impl Walk<'_> {
    /// The state that a limit asks for a request; `None` if it isn't asked, an error if such are refused.
    fn holder(&mut self, index: usize, flight: &Flight) -> Result<Option<Holder>, Holder> {
        let Some(ready) = self.limit(index) else { return Ok(None) };
        let (event, arrived_us) = (flight.event, flight.arrived_us);
        let holder = ready.holder(index, self.traffic, event, arrived_us, &flight.instances);
        let Some(holder) = holder else { return Ok(None) };
        let (_, key) = holder.key;
        if key == NONE {
            self.observer.missing(event, index);
        }
        match (key, ready.limit.missing_key) {
            (NONE, MissingKey::Skip) => Ok(None),
            (NONE, MissingKey::Refuse) => Err(holder),
            _ => Ok(Some(holder)),
        }
    }

    /// What one limit says, nothing charged.
    pub(super) fn answer(&mut self, index: usize, flight: &Flight, t_us: i64) -> Option<Answer> {
        match self.holder(index, flight) {
            Ok(None) => None,
            Ok(Some(holder)) => {
                let answer = self.states.ask(holder, t_us);
                for (limit, key) in self.states.take_freed() {
                    self.observer.reclaimed(limit, key, t_us);
                }
                Some(answer)
            }
            Err(holder) => {
                let before = self.states.level(holder, t_us);
                let (verdict, cause) = (Verdict::Refuse, Cause::NoKey);
                Some(Answer { holder, verdict, cause, before })
            }
        }
    }

    /// Asks a unit's members together and charges them.
    pub(super) fn ask(&mut self, flight: &mut Flight, unit: &Unit, t_us: i64) -> Step {
        let mut answers = Vec::with_capacity(unit.members.len());
        let mut refused_by = None;
        let none = unit.charge == GroupCharge::None;
        // a refusal in shadow keeps the other members in shadow from being charged, as it would in earnest
        let mut would_refuse = false;
        for index in &unit.members {
            if none && would_refuse && !self.enforces(*index) {
                continue;
            }
            let Some(answer) = self.answer(*index, flight, t_us) else { continue };
            answers.push(answer);
            would_refuse |= !answer.verdict.admits();
            if !answer.verdict.admits() && self.enforces(*index) {
                refused_by = refused_by.or(Some(*index));
                if unit.charge == GroupCharge::None {
                    break;
                }
            }
        }
        let charged = refused_by.is_none() || unit.charge == GroupCharge::All;
        let mut delay_us = 0;
        for answer in &answers {
            let index = answer.holder.limit;
            match answer.verdict {
                Verdict::Refuse => self.settle_refusal(answer, unit, t_us),
                verdict => {
                    let spared = none && would_refuse && !self.enforces(index);
                    if charged && !spared {
                        self.charge(flight, answer.holder, t_us);
                    }
                    if let (Verdict::Delay { us }, true) = (verdict, self.enforces(index)) {
                        delay_us = delay_us.max(us);
                    }
                }
            }
            // what would have been held up isn't: another member refuses
            let held = matches!(answer.verdict, Verdict::Delay { .. }) && refused_by.is_some();
            let verdict = if held { Verdict::Pass } else { answer.verdict };
            self.tell(&Answer { verdict, ..*answer }, flight.event, t_us);
        }
        match (refused_by, delay_us) {
            (Some(limit), _) => Step::Refuse(limit),
            (None, 0) => Step::Pass,
            (None, us) => Step::Delay(us),
        }
    }

    pub(super) fn enforces(&self, index: usize) -> bool {
        self.limit(index).is_some_and(|ready| ready.limit.mode == Mode::Enforce)
    }

    /// Charges a limit, or notes that it will be once the response is there.
    pub(super) fn charge(&mut self, flight: &mut Flight, holder: Holder, t_us: i64) {
        let limit: Option<&Limit> = self.limit(holder.limit).map(|ready| ready.limit);
        if limit.is_some_and(|limit| limit.count_when.is_some()) {
            flight.counts.push(holder);
            return;
        }
        self.states.charge(holder, t_us);
        if self.states.holds(holder.limit) {
            flight.held.push(holder);
        }
    }

    pub(super) fn settle_refusal(&mut self, answer: &Answer, unit: &Unit, t_us: i64) {
        if answer.cause != Cause::NoKey {
            // a refusal by one member of such a group charges none, itself included
            let counts = !unit.grouped || unit.charge == GroupCharge::All;
            self.states.refuse(answer, counts, t_us);
        }
    }

    pub(super) fn tell(&mut self, answer: &Answer, event: usize, t_us: i64) {
        self.tell_later(answer, event, t_us, t_us);
    }

    /// The same for a request that reached the limit at `t_us` and was decided at `decided_us`.
    pub(super) fn tell_later(&mut self, answer: &Answer, event: usize, t_us: i64, decided_us: i64) {
        let Answer { holder, verdict, cause, before } = *answer;
        let ready = (self.detail && !verdict.admits() && cause != Cause::NoKey)
            .then(|| self.states.ready(holder, t_us));
        self.observer.asked(&Asked {
            event,
            limit: holder.limit,
            key: holder.key.1,
            instance: holder.key.0,
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
