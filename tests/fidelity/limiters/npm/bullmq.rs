//! BullMQ's limiter on a real Redis: workers of many queues, each asked for its next job. A window that is
//! full ends exactly its length after it began, one with room a millisecond later.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{in_pairs, node};
use crate::judge::Agreement;
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
    let redis = Redis::start(&program);
    let command = |(seed, (max, length_ms, queues, decisions)): (i64, (u64, i64, u32, u32))| {
        let (port, max) = (redis.port().into(), max.cast_signed());
        let arguments = [port, max, length_ms, queues.into(), decisions.into(), seed];
        node.script("bullmq.js", &arguments.map(|n: i64| n.to_string()))
    };
    let decisions = in_pairs((1..).zip(SETS).map(command).collect());
    let mut agreement = Agreement::new("bullmq");
    for ((limit, length_ms, _, _), decisions) in SETS.into_iter().zip(decisions) {
        let window = Window::FirstRequest { us: length_ms * MS_US, boundary: Boundary::UntilFull };
        let limiter = Limiter::FixedWindow(FixedWindow { limit, window, count_refused: false });
        agreement.judge(&limiter, MS_US, &decisions);
    }
    agreement.confirm(200);
    assert!(agreement.open_permille() <= 10, "{} permille are open", agreement.open_permille());
}
