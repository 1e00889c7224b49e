//! What one case of a policy's replay is run with, by whichever engine.

use crate::limiter::{Limiter, Verdict};
use crate::measure::cohorts::Cohorts;
use crate::measure::hours::InHours;
use crate::traffic::select::Selector;

use super::arrangement::Arrangement;
use super::cases::Case;
use super::duplicates::DuplicateWatch;
use super::fast::{self, Decided, Round, Seen, Shared};
use super::hours_tally::{Each, HoursCount};
use super::observer::{Asked, Both, Observer};
use super::plan::Engine;
use super::prepare::Prepared;
use super::reference;
use super::run::Scene;
use super::spend::{SpendWatch, Spending};
use super::sustained::{self, Held};
use super::tally::{Detail, Tally, Tallying};
use super::variant::Variant;

/// How the log is seen: with what is assumed of lines that were refused already.
pub(super) struct Eyes<'a> {
    selector: Selector<'a>,
    cohorts: &'a Cohorts<'a>,
    seen: Seen<'a>,
    hours: &'a [InHours],
}

impl<'a> Eyes<'a> {
    /// `hours`: the times of day whose requests are counted on their own.
    pub(super) fn new(
        scene: &Scene<'a>,
        selector: Selector<'a>,
        cohorts: &'a Cohorts<'a>,
        hours: &'a [InHours],
    ) -> Self {
        Self { selector, cohorts, seen: Seen::new(scene.traffic, cohorts), hours }
    }

    pub(super) fn seen(&self) -> &Seen<'a> {
        &self.seen
    }
}

/// What came of a case.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) tally: Tally,
    /// For the base, per limit: verdicts that are others if nginx frees no idle keys.
    pub(super) reclaim_differs: Vec<u64>,
}

/// What a case of a policy's replay is run with.
pub(super) struct Stage<'a, 't> {
    pub(super) scene: &'a Scene<'t>,
    pub(super) prepared: &'a Prepared<'t>,
    pub(super) eyes: &'a Eyes<'a>,
    pub(super) engine: Engine,
    pub(super) arrangement: &'a Arrangement<'a>,
    pub(super) shared: &'a Shared<'t>,
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
}

