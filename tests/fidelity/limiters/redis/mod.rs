//! Limiters that are Lua scripts in a real Redis, asked by several processes at the same time.

mod fixed_window;
mod sliding_counter;
mod zset_log;

use std::path::PathBuf;
use std::process::Command;

use shadowcap_engine::limiter::Limiter;

use super::decisions::{here, run};
use super::judge::confirm_in_rounds;
use super::local::find;
use super::server::Redis;

/// Processes that ask at the same time.
const CLIENTS: u64 = 3;
/// The least decisions on either side of an edge.
const LEAST_EDGES: u64 = 200;

/// One limiter, asked over so many keys.
struct Set {
    limiter: Limiter,
    tick_us: i64,
    /// What the script is told.
    arguments: Vec<String>,
    keys: u32,
    decisions: u64,
    /// Around how long clients pause now and then, microseconds.
    gap_us: i64,
}

/// Redis, and the Python whose processes ask it.
struct Asked {
    redis: PathBuf,
    python: PathBuf,
}

impl Asked {
    /// `None` where one of them is absent.
    fn find() -> Option<Self> {
        Some(Self { redis: find("redis-server")?, python: find("python3")? })
    }

    /// Has clients ask the script of some limiters, of a new Redis in each round, and confirms what they saw.
    fn confirm(&self, name: &str, script: &str, sets: &[Set]) {
        confirm_in_rounds(name, LEAST_EDGES, |agreement, round| {
            let redis = Redis::start(&self.redis);
            for (number, set) in sets.iter().enumerate() {
                let client = |client| {
                    let mut command = Command::new(&self.python);
                    command.arg(here("redis/client.py")).arg(redis.port().to_string());
                    command.arg(here("redis").join(script));
                    let seed = round * CLIENTS + client;
                    let numbers = [seed, set.decisions / CLIENTS, u64::from(set.keys)];
                    command.args(numbers.map(|number| number.to_string()));
                    command.arg(format!("{number}:")).arg(set.gap_us.to_string());
                    command.args(&set.arguments);
                    command
                };
                let decisions = run((1..=CLIENTS).map(client).collect());
                agreement.judge(&set.limiter, set.tick_us, &decisions);
            }
        });
    }
}
