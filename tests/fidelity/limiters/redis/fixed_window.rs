//! `INCR`, and `PEXPIRE` at a key's first hit.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{Asked, Set};

/// Sets of parameters: limit, window in milliseconds, keys, decisions.
const SETS: [(u64, i64, u32, u64); 4] =
    [(5, 20, 120, 36_000), (1, 2, 20, 30_000), (3, 5, 10, 30_000), (60, 60, 20, 30_000)];
#[test]
fn a_window_opens_at_the_first_hit_and_ends_after_its_last_millisecond() {
    let Some(asked) = Asked::find() else { return };
    let sets = SETS.map(|(limit, window_ms, keys, decisions)| {
        let window = Window::FirstRequest { us: window_ms * 1_000, boundary: Boundary::Closed };
        Set {
            limiter: Limiter::FixedWindow(FixedWindow { limit, window, count_refused: true }),
            tick_us: 1_000,
            arguments: vec![limit.to_string(), window_ms.to_string()],
            keys,
            decisions,
            gap_us: window_ms * 1_000,
        }
    });
    asked.confirm("redis-incr-pexpire", "fixed_window.lua", &sets);
}
