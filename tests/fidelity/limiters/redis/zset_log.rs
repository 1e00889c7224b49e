//! The sorted set log: pipelines of `ZREMRANGEBYSCORE`, `ZADD` and `ZCARD`.

use shadowcap_engine::limiter::sliding_log::SlidingLog;
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{Asked, Set};

/// A set of parameters: limit, window and tick in microseconds, keys, decisions.
const SETS: [(u64, i64, i64, u32, u64); 4] = [
    (5, 20_000, 1_000, 120, 30_000),
    (1, 3_000, 1_000, 60, 30_000),
    (40, 50_000, 1_000, 30, 30_000),
    (4, 1_000, 1, 12, 36_000),
];

fn agrees(name: &str, count_refused: bool) {
    let Some(asked) = Asked::find() else { return };
    let sets = SETS.map(|(limit, window_us, tick_us, keys, decisions)| Set {
        limiter: Limiter::SlidingLog(SlidingLog {
            limit,
            window_us,
            boundary: Boundary::Open,
            count_refused,
        }),
        tick_us,
        arguments: vec![
            limit.to_string(),
            (window_us / tick_us).to_string(),
            tick_us.to_string(),
            u8::from(count_refused).to_string(),
        ],
        keys,
        decisions,
        gap_us: window_us,
    });
    asked.confirm(name, "zset_log.lua", &sets);
}

#[test]
fn all_attempts_are_logged() {
    agrees("redis-zset-log", true);
}

#[test]
fn admitted_requests_are_logged() {
    agrees("redis-zset-log-admitted", false);
}
