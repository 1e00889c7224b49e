//! `limits` on a real Redis, asked by several processes at the same time where Redis tells the time.

use std::collections::HashSet;
use std::process::Command;

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use shadowcap_engine::limiter::sliding_log::SlidingLog;
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::python;
use crate::decisions::{Decision, here, run};
use crate::judge::Agreement;
use crate::local::find;
use crate::server::Redis;

/// Of all decisions, at most one in so many is of a key that drifted.
const MOST_LEFT_OUT: usize = 10;

/// Decisions up to the one with which their key drifted: what the library's counter does from then on is no
/// matter of the rule any more.
fn followed(decisions: Vec<Decision>) -> Vec<Decision> {
    let mut drifted = HashSet::new();
    let mut followed = Vec::new();
    for mut decision in decisions {
        let name = decision.key.trim_end_matches('!').to_owned();
        if drifted.contains(&name) {
            continue;
        }
        if name != decision.key {
            drifted.insert(name.clone());
        }
        decision.key = name;
        followed.push(decision);
    }
    followed
}

/// One limiter of one strategy.
struct Set {
    limit: u64,
    window_ms: i64,
    keys: u32,
    decisions: u64,
}

/// Processes, and what is the same for all limiters of a strategy.
struct Comparison {
    name: &'static str,
    strategy: &'static str,
    clients: u64,
    tick_us: i64,
    least_edges: u64,
    most_open_permille: u64,
}

fn agrees(of: &Comparison, sets: &[Set], limiter: impl Fn(u64, i64) -> Limiter) {
    let (Some(python), Some(program)) = (python(), find("redis-server")) else { return };
    let redis = Redis::start(&program);
    let mut agreement = Agreement::new(of.name);
    for (number, set) in sets.iter().enumerate() {
        let client = |seed: u64| {
            let mut command = Command::new(python);
            command.arg(here("limits/stored.py")).arg(redis.port().to_string()).arg(of.strategy);
            command.args([set.limit.to_string(), set.window_ms.to_string(), seed.to_string()]);
            command.args([set.decisions / of.clients, u64::from(set.keys)].map(|n| n.to_string()));
            command.arg(format!("{number}:"));
            command
        };
        let decisions = run((1..=of.clients).map(client).collect());
        let model = limiter(set.limit, set.window_ms * 1_000);
        let count = decisions.len();
        let followed = followed(decisions);
        let left_out = count - followed.len();
        assert!(left_out * MOST_LEFT_OUT <= count, "{left_out} of {count} are left out");
        agreement.judge(&model, of.tick_us, &followed);
    }
    agreement.confirm(of.least_edges);
    assert!(agreement.open_permille() <= of.most_open_permille);
}

#[test]
fn a_fixed_window_holds_for_its_last_millisecond() {
    let of = Comparison {
        name: "limits-redis-fixed",
        strategy: "fixed-window",
        clients: 3,
        tick_us: 1_000,
        least_edges: 100,
        most_open_permille: 20,
    };
    let sets = [
        Set { limit: 5, window_ms: 1_000, keys: 400, decisions: 66_000 },
        Set { limit: 20, window_ms: 2_000, keys: 200, decisions: 36_000 },
    ];
    agrees(&of, &sets, |limit, us| {
        let window = Window::FirstRequest { us, boundary: Boundary::Closed };
        Limiter::FixedWindow(FixedWindow { limit, window, count_refused: true })
    });
}

#[test]
fn a_moving_window_goes_by_the_clients_clock() {
    let of = Comparison {
        name: "limits-redis-moving",
        strategy: "moving-window",
        clients: 1,
        tick_us: 1,
        least_edges: 200,
        most_open_permille: 0,
    };
    let sets = [
        Set { limit: 5, window_ms: 60_000, keys: 20, decisions: 51_000 },
        Set { limit: 30, window_ms: 600_000, keys: 10, decisions: 51_000 },
    ];
    agrees(&of, &sets, |limit, window_us| {
        let boundary = Boundary::Closed;
        Limiter::SlidingLog(SlidingLog { limit, window_us, boundary, count_refused: false })
    });
}

#[test]
fn a_sliding_counter_steps_on_when_a_window_is_over() {
    let of = Comparison {
        name: "limits-redis-counter",
        strategy: "sliding-window-counter",
        clients: 3,
        tick_us: 1_000,
        least_edges: 100,
        most_open_permille: 20,
    };
    let sets = [
        Set { limit: 5, window_ms: 1_000, keys: 300, decisions: 57_000 },
        // shorter than the library offers, for more ends of windows
        Set { limit: 8, window_ms: 125, keys: 60, decisions: 57_000 },
    ];
    agrees(&of, &sets, |limit, window_us| {
        Limiter::SlidingCounter(SlidingCounter {
            limit,
            window_us,
            estimate: Estimate::Floored,
            anchor: Anchor::Stepped,
            count_refused: false,
        })
    });
}
