//! Two counters on the clock, the last one fading out, exactly or in whole requests.

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use shadowcap_engine::units::zone::Zone;

use super::{Asked, Set};

/// Sets of parameters: limit, window and tick in microseconds, whether refused requests count, keys,
/// decisions.
const SETS: [(u64, i64, i64, bool, u32, u64); 4] = [
    (5, 20_000, 1_000, false, 120, 30_000),
    (5, 20_000, 1_000, true, 120, 30_000),
    (30, 30_000, 1_000, false, 30, 30_000),
    (4, 1_000, 1, false, 12, 36_000),
];

fn agrees(name: &str, word: &str, estimate: Estimate) {
    let Some(asked) = Asked::find() else { return };
    let sets = SETS.map(|(limit, window_us, tick_us, count_refused, keys, decisions)| Set {
        limiter: Limiter::SlidingCounter(SlidingCounter {
            limit,
            window_us,
            estimate,
            anchor: Anchor::Clock(Zone::UTC),
            count_refused,
        }),
        tick_us,
        arguments: vec![
            limit.to_string(),
            (window_us / tick_us).to_string(),
            tick_us.to_string(),
            word.to_owned(),
            u8::from(count_refused).to_string(),
        ],
        keys,
        decisions,
        gap_us: window_us,
    });
    asked.confirm(name, "sliding_counter.lua", &sets);
}

#[test]
fn the_last_window_fades_out_in_whole_requests() {
    agrees("redis-sliding-counter-floored", "floored", Estimate::Floored);
}

#[test]
fn the_last_window_fades_out_exactly() {
    agrees("redis-sliding-counter-interpolated", "interpolated", Estimate::Interpolated);
}
