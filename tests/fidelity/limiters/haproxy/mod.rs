//! HAProxy's `http_req_rate`: a stick table, and a rule that refuses what exceeds a rate.

use std::path::Path;
use std::process::Command;

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};

use super::decisions::{here, run};
use super::folder::Folder;
use super::judge::confirm_in_rounds;
use super::local::{Server, find};

/// Processes that ask at the same time.
const CLIENTS: u64 = 3;
/// What `haproxy.cfg` says: path, limit, period in milliseconds; keys and decisions.
const SETS: [(&str, u64, i64, u64, u64); 4] = [
    ("/a", 5, 20, 60, 33_000),
    ("/b", 30, 100, 60, 30_000),
    ("/c", 2, 7, 20, 30_000),
    ("/d", 100, 250, 40, 24_000),
];

#[test]
fn a_rate_over_the_limit_is_refused() {
    let (Some(program), Some(python)) = (find("haproxy"), find("python3")) else { return };
    confirm_in_rounds("haproxy-http-req-rate", 200, |agreement, round| {
        let (server, _folder) = start(&program);
        for (path, limit, period_ms, keys, decisions) in SETS {
            let client = |client: u64| {
                let mut command = Command::new(&python);
                command.arg(here("haproxy/client.py")).arg(server.port().to_string()).arg(path);
                let seed = round * CLIENTS + client;
                command.args([seed, decisions / CLIENTS, keys].map(|number| number.to_string()));
                command.arg(period_ms.to_string());
                command
            };
            let model = Limiter::SlidingCounter(SlidingCounter {
                limit,
                window_us: period_ms * 1_000,
                estimate: Estimate::Floored,
                anchor: Anchor::Stepped,
                count_refused: true,
            });
            let decisions = run((1..=CLIENTS).map(client).collect());
            agreement.judge(&model, 1_000, &decisions);
        }
    });
}

/// A HAProxy that knows no key yet, and the folder of its configuration.
fn start(program: &Path) -> (Server, Folder) {
    let folder = Folder::new();
    let template = std::fs::read_to_string(here("haproxy/haproxy.cfg")).unwrap();
    let clock = here("haproxy/clock.lua");
    let template = template.replace("CLOCK", &clock.to_string_lossy());
    let server = Server::start(|port| {
        let cfg = folder.write("haproxy.cfg", template.replace("PORT", &port.to_string()));
        let mut command = Command::new(program);
        command.args(["-f", &cfg]);
        command
    });
    (server, folder)
}
