//! Decides limits whose states meet: members of a group, which are asked together though their keys
//! differ, and nginx limits on a busy server, where a new key frees idle ones. Requests are taken in the
//! order of their arrival, with every state in one list.

use std::sync::Arc;

use crate::limiter::nginx::{Nginx, Reclaim};
use crate::limiter::{Algorithm, Level, Limiter, State, Verdict};
use crate::policy::{MissingKey, Mode};
use crate::replay::arrangement::Arrangement;
use crate::replay::asking::{Members, together};
use crate::replay::key_tally::KeyTallies;
use crate::replay::keys::Keys;
use crate::replay::prepare::{PreparedLimit, Unit};
use crate::replay::reference::{EVENTS_BETWEEN_LOOKS, Step};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::{NONE, Traffic};

use super::decided::LimitDecided;
use super::delayed::Delayed;
use super::instances::Instances;
use super::slot::{Banned, Rule};
use super::table::Table;

/// An algorithm some of whose keys may be freed by others.
pub(super) trait Frees: Algorithm {
    /// Whether a new key frees idle ones.
    fn frees(&self) -> bool;

    /// Whether a key may be freed.
    fn idle_and_empty(&self, state: &Self::State, now_us: i64) -> bool;
}

impl Frees for Nginx {
    fn frees(&self) -> bool {
        self.reclaim == Reclaim::Busy
    }

    fn idle_and_empty(&self, state: &Self::State, now_us: i64) -> bool {
        self.idle_and_empty(state, now_us)
    }
}

impl Frees for Limiter {
    fn frees(&self) -> bool {
        matches!(self, Self::Nginx(nginx) if nginx.frees())
    }

    fn idle_and_empty(&self, state: &State, now_us: i64) -> bool {
        match (self, state) {
            (Self::Nginx(nginx), State::Nginx(state)) => nginx.idle_and_empty(state, now_us),
            _ => false,
        }
    }
}

/// A limit that is asked together with others.
pub(super) struct Member<'a, A: Frees> {
    index: usize,
    algorithm: A,
    rule: Rule<'a>,
    enforces: bool,
    missing_key: MissingKey,
    keys: Arc<Keys<'a>>,
    /// Requests that match, and are there in time.
    matching: Bitmap,
    /// Which of the unit's tables its states are in.
    table: usize,
    instances: Option<Arc<Instances>>,
    /// By place in the table, as far as anyone was banned.
    banned: Vec<Banned>,
    tallies: KeyTallies,
    delayed: Delayed,
    decided: LimitDecided,
}

impl<'a, A: Frees> Member<'a, A> {
    pub(super) fn new(
        index: usize,
        ready: &PreparedLimit<'a>,
        algorithm: A,
        unit: &Unit,
        matching: Bitmap,
        instances: Option<Arc<Instances>>,
        events: usize,
    ) -> Self {
        let limit = ready.limit;
        Self {
            index,
            algorithm,
            rule: Rule::new(limit, unit.refusals_count()),
            enforces: limit.mode == Mode::Enforce,
            missing_key: limit.missing_key,
            keys: Arc::clone(&ready.keys),
            matching,
            table: ready.table,
            instances,
            banned: Vec::new(),
            tallies: KeyTallies::new(ready.keys.distinct()),
            delayed: Delayed::default(),
            decided: LimitDecided::none(events),
        }
    }
}

/// What an answer of a member was about.
#[derive(Clone, Copy)]
struct Answer {
    member: usize,
    /// The key, and its place in the table; `None` for a refusal for the lack of a key.
    place: Option<(u32, usize)>,
    now_us: i64,
    weight: u64,
}

/// A unit's members with their states.
struct Together<'a, A: Frees> {
    traffic: &'a Traffic,
    members: Vec<Member<'a, A>>,
    tables: Vec<Table<A::State>>,
    event: usize,
    t_us: i64,
    answers: Vec<Answer>,
}

/// What became of a unit's requests.
pub(super) struct Outcome {
    /// Per member: its index in the policy, and what it decided.
    pub(super) limits: Vec<(usize, LimitDecided)>,
    /// Refused by a member in earnest.
    pub(super) refused: Bitmap,
    /// Held up, sorted.
    pub(super) delayed: Delayed,
}

/// Decides a unit's requests.
pub(super) fn decide<'a, A: Frees>(
    unit: &Unit,
    mut members: Vec<Member<'a, A>>,
    arrangement: &Arrangement<'_>,
    traffic: &'a Traffic,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Outcome> {
    let mut numbers: Vec<usize> = members.iter().map(|member| member.table).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut tables = Vec::new();
    for number in &numbers {
        if let Some(member) = members.iter().find(|member| member.table == *number) {
            let instances = member.instances.as_ref().map_or(1, |i| i.count());
            let fresh = member.algorithm.fresh();
            tables.push(Table::new(fresh, member.keys.distinct() + 1, instances));
        }
    }
    for member in &mut members {
        member.table = numbers.iter().position(|number| *number == member.table).unwrap_or(0);
    }
    let mut any = Bitmap::filled(traffic.len(), false);
    for member in &members {
        any.or(&member.matching);
    }
    let mut refused = Bitmap::filled(traffic.len(), false);
    let mut delayed = Delayed::default();
    let mut all = Together { traffic, members, tables, event: 0, t_us: 0, answers: Vec::new() };
    let mut lent = Vec::new();
    for (count, (event, t_us)) in arrangement.in_order_of(&any).enumerate() {
        if count % EVENTS_BETWEEN_LOOKS == 0 && stopped() {
            return None;
        }
        (all.event, all.t_us) = (event, t_us);
        all.answers.clear();
        match together(unit, &mut all, &mut lent) {
            Step::Pass => {}
            Step::Delay(us) => delayed.push(u32::try_from(event).unwrap_or(NONE), us),
            Step::Refuse(_) => refused.insert(event),
        }
    }
    delayed.sort();
    let limits = all.members.into_iter().map(|member| {
        let keys = member.tallies.finish();
        let (mut delayed, instances) = (member.delayed, member.instances);
        delayed.sort();
        let delayed = Arc::new(delayed);
        (member.index, LimitDecided { delayed, keys, instances, ..member.decided })
    });
    Some(Outcome { limits: limits.collect(), refused, delayed })
}

