//! The figures that only the base case is asked for, from what was decided: store calls, windows' first
//! seconds, memory, instances.

use rayon::prelude::*;

use crate::limiter::Limiter;
use crate::policy::MissingKey;
use crate::replay::memory::{Life, Memory, Remembered};
use crate::replay::prepare::PreparedLimit;
use crate::replay::states::floor;
use crate::replay::tally::{InstanceTally, LimitTally, Tally};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::{NONE, Traffic};
use crate::units::span::SECOND_US;

use super::Round;
use super::decided::LimitDecided;
use super::instances::Instances;
use super::seconds::Seconds;
use super::slot::Rule;

/// Adds the figures to a tally of decisions.
pub(super) fn add(round: Round<'_, '_>, decided: &[LimitDecided], tally: &mut Tally) {
    round.add_store_calls(decided, tally);
    let limits = round.prepared.limits.iter().zip(decided).zip(&mut tally.limits);
    for ((ready, decided), tally) in limits {
        round.add_peak_after_reset(ready, decided, tally);
        round.add_by_key(ready, decided, tally);
    }
}

impl<'t> Round<'_, 't> {
    /// Requests that a limit was asked about with a key.
    fn with_key(&self, ready: &PreparedLimit<'_>, decided: &LimitDecided) -> Bitmap {
        let mut set = decided.asked.clone();
        if decided.missing > 0 && ready.limit.missing_key == MissingKey::Refuse {
            set.and(&Bitmap::of(self.traffic.len(), |event| ready.keys.of(event) != NONE));
        }
        set
    }

    /// The limits of a group in one store share a call, which is the first's that was asked.
    fn add_store_calls(&self, decided: &[LimitDecided], tally: &mut Tally) {
        let mut called: Vec<Option<Bitmap>> = decided.iter().map(|_| None).collect();
        let mut all: Option<Seconds> = None;
        let limits = self.prepared.limits.iter().zip(decided).zip(&mut tally.limits);
        for ((ready, decided), tally) in limits {
            let Some(call) = ready.call.and_then(|call| called.get_mut(call)) else { continue };
            let mut calls = self.with_key(ready, decided);
            if ready.limit.group.is_some() {
                if let Some(before) = call {
                    calls.and_not(before);
                }
                call.get_or_insert_with(|| calls.clone()).or(&calls);
            }
            tally.store_calls = calls.count();
            let seconds = self.shared.seconds_of(&calls, self.arrangement);
            tally.most_store_calls_in_a_second = seconds.most();
            match &mut all {
                Some(all) => all.merge(&seconds),
                None => all = Some(seconds),
            }
        }
        tally.most_store_calls_in_a_second = all.map_or(0, |all| all.most());
    }

    /// What a window of a clock or calendar admits in its first second.
    fn add_peak_after_reset(
        &self,
        ready: &PreparedLimit<'_>,
        decided: &LimitDecided,
        tally: &mut LimitTally,
    ) {
        let Limiter::FixedWindow(fixed) = &ready.limit.limiter else { return };
        if fixed.window_us(0).is_none() {
            return;
        }
        let mut admitted = decided.asked.clone();
        admitted.and_not(&decided.refused);
        let (mut most, mut count, mut window_us) = (0_u64, 0, (i64::MAX, i64::MIN));
        self.arrangement.for_each(&admitted, |_, t_us| {
            let t_us = floor(t_us, ready.limit.tick_us);
            if t_us < window_us.0 || t_us >= window_us.1 {
                count = 0;
                window_us = fixed.window_us(t_us).unwrap_or(window_us);
            }
            if t_us - window_us.0 < SECOND_US {
                count += 1;
                most = most.max(count);
            }
        });
        tally.peak_after_reset = Some(most);
    }

    /// Memory, and what each instance decided: both go key by key.
    fn add_by_key(
        &self,
        ready: &PreparedLimit<'t>,
        decided: &LimitDecided,
        tally: &mut LimitTally,
    ) {
        let memory = Memory::new(ready.limit, self.traffic);
        let local = ready.tier.is_some();
        if memory.is_none() && !local {
            return;
        }
        let grouping = self.shared.grouping(&decided.asked, &ready.keys, self.arrangement);
        let shared_state = ready.limit.missing_key == MissingKey::Shared;
        let instances = decided.instances.as_deref();
        let parts = grouping.parts(shared_state);
        let fresh = || Part {
            memory: memory.clone(),
            lives: Vec::new(),
            instances: vec![InstanceTally::default(); instances.map_or(1, Instances::count)],
        };
        let follow = |groups: std::ops::Range<usize>| {
            let mut part = fresh();
            for group in groups {
                let tick_us = ready.limit.tick_us;
                let at_us = grouping.times_us(group).iter().map(|t_us| floor(*t_us, tick_us));
                let looked_at =
                    !local && part.memory.as_mut().is_some_and(|memory| memory.looked_at(at_us));
                if !looked_at {
                    part.key(self.traffic, ready, decided, grouping.of(group));
                }
            }
            part
        };
        let mut all = parts.into_par_iter().map(follow).reduce(fresh, Part::merged);
        if !shared_state {
            // refused for want of a key: asked, and no key
            let keyless = grouping.without_key().filter(|_| decided.missing > 0);
            for event in keyless {
                all.asked(decided, event);
            }
        }
        tally.state_bytes = all.memory.map(|memory| memory.most());
        if local {
            let asked = |tally: &InstanceTally| tally.asked > 0;
            let seen = all.instances.iter().rposition(asked).map_or(0, |last| last + 1);
            all.instances.truncate(seen);
            tally.instances = all.instances;
        }
    }
}

