//! No interval admits more than its bound, and the bounds that are called tight are reached.

use proptest::prelude::*;
use proptest::sample::select;

use super::subjects::{Subject, any_steady_subject, any_traffic};
use super::{Replay, START_US, replay};
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::limiter::{Algorithm, Bound, Boundary, Limiter};
use crate::units::rate::Rate;
use crate::units::span::{DAY_US, HOUR_US};
use crate::units::zone::{CalendarUnit, Zone};

/// What passes in so many ticks from `from_us` on if each tick sends until it is refused.
fn flood(replay: &mut Replay<'_>, from_us: i64, ticks: i64) -> u64 {
    let tick_us = replay.subject.tick_us;
    let mut passed = 0;
    for tick in 0..ticks {
        while replay.request(from_us + tick * tick_us, 1, 1) {
            passed += 1;
        }
    }
    passed
}

/// The bound over so many ticks of one microsecond.
fn bound(limiter: &Limiter, ticks: i64) -> u64 {
    match limiter.bound(ticks, 1) {
        Bound::AtMost(most) => most,
        Bound::Unbounded => u64::MAX,
    }
}

fn subject(limiter: Limiter, window_us: i64) -> Subject {
    Subject::of(limiter, window_us, 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_interval_admits_more_than_its_bound(
        subject in any_steady_subject(),
        traffic in any_traffic(1..40),
    ) {
        let decisions = replay(&subject, &traffic, START_US / 350 * 350);
        let passed: Vec<_> = decisions.into_iter().filter(|decision| decision.admitted).collect();
        for (index, first) in passed.iter().enumerate() {
            let mut sum = 0;
            for last in &passed[index..] {
                sum += last.weight;
                let horizon_us = last.at_us - first.at_us + subject.tick_us;
                if let Bound::AtMost(most) = subject.limiter.bound(horizon_us, subject.tick_us) {
                    prop_assert!(sum <= most, "{sum} in {horizon_us}, bound {most}");
                }
            }
        }
    }

    #[test]
    fn floods_reach_the_bound_of_a_clock_window(
        limit in 0_u64..6, us in 1_i64..30, ticks in 1_i64..100,
    ) {
        let window = Window::Clock { us, zone: Zone::UTC };
        let limiter = Limiter::FixedWindow(FixedWindow { limit, window, count_refused: false });
        let subject = subject(limiter, us);
        // from the last tick of a window on
        let from_us = START_US.div_euclid(us) * us - 1;
        let passed = flood(&mut Replay::new(&subject, from_us), from_us, ticks);
        prop_assert_eq!(passed, bound(&subject.limiter, ticks));
    }

    #[test]
    fn floods_reach_the_bound_of_a_window_from_the_first_request(
        limit in 0_u64..6,
        us in 1_i64..30,
        boundary in select(vec![Boundary::Open, Boundary::Closed, Boundary::UntilFull]),
        ticks in 1_i64..100,
    ) {
        let window = Window::FirstRequest { us, boundary };
        let limiter = Limiter::FixedWindow(FixedWindow { limit, window, count_refused: false });
        let subject = subject(limiter, us);
        let at_once = flood(&mut Replay::new(&subject, START_US), START_US, ticks);
        // or one request first, so early that the flood begins in the last tick of its window
        let mut opened = Replay::new(&subject, START_US);
        opened.request(START_US, 1, 1);
        let last_tick_us = START_US + us - i64::from(boundary == Boundary::Open);
        let after_one = flood(&mut opened, last_tick_us, ticks);
        prop_assert_eq!(at_once.max(after_one), bound(&subject.limiter, ticks));
    }

    #[test]
    fn floods_reach_the_bound_of_a_sliding_log(
        limit in 0_u64..6, window_us in 1_i64..30, closed in any::<bool>(), ticks in 1_i64..100,
    ) {
        let boundary = if closed { Boundary::Closed } else { Boundary::Open };
        let log = SlidingLog { limit, window_us, boundary, count_refused: false };
        let subject = subject(Limiter::SlidingLog(log), window_us);
        let passed = flood(&mut Replay::new(&subject, START_US), START_US, ticks);
        prop_assert_eq!(passed, bound(&subject.limiter, ticks));
    }

    // A bucket of one token loses what comes between the ticks, so floods reach these from two on.
    #[test]
    fn floods_reach_the_bound_of_a_continuous_bucket_and_of_gcra(
        burst in 2_u64..8, count in 1_u64..6, longer in 0_i64..50, ticks in 1_i64..200,
    ) {
        let rate = Rate { count, per_us: i64::try_from(count).unwrap() + longer };
        let bucket = TokenBucket { burst, refill: Refill::Continuous(rate) };
        let gcra = Gcra { rate, burst_total: burst };
        for limiter in [Limiter::TokenBucket(bucket), Limiter::Gcra(gcra)] {
            let subject = subject(limiter, rate.per_us);
            let passed = flood(&mut Replay::new(&subject, START_US), START_US, ticks);
            prop_assert_eq!(passed, bound(&subject.limiter, ticks), "{:?}", subject.limiter);
        }
    }

    #[test]
    fn floods_reach_the_bound_of_a_bucket_that_fills_in_steps(
        burst in 1_u64..8, fill in 1_u64..12, us in 1_i64..30, ticks in 1_i64..100,
    ) {
        let bucket = TokenBucket { burst, refill: Refill::Interval { fill, us } };
        let subject = subject(Limiter::TokenBucket(bucket), us);
        let mut replay = Replay::new(&subject, START_US);
        // one request sets the steps; full again, the flood begins a tick before the second step
        replay.request(START_US, 1, 1);
        let passed = flood(&mut replay, START_US + 2 * us - 1, ticks);
        prop_assert_eq!(passed, bound(&subject.limiter, ticks));
    }
}

/// When a window that lets one pass is opened anew by traffic each half hour of two years.
fn openings(window: Window) -> Vec<i64> {
    let limiter = FixedWindow { limit: 1, window, count_refused: false };
    let mut state = limiter.fresh();
    let half_hours = (0..2 * 365 * 48).map(|half| START_US + half * HOUR_US / 2);
    let opens = half_hours.filter(|at_us| {
        let admits = limiter.ask(&state, *at_us, 1).admits();
        if admits {
            limiter.charge(&mut state, *at_us, 1);
        }
        admits
    });
    // the first isn't where its window begins
    opens.skip(1).collect()
}

#[test]
fn floods_over_changes_of_the_offset_stay_within_the_bound() {
    for zone in ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/St_Johns"] {
        let zone = Zone::parse(zone).unwrap();
        let clock = |us| Window::Clock { us, zone };
        let calendar = |unit| Window::Calendar { unit, zone };
        let windows = [
            clock(HOUR_US),
            clock(5 * HOUR_US),
            clock(DAY_US),
            calendar(CalendarUnit::Day),
            calendar(CalendarUnit::Month),
        ];
        for window in windows {
            let opened = openings(window);
            for apart in [1, 2, 3, 10, 20] {
                // from the last microsecond of a window to the opening of the last of these
                let runs = opened.windows(apart).map(|run| run[apart - 1] - run[0]);
                let shortest_us = runs.min().unwrap() + 1;
                let limiter = FixedWindow { limit: 1, window, count_refused: false };
                let most = bound(&Limiter::FixedWindow(limiter), shortest_us + 1);
                assert!(most > u64::try_from(apart).unwrap(), "{window:?} {apart}: {most}");
            }
        }
    }
}
