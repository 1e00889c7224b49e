//! What is counted of one limit while a replay runs.

use std::collections::HashMap;

use ahash::RandomState;

use crate::limiter::fixed_window::FixedWindow;
use crate::limiter::{Limiter, Verdict};
use crate::measure::cohorts::Cohort;
use crate::policy::Limit;
use crate::traffic::Traffic;
use crate::units::span::SECOND_US;

use super::fullest::Fullest;
use super::instance_tally::InstanceTallies;
use super::key_tally::KeyTallies;
use super::memory::{Life, Memory, Remembered};
use super::observer::{Asked, Cause};
use super::prepare::PreparedLimit;
use super::states::floor;
use super::tally::{CohortCount, Detail, LimitTally};

/// What is counted of one limit.
#[derive(Debug)]
pub(super) struct LimitCount<'a> {
    limit: &'a Limit,
    detail: Detail,
    pub(super) tally: LimitTally,
    pub(super) keys: KeyTallies,
    cohorts: CohortCount,
    /// Admitted by second.
    admitted: Fullest,
    /// Admitted in the first second of each window of a clock or calendar.
    after_reset: Option<(&'a FixedWindow, Fullest)>,
    /// Store calls by second.
    pub(super) calls: Fullest,
    pub(super) call: Option<usize>,
    memory: Option<Memory<'a>>,
    /// Until when the state of each key lives, by (instance, key).
    lives: HashMap<(u32, u32), Life, RandomState>,
    instances: Option<InstanceTallies>,
}

impl<'a> LimitCount<'a> {
    /// Begins to count.
    pub(super) fn new(
        ready: &PreparedLimit<'a>,
        traffic: &Traffic,
        identities: usize,
        detail: Detail,
    ) -> Self {
        let limit = ready.limit;
        let whole = detail == Detail::Figures;
        let fixed = match &limit.limiter {
            Limiter::FixedWindow(fixed) if whole && fixed.window_us(0).is_some() => Some(fixed),
            _ => None,
        };
        Self {
            limit,
            detail,
            tally: LimitTally::default(),
            keys: KeyTallies::new(ready.keys.distinct()),
            cohorts: CohortCount::new(identities),
            admitted: Fullest::default(),
            after_reset: fixed.map(|fixed| (fixed, Fullest::default())),
            calls: Fullest::default(),
            call: ready.call,
            memory: if whole { Memory::new(limit, traffic) } else { None },
            lives: HashMap::default(),
            instances: ready.tier.filter(|_| whole).map(|_| InstanceTallies::default()),
        }
    }

    /// Counts a store call, unless the same request's was counted at another limit of the group.
    pub(super) fn called(&mut self, asked: &Asked, last: &mut Option<(usize, i64)>) {
        let now = Some((asked.event, asked.t_us));
        if asked.cause != Cause::NoKey && (self.limit.group.is_none() || *last != now) {
            *last = now;
            self.calls.add(asked.t_us.div_euclid(SECOND_US));
        }
    }

    /// How often it admitted most, right after a window of a clock or calendar began.
    fn admitted_after_reset(&mut self, asked: &Asked) {
        let Some((fixed, counts)) = &mut self.after_reset else { return };
        let t_us = floor(asked.charged_us(self.limit), self.limit.tick_us);
        if let Some((began_us, _)) = fixed.window_us(t_us)
            && t_us - began_us < SECOND_US
        {
            counts.add(began_us);
        }
    }

    /// It was asked about a request, which took so long, microseconds.
    pub(super) fn asked(
        &mut self,
        asked: &Asked,
        cohort: Cohort,
        identity: Option<usize>,
        lasted_us: i64,
    ) {
        let refused = asked.verdict == Verdict::Refuse;
        let figures = self.detail == Detail::Figures;
        if !refused && figures {
            let held_us = if let Verdict::Delay { us } = asked.verdict { us } else { 0 };
            self.admitted.add((asked.t_us + held_us).div_euclid(SECOND_US));
            self.admitted_after_reset(asked);
        }
        if let Some(memory) = &mut self.memory
            && asked.cause != Cause::NoKey
        {
            let t_us = floor(asked.charged_us(self.limit), self.limit.tick_us);
            let life = self.lives.entry((asked.instance, asked.key)).or_default();
            memory.asked(life, &Remembered { t_us, refused, weight: asked.weight, lasted_us });
        }
        if asked.cause != Cause::NoKey && figures {
            self.keys.filled(asked.key, asked.after, asked.t_us);
        }
        if asked.attempt > 1 {
            // the limiter sees a further attempt; who was hurt is told by the first
            return;
        }
        let tally = &mut self.tally;
        tally.asked += 1;
        tally.refused += u64::from(refused && !asked.shadow);
        tally.shadow_refused += u64::from(refused && asked.shadow);
        if let Verdict::Delay { us } = asked.verdict {
            tally.delayed += 1;
            if figures {
                tally.delays_us.push(us);
            }
        }
        if refused && figures {
            tally.first_refusal_us.get_or_insert(asked.t_us);
        }
        if asked.cause != Cause::NoKey {
            self.keys.asked(asked.key, asked.t_us, refused);
        }
        if let Some(instances) = &mut self.instances {
            instances.asked(asked, refused);
        }
        self.cohorts.count(cohort, identity, asked.verdict);
    }

    /// The result.
    pub(super) fn finish(mut self) -> LimitTally {
        self.tally.delays_us.sort_unstable();
        self.tally.cohorts = self.cohorts.tallies;
        self.tally.most_admitted_in_a_second = self.admitted.most();
        self.tally.peak_after_reset = self.after_reset.map(|(_, counts)| counts.most());
        self.tally.store_calls = self.calls.total();
        self.tally.most_store_calls_in_a_second = self.calls.most();
        if let Some(memory) = &mut self.memory {
            // in whatever order: lives are added up
            let mut lives: Vec<_> = self.lives.into_iter().collect();
            lives.sort_unstable_by_key(|(of, _)| *of);
            for (_, life) in &lives {
                memory.ended(life);
            }
        }
        self.tally.state_bytes = self.memory.map(|memory| memory.most());
        self.keys.finish().finish(&mut self.tally, self.detail);
        self.tally.instances = self.instances.map(InstanceTallies::finish).unwrap_or_default();
        self.tally
    }
}
