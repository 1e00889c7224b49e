//! Decides a single limit's requests key by key: the states of different keys never meet, so keys are
//! shared out among the cores, and one key's state stays at hand while its requests pass.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use crate::limiter::{Algorithm, Limiter, Verdict, Visitor};
use crate::policy::Limit;
use crate::replay::key_tally::{KeySums, KeyTally};
use crate::replay::tally::Detail;
use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;

use super::delayed::Delayed;
use super::grouping::Grouping;
use super::instances::Instances;
use super::slot::{Rule, Slot};

/// A single limit about to be decided.
#[derive(Clone, Copy)]
pub(super) struct Keyed<'a> {
    pub(super) limit: &'a Limit,
    /// As the variant of the replay has it.
    pub(super) limiter: &'a Limiter,
    pub(super) rule: Rule<'a>,
    pub(super) traffic: &'a Traffic,
    pub(super) selector: &'a Selector<'a>,
    pub(super) grouping: &'a Grouping,
    /// The instance of each request, where instances count apart.
    pub(super) instances: Option<&'a Instances>,
    /// How much is to be told.
    pub(super) detail: Detail,
}

impl Keyed<'_> {
    /// Decides the grouping's requests, those without the key only if they share a state.
    pub(super) fn decide(&self, shared_without_key: bool) -> Outcome {
        let parts = self.grouping.parts(shared_without_key);
        let decide = |part: Range<usize>| self.limiter.visit(Part { keyed: self, groups: part });
        // a bitmap of all events per part: few parts, and joined two by two
        let joined = parts.into_par_iter().map(decide).reduce_with(Outcome::joined);
        joined.unwrap_or_else(|| Outcome::none(self))
    }

    /// What becomes of an admitted request's charge.
    fn ending(&self) -> Ending {
        if self.limit.count_when.is_some() {
            Ending::Counts
        } else if self.limit.counts_in_flight() {
            Ending::Releases
        } else {
            Ending::Nothing
        }
    }

    /// When an admitted request completes, microseconds.
    fn end_us(&self, event: u32, t_us: i64) -> i64 {
        let event = usize::try_from(event).unwrap_or(usize::MAX);
        let lasted_us = self.traffic.duration_us(event).unwrap_or(0);
        let least_us = if self.ending() == Ending::Releases { self.rule.tick_us } else { 0 };
        t_us.saturating_add(lasted_us.max(least_us))
    }

    /// Whether the response of a request counts.
    fn counts(&self, event: u32) -> bool {
        let event = usize::try_from(event).unwrap_or(usize::MAX);
        let ranges = self.limit.count_when.as_deref();
        ranges.is_some_and(|ranges| self.selector.status_fits(event, ranges))
    }
}

/// What was decided of some requests.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) refused: Bitmap,
    pub(super) delayed: Delayed,
    pub(super) keys: KeySums,
    /// Whether another key's arrival may have freed one, and that would matter.
    pub(super) freed: bool,
}

impl Outcome {
    fn none(keyed: &Keyed<'_>) -> Self {
        Self {
            refused: Bitmap::filled(keyed.traffic.len(), false),
            delayed: Delayed::default(),
            keys: KeySums::new(keyed.grouping.groups()),
            freed: false,
        }
    }

    fn joined(mut self, other: Self) -> Self {
        self.refused.or(&other.refused);
        self.delayed.extend(other.delayed);
        self.keys.merge(other.keys);
        self.freed |= other.freed;
        self
    }
}

/// What happens when an admitted request completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Nothing,
    /// Its slots are free again.
    Releases,
    /// It is charged then.
    Counts,
}

/// A completion to come: when, microseconds, of which request, at which instance, how heavy.
type Completion = Reverse<(i64, u32, usize, u64)>;

/// What a limit says to a request that finds a fresh state: that it goes on at once.
#[derive(Debug, Clone, Copy)]
struct Welcome {
    /// After how long without a request a key's state is as good as fresh, microseconds.
    after_us: i64,
    /// How full the state is then.
    fullness: i128,
}

impl Welcome {
    /// For requests of a weight; `None` if nothing makes states as good as fresh, or such a request is held
    /// up or refused even so.
    fn new<A: Algorithm>(algorithm: &A, weight: u64) -> Option<Self> {
        let (mut state, after_us) = (algorithm.fresh(), algorithm.forgets_us()?);
        let verdict = algorithm.ask(&state, 0, weight);
        algorithm.charge(&mut state, 0, weight);
        let fullness = algorithm.fullness(&state, 0);
        (verdict == Verdict::Pass).then_some(Self { after_us, fullness })
    }
}

