//! No replay of generated traffic through a generated policy spends more than the coverage rule says it can.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use rust_decimal::Decimal;

use crate::limiter::Limiter;
use crate::limiter::nginx::{Delay, Nginx};
use crate::policy::coverage::{self, Ground};
use crate::site::facts::{Action, Balance};
use crate::site::labels::LabelIndex;
use crate::site::matching::{Match, StatusRange};
use crate::site::route::{Route, RoutePath};
use crate::traffic::NONE;

use super::super::plan::EngineChoice;
use super::super::run::{Scene, replay};
use super::cases::{CLIENTS, Case, INSTANCES, ROUTES, any_case};
use super::scene;

const CASES: u32 = 20_000;

/// The paid requests: a route or all, with a class of status or any.
fn any_action() -> impl Strategy<Value = Action> {
    let route = prop::option::weighted(0.5, 0_usize..2);
    let status = select(vec![None, Some(200), Some(400)]);
    (route, status).prop_map(|(route, first)| {
        let status = first.map(|first| StatusRange { first, last: first + 99 });
        let matching = Match {
            route: route.into_iter().collect(),
            status: status.into_iter().collect(),
            ..Match::default()
        };
        action(matching)
    })
}

fn action(matching: Match) -> Action {
    Action {
        name: "paid".to_owned(),
        matching,
        unit_cost: Some(Decimal::ONE),
        prices: Vec::new(),
        priced_key: None,
        currency: "USD".to_owned(),
        units_max: 1,
        dedupe: None,
        provider_quota: None,
        response_us: None,
    }
}

/// A case whose figures a bound is about: what the site says of keys and instances is true, no limit
/// expires, and nothing waits behind a limit that counts.
fn settled(mut case: Case, action: Action) -> Option<Case> {
    let single = case.policy.limits.len() == 1;
    for limit in &mut case.policy.limits {
        limit.expires_us = None;
        if let Limiter::Nginx(nginx) = &limit.limiter
            && !single
        {
            limit.limiter = Limiter::Nginx(Nginx { delay: Delay::None, ..*nginx });
        }
        if limit.queue.is_some() && !single {
            return None;
        }
    }
    for address in &mut case.traffic.events.addresses {
        if *address == NONE {
            *address = 0;
        }
    }
    for tier in &mut case.site.tiers {
        if tier.balance == Some(Balance::Observed) {
            tier.instances_max = tier.instances.max(INSTANCES.into());
        }
    }
    let route = |n: u32| Route::new(format!("route{n}"), Vec::new(), Vec::new(), RoutePath::Any);
    case.site.routes = (0..ROUTES).map(|n| route(n).unwrap()).collect();
    case.site.keys_available = [("ip".to_owned(), CLIENTS.into())].into();
    case.site.actions = vec![action];
    Some(case)
}

#[test]
fn no_chain_admits_more_than_its_bound() {
    let config = Config {
        cases: CASES,
        max_global_rejects: CASES * 9,
        failure_persistence: None,
        ..Config::default()
    };
    let quarters = select(vec![1_i64, 2, 4, 5, 9, 20]);
    let mut bounded_cases = 0_u32;
    let counted = std::cell::RefCell::new(&mut bounded_cases);
    let done = TestRunner::new(config).run(
        &(any_case(), any_action(), quarters, 1_i64..100),
        |(case, action, quarters, odd)| {
            let Some(case) = settled(case, action) else {
                return Err(TestCaseError::reject("something waits"));
            };
            let ground = Ground { policy: &case.policy, site: Some(&case.site), now_us: None };
            let horizon_us = quarters * 100 + odd;
            let paid = &case.site.actions[0];
            let Some(most) = coverage::requests(&ground, paid, horizon_us) else { return Ok(()) };
            **counted.borrow_mut() += 1;
            let (labels, steps_us) = (LabelIndex::new(&[]), [1]);
            let scene =
                Scene { horizon_us, ..scene(&case, &labels, &steps_us, EngineChoice::Reference) };
            let replayed = replay(&scene, &case.policy, &|| false).unwrap();
            let spend = &replayed.base.spends[0];
            let worst = spend.worst_in(horizon_us).unwrap();
            prop_assert!(worst.hi <= most, "{} of {most} in {horizon_us}", worst.hi);
            Ok(())
        },
    );
    done.unwrap();
    assert!(bounded_cases > CASES / 5, "only {bounded_cases} cases had a bound");
}