impl<A: Frees> Together<'_, A> {
    fn position(&self, limit: usize) -> usize {
        self.members.iter().position(|member| member.index == limit).unwrap_or(0)
    }

    /// What a member says, and what about.
    fn ask(&mut self, at: usize) -> Option<(Answer, Verdict)> {
        let (event, t_us) = (self.event, self.t_us);
        let member = self.members.get_mut(at)?;
        if !member.matching.contains(event) {
            return None;
        }
        let small = u32::try_from(event).unwrap_or(NONE);
        let now_us = member.rule.floor(t_us);
        let weight = member.rule.weight(self.traffic, small);
        let key = member.keys.of(event);
        if key == NONE {
            member.decided.missing += 1;
            match member.missing_key {
                MissingKey::Skip => return None,
                MissingKey::Refuse => {
                    let answer = Answer { member: at, place: None, now_us, weight };
                    return Some((answer, Verdict::Refuse));
                }
                MissingKey::Shared => {}
            }
        }
        let table = self.tables.get_mut(member.table)?;
        let instance = member.instances.as_ref().map_or(0, |instances| instances.of(small));
        let place = table.place(key, instance);
        let answer = Answer { member: at, place: Some((key, place)), now_us, weight };
        if member.banned.get(place).is_some_and(|banned| banned.at(now_us)) {
            return Some((answer, Verdict::Refuse));
        }
        if member.algorithm.frees() {
            let algorithm = &member.algorithm;
            let idle = |state: &A::State| algorithm.idle_and_empty(state, now_us);
            member.decided.freed |= table.look(place, instance, idle);
        }
        let state = table.state(place)?;
        Some((answer, member.algorithm.ask(state, now_us, weight)))
    }
}

impl<A: Frees> Members for Together<'_, A> {
    fn answer(&mut self, limit: usize) -> Option<Verdict> {
        let (answer, verdict) = self.ask(self.position(limit))?;
        self.answers.push(answer);
        Some(verdict)
    }

    fn enforces(&self, limit: usize) -> bool {
        self.members.get(self.position(limit)).is_some_and(|member| member.enforces)
    }

    fn charge(&mut self, answer: usize, _limit: usize) {
        let Some(Answer { member, place, now_us, weight }) = self.answers.get(answer).copied()
        else {
            return;
        };
        let Some(member) = self.members.get(member) else { return };
        let table = self.tables.get_mut(member.table);
        if let (Some(table), Some((_, place))) = (table, place)
            && let Some(state) = table.touch(place)
        {
            member.algorithm.charge(state, now_us, weight);
        }
    }

    fn refuse(&mut self, answer: usize, _limit: usize) {
        let Some(Answer { member, place, now_us, weight }) = self.answers.get(answer).copied()
        else {
            return;
        };
        let Some(member) = self.members.get_mut(member) else { return };
        let (Some(table), Some((_, place))) = (self.tables.get_mut(member.table), place) else {
            return;
        };
        if member.rule.refusals_count
            && let Some(state) = table.touch(place)
        {
            member.algorithm.charge_refused(state, now_us, weight);
        }
        let ban = member.rule.ban;
        if ban.is_some() && member.banned.len() <= place {
            member.banned.resize(place + 1, Banned::NEVER);
        }
        let clears = member.banned.get_mut(place).is_some_and(|banned| banned.refuse(ban, now_us));
        if clears {
            table.forget(place);
        }
    }

    fn settled(&mut self, answer: usize, _limit: usize, verdict: Verdict) {
        let Some(Answer { member, place, now_us, .. }) = self.answers.get(answer).copied() else {
            return;
        };
        let Some(member) = self.members.get_mut(member) else { return };
        let decided = &mut member.decided;
        decided.asked.insert(self.event);
        let refused = verdict == Verdict::Refuse;
        if refused {
            decided.refused.insert(self.event);
        }
        member.delayed.note(u32::try_from(self.event).unwrap_or(NONE), verdict);
        if let Some((key, place)) = place {
            let state = self.tables.get(member.table).and_then(|table| table.state(place));
            let level = state.map_or(Level::default(), |s| member.algorithm.level(s, now_us));
            member.tallies.asked(key, self.t_us, refused);
            member.tallies.filled(key, level, self.t_us);
        }
    }
}