/// Makes a state that of a key whose first request was just admitted.
fn welcomed<A: Algorithm>(algorithm: &A, state: A::State, now_us: i64, weight: u64) -> A::State {
    let mut state = state;
    algorithm.reset(&mut state);
    algorithm.charge(&mut state, now_us, weight);
    state
}

/// Some of the keys.
struct Part<'a> {
    keyed: &'a Keyed<'a>,
    groups: Range<usize>,
}

impl Visitor for Part<'_> {
    type Output = Outcome;

    fn visit<A: Algorithm + Sync>(self, algorithm: &A) -> Outcome
    where
        A::State: Send,
    {
        let keyed = self.keyed;
        let instances = keyed.instances.map_or(1, Instances::count);
        let fresh = || Slot::new(algorithm.fresh());
        let mut lane = Lane {
            algorithm,
            keyed,
            ending: keyed.ending(),
            slots: std::iter::repeat_with(fresh).take(instances).collect(),
            completions: BinaryHeap::new(),
            tally: KeyTally::default(),
            fullest: 0,
            may_be_freed: matches!(keyed.limiter, Limiter::Nginx(nginx) if nginx.freeing_may_matter()),
            outcome: Outcome::none(keyed),
        };
        let of_milli = algorithm.level(&algorithm.fresh(), 0).of_milli;
        let plain = lane.plain_weight();
        let plain = plain.map(|weight| (weight, Welcome::new(algorithm, weight)));
        for group in self.groups {
            let requests = keyed.grouping.of(group);
            if requests.len() == 0 {
                continue;
            }
            lane.begin_key();
            match (plain, keyed.detail) {
                (Some(plain), Detail::Figures) => lane.arrive_plainly::<true>(requests, plain),
                (Some(plain), Detail::Verdicts) => lane.arrive_plainly::<false>(requests, plain),
                (None, _) => {
                    requests.for_each(|(event, t_us)| lane.arrive(event, t_us));
                    lane.complete_until(i64::MAX);
                }
            }
            lane.outcome.keys.may_hold(of_milli);
            lane.outcome.keys.add(&lane.tally);
        }
        lane.outcome
    }
}

/// One key after the other.
struct Lane<'a, A: Algorithm> {
    algorithm: &'a A,
    keyed: &'a Keyed<'a>,
    ending: Ending,
    /// The key's state at each instance.
    slots: Vec<Slot<A::State>>,
    completions: BinaryHeap<Completion>,
    tally: KeyTally,
    /// The key's fullest state, as [`Algorithm::fullness`].
    fullest: i128,
    may_be_freed: bool,
    outcome: Outcome,
}

