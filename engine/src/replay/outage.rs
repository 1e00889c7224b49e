//! An outage of a store: which calls fail, what a limit then says, and what the store remembers later.
//!
//! What waits does so in a worker's own memory. While its calls fail, it waits on if the limit refuses then,
//! starts at once if it allows, and follows its instance's own state if each counts for itself.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::limiter::{Level, Verdict};
use crate::policy::{GroupCharge, Limit, OnStoreError};
use crate::site::facts::{AfterOutage, Outage, OutageKind};

use super::observer::Cause;
use super::prepare::{Prepared, Unit};
use super::reference::{Flight, Walk};
use super::states::{Answer, Holder, Home, Memory};
use super::variant::Variant;

/// One call in so many is the unit of an outage's share.
const MILLION: u64 = 1_000_000;
/// Calls that fail are drawn with this.
const SEED: u64 = 0x6f75_7461_6765;

/// The outage that a replay supposes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disruption<'p>(&'p Outage);

/// A request and which attempt of its client it is.
pub(super) type Try = (usize, u32);

/// What becomes of a call.
pub(super) enum Call {
    /// This state answers.
    Answered(Holder),
    /// None does: the limit allows or refuses; the state that would have answered.
    Failed(OnStoreError, Holder),
}

impl<'p> Disruption<'p> {
    /// The outage of a variant, if there is one.
    pub(super) fn new(prepared: &Prepared<'p>, variant: &Variant) -> Option<Self> {
        prepared.site.outages.get(variant.outage?).map(Self)
    }

    /// The instants at which the store changes, microseconds.
    pub(super) fn turns_us(self) -> [i64; 2] {
        [self.0.from_us, self.0.to_us]
    }

    fn concerns(self, limit: &Limit) -> bool {
        limit.store.as_ref().is_some_and(|store| store.name == self.0.store)
    }

    /// Which memory the store has at an instant.
    fn memory(self, t_us: i64) -> Memory {
        let emptied = match self.0.kind {
            OutageKind::Flush => t_us >= self.0.from_us,
            _ => self.0.after == AfterOutage::Empty && t_us >= self.0.to_us,
        };
        if emptied { Memory::Emptied } else { Memory::Own }
    }

    /// Whether a call fails; `first` is the first of the limits that share it.
    fn fails(self, (event, attempt): Try, first: usize, t_us: i64) -> bool {
        let away = (self.0.from_us..self.0.to_us).contains(&t_us);
        if !away || self.0.kind == OutageKind::Flush {
            return false;
        }
        let number = |value: usize| u64::try_from(value).unwrap_or(u64::MAX).to_le_bytes();
        let call = [number(event), number(first), u64::from(attempt).to_le_bytes()];
        let drawn = xxh3_64_with_seed(call.as_flattened(), SEED) % MILLION;
        drawn < u64::from(self.0.share_per_million)
    }
}

impl<'a> Walk<'a> {
    /// What becomes of a call about a state at an instant: the state that answers, if one does.
    pub(super) fn call(&self, holder: Holder, of: Try, t_us: i64) -> Call {
        let Some((disruption, limit)) = self.disrupted(holder.limit) else {
            return Call::Answered(holder);
        };
        let stored = self.stored(holder, disruption, t_us);
        if !disruption.fails(of, self.first_of_call(holder.limit, limit), t_us) {
            return Call::Answered(stored);
        }
        match limit.store.as_ref().map(|store| store.on_error) {
            Some(OnStoreError::Local) => {
                let home = Home { memory: Memory::StandIn, instance: holder.stand_in };
                Call::Answered(Holder { key: (home, holder.key.1), ..holder })
            }
            Some(error) => Call::Failed(error, stored),
            None => Call::Answered(stored),
        }
    }