impl<'t> Stage<'_, 't> {
    /// Replays one case; `None` if stopped.
    pub(super) fn run(&self, case: &Case) -> Option<Done> {
        if case.doubt.is_some() {
            let tally = match self.engine {
                Engine::Fast => self.count_with_hours(
                    self.decide(&case.variant, Detail::Verdicts)?,
                    Detail::Verdicts,
                ),
                Engine::Reference => {
                    self.walk(&case.variant, Detail::Verdicts, false, self.eyes.hours)?.0
                }
            };
            return Some(Done { tally, reclaim_differs: Vec::new() });
        }
        let no_reclaim = Variant { no_reclaim: true, ..case.variant };
        let limits = self.prepared.limits.len();
        match self.engine {
            Engine::Fast => {
                let decided = self.decide(&case.variant, Detail::Figures)?;
                let reclaim_differs = if decided.limits.iter().any(|limit| limit.freed) {
                    decided.differing(&self.decide(&no_reclaim, Detail::Verdicts)?, self.prepared)
                } else {
                    vec![0; limits]
                };
                Some(Done {
                    tally: self.count_with_hours(decided, Detail::Figures),
                    reclaim_differs,
                })
            }
            Engine::Reference => {
                // what nginx limits decide is kept only where two replays are compared
                let (tally, verdicts) =
                    self.walk(&case.variant, Detail::Figures, true, self.eyes.hours)?;
                let reclaim_differs = if verdicts.freed {
                    let (_, others) = self.walk(&no_reclaim, Detail::Verdicts, true, &[])?;
                    verdicts.differing(others, limits)
                } else {
                    vec![0; limits]
                };
                Some(Done { tally, reclaim_differs })
            }
        }
    }

    /// Replays with nothing compared, and no times of day counted on their own; `None` if stopped.
    pub(super) fn tally(&self, variant: &Variant, detail: Detail) -> Option<Tally> {
        match self.engine {
            Engine::Fast => Some(self.count(self.decide(variant, detail)?, detail)),
            Engine::Reference => self.walk(variant, detail, false, &[]).map(|(tally, _)| tally),
        }
    }

    fn round(&self) -> Round<'_, 't> {
        let Self { prepared, arrangement, shared, .. } = *self;
        Round { prepared, traffic: self.scene.traffic, arrangement, shared }
    }

    fn count(&self, decided: Decided, detail: Detail) -> Tally {
        let spends = fast::spends(&decided, self.round(), self.spending(), self.eyes.cohorts);
        let tally = fast::tally(decided, self.round(), &self.eyes.seen, self.duplicates(), detail);
        Tally { spends, ..tally }
    }

    fn count_with_hours(&self, decided: Decided, detail: Detail) -> Tally {
        let hours = self.eyes.hours.iter().map(|hours| {
            let duplicates = self.duplicates_within(hours);
            fast::hours(&decided, self.round(), &self.eyes.seen, hours, duplicates)
        });
        let hours = hours.collect();
        Tally { hours, ..self.count(decided, detail) }
    }

    fn duplicates_within<'s>(&'s self, hours: &'s InHours) -> Vec<DuplicateWatch<'s>> {
        self.duplicates().into_iter().map(|watch| watch.within(&hours.requests)).collect()
    }

    fn duplicates(&self) -> Vec<DuplicateWatch<'_>> {
        DuplicateWatch::all(self.scene.site, self.scene.traffic, &self.eyes.selector)
    }

    fn spending(&self) -> Spending<'_> {
        let Scene { site, traffic, horizon_us, .. } = *self.scene;
        Spending { watches: SpendWatch::all(site, traffic, &self.eyes.selector, horizon_us) }
    }

    fn decide(&self, variant: &Variant, detail: Detail) -> Option<Decided> {
        fast::replay(self.round(), &self.eyes.selector, variant, detail, self.stopped)
    }

    /// The same by the reference. The verdicts of nginx limits are empty unless kept.
    fn walk(
        &self,
        variant: &Variant,
        detail: Detail,
        keep: bool,
        hours: &[InHours],
    ) -> Option<(Tally, Verdicts)> {
        let (prepared, traffic) = (self.prepared, self.scene.traffic);
        let tallying =
            Tallying::new(prepared, traffic, self.eyes.cohorts, self.duplicates(), detail);
        let limits = prepared.limits.iter().map(|ready| &ready.limit.limiter);
        let kept = limits.map(|limiter| keep && matches!(limiter, Limiter::Nginx(_))).collect();
        let each = hours.iter().map(|hours| {
            let duplicates = self.duplicates_within(hours);
            HoursCount::new(hours, prepared.policy, traffic, self.eyes.cohorts, duplicates)
        });
        let each = Each(each.collect());
        let verdicts = Verdicts { kept, freed: false, list: Vec::new() };
        let mut all = Both(Both(tallying, verdicts), Both(each, self.spending()));
        let done = reference::replay(
            prepared,
            traffic,
            &self.eyes.selector,
            self.arrangement,
            variant,
            self.stopped,
            &mut all,
        );
        let Both(Both(tallying, verdicts), Both(Each(hours), spending)) = all;
        done.then(|| {
            let spends = spending.finish(self.eyes.cohorts);
            let hours = hours.into_iter().map(HoursCount::finish).collect();
            (Tally { spends, hours, ..tallying.finish() }, verdicts)
        })
    }

    /// How the policy holds each attack rule's requests.
    pub(super) fn held(&self, tally: &Tally) -> Vec<Held> {
        let Self { scene, prepared, eyes, .. } = self;
        let rules = eyes.cohorts.rules.iter().zip(&tally.rules);
        let held = rules.map(|((_, map), rule)| {
            let covers = sustained::covers(prepared, scene.traffic, map);
            let seen = scene.traffic.instances.len();
            sustained::held(prepared.policy, scene.site, rule.pace(), &covers, seen)
        });
        held.collect()
    }
}

/// Every verdict of the nginx limits, to be compared with those of another replay.
#[derive(Debug)]
struct Verdicts {
    /// Per limit: whether its verdicts are kept.
    kept: Vec<bool>,
    /// Whether any key was freed.
    freed: bool,
    list: Vec<(u32, u32, Verdict)>,
}

impl Observer for Verdicts {
    fn asked(&mut self, asked: &Asked) {
        if self.kept.get(asked.limit) != Some(&true) || asked.attempt > 1 {
            return;
        }
        let (event, limit) = (u32::try_from(asked.event), u32::try_from(asked.limit));
        if let (Ok(event), Ok(limit)) = (event, limit) {
            self.list.push((event, limit, asked.verdict));
        }
    }

    fn reclaimed(&mut self, _limit: usize, _key: u32, _t_us: i64) {
        self.freed = true;
    }
}

impl Verdicts {
    /// Per limit, how many requests get another verdict, or are asked in one of both only.
    fn differing(mut self, mut other: Self, limits: usize) -> Vec<u64> {
        self.list.sort_unstable();
        other.list.sort_unstable();
        let mut counts = vec![0; limits];
        let (mut mine, mut theirs) = (self.list.iter().peekable(), other.list.iter().peekable());
        loop {
            let place = |entry: &&(u32, u32, Verdict)| (entry.0, entry.1);
            let (left, right) = (mine.peek().map(place), theirs.peek().map(place));
            let differs = match (left, right) {
                (None, None) => return counts,
                (Some(left), Some(right)) if left == right => mine.next() != theirs.next(),
                (Some(left), right) if right.is_none_or(|right| left < right) => {
                    mine.next();
                    true
                }
                _ => {
                    theirs.next();
                    true
                }
            };
            let limit = left.into_iter().chain(right).min().map(|(_, limit)| limit);
            let slot = limit.and_then(|limit| usize::try_from(limit).ok());
            if let (true, Some(count)) = (differs, slot.and_then(|slot| counts.get_mut(slot))) {
                *count += 1;
            }
        }
    }
}
