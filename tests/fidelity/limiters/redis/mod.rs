//! Limiters that are Lua scripts in a real Redis, asked by several processes at the same time.

mod fixed_window;
mod sliding_counter;
mod zset_log;

use std::path::PathBuf;
use std::process::Command;

use shadowcap_engine::limiter::Limiter;

use super::decisions::{here, run};
use super::judge::Agreement;
use super::local::find;
use super::server::Redis;

/// Processes that ask at the same time.
const CLIENTS: u64 = 3;

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

/// A Redis, and the Python whose processes ask it.
struct Asked {
    redis: Redis,
    python: PathBuf,
}

impl Asked {
    /// `None` where one of them is absent.
    fn start() -> Option<Self> {
        let (program, python) = (find("redis-server")?, find("python3")?);
        Some(Self { redis: Redis::start(&program), python })
    }

    /// Has clients ask the script of one limiter and compares what they saw.
    fn compare(&self, agreement: &mut Agreement, script: &str, number: usize, set: &Set) {
        let client = |seed| {
            let mut command = Command::new(&self.python);
            command.arg(here("redis/client.py")).arg(self.redis.port().to_string());
            command.arg(here("redis").join(script));
            let numbers = [seed, set.decisions / CLIENTS, u64::from(set.keys)];
            command.args(numbers.map(|number| number.to_string()));
            command.arg(format!("{}:{number}:", agreement.name())).arg(set.gap_us.to_string());
            command.args(&set.arguments);
            command
        };
        let decisions = run((1..=CLIENTS).map(client).collect());
        agreement.judge(&set.limiter, set.tick_us, &decisions);
    }
}
