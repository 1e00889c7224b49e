//! Two counters against hand-worked cases, and what real ones do at their edges.

use super::*;

fn counter(estimate: Estimate, anchor: Anchor, count_refused: bool) -> SlidingCounter {
    SlidingCounter { limit: 4, window_us: 100, estimate, anchor, count_refused }
}

fn haproxy(limit: u64, window_us: i64) -> SlidingCounter {
    let plain = counter(Estimate::Floored, Anchor::Stepped, true);
    SlidingCounter { limit, window_us, ..plain }
}

const CLOCK: Anchor = Anchor::Clock(Zone::UTC);

#[test]
fn the_last_window_fades_out_exactly_or_in_whole_requests() {
    let exact = counter(Estimate::Interpolated, CLOCK, false);
    let floored = counter(Estimate::Floored, CLOCK, false);
    let mut state = exact.fresh();
    exact.charge(&mut state, 50, 4);
    // at e = 24: 3.04 of 4 are left; at e = 25: 3.00; at e = 1: 3.96
    assert_eq!(exact.ask(&state, 124, 1), Verdict::Refuse);
    assert_eq!(exact.ask(&state, 125, 1), Verdict::Pass);
    assert_eq!(exact.ready(&state, 60, 1), Ready::At(125));
    assert_eq!(floored.ask(&state, 100, 1), Verdict::Refuse);
    assert_eq!(floored.ask(&state, 101, 1), Verdict::Pass);
    assert_eq!(floored.ready(&state, 60, 1), Ready::At(101));
    assert_eq!(exact.level(&state, 124), Level { used_milli: 3_040, of_milli: 4_000 });
    assert_eq!(floored.level(&state, 124).used_milli, 3_000);
    // all four: exact only when nothing is left, floored when less than one is
    assert_eq!(exact.ready(&state, 60, 4), Ready::At(200));
    assert_eq!(floored.ready(&state, 60, 4), Ready::At(176));
    assert_eq!(exact.ready(&state, 60, 5), Ready::Never);
}

#[test]
fn steps_begin_at_the_first_hit_and_anew_after_two_windows() {
    let stepped = counter(Estimate::Interpolated, Anchor::Stepped, false);
    let mut state = stepped.fresh();
    stepped.charge(&mut state, 30, 3);
    stepped.charge(&mut state, 229, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(130), 1, 3));
    stepped.charge_refused(&mut state, 230, 4);
    assert_eq!((state.window, state.current, state.previous), (Some(230), 0, 1));
    stepped.charge(&mut state, 430, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(430), 1, 0));
}

#[test]
fn windows_of_redis_keep_their_last_instant() {
    let redis = counter(Estimate::Floored, Anchor::Stepped, false);
    let mut state = redis.fresh();
    redis.charge(&mut state, 30, 4);
    // at exactly a window's age the fourth still counts in full, an instant later it fades
    assert_eq!(redis.ask(&state, 130, 1), Verdict::Refuse);
    assert_eq!(redis.ask(&state, 131, 1), Verdict::Pass);
    assert_eq!(redis.ready(&state, 60, 1), Ready::At(131));
    assert_eq!(redis.ask(&state, 229, 4), Verdict::Pass);
    // at exactly two windows' age its key is still there, and gone an instant later
    assert_eq!(redis.ask(&state, 230, 1), Verdict::Refuse);
    assert_eq!(redis.ready(&state, 230, 4), Ready::At(231));
    redis.charge(&mut state, 230, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(30), 5, 0));
    redis.charge(&mut state, 231, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(231), 1, 0));
    // what could never pass is refused without a look
    redis.charge_refused(&mut state, 350, 5);
    assert_eq!((state.window, state.current, state.previous), (Some(231), 1, 0));
    redis.charge_refused(&mut state, 350, 4);
    assert_eq!((state.window, state.current, state.previous), (Some(331), 0, 1));
}

#[test]
fn windows_of_haproxy_begin_at_even_milliseconds() {
    let haproxy = haproxy(4, 7_000);
    let mut state = haproxy.fresh();
    haproxy.charge(&mut state, 5_000, 1);
    assert_eq!(state.window, Some(4_000));
    haproxy.charge(&mut state, 10_000, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(4_000), 2, 0));
    // 11 is odd: an odd period is a millisecond shorter each other time
    haproxy.charge(&mut state, 11_000, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(10_000), 1, 2));
    haproxy.charge(&mut state, 25_000, 1);
    assert_eq!((state.window, state.current, state.previous), (Some(24_000), 1, 0));
}

#[test]
fn counted_refusals_hold_a_steady_offender() {
    let haproxy = haproxy(4, 100_000);
    assert_eq!(haproxy.tick_us(), 1_000);
    let mut state = haproxy.fresh();
    let mut passed = 0;
    for t_us in (0..10_000_000).step_by(10_000) {
        if haproxy.ask(&state, t_us, 1).admits() {
            haproxy.charge(&mut state, t_us, 1);
            passed += 1;
        } else {
            haproxy.charge_refused(&mut state, t_us, 1);
        }
    }
    assert_eq!(passed, 4);
}

#[test]
fn large_counts_do_not_overflow() {
    let huge = SlidingCounter {
        limit: u64::MAX,
        window_us: i64::MAX,
        ..counter(Estimate::Interpolated, CLOCK, false)
    };
    let mut state = huge.fresh();
    huge.charge(&mut state, 0, u64::MAX);
    assert_eq!(huge.ask(&state, 1, 1), Verdict::Refuse);
    assert_eq!(huge.ready(&state, 1, 0), Ready::At(1));
}

#[test]
fn the_bound_is_that_of_plain_windows() {
    assert_eq!(counter(Estimate::Floored, CLOCK, false).bound(2, 1), Bound::AtMost(8));
    let stepped = counter(Estimate::Interpolated, Anchor::Stepped, true);
    assert_eq!(stepped.bound(101, 1), Bound::AtMost(8));
    assert_eq!(stepped.bound(102, 1), Bound::AtMost(12));
    // windows of 7 ms can begin 6 ms apart; of 1 ms HAProxy never moves on
    assert_eq!(haproxy(4, 8_000).bound(9_000, 1_000), Bound::AtMost(8));
    assert_eq!(haproxy(4, 7_000).bound(6_000, 1_000), Bound::AtMost(12));
    assert_eq!(haproxy(4, 1_000).bound(1_000, 1_000), Bound::Unbounded);
}
