//! What a limit needs at hand besides its algorithm, and one key's state with the ban that may be upon it.

use crate::limiter::{Algorithm, Verdict};
use crate::policy::{Ban, Limit, Weight};
use crate::replay::states::floor;
use crate::traffic::Traffic;

/// What a limit needs at hand, whatever its algorithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule<'a> {
    pub(super) tick_us: i64,
    pub(super) ban: Option<Ban>,
    /// Whether its own refusals charge it, where refused requests count.
    pub(super) refusals_count: bool,
    weight: &'a Weight,
    /// The weight of every request, if all weigh the same.
    pub(super) same_weight: Option<u64>,
}

impl<'a> Rule<'a> {
    /// `refusals_count`: whether its own refusals charge it.
    pub(super) fn new(limit: &'a Limit, refusals_count: bool) -> Self {
        let weight = &limit.weight;
        Self {
            tick_us: limit.tick_us.max(1),
            ban: limit.ban,
            refusals_count,
            weight,
            same_weight: weight.by_route.is_empty().then_some(weight.default),
        }
    }

    pub(super) fn weight(&self, traffic: &Traffic, event: u32) -> u64 {
        self.same_weight.unwrap_or_else(|| {
            let event = usize::try_from(event).unwrap_or(usize::MAX);
            self.weight.of(traffic.route_of(event))
        })
    }

    /// An arrival as the limit's clock shows it, microseconds.
    pub(super) fn floor(&self, t_us: i64) -> i64 {
        floor(t_us, self.tick_us)
    }
}

/// Until when a key is banned, microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Banned(i64);

impl Banned {
    /// Not at all.
    pub(super) const NEVER: Self = Self(i64::MIN);

    pub(super) fn at(self, now_us: i64) -> bool {
        self.0 > now_us
    }

    /// A refusal follows. Tells whether it empties the state.
    pub(super) fn refuse(&mut self, ban: Option<Ban>, now_us: i64) -> bool {
        let Some(ban) = ban else { return false };
        let in_ban = self.at(now_us);
        if !in_ban || ban.extends {
            self.0 = now_us.saturating_add(ban.us);
        }
        !in_ban && ban.clears
    }
}

/// One key's state, with the ban that may be upon it.
#[derive(Debug, Clone)]
pub(super) struct Slot<S> {
    pub(super) state: S,
    banned: Banned,
}

impl<S> Slot<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, banned: Banned::NEVER }
    }

    pub(super) fn reset<A: Algorithm<State = S>>(&mut self, algorithm: &A) {
        algorithm.reset(&mut self.state);
        self.banned = Banned::NEVER;
    }

    /// What the limit says at `now_us` of its clock, its ban first.
    pub(super) fn ask<A: Algorithm<State = S>>(
        &self,
        algorithm: &A,
        now_us: i64,
        weight: u64,
    ) -> Verdict {
        if self.banned.at(now_us) {
            return Verdict::Refuse;
        }
        algorithm.ask(&self.state, now_us, weight)
    }

    /// Asks and accounts for the request; tells how full the state is after.
    pub(super) fn step<A: Algorithm<State = S>>(
        &mut self,
        algorithm: &A,
        rule: &Rule<'_>,
        now_us: i64,
        weight: u64,
    ) -> (Verdict, i128) {
        let verdict = self.ask(algorithm, now_us, weight);
        if verdict.admits() {
            algorithm.charge(&mut self.state, now_us, weight);
        } else {
            self.refuse(algorithm, rule, now_us, weight);
        }
        (verdict, algorithm.fullness(&self.state, now_us))
    }

    /// Accounts for a refusal, where such count, and bans.
    pub(super) fn refuse<A: Algorithm<State = S>>(
        &mut self,
        algorithm: &A,
        rule: &Rule<'_>,
        now_us: i64,
        weight: u64,
    ) {
        if rule.refusals_count {
            algorithm.charge_refused(&mut self.state, now_us, weight);
        }
        if self.banned.refuse(rule.ban, now_us) {
            algorithm.reset(&mut self.state);
        }
    }
}
