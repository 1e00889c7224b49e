//! More never means less: a higher limit, burst or rate never lowers how many have passed so far.
//!
//! It holds for requests of weight 1 under every algorithm, but for `spacing` with both a minimum time
//! and a number of slots and windows that end when full, and with weights where what counts doesn't depend on what was admitted, or
//! where windows are fixed by the clock. Elsewhere a heavy request that a higher limit admits can take
//! the room of lighter ones: see the last test.

use proptest::prelude::*;

use super::subjects::{Subject, any_given_subject, any_nginx, any_subject, any_traffic};
use super::{Decision, START_US, Step, replay};
use crate::limiter::fixed_window::Window;
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::Refill;
use crate::limiter::{Boundary, Limiter};

/// The same limiter with a higher limit or burst, and with a higher rate where it has one.
fn raised(limiter: &Limiter, more: u64, faster: u64) -> Limiter {
    let mut raised = limiter.clone();
    match &mut raised {
        Limiter::Nginx(nginx) => {
            nginx.burst += more;
            nginx.rate_milli *= faster;
        }
        Limiter::FixedWindow(fixed) => {
            // the limit decides when such a window ends, and so where the next ones are
            let shifts = |window| {
                matches!(window, Window::FirstRequest { boundary: Boundary::UntilFull, .. })
            };
            fixed.limit += if shifts(fixed.window) { 0 } else { more };
        }
        Limiter::SlidingLog(log) => log.limit += more,
        Limiter::SlidingCounter(counter) => counter.limit += more,
        Limiter::TokenBucket(bucket) => {
            bucket.burst += more;
            match &mut bucket.refill {
                Refill::Continuous(rate) => rate.count += faster - 1,
                Refill::Interval { fill, .. } => *fill += faster - 1,
            }
        }
        Limiter::Gcra(gcra) => {
            gcra.burst_total += more;
            gcra.rate.count += faster - 1;
        }
        Limiter::Spacing(spacing) => {
            // with both, one that starts sooner may hold a slot that a later one needs
            match &mut spacing.max_concurrent {
                Some(most) => *most += if spacing.min_time_us == 0 { more } else { 0 },
                None => spacing.min_time_us /= i64::try_from(faster).unwrap(),
            }
        }
        Limiter::Concurrency(slots) => slots.limit += more,
        Limiter::AwsWaf(waf) => waf.limit += more,
        Limiter::Block(_) => {}
    }
    raised
}

/// What has passed after each request, by weight.
fn passed(decisions: &[Decision]) -> Vec<u64> {
    let sum = |sum: &mut u64, decision: &Decision| {
        *sum += if decision.admitted { decision.weight } else { 0 };
        Some(*sum)
    };
    decisions.iter().scan(0, sum).collect()
}

fn never_lower(
    subject: &Subject,
    traffic: &[Step],
    more: u64,
    faster: u64,
) -> Result<(), TestCaseError> {
    let generous = Subject { limiter: raised(&subject.limiter, more, faster), ..subject.clone() };
    let strict = passed(&replay(subject, traffic, START_US));
    let generous = passed(&replay(&generous, traffic, START_US));
    let lower = generous.iter().zip(&strict).position(|(generous, strict)| generous < strict);
    prop_assert_eq!(lower, None, "{:?} against {:?}", strict, generous);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn more_never_lowers_how_many_have_passed(
        mut subject in any_subject(),
        traffic in any_traffic(1..80),
        more in 0_u64..4,
        faster in 1_u64..4,
    ) {
        subject.unit_weights = true;
        never_lower(&subject, &traffic, more, faster)?;
    }

    #[test]
    fn more_never_lowers_what_has_passed_by_weight_where_counts_or_windows_are_given(
        subject in any_given_subject(),
        traffic in any_traffic(1..60),
        more in 0_u64..4,
    ) {
        never_lower(&subject, &traffic, more, 1)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    // nginx truncates what leaks at each charge, by under a thousandth of a request: see that a few
    // thousand of them don't add up to one
    #[test]
    fn more_never_lowers_how_many_nginx_has_passed_in_long_runs_either(
        mut subject in any_nginx(),
        traffic in any_traffic(3_000..5_000),
        more in 0_u64..4,
        faster in 1_u64..3,
    ) {
        subject.unit_weights = true;
        never_lower(&subject, &traffic, more, faster)?;
    }
}

#[test]
fn with_weights_a_higher_limit_can_lower_what_has_passed() {
    let log = |limit| SlidingLog {
        limit,
        window_us: 100,
        boundary: Boundary::Open,
        count_refused: false,
    };
    let at = |ticks, weight| Step { quarters: 0, ticks, weight, duration: 1 };
    // 5 has no room for the 4 while it remembers the 2 that 4 refused
    let traffic = [at(0, 3), at(50, 2), at(50, 4)];
    let of = |limit| {
        let subject = Subject::of(Limiter::SlidingLog(log(limit)), 100, 1);
        passed(&replay(&subject, &traffic, START_US))
    };
    assert_eq!((of(4), of(5)), (vec![3, 3, 7], vec![3, 5, 5]));
}
