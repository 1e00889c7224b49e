//! express-rate-limit with its memory store: a window opens at a client's first request and no longer
//! holds one that comes exactly its length later.

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::{in_pairs, node};
use crate::judge::Agreement;

/// A millisecond, microseconds.
const MS_US: i64 = 1_000;
/// Length in ms, limit, keys, requests.
type Set = (i64, u64, u32, u32);

const SETS: [Set; 5] = [
    (1_000, 5, 200, 30_000),
    (60_000, 60, 40, 30_000),
    (50, 1, 300, 20_000),
    (7, 3, 100, 20_000),
    (900_000, 100, 20, 20_000),
];

#[test]
fn express_rate_limit_agrees() {
    let Some(node) = node() else { return };
    let command = |(seed, (length_ms, limit, keys, requests)): (i64, Set)| {
        let arguments = [length_ms, limit.cast_signed(), keys.into(), requests.into(), seed];
        node.script("express_rate_limit.js", &arguments.map(|n| n.to_string()))
    };
    let decisions = in_pairs((1..).zip(SETS).map(command).collect());
    let mut agreement = Agreement::new("express-rate-limit");
    for ((length_ms, limit, _, _), decisions) in SETS.into_iter().zip(decisions) {
        let limiter = Limiter::FixedWindow(FixedWindow {
            limit,
            window: Window::FirstRequest { us: length_ms * MS_US, boundary: Boundary::Open },
            count_refused: true,
        });
        agreement.judge(&limiter, MS_US, &decisions);
    }
    agreement.confirm(1_000);
}
