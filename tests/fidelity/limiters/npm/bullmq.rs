//! BullMQ's limiter on a real Redis: workers of many queues, each asked for its next job. A window that is
//! full ends exactly its length after it began, one with room a millisecond later.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{in_pairs, node, seeds};
use crate::judge::confirm_in_rounds;
use crate::local::find;
use crate::server::Redis;

/// A millisecond, microseconds: the step of the times at which Redis' keys end.
const MS_US: i64 = 1_000;
/// Jobs in a window, its length in ms, queues, decisions.
const SETS: [(u64, i64, u32, u32); 4] =
    [(5, 50, 40, 25_500), (1, 30, 40, 25_500), (20, 100, 40, 25_500), (100, 400, 20, 25_500)];

#[test]
fn bullmq_agrees() {
    let (Some(node), Some(program)) = (node(), find("redis-server")) else { return };
    confirm_in_rounds("bullmq", 200, |agreement, round| {
        let redis = Redis::start(&program);
        let command = |(seed, (max, length_ms, queues, decisions)): (i64, (u64, i64, u32, u32))| {
            let (port, max) = (redis.port().into(), max.cast_signed());
            let arguments = [port, max, length_ms, queues.into(), decisions.into(), seed];
            node.script("bullmq.js", &arguments.map(|n: i64| n.to_string()))
        };
        let decisions = in_pairs(seeds(round, SETS).map(command).collect());
        for ((limit, length_ms, _, _), decisions) in SETS.into_iter().zip(decisions) {
            let us = length_ms * MS_US;
            let window = Window::FirstRequest { us, boundary: Boundary::UntilFull };
            let window = FixedWindow { limit, window, count_refused: false };
            agreement.judge(&Limiter::FixedWindow(window), MS_US, &decisions);
        }
    });
}
