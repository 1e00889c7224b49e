//! `limits` in memory.

use std::process::Command;

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use shadowcap_engine::limiter::sliding_log::SlidingLog;
use shadowcap_engine::limiter::{Boundary, Limiter};
use shadowcap_engine::units::zone::Zone;

use super::python;
use crate::decisions::{here, run};
use crate::judge::Agreement;

/// A second, microseconds.
const SECOND_US: i64 = 1_000_000;
/// A 64th of a second, microseconds: with a window of a power of two seconds nothing that `limits` computes
/// in floating seconds is rounded.
const EXACT_US: i64 = 15_625;

/// Decisions that the floats may leave open, of a thousand.
const MOST_OPEN_PERMILLE: u64 = 40;

/// One limiter of one strategy.
struct Set {
    limit: u64,
    window_s: i64,
    keys: u32,
    decisions: u32,
    /// Times are multiples of this, microseconds.
    grid_us: i64,
    /// How far its arithmetic may take a time to either side, microseconds.
    open_us: i64,
}

fn set(limit: u64, window_s: i64, keys: u32, grid_us: i64, open_us: i64) -> Set {
    Set { limit, window_s, keys, decisions: 35_000, grid_us, open_us }
}

fn agrees(name: &str, strategy: &str, sets: &[Set], limiter: impl Fn(u64, i64) -> Limiter) {
    let Some(python) = python() else { return };
    let mut agreement = Agreement::new(name);
    for (seed, set) in sets.iter().enumerate() {
        let mut command = Command::new(python);
        command.arg(here("limits/memory.py")).arg(strategy).arg(set.limit.to_string());
        command.arg(set.window_s.to_string()).arg(seed.to_string());
        command.args([set.decisions, set.keys].map(|number| number.to_string()));
        command.args([set.grid_us, set.open_us].map(|number| number.to_string()));
        let model = limiter(set.limit, set.window_s * SECOND_US);
        agreement.judge(&model, set.grid_us, &run(vec![command]));
    }
    agreement.confirm(500);
    assert!(agreement.open_permille() <= MOST_OPEN_PERMILLE);
}

#[test]
fn a_fixed_window_opens_anew_exactly_a_window_later() {
    let sets = [set(5, 60, 20, 1, 0), set(1, 1, 3, 1, 0), set(30, 3_600, 10, 1, 0)];
    agrees("limits-memory-fixed", "fixed-window", &sets, |limit, us| {
        let window = Window::FirstRequest { us, boundary: Boundary::Open };
        Limiter::FixedWindow(FixedWindow { limit, window, count_refused: true })
    });
}

#[test]
fn a_moving_window_holds_what_is_exactly_a_window_old() {
    let sets = [set(5, 60, 20, 1, 0), set(1, 1, 3, 1, 0), set(30, 3_600, 10, 1, 0)];
    agrees("limits-memory-moving", "moving-window", &sets, |limit, window_us| {
        let boundary = Boundary::Closed;
        Limiter::SlidingLog(SlidingLog { limit, window_us, boundary, count_refused: false })
    });
}

#[test]
fn a_sliding_counter_fades_out_in_whole_requests_on_the_clock() {
    let sets = [
        set(5, 64, 20, EXACT_US, 0),
        set(40, 256, 10, EXACT_US, 0),
        // here a float of seconds is less than a microsecond off
        set(5, 60, 20, 1, 1),
    ];
    agrees("limits-memory-counter", "sliding-window-counter", &sets, |limit, window_us| {
        Limiter::SlidingCounter(SlidingCounter {
            limit,
            window_us,
            estimate: Estimate::Floored,
            anchor: Anchor::Clock(Zone::UTC),
            count_refused: false,
        })
    });
}
