//! rate-limiter-flexible. In memory a window is open at its end and refused points count; a block that
//! follows the refusal which crosses the limit is a ban that empties the state. On Redis a window is closed,
//! as all keys that expire are, and its length whole seconds.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter, Verdict};
use shadowcap_engine::policy::{Ban, Limit};

use super::replayed::{Compared, Outcome, Request, limit};
use super::{in_pairs, node, seeds};
use crate::judge::{Agreement, confirm_in_rounds};
use crate::local::find;
use crate::server::Redis;

/// A second, microseconds.
const SECOND_US: i64 = 1_000_000;
/// A millisecond, microseconds.
const MS_US: i64 = 1_000;
/// Points, whether weights vary, seconds, seconds that a block lasts, keys, requests.
type Set = (u64, bool, i64, i64, u32, u32);

const SETS: [Set; 8] = [
    (5, false, 1, 0, 200, 30_000),
    (60, false, 60, 0, 40, 30_000),
    (10, true, 2, 0, 200, 30_000),
    (1, false, 1, 0, 100, 20_000),
    (5, false, 1, 3, 200, 30_000),
    (20, false, 60, 5, 100, 30_000),
    (10, true, 2, 2, 200, 30_000),
    (4, false, 10, 1, 100, 20_000),
];

/// Points, seconds, keys, decisions on Redis.
const REDIS_SETS: [(u64, i64, u32, u32); 2] = [(5, 1, 1_000, 52_000), (2, 1, 700, 52_000)];

fn window(points: u64, seconds: i64, boundary: Boundary, count_refused: bool) -> Limiter {
    let window = Window::FirstRequest { us: seconds * SECOND_US, boundary };
    Limiter::FixedWindow(FixedWindow { limit: points, window, count_refused })
}

#[test]
fn rate_limiter_flexible_in_memory_agrees() {
    let Some(node) = node() else { return };
    let mut counted = Agreement::new("rate-limiter-flexible-memory");
    let mut blocked = Compared::new("rate-limiter-flexible-memory-block");
    let command = |(seed, (points, weigh, seconds, block, keys, requests)): (i64, Set)| {
        let (points, weigh) = (points.cast_signed(), i64::from(weigh));
        let arguments = [points, seconds, block, weigh, keys.into(), requests.into(), seed];
        node.script("rate_limiter_flexible.js", &arguments.map(|n| n.to_string()))
    };
    let decisions = in_pairs((1..).zip(SETS).map(command).collect());
    for ((points, _, seconds, block, _, _), decisions) in SETS.into_iter().zip(decisions) {
        if block == 0 {
            counted.judge(&window(points, seconds, Boundary::Open, true), MS_US, &decisions);
            continue;
        }
        let ban = Ban { us: block * SECOND_US, extends: false, clears: true };
        let limit = Limit {
            ban: Some(ban),
            ..limit(window(points, seconds, Boundary::Open, false), MS_US)
        };
        let real = decisions.iter().map(|decision| {
            let (at_us, key, weight) = (decision.from_us, decision.key.clone(), decision.weight);
            let request = Request { at_us, key, weight, lasts_us: 0 };
            let passed = decision.verdict == Some(Verdict::Pass);
            (request, if passed { Outcome::Starts(at_us) } else { Outcome::Refused(at_us) })
        });
        blocked.compare(limit, real.collect());
    }
    counted.confirm(1_000);
    blocked.confirm();
}

#[test]
fn rate_limiter_flexible_on_redis_agrees() {
    let (Some(node), Some(program)) = (node(), find("redis-server")) else { return };
    confirm_in_rounds("rate-limiter-flexible-redis", 200, |agreement, round| {
        let redis = Redis::start(&program);
        let command = |(seed, (points, seconds, keys, decisions)): (i64, (u64, i64, u32, u32))| {
            let (port, points) = (redis.port().into(), points.cast_signed());
            let arguments = [port, points, seconds, keys.into(), decisions.into(), seed];
            node.script("rate_limiter_flexible_redis.js", &arguments.map(|n: i64| n.to_string()))
        };
        let decisions = in_pairs(seeds(round, REDIS_SETS).map(command).collect());
        for ((points, seconds, _, _), decisions) in REDIS_SETS.into_iter().zip(decisions) {
            let limiter = window(points, seconds, Boundary::Closed, true);
            agreement.judge(&limiter, MS_US, &decisions);
        }
    });
}
