//! The critical limit refuses nothing, and one less refuses something.

use proptest::prelude::*;

use super::*;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::properties::START_US;
use crate::limiter::properties::subjects::any_subject;
use crate::limiter::spacing::Spacing;

/// The critical limit of requests: (instant, weight, until when they are in flight).
struct Of<'a>(&'a [(i64, u64, i64)]);

impl SizingVisitor for Of<'_> {
    type Output = u64;

    fn visit<A: Critical>(self, open: &A) -> u64
    where
        A::State: Send,
    {
        let mut state = open.fresh();
        let mut most = 0;
        let mut in_flight: Vec<(i64, u64)> = Vec::new();
        for (at_us, weight, end_us) in self.0 {
            in_flight.retain(|(end_us, held)| {
                if end_us <= at_us {
                    open.complete(&mut state, *end_us, *held);
                }
                end_us > at_us
            });
            most = most.max(open.size_for(open.demand(&mut state, *at_us, *weight)));
            in_flight.push((*end_us, *weight));
        }
        most
    }
}

/// Which requests a limiter refuses.
fn refused(limiter: &Limiter, requests: &[(i64, u64, i64)]) -> usize {
    let mut state = limiter.fresh();
    let mut in_flight: Vec<(i64, u64)> = Vec::new();
    let mut refused = 0;
    for (at_us, weight, end_us) in requests {
        in_flight.retain(|(end_us, held)| {
            if end_us <= at_us {
                limiter.complete(&mut state, *end_us, *held);
            }
            end_us > at_us
        });
        if limiter.ask(&state, *at_us, *weight).admits() {
            limiter.charge(&mut state, *at_us, *weight);
            in_flight.push((*end_us, *weight));
        } else {
            limiter.charge_refused(&mut state, *at_us, *weight);
            refused += 1;
        }
    }
    refused
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn it_refuses_nothing_and_one_less_refuses_something(
        subject in any_subject(),
        steps in prop::collection::vec((0_i64..9, 0_i64..4, 1_u64..5, 1_i64..60), 1..60),
        same_weight in any::<bool>(),
    ) {
        let Ok(sizing) = Sizing::of(&subject.limiter) else { return Ok(()) };
        let mut at_us = START_US;
        let requests: Vec<(i64, u64, i64)> = steps
            .into_iter()
            .map(|(eighths, ticks, weight, duration)| {
                at_us += (eighths * subject.window_us / 8 / subject.tick_us + ticks) * subject.tick_us;
                let weight = if same_weight { 1 } else { weight };
                (at_us, weight, at_us + duration * subject.tick_us)
            })
            .collect();
        let critical = sizing.visit(Of(&requests));
        prop_assert_eq!(refused(&sizing.limiter(critical), &requests), 0, "{}", critical);
        if critical > 0 {
            prop_assert!(refused(&sizing.limiter(critical - 1), &requests) > 0, "{}", critical);
        }
        // what tells requests tells them at every size
        if sizing.tells_requests(same_weight) {
            for size in 0..critical {
                let needing = needing(&sizing, &requests, size);
                prop_assert_eq!(refused(&sizing.limiter(size), &requests), needing, "{}", size);
            }
        }
    }
}

/// How many requests need more than a size.
fn needing(sizing: &Sizing, requests: &[(i64, u64, i64)], size: u64) -> usize {
    struct Needing<'a>(&'a [(i64, u64, i64)], u64);
    impl SizingVisitor for Needing<'_> {
        type Output = usize;

        fn visit<A: Critical>(self, open: &A) -> usize
        where
            A::State: Send,
        {
            let mut state = open.fresh();
            let mut need = |(at_us, weight, _): &&(i64, u64, i64)| {
                open.size_for(open.demand(&mut state, *at_us, *weight)) > self.1
            };
            self.0.iter().filter(&mut need).count()
        }
    }
    sizing.visit(Needing(requests, size))
}

#[test]
fn nginx_needs_no_burst_for_requests_a_whole_interval_apart() {
    let nginx =
        |rate_milli| Nginx { rate_milli, burst: 99, delay: Delay::All, reclaim: Reclaim::Busy };
    let sizing = |rate_milli| Sizing::of(&Limiter::Nginx(nginx(rate_milli))).unwrap();
    let apart: Vec<(i64, u64, i64)> = (0..20).map(|k| (k * 100_000, 1, 0)).collect();
    assert_eq!(sizing(10_000).visit(Of(&apart)), 0);
    // 7r/m is 116 thousandths a second, so a seventh of a minute apart is too fast, truncated or not
    let sevenths: Vec<(i64, u64, i64)> = (0..70).map(|k| (k * 60_000_000 / 7, 1, 0)).collect();
    assert_eq!(sizing(116).visit(Of(&sevenths)), 1);
    assert_eq!(sizing(117).visit(Of(&sevenths)), 0);
    let at_once = vec![(0, 1, 0); 8];
    assert_eq!(sizing(133).visit(Of(&at_once)), 7);
    // what it refuses by is what was asked for, its delay included
    assert_eq!(sizing(133).limiter(7), Limiter::Nginx(Nginx { burst: 7, ..nginx(133) }));
}

#[test]
fn what_refuses_nothing_or_all_has_no_size() {
    let spacing = Limiter::Spacing(Spacing { min_time_us: 5, max_concurrent: None });
    assert_eq!(Sizing::of(&spacing), Err(Unsized::RefusesNothing));
    assert_eq!(Sizing::size_of(&spacing), None);
    let block = Limiter::Block(crate::limiter::block::Block);
    assert_eq!(Sizing::of(&block), Err(Unsized::RefusesAll));
    let until_full = Limiter::FixedWindow(FixedWindow {
        limit: 3,
        window: Window::FirstRequest { us: 5, boundary: Boundary::UntilFull },
        count_refused: false,
    });
    assert_eq!(Sizing::of(&until_full), Err(Unsized::WindowsEndWhenFull));
}
