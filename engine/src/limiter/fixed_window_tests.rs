//! Fixed windows at their edges: where they begin, what opens them, how many an interval meets.

use super::*;
use crate::units::span::{DAY_US, HOUR_US};
use crate::units::time::parse_rfc3339;

fn first_request(limit: u64, boundary: Boundary) -> FixedWindow {
    let window = Window::FirstRequest { us: 100, boundary };
    FixedWindow { limit, window, count_refused: false }
}

fn clock(limit: u64, us: i64) -> FixedWindow {
    FixedWindow { limit, window: Window::Clock { us, zone: Zone::UTC }, count_refused: false }
}

/// Asks at instants with weight 1 and charges what is admitted.
fn admitted(window: &FixedWindow, at_us: &[i64]) -> Vec<bool> {
    let mut state = window.fresh();
    let step = |t_us: &i64| {
        let admits = window.ask(&state, *t_us, 1).admits();
        if admits {
            window.charge(&mut state, *t_us, 1);
        }
        admits
    };
    at_us.iter().map(step).collect()
}

#[test]
fn clock_windows_begin_at_multiples_and_let_two_limits_pass_around_one() {
    let window = clock(2, 100);
    assert_eq!(
        admitted(&window, &[98, 99, 99, 100, 101, 199, 200]),
        [true, true, false, true, true, false, true]
    );
    assert_eq!(admitted(&window, &[-1, -1, -1, 0]), [true, true, false, true]);
}

#[test]
fn a_window_from_the_first_request_ends_as_its_boundary_says() {
    let at = [1_000, 1_099, 1_100, 1_101];
    let open = first_request(1, Boundary::Open);
    assert_eq!(admitted(&open, &at), [true, false, true, false]);
    let closed = first_request(1, Boundary::Closed);
    assert_eq!(admitted(&closed, &at), [true, false, false, true]);
    let mut state = open.fresh();
    open.charge(&mut state, 1_000, 1);
    assert_eq!(open.ready(&state, 1_050, 1), Ready::At(1_100));
    assert_eq!(closed.ready(&state, 1_050, 1), Ready::At(1_101));
    // the second at 1,100 still finds room in the old window, the third finds it full
    let until_full = first_request(2, Boundary::UntilFull);
    let at = [1_000, 1_100, 1_100, 1_100, 1_100, 1_199, 1_200];
    let expected = [true, true, true, true, false, false, true];
    assert_eq!(admitted(&until_full, &at), expected);
    assert_eq!(until_full.ready(&state, 1_050, 2), Ready::At(1_101));
    open.charge(&mut state, 1_000, 1);
    assert_eq!(until_full.ready(&state, 1_050, 2), Ready::At(1_100));
}

#[test]
fn a_refused_request_opens_no_window_unless_it_counts() {
    let window = first_request(2, Boundary::Open);
    let mut state = window.fresh();
    window.charge_refused(&mut state, 0, 3);
    assert_eq!(state, window.fresh());
    let counting = FixedWindow { count_refused: true, ..window };
    counting.charge_refused(&mut state, 0, 3);
    assert_eq!(counting.ask(&state, 99, 1), Verdict::Refuse);
    assert_eq!(counting.ready(&state, 50, 1), Ready::At(100));
    assert_eq!(counting.ready(&state, 50, 3), Ready::Never);
    assert_eq!(counting.level(&state, 50), Level { used_milli: 3_000, of_milli: 2_000 });
    assert_eq!(counting.level(&state, 100).used_milli, 0);
}

#[test]
fn days_follow_the_zone() {
    let zone = Zone::parse("Asia/Kolkata").unwrap();
    let window = Window::Calendar { unit: CalendarUnit::Day, zone };
    let daily = FixedWindow { limit: 1, window, count_refused: false };
    let midnight = parse_rfc3339("2026-11-24T18:30:00Z").unwrap();
    let at = [midnight - 1, midnight, midnight + DAY_US - 1, midnight + DAY_US];
    assert_eq!(admitted(&daily, &at), [true, true, false, true]);
    let mut state = daily.fresh();
    daily.charge(&mut state, midnight, 1);
    assert_eq!(daily.ready(&state, midnight + HOUR_US, 1), Ready::At(midnight + DAY_US));
    assert_eq!(daily.bound(DAY_US + 2, 1), Bound::AtMost(3));
}

#[test]
fn hours_of_a_zone_begin_at_its_hours() {
    let zone = Zone::parse("Asia/Kolkata").unwrap();
    let window = FixedWindow { window: Window::Clock { us: HOUR_US, zone }, ..clock(1, 1) };
    let half_past = parse_rfc3339("2026-01-01T10:30:00Z").unwrap();
    assert_eq!(admitted(&window, &[half_past - 1, half_past, half_past + 1]), [true, true, false]);
}

#[test]
fn bounds_in_ticks() {
    assert_eq!(clock(10, 100).bound(1, 1), Bound::AtMost(10));
    assert_eq!(clock(10, 100).bound(2, 1), Bound::AtMost(20));
    assert_eq!(clock(10, 100).bound(101, 1), Bound::AtMost(20));
    assert_eq!(clock(10, 100).bound(102, 1), Bound::AtMost(30));
    assert_eq!(clock(10, 100).bound(100, 100), Bound::AtMost(10));
    let open = first_request(10, Boundary::Open);
    for (ticks, most) in [(1, 10), (2, 19), (100, 19), (101, 20), (102, 29)] {
        assert_eq!(open.bound(ticks, 1), Bound::AtMost(most), "{ticks}");
    }
    let closed = first_request(10, Boundary::Closed);
    assert_eq!(closed.bound(102, 1), Bound::AtMost(20));
    assert_eq!(closed.bound(103, 1), Bound::AtMost(29));
    let until_full = first_request(10, Boundary::UntilFull);
    for (ticks, most) in [(1, 19), (100, 19), (101, 29)] {
        assert_eq!(until_full.bound(ticks, 1), Bound::AtMost(most), "{ticks}");
    }
    // a clock of another step never shows the end
    assert_eq!(until_full.bound(7, 7), Bound::AtMost(10));
    assert_eq!(first_request(0, Boundary::Open).bound(500, 1), Bound::AtMost(0));
}