impl<A: Algorithm> Lane<'_, A> {
    fn begin_key(&mut self) {
        for slot in &mut self.slots {
            slot.reset(self.algorithm);
        }
        self.tally = KeyTally::default();
        self.fullest = 0;
    }

    /// The weight of all requests, if there is nothing more to their limit than its algorithm.
    fn plain_weight(&self) -> Option<u64> {
        let Rule { ban, same_weight, .. } = self.keyed.rule;
        let plain = self.ending == Ending::Nothing
            && self.keyed.instances.is_none()
            && ban.is_none()
            && !self.may_be_freed;
        same_weight.filter(|_| plain)
    }

    /// The same as [`Self::arrive`] for all requests of a key of such a limit, with all that changes at
    /// hand: most limits are so, and this is where the time goes.
    ///
    /// What comes so late that it finds its state as good as fresh goes on, and that state is made only if
    /// another request comes soon after.
    #[inline]
    fn arrive_plainly<const FIGURES: bool>(
        &mut self,
        requests: impl ExactSizeIterator<Item = (u32, i64)>,
        (weight, welcome): (u64, Option<Welcome>),
    ) {
        let Some(Slot { state: kept, .. }) = self.slots.first_mut() else { return };
        // a state that nothing points to can be in registers
        let mut state = std::mem::replace(kept, self.algorithm.fresh());
        let (algorithm, rule) = (self.algorithm, self.keyed.rule);
        let asked = u64::try_from(requests.len()).unwrap_or(u64::MAX);
        let (mut tally, mut fullest) = (KeyTally::of(asked), 0);
        let Outcome { refused, delayed, .. } = &mut self.outcome;
        // without a welcome, no request comes late
        let late = welcome.map_or((i64::MAX, 0), |welcome| (welcome.after_us, welcome.fullness));
        let mut last_us = if welcome.is_some() { i64::MIN } else { i64::MAX };
        let mut welcomed_last = false;
        for (event, t_us) in requests {
            let now_us = rule.floor(t_us);
            let before_us = std::mem::replace(&mut last_us, now_us);
            if now_us.saturating_sub(before_us) >= late.0 {
                welcomed_last = true;
                tally.admitted();
                if FIGURES && late.1 > fullest {
                    fullest = late.1;
                    tally.filled(algorithm.used_milli(fullest), t_us);
                }
                continue;
            }
            if std::mem::take(&mut welcomed_last) {
                state = welcomed(algorithm, state, before_us, weight);
            }
            let (verdict, fullness) =
                algorithm.step(&mut state, now_us, weight, rule.refusals_count);
            if verdict == Verdict::Refuse {
                tally.refused(t_us);
                refused.insert(usize::try_from(event).unwrap_or(usize::MAX));
            } else {
                tally.admitted();
                delayed.note(event, verdict);
            }
            if FIGURES && fullness > fullest {
                fullest = fullness;
                tally.filled(algorithm.used_milli(fullness), t_us);
            }
        }
        *kept = state;
        self.tally = tally;
    }

    fn arrive(&mut self, event: u32, t_us: i64) {
        if self.ending != Ending::Nothing {
            // at one instant completions come before arrivals
            self.complete_until(t_us);
        }
        let keyed = self.keyed;
        let instance = keyed.instances.map_or(0, |instances| instances.of(event));
        let Some(slot) = self.slots.get_mut(instance) else { return };
        let (now_us, weight) = (keyed.rule.floor(t_us), keyed.rule.weight(keyed.traffic, event));
        if self.may_be_freed && self.algorithm.forgetting_matters(&slot.state, now_us) {
            self.outcome.freed = true;
        }
        let (verdict, fullness) = if self.ending == Ending::Counts {
            // charged at completion, if at all
            let verdict = slot.ask(self.algorithm, now_us, weight);
            if !verdict.admits() {
                slot.refuse(self.algorithm, &keyed.rule, now_us, weight);
            }
            (verdict, self.algorithm.fullness(&slot.state, now_us))
        } else {
            slot.step(self.algorithm, &keyed.rule, now_us, weight)
        };
        if verdict == Verdict::Refuse {
            self.outcome.refused.insert(usize::try_from(event).unwrap_or(usize::MAX));
        }
        self.outcome.delayed.note(event, verdict);
        if self.ending != Ending::Nothing && verdict.admits() {
            self.schedule(event, t_us, instance, weight);
        }
        self.tally.asked(t_us, verdict == Verdict::Refuse);
        if fullness > self.fullest {
            self.note_fill(fullness, instance, now_us, t_us);
        }
    }

    /// Notes when an admitted request completes, if anything happens then.
    fn schedule(&mut self, event: u32, t_us: i64, instance: usize, weight: u64) {
        if self.ending == Ending::Releases || self.keyed.counts(event) {
            let end_us = self.keyed.end_us(event, t_us);
            self.completions.push(Reverse((end_us, event, instance, weight)));
        }
    }

    /// What completes until an instant, it included.
    fn complete_until(&mut self, until_us: i64) {
        while let Some(Reverse((end_us, _, instance, weight))) = self.completions.peek().copied() {
            if end_us > until_us {
                return;
            }
            self.completions.pop();
            let Some(slot) = self.slots.get_mut(instance) else { continue };
            let now_us = self.keyed.rule.floor(end_us);
            if self.ending == Ending::Releases {
                self.algorithm.complete(&mut slot.state, now_us, weight);
            } else {
                self.algorithm.charge(&mut slot.state, now_us, weight);
                let fullness = self.algorithm.fullness(&slot.state, now_us);
                if fullness > self.fullest {
                    self.note_fill(fullness, instance, now_us, end_us);
                }
            }
        }
    }

    /// A state is fuller than any before: the level itself, which takes a division, is worked out only
    /// now.
    #[cold]
    fn note_fill(&mut self, fullness: i128, instance: usize, now_us: i64, t_us: i64) {
        let Some(slot) = self.slots.get(instance) else { return };
        self.fullest = fullness;
        self.tally.filled(self.algorithm.level(&slot.state, now_us).used_milli, t_us);
    }
}