    /// The state in the store that answers a call too late to be heard.
    pub(super) fn answers_late(&self, holder: Holder, of: Try, t_us: i64) -> Option<Holder> {
        let (disruption, limit) = self.disrupted(holder.limit)?;
        let late = disruption.0.kind == OutageKind::Slow
            && disruption.fails(of, self.first_of_call(holder.limit, limit), t_us);
        late.then(|| self.stored(holder, disruption, t_us))
    }

    /// The outage, if it is one of a limit's store.
    fn disrupted(&self, limit: usize) -> Option<(Disruption<'a>, &'a Limit)> {
        let outage = self.disruption?;
        let limit = self.limit(limit)?.limit;
        outage.concerns(limit).then_some((outage, limit))
    }

    /// The state in the store as it is at an instant.
    fn stored(&self, holder: Holder, disruption: Disruption<'_>, t_us: i64) -> Holder {
        let local = self.limit(holder.limit).is_some_and(|ready| ready.tier.is_some());
        let instance = if local { holder.stand_in } else { 0 };
        let home = Home { memory: disruption.memory(t_us), instance };
        Holder { key: (home, holder.key.1), ..holder }
    }

    /// The first limit of a group that is in the same store: they share a call.
    fn first_of_call(&self, index: usize, limit: &Limit) -> usize {
        let together = |unit: &&Unit| unit.members.contains(&index);
        let same_store = |other: &&usize| {
            let store = self.limit(**other).and_then(|ready| ready.limit.store.as_ref());
            store.map(|store| &store.name) == limit.store.as_ref().map(|store| &store.name)
        };
        let unit = self.units().iter().find(together);
        unit.and_then(|unit| unit.members.iter().find(same_store)).copied().unwrap_or(index)
    }

    /// A store that answers too late has charged a unit's members all the same.
    pub(super) fn charge_late(&mut self, flight: &mut Flight, unit: &Unit, t_us: i64) {
        if self.disruption.is_none_or(|outage| outage.0.kind != OutageKind::Slow) {
            return;
        }
        let mut answers = Vec::new();
        for index in &unit.members {
            let Some(holder) = self.state_for(*index, flight) else { continue };
            let Some(stored) = self.answers_late(holder, flight.of(), t_us) else { continue };
            let answer = self.states.ask(stored, t_us);
            answers.push(answer);
            if !answer.verdict.admits() && self.enforces(*index) && unit.charge == GroupCharge::None
            {
                break;
            }
        }
        let passes =
            |answer: &Answer| answer.verdict.admits() || !self.enforces(answer.holder.limit);
        let all_pass = answers.iter().all(passes);
        for answer in answers {
            let limit = self.limit(answer.holder.limit).map(|ready| ready.limit);
            if !answer.verdict.admits() {
                self.settle_refusal(&answer, unit, t_us);
            } else if (all_pass || unit.charge == GroupCharge::All)
                && limit.is_some_and(|limit| limit.count_when.is_none())
            {
                self.charge(flight, &answer, t_us);
            }
        }
    }

    /// The store goes, comes back or forgets: what waits goes to the line of the state that answers now.
    pub(super) fn turn(&mut self, t_us: i64) {
        let queues = self.waiting.keys().map(|(limit, _)| *limit);
        let mut limits: Vec<usize> =
            queues.filter(|limit| self.disrupted(*limit).is_some()).collect();
        limits.dedup();
        for limit in limits {
            self.line_up_anew(limit, t_us);
        }
    }
}

impl Answer {
    /// What a limit says whose store couldn't be asked.
    pub(super) fn without_store(error: OnStoreError, holder: Holder) -> Self {
        let verdict = if error == OnStoreError::Refuse { Verdict::Refuse } else { Verdict::Pass };
        Self { holder, verdict, cause: Cause::StoreAway, before: Level::default() }
    }

    /// Whether a state was asked, which is to account for what it said.
    pub(super) fn is_of_state(&self) -> bool {
        !matches!(self.cause, Cause::NoKey | Cause::StoreAway)
    }
}
