//! The fast engine decides as the reference does, on generated traffic, policies and deployments.

mod bounded;
pub(crate) mod cases;
mod needed;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::limiter::Verdict;
use crate::site::labels::LabelIndex;
use crate::traffic::select::AlreadyRefused;

use super::arrangement::{Arrangement, Placement};
use super::fast::{self, Decided, Round, Shared};
use super::observer::{Asked, Ended, Observer};
use super::plan::{self, Engine, EngineChoice};
use super::prepare::{Memo, Prepared};
use super::reference;
use super::run::{Scene, replay};
use super::tally::Detail;
use super::variant::Variant;

use self::cases::{Case, any_case};

/// How many cases are compared unless `SHADOWCAP_CASES` says.
const CASES: u32 = 10_000;

/// Every verdict, and how every request ended: by limit and event, to be compared whole.
#[derive(Debug, Default, PartialEq, Eq)]
struct Decisions {
    asked: Vec<(usize, usize, Verdict)>,
    refused: Vec<usize>,
    delayed: Vec<(usize, i64)>,
}

impl Observer for Decisions {
    fn asked(&mut self, asked: &Asked) {
        self.asked.push((asked.limit, asked.event, asked.verdict));
    }

    fn ended(&mut self, ended: &Ended) {
        if ended.refused_by.is_some() {
            self.refused.push(ended.event);
        } else if ended.delay_us > 0 {
            self.delayed.push((ended.event, ended.delay_us));
        }
    }
}

impl Decisions {
    fn sorted(mut self) -> Self {
        self.asked.sort_unstable();
        self.refused.sort_unstable();
        self.delayed.sort_unstable();
        self
    }

    fn of_fast(decided: &Decided) -> Self {
        let mut all = Self { refused: decided.refused.iter().collect(), ..Self::default() };
        all.delayed = decided.delayed.iter().collect();
        for (index, limit) in decided.limits.iter().enumerate() {
            for event in limit.asked.iter() {
                let delay = limit.delayed.iter().find(|(at, _)| *at == event);
                let verdict = match (limit.refused.contains(event), delay) {
                    (true, _) => Verdict::Refuse,
                    (false, Some((_, us))) => Verdict::Delay { us },
                    (false, None) => Verdict::Pass,
                };
                all.asked.push((index, event, verdict));
            }
        }
        all.sorted()
    }
}

fn scene<'a>(
    case: &'a Case,
    labels: &'a LabelIndex,
    steps_us: &'a [i64],
    engine: EngineChoice,
) -> Scene<'a> {
    Scene {
        site: &case.site,
        traffic: &case.traffic,
        conditions: &[],
        labels,
        steps_us,
        drop_already_refused: case.drop_already_refused,
        closed_loop: false,
        horizon_us: crate::units::span::DAY_US,
        engine,
    }
}

/// What both engines decide, the fast one whether or not the plan lets it.
fn decisions(case: &Case, placement: Placement, variant: &Variant) -> (Decisions, Decisions) {
    let (labels, steps_us) = (LabelIndex::new(&[]), [case.step_us]);
    let scene = scene(case, &labels, &steps_us, EngineChoice::Auto);
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let traffic = &case.traffic;
    let prepared =
        Prepared::new(&case.policy, &case.site, traffic, &selector, &mut Memo::default());
    let arrangement = Arrangement::new(traffic, placement, &steps_us);
    let mut slow = Decisions::default();
    let going = || false;
    reference::replay(&prepared, traffic, &selector, &arrangement, variant, &going, &mut slow);
    let shared = Shared::default();
    let (prepared, arrangement, shared) = (&prepared, &arrangement, &shared);
    let round = Round { prepared, traffic, arrangement, shared };
    let quick = fast::replay(round, &selector, variant, Detail::Figures, &going).unwrap();
    (slow.sorted(), Decisions::of_fast(&quick))
}

/// Which engine the plan chooses.
fn planned(case: &Case) -> Result<(), (usize, plan::Reason)> {
    plan::fast(&case.policy, &case.site)
}

#[test]
fn the_fast_engine_decides_as_the_reference_does() {
    let cases = std::env::var("SHADOWCAP_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(CASES);
    // what the plan keeps from the fast engine doesn't count
    let max_global_rejects = cases * 9;
    let config =
        Config { cases, max_global_rejects, failure_persistence: None, ..Config::default() };
    let done = TestRunner::new(config).run(&any_case(), |case| {
        if planned(&case).is_err() {
            return Err(TestCaseError::reject("not for the fast engine"));
        }
        let base =
            Variant { drop_already_refused: case.drop_already_refused, ..Variant::default() };
        for placement in Placement::ALL {
            for variant in [base, Variant { seed: 3, no_reclaim: true, ..base }] {
                let (slow, quick) = decisions(&case, placement, &variant);
                prop_assert_eq!(&slow, &quick, "{:?} {:?}", placement, variant);
            }
        }
        // the figures made of them, brackets and all
        let (labels, steps_us) = (LabelIndex::new(&[]), [case.step_us]);
        let run = |engine| {
            replay(&scene(&case, &labels, &steps_us, engine), &case.policy, &|| false).unwrap()
        };
        let (slow, quick) = (run(EngineChoice::Reference), run(EngineChoice::Fast));
        prop_assert_eq!((slow.engine, quick.engine), (Engine::Reference, Engine::Fast));
        prop_assert_eq!(&slow.base, &quick.base);
        prop_assert_eq!(&slow.reclaim_differs, &quick.reclaim_differs);
        prop_assert_eq!(&slow.varied, &quick.varied);
        Ok(())
    });
    done.unwrap();
}
