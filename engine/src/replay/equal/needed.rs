//! Each entry of the plan's list is needed: the plan names it, and without it the engines would differ.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::policy::Policy;
use crate::policy::read::read;
use crate::replay::arrangement::Placement;
use crate::replay::plan::{self, Engine, EngineChoice, Reason, fast};
use crate::replay::run::Scene;
use crate::replay::variant::Variant;
use crate::site::Site;
use crate::site::labels::LabelIndex;
use crate::traffic::Traffic;

use super::cases::any_case;
use super::{decisions, planned};

/// What a case that the engines decide differently fails with.
const DIFFERS: &str = "the engines differ";

/// Looks for a case that the plan keeps from the fast engine for this reason and whose decisions would
/// be others there.
fn is_needed(reason: Reason) {
    let config = Config {
        cases: 60_000,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let found = runner.run(&any_case(), |case| {
        if planned(&case).is_err_and(|(_, why)| why == reason) {
            let (slow, quick) = decisions(&case, Placement::Bunched, &Variant::default());
            if slow != quick {
                return Err(TestCaseError::fail(DIFFERS));
            }
        }
        Ok(())
    });
    let differs =
        |found: &_| matches!(found, Err(TestError::Fail(why, _)) if why.message() == DIFFERS);
    assert!(differs(&found), "{reason:?}: no case differs, but {found:?}");
}

#[test]
fn queues_need_the_reference() {
    is_needed(Reason::Queue);
}

#[test]
fn slots_before_other_limits_need_the_reference() {
    is_needed(Reason::InFlight);
}

#[test]
fn counting_by_response_before_other_limits_needs_the_reference() {
    is_needed(Reason::CountWhen);
}

#[test]
fn delays_before_other_limits_need_the_reference() {
    is_needed(Reason::Delay);
}

#[test]
fn zones_of_limits_apart_need_the_reference() {
    is_needed(Reason::Zone);
}

#[test]
fn groups_that_charge_at_completion_need_the_reference() {
    is_needed(Reason::Group);
}

/// A policy of one limit.
fn of(nginx: &str) -> Policy {
    let text = format!(
        "name = \"one\"\n[[limit]]\nname = \"one\"\nkey = \"ip\"\nalgorithm = \"nginx\"\n{nginx}"
    );
    read(text.as_bytes(), "one.toml", &Site::default()).unwrap()
}

#[test]
fn delays_of_months_need_the_reference() {
    // 68,719 requests at 16 thousandths a second are 2³² ms
    let planned = |burst| {
        fast(&of(&format!("rate = \"1r/m\"\nburst = {burst}\ndelay = \"all\"\n")), &Site::default())
    };
    assert_eq!(planned(68_719), Ok(()));
    assert_eq!(planned(68_720), Err((0, Reason::LongDelay)));
}

#[test]
fn clients_that_react_need_the_reference() {
    let (site, traffic, labels) = (Site::default(), Traffic::default(), LabelIndex::new(&[]));
    let engine = |closed_loop, engine| {
        let scene = Scene {
            site: &site,
            traffic: &traffic,
            conditions: &[],
            labels: &labels,
            steps_us: &[],
            drop_already_refused: false,
            closed_loop,
            horizon_us: crate::units::span::DAY_US,
            engine,
        };
        plan::engine(&scene, &of("rate = \"1r/s\"\nburst = 5\n"))
    };
    assert_eq!(engine(false, EngineChoice::Auto), Engine::Fast);
    assert_eq!(engine(true, EngineChoice::Auto), Engine::Reference);
    assert_eq!(engine(false, EngineChoice::Reference), Engine::Reference);
}
