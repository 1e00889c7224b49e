//! The states that limiters remember while a replay runs, and the wrappers around them: bans, and the
//! keys that nginx frees.

use std::collections::BTreeMap;

use crate::limiter::nginx::{Nginx, Reclaim};
use crate::limiter::{Algorithm, Level, Limiter, Ready, State, Verdict};
use crate::policy::Ban;

use super::observer::Cause;
use super::prepare::Prepared;
use super::variant::Variant;

/// Where a state is, and the number of its key.
pub(super) type StateKey = (Home, u32);

/// Where a state is: in an instance's memory or a store's, which may have forgotten what it held before.
/// Ordered, so that states lie together that are looked at together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Home {
    pub(super) memory: Memory,
    /// The instance, where each counts for itself; else 0.
    pub(super) instance: u32,
}

/// Which memory a state is in. A store that comes back empty has another than before, so that nothing
/// that was in the old one is ever found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Memory {
    /// The one that is meant to hold it.
    Own,
    /// An instance's own, while the store can't be asked.
    StandIn,
    /// The store's after it forgot.
    Emptied,
}

/// One limit, one key: whose state is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) limit: usize,
    pub(super) key: StateKey,
    pub(super) weight: u64,
    /// The instance that counts for itself if the store can't be asked.
    pub(super) stand_in: u32,
}

/// What a limit says to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) holder: Holder,
    pub(super) verdict: Verdict,
    pub(super) cause: Cause,
    pub(super) before: Level,
}

/// A state, and when it was looked at last.
#[derive(Debug)]
struct Slot {
    state: State,
    seen: u64,
}

/// What one limit needs at hand.
#[derive(Debug)]
struct Rule {
    limiter: Limiter,
    tick_us: i64,
    table: usize,
    ban: Option<Ban>,
    /// Until when each key is banned, microseconds.
    banned: BTreeMap<StateKey, i64>,
}

/// All states of a policy.
#[derive(Debug)]
pub(super) struct States {
    rules: Vec<Rule>,
    tables: Vec<BTreeMap<StateKey, Slot>>,
    /// Per table: (home, look) → key, the oldest look first.
    looks: Vec<BTreeMap<(Home, u64), u32>>,
    look: u64,
    /// Keys freed since they were last taken: (limit, key).
    freed: Vec<(usize, u32)>,
    /// Whether answers tell how full the state was.
    detail: bool,
}

impl States {
    pub(super) fn new(prepared: &Prepared<'_>, variant: &Variant, detail: bool) -> Self {
        let rules = prepared.limits.iter().map(|ready| Rule {
            limiter: variant.limiter(&ready.limit.limiter),
            tick_us: ready.limit.tick_us.max(1),
            table: ready.table,
            ban: ready.limit.ban,
            banned: BTreeMap::new(),
        });
        let mut tables = Vec::new();
        let mut looks = Vec::new();
        tables.resize_with(prepared.tables, BTreeMap::new);
        looks.resize_with(prepared.tables, BTreeMap::new);
        Self { rules: rules.collect(), tables, looks, look: 0, freed: Vec::new(), detail }
    }

    /// A limit's step of time, microseconds.
    pub(super) fn tick_us(&self, limit: usize) -> i64 {
        self.rules.get(limit).map_or(1, |rule| rule.tick_us)
    }

    /// Whether a request that was charged has to be completed.
    pub(super) fn holds(&self, limit: usize) -> bool {
        match self.rules.get(limit).map(|rule| &rule.limiter) {
            Some(Limiter::Concurrency(_)) => true,
            Some(Limiter::Spacing(spacing)) => spacing.max_concurrent.is_some(),
            _ => false,
        }
    }

    /// What a limit says, its ban first.
    pub(super) fn ask(&mut self, holder: Holder, t_us: i64) -> Answer {
        let before = if self.detail { self.level(holder, t_us) } else { Level::default() };
        let now_us = floor(t_us, self.tick_us(holder.limit));
        let banned = self.rules.get(holder.limit).and_then(|rule| rule.banned.get(&holder.key));
        if let Some(until) = banned.filter(|until| **until > now_us) {
            let cause = Cause::Banned(*until);
            return Answer { holder, verdict: Verdict::Refuse, cause, before };
        }
        self.look_at(holder, t_us);
        let verdict = self.with(holder, t_us, Verdict::Pass, |limiter, state, tick, weight| {
            limiter.ask(state, tick, weight)
        });
        Answer { holder, verdict, cause: Cause::Algorithm, before }
    }

    /// How full a key's state is.
    pub(super) fn level(&self, holder: Holder, t_us: i64) -> Level {
        self.with(holder, t_us, Level::default(), |limiter, state, tick, _| {
            limiter.level(state, tick)
        })
    }

    /// When the same request would be admitted.
    pub(super) fn ready(&self, holder: Holder, t_us: i64) -> Ready {
        let banned = self.rules.get(holder.limit).and_then(|rule| rule.banned.get(&holder.key));
        let from_us = banned.copied().unwrap_or(t_us).max(t_us);
        self.with(holder, from_us, Ready::Never, |limiter, state, tick, weight| {
            match limiter.ready(state, tick, weight) {
                // within one step of the limiter's clock nothing changes
                Ready::At(at_us) => Ready::At(at_us.max(from_us)),
                other => other,
            }
        })
    }

    /// Accounts for a request that goes on.
    pub(super) fn charge(&mut self, holder: Holder, t_us: i64) {
        self.change(holder, t_us, |limiter, state, tick, weight| {
            limiter.charge(state, tick, weight);
        });
    }

