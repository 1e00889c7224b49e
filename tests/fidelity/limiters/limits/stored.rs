//! `limits` on a real Redis, asked by several processes at the same time where Redis tells the time.

use std::process::Command;

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use shadowcap_engine::limiter::sliding_log::SlidingLog;
use shadowcap_engine::limiter::{Boundary, Limiter};

use super::python;
use crate::decisions::{here, run};
use crate::judge::confirm_in_rounds;
use crate::local::find;
use crate::server::Redis;

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
}

fn agrees(of: &Comparison, sets: &[Set], limiter: impl Fn(u64, i64) -> Limiter) {
    let (Some(python), Some(program)) = (python(), find("redis-server")) else { return };
    confirm_in_rounds(of.name, of.least_edges, |agreement, round| {
        let redis = Redis::start(&program);
        for (number, set) in sets.iter().enumerate() {
            let client = |client: u64| {
                let mut command = Command::new(python);
                command.arg(here("limits/stored.py")).arg(redis.port().to_string());
                command.arg(of.strategy).args([set.limit.to_string(), set.window_ms.to_string()]);
                let seed = round * of.clients + client;
                let numbers = [seed, set.decisions / of.clients, u64::from(set.keys)];
                command.args(numbers.map(|number| number.to_string()));
                command.arg(format!("{number}:"));
                command
            };
            let decisions = run((1..=of.clients).map(client).collect());
            agreement.judge(&limiter(set.limit, set.window_ms * 1_000), of.tick_us, &decisions);
        }
    });
}

#[test]
fn a_fixed_window_holds_for_its_last_millisecond() {
    let of = Comparison {
        name: "limits-redis-fixed",
        strategy: "fixed-window",
        clients: 3,
        tick_us: 1_000,
        least_edges: 100,
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
    };
    let sets = [
        // Redis' own clock removes what wasn't asked for a window: so long no machine takes
        Set { limit: 5, window_ms: 600_000, keys: 20, decisions: 51_000 },
        Set { limit: 30, window_ms: 3_600_000, keys: 10, decisions: 51_000 },
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
