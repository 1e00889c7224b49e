//! The sorted set log: pipelines of `ZREMRANGEBYSCORE`, `ZADD` and `ZCARD`.

use shadowcap_engine::limiter::sliding_log::SlidingLog;
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{Asked, Set};
use crate::judge::Agreement;

/// A set of parameters: limit, window and tick in microseconds, keys, decisions.
const SETS: [(u64, i64, i64, u32, u64); 4] = [
    (5, 20_000, 1_000, 120, 30_000),
    (1, 3_000, 1_000, 60, 30_000),
    (40, 50_000, 1_000, 30, 30_000),
    (4, 1_000, 1, 12, 36_000),
];

fn sets(count_refused: bool) -> impl Iterator<Item = Set> {
    SETS.into_iter().map(move |(limit, window_us, tick_us, keys, decisions)| Set {
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
    })
}

fn agrees(name: &str, count_refused: bool) {
    let Some(asked) = Asked::start() else { return };
    let mut agreement = Agreement::new(name);
    for (number, set) in sets(count_refused).enumerate() {
        asked.compare(&mut agreement, "zset_log.lua", number, &set);
    }
    agreement.confirm(200);
}

#[test]
fn all_attempts_are_logged() {
    agrees("redis-zset-log", true);
}

#[test]
fn admitted_requests_are_logged() {
    agrees("redis-zset-log-admitted", false);
}