    /// A request that was charged has ended.
    pub(super) fn complete(&mut self, holder: Holder, t_us: i64) {
        self.change(holder, t_us, |limiter, state, tick, weight| {
            limiter.complete(state, tick, weight);
        });
    }

    /// Has the distance to the next start counted from an instant: only `spacing` has one.
    pub(super) fn pause(&mut self, holder: Holder, until_us: i64) {
        self.change(holder, until_us, |limiter, state, tick, _| {
            if let (Limiter::Spacing(spacing), State::Spacing(state)) = (limiter, state) {
                spacing.pause(state, tick);
            }
        });
    }

    /// As if everything a key's state remembers had happened so much later, microseconds.
    pub(super) fn shift(&mut self, holder: Holder, by_us: i64) {
        self.change(holder, 0, |limiter, state, _, _| limiter.shift(state, by_us));
    }

    /// Accounts for a refusal, where such count, and bans.
    pub(super) fn refuse(&mut self, answer: &Answer, counts: bool, t_us: i64) {
        let holder = answer.holder;
        if counts {
            self.change(holder, t_us, |limiter, state, tick, weight| {
                limiter.charge_refused(state, tick, weight);
            });
        }
        let Some(rule) = self.rules.get_mut(holder.limit) else { return };
        let t_us = floor(t_us, rule.tick_us);
        let Some(ban) = rule.ban else { return };
        let in_ban = matches!(answer.cause, Cause::Banned(_));
        if !in_ban || ban.extends {
            rule.banned.insert(holder.key, t_us.saturating_add(ban.us));
        }
        if !in_ban && ban.clears {
            let table = rule.table;
            self.remove(table, holder.key);
        }
    }

    /// Keys freed since this was last asked: (limit, key).
    pub(super) fn take_freed(&mut self) -> Vec<(usize, u32)> {
        std::mem::take(&mut self.freed)
    }

    fn with<T>(
        &self,
        holder: Holder,
        t_us: i64,
        otherwise: T,
        answer: impl FnOnce(&Limiter, &State, i64, u64) -> T,
    ) -> T {
        let Some(rule) = self.rules.get(holder.limit) else { return otherwise };
        let tick = floor(t_us, rule.tick_us);
        match self.tables.get(rule.table).and_then(|table| table.get(&holder.key)) {
            Some(slot) => answer(&rule.limiter, &slot.state, tick, holder.weight),
            None => answer(&rule.limiter, &rule.limiter.fresh(), tick, holder.weight),
        }
    }

    fn change(
        &mut self,
        holder: Holder,
        t_us: i64,
        change: impl FnOnce(&Limiter, &mut State, i64, u64),
    ) {
        let Some(rule) = self.rules.get(holder.limit) else { return };
        let Some(table) = self.tables.get_mut(rule.table) else { return };
        let fresh = || Slot { state: rule.limiter.fresh(), seen: 0 };
        let slot = table.entry(holder.key).or_insert_with(fresh);
        change(&rule.limiter, &mut slot.state, floor(t_us, rule.tick_us), holder.weight);
    }

    /// nginx moves a key to the front of its list whenever it is looked at; a new key first frees up to
    /// two keys from the list's end (`ngx_http_limit_req_expire`).
    fn look_at(&mut self, holder: Holder, t_us: i64) {
        let Some(rule) = self.rules.get(holder.limit) else { return };
        let Limiter::Nginx(nginx) = rule.limiter else { return };
        if nginx.reclaim != Reclaim::Busy {
            return;
        }
        let (table, now_us) = (rule.table, floor(t_us, rule.tick_us));
        let (home, key) = holder.key;
        let known = self.tables.get(table).is_some_and(|slots| slots.contains_key(&holder.key));
        if !known {
            self.free_idle(&nginx, holder.limit, table, home, now_us);
        }
        self.look += 1;
        let look = self.look;
        let (Some(slots), Some(looks)) = (self.tables.get_mut(table), self.looks.get_mut(table))
        else {
            return;
        };
        let fresh = || Slot { state: Limiter::Nginx(nginx).fresh(), seen: look };
        let slot = slots.entry(holder.key).or_insert_with(fresh);
        looks.remove(&(home, slot.seen));
        slot.seen = look;
        looks.insert((home, look), key);
    }

    fn free_idle(&mut self, nginx: &Nginx, limit: usize, table: usize, home: Home, now_us: i64) {
        for _ in 0..2 {
            let oldest = self.looks.get(table).and_then(|looks| {
                looks.range((home, 0)..=(home, u64::MAX)).next().map(|(_, key)| *key)
            });
            let Some(key) = oldest else { return };
            let slot = self.tables.get(table).and_then(|slots| slots.get(&(home, key)));
            let idle = slot.is_some_and(|slot| match &slot.state {
                State::Nginx(state) => nginx.idle_and_empty(state, now_us),
                _ => false,
            });
            if !idle {
                return;
            }
            self.remove(table, (home, key));
            self.freed.push((limit, key));
        }
    }

    fn remove(&mut self, table: usize, key: StateKey) {
        let slot = self.tables.get_mut(table).and_then(|slots| slots.remove(&key));
        if let (Some(slot), Some(looks)) = (slot, self.looks.get_mut(table)) {
            looks.remove(&(key.0, slot.seen));
        }
    }
}

/// An instant as a clock of that step shows it.
#[inline]
pub(crate) fn floor(t_us: i64, tick_us: i64) -> i64 {
    match tick_us {
        ..=1 => t_us,
        // by a number known beforehand, which nearly all clocks have, is much faster; written in another
        // way than the next line, or the compiler makes one of both
        1_000 => t_us.div_euclid(1_000) * 1_000,
        step => t_us - t_us.rem_euclid(step),
    }
}
