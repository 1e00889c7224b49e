//! Policies side by side: all cases of each, one arrangement of the log after the other.

use rayon::prelude::*;

use super::arrangement::{Arrangement, Placement};
use super::cases::Case;
use super::fast::Shared;
use super::growth;
use super::plan::{self, Engine};
use super::prepare::Prepared;
use super::run::{Replayed, Scene};
use super::stage::{Done, Eyes, Stage};
use super::tally::Detail;

/// Policies that are replayed side by side.
pub(super) struct SideBySide<'a, 't> {
    pub(super) scene: &'a Scene<'t>,
    pub(super) eyes: Eyes<'a>,
    /// With what else may be assumed of lines that were refused already.
    pub(super) other_eyes: Option<Eyes<'a>>,
    pub(super) prepared: &'a [Prepared<'t>],
    /// Each policy against growth.
    pub(super) less: &'a [Vec<Prepared<'t>>],
    pub(super) cases: Vec<Vec<Case>>,
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
}

impl<'t> SideBySide<'_, 't> {
    /// Replays all cases of one arrangement; `None` if stopped.
    pub(super) fn replay(&self, placement: Placement, replayed: &mut [Replayed]) -> Option<()> {
        let jobs = self.cases.iter().enumerate().flat_map(|(policy, cases)| {
            cases.iter().filter(|case| case.placement == placement).map(move |case| (policy, *case))
        });
        let jobs: Vec<(usize, Case)> = jobs.collect();
        if jobs.is_empty() {
            return Some(());
        }
        let Scene { traffic, steps_us, .. } = *self.scene;
        let arrangement = Arrangement::new(traffic, placement, steps_us);
        let shared = Shared::default();
        let mut engines = self.prepared.iter().zip(replayed.iter());
        if let Some((prepared, _)) = engines.find(|(_, of)| of.engine == Engine::Fast) {
            shared.prime(prepared, self.eyes.seen(), &arrangement);
        }
        let run = |(policy, case): &(usize, Case)| {
            let (prepared, replayed) = (self.prepared.get(*policy)?, replayed.get(*policy)?);
            let eyes = self.other_eyes.as_ref().filter(|_| case.sees_all_match());
            let eyes = eyes.unwrap_or(&self.eyes);
            self.stage(prepared, replayed.engine, eyes, (&arrangement, &shared)).run(case)
        };
        let done: Option<Vec<Done>> = jobs.par_iter().map(run).collect();
        for ((policy, case), done) in jobs.iter().zip(done?) {
            let Some(replayed) = replayed.get_mut(*policy) else { continue };
            if let Some(doubt) = case.doubt {
                replayed.varied.push((doubt, done.tally));
            } else {
                replayed.base = done.tally;
                replayed.reclaim_differs = done.reclaim_differs;
            }
        }
        if placement == Placement::Bunched {
            self.grow(replayed, (&arrangement, &shared))?;
        }
        Some(())
    }

    /// How each policy holds attacks, and how much growth it bears; `None` if stopped.
    fn grow(
        &self,
        replayed: &mut [Replayed],
        ground: (&Arrangement<'_>, &Shared<'t>),
    ) -> Option<()> {
        let all = replayed.par_iter_mut().zip(self.prepared).zip(self.less);
        all.map(|((replayed, prepared), less)| {
            let stage = self.stage(prepared, replayed.engine, &self.eyes, ground);
            replayed.held = stage.held(&replayed.base);
            let at = |factor: usize| {
                let prepared = less.get(factor)?;
                let engine = plan::engine(self.scene, prepared.policy);
                let stage = self.stage(prepared, engine, &self.eyes, ground);
                stage.tally(&self.scene.base(), Detail::Verdicts)
            };
            let first = growth::first_refusal(&replayed.base, less.len(), at)?;
            (replayed.growth, replayed.growth_by) = (first.factor, first.by);
            Some(())
        })
        .collect()
    }

    fn stage<'s>(
        &'s self,
        prepared: &'s Prepared<'t>,
        engine: Engine,
        eyes: &'s Eyes<'s>,
        (arrangement, shared): (&'s Arrangement<'s>, &'s Shared<'t>),
    ) -> Stage<'s, 't> {
        let Self { scene, stopped, .. } = *self;
        Stage { scene, prepared, eyes, engine, arrangement, shared, stopped }
    }
}