/// What is followed of some keys.
struct Part<'p> {
    memory: Option<Memory<'p>>,
    instances: Vec<InstanceTally>,
    /// Of the key that is followed, by instance.
    lives: Vec<Option<Life>>,
}

impl Part<'_> {
    fn key(
        &mut self,
        traffic: &Traffic,
        ready: &PreparedLimit<'_>,
        decided: &LimitDecided,
        requests: impl Iterator<Item = (u32, i64)>,
    ) {
        let limit = ready.limit;
        let (rule, slots) = (Rule::new(limit, true), limit.counts_in_flight());
        let mut lives = std::mem::take(&mut self.lives);
        lives.clear();
        lives.resize(self.instances.len(), None);
        for (small, t_us) in requests {
            let (instance, refused) = self.asked(decided, small);
            let Some(life) = lives.get_mut(instance) else { continue };
            if life.is_none()
                && let Some(tally) = self.instances.get_mut(instance)
            {
                tally.keys += 1;
            }
            let life = life.get_or_insert_default();
            if let Some(memory) = &mut self.memory {
                // a column is looked at only where it matters: each look is far from the last
                let event = usize::try_from(small).unwrap_or(usize::MAX);
                let weight = rule.weight(traffic, small);
                let lasted_us = if slots { traffic.duration_us(event).unwrap_or(0) } else { 0 };
                let t_us = rule.floor(t_us);
                memory.asked(life, &Remembered { t_us, refused, weight, lasted_us });
            }
        }
        if let Some(memory) = &mut self.memory {
            lives.iter().flatten().for_each(|life| memory.ended(life));
        }
        self.lives = lives;
    }

    /// An instance was asked about a request: which, and whether it refused.
    fn asked(&mut self, decided: &LimitDecided, small: u32) -> (usize, bool) {
        let event = usize::try_from(small).unwrap_or(usize::MAX);
        let refused = decided.refused.contains(event);
        let instance = decided.instances.as_ref().map_or(0, |instances| instances.of(small));
        if let Some(tally) = self.instances.get_mut(instance) {
            tally.asked += 1;
            tally.refused += u64::from(refused);
        }
        (instance, refused)
    }

    fn merged(mut self, other: Self) -> Self {
        if let (Some(mine), Some(theirs)) = (&mut self.memory, &other.memory) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.instances.iter_mut().zip(other.instances) {
            mine.asked += theirs.asked;
            mine.refused += theirs.refused;
            mine.keys += theirs.keys;
        }
        self
    }
}
