//! All arrivals in a few ticks, none left out: no interval admits more than its bound, the bounds that are
//! called tight are reached, and a chain of two admits no more than either.

use super::START_US;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::limiter::{Algorithm, Bound, Boundary, Limiter, State};
use crate::units::rate::Rate;
use crate::units::zone::Zone;

/// Ticks of one microsecond in which requests come.
const TICKS: usize = 8;
/// The most requests of a tick: as many as any limit here.
const MOST: u32 = 2;

fn fixed(limit: u64, window: Window) -> Limiter {
    Limiter::FixedWindow(FixedWindow { limit, window, count_refused: false })
}

/// Limiters, and whether their bound is tight.
fn limiters() -> Vec<(Limiter, bool)> {
    let clock = |us| Window::Clock { us, zone: Zone::UTC };
    let opened = |us, boundary| Window::FirstRequest { us, boundary };
    let log = |limit, window_us, boundary, count_refused| {
        Limiter::SlidingLog(SlidingLog { limit, window_us, boundary, count_refused })
    };
    let rate = |per_us| Rate { count: 1, per_us };
    let counter = |estimate| {
        Limiter::SlidingCounter(SlidingCounter {
            limit: 2,
            window_us: 3,
            estimate,
            anchor: Anchor::Clock(Zone::UTC),
            count_refused: false,
        })
    };
    vec![
        (fixed(1, clock(3)), true),
        (fixed(2, clock(2)), true),
        (fixed(2, clock(3)), true),
        (fixed(2, opened(2, Boundary::Open)), true),
        (fixed(2, opened(2, Boundary::Closed)), true),
        (fixed(1, opened(3, Boundary::Open)), true),
        (log(1, 3, Boundary::Open, false), true),
        (log(2, 3, Boundary::Open, false), true),
        (log(2, 2, Boundary::Closed, false), true),
        (log(2, 3, Boundary::Open, true), true),
        (Limiter::TokenBucket(TokenBucket { burst: 2, refill: Refill::Continuous(rate(2)) }), true),
        (Limiter::TokenBucket(TokenBucket { burst: 2, refill: Refill::Continuous(rate(3)) }), true),
        (Limiter::Gcra(Gcra { rate: rate(2), burst_total: 2 }), true),
        (counter(Estimate::Floored), false),
        (counter(Estimate::Interpolated), false),
    ]
}

/// How many requests pass in each tick, by all of the limiters one after the other.
fn passed(chain: &[&Limiter], arrivals: &[u32; TICKS]) -> [u32; TICKS] {
    let mut states: Vec<State> = chain.iter().map(|limiter| limiter.fresh()).collect();
    let mut passed = [0; TICKS];
    for (tick, count) in arrivals.iter().enumerate() {
        let t_us = START_US + i64::try_from(tick).unwrap();
        for _ in 0..*count {
            let refused = chain.iter().zip(&mut states).any(|(limiter, state)| {
                let admits = limiter.ask(state, t_us, 1).admits();
                if admits {
                    limiter.charge(state, t_us, 1);
                } else if matches!(limiter, Limiter::SlidingLog(log) if log.count_refused) {
                    limiter.charge_refused(state, t_us, 1);
                }
                !admits
            });
            passed[tick] += u32::from(!refused);
        }
    }
    passed
}

/// Per length of an interval, in ticks from 1, the most that any arrivals get through.
fn most(chain: &[&Limiter]) -> [u64; TICKS] {
    let mut most = [0; TICKS];
    let mut arrivals = [0; TICKS];
    loop {
        let passed = passed(chain, &arrivals);
        for length in 1..=TICKS {
            let sums = passed.windows(length).map(|ticks| u64::from(ticks.iter().sum::<u32>()));
            most[length - 1] = most[length - 1].max(sums.max().unwrap());
        }
        // the next arrivals, as a number with a digit a tick
        let Some(tick) = arrivals.iter().position(|count| *count < MOST) else { return most };
        arrivals[tick] += 1;
        arrivals[..tick].fill(0);
    }
}

fn bound(limiter: &Limiter, ticks: usize) -> u64 {
    match limiter.bound(i64::try_from(ticks).unwrap(), 1) {
        Bound::AtMost(most) => most,
        Bound::Unbounded => u64::MAX,
    }
}

#[test]
fn all_arrivals_of_a_few_ticks_stay_within_the_bounds_and_reach_the_tight_ones() {
    for (limiter, tight) in limiters() {
        let most = most(&[&limiter]);
        // a state needs a few ticks before it is as bad as it gets
        for (length, most) in (1..=TICKS).zip(most) {
            let bound = bound(&limiter, length);
            assert!(most <= bound, "{limiter:?}: {most} of {bound} in {length}");
            if tight && length <= TICKS - 4 {
                assert_eq!(most, bound, "{limiter:?} in {length}");
            }
        }
    }
}

#[test]
fn a_chain_of_two_admits_no_more_than_either_may() {
    let limiters = limiters();
    for (first, _) in &limiters {
        for (second, _) in &limiters {
            let most = most(&[first, second]);
            for (length, most) in (1..=TICKS).zip(most) {
                let bound = bound(first, length).min(bound(second, length));
                assert!(most <= bound, "{first:?} {second:?}: {most} of {bound} in {length}");
            }
        }
    }
}

#[test]
fn aligned_intervals_admit_no_more_than_their_bound_and_reach_it() {
    for us in [2_i64, 3] {
        let limiter = fixed(2, Window::Clock { us, zone: Zone::UTC });
        let begin = usize::try_from((-START_US).rem_euclid(us)).unwrap();
        let all = passed(&[&limiter], &[MOST; TICKS]);
        for length in 1..=TICKS - begin {
            let Bound::AtMost(most) = limiter.bound_aligned(i64::try_from(length).unwrap(), 1)
            else {
                panic!("{limiter:?} has a bound")
            };
            let sum: u32 = all[begin..begin + length].iter().sum();
            assert_eq!(u64::from(sum), most, "{us} {length}");
        }
    }
}
