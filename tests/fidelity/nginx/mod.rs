//! nginx's `limit_req` and `limit_conn`, live and as recorded: what `calibrate` says of a log that holds
//! the server's own verdicts.
//!
//! What can differ is the clock. nginx counts ms of a monotonic clock and logs ms of the wall clock, so
//! a distance in the log is off by one ms now and then. One decision near the edge may flip, and with
//! it, running free, the key's next ones. Hence shares instead of equality, and a bound on the margin of
//! each disagreement once the state is re-synchronised.

mod backend;
mod drive;
mod judge;
mod schedule;
mod server;

use std::path::PathBuf;

use self::judge::{Expected, calibrate};
use super::local::find;
use crate::support::{Folder, root, shared};

/// The seed of the live schedule.
const SEED: u64 = 7;

fn here(name: &str) -> PathBuf {
    root().join("tests/fidelity/nginx").join(name)
}

#[test]
fn a_replay_decides_as_a_live_nginx_did() {
    let Some(nginx) = find("nginx") else { return };
    let folder = Folder::new();
    let backend = backend::Backend::start();
    let template = std::fs::read_to_string(here("nginx.conf")).unwrap();
    let path = PathBuf::from(folder.path());
    let live = server::Nginx::start(&nginx, &path, &template, backend.port());
    let sent = drive::drive(live.address(), schedule::hands(SEED));
    let log = live.finish();
    let lines = std::fs::read_to_string(&log).unwrap().lines().count();
    assert_eq!(lines, sent, "a line for each request");

    let mut wrong = calibrate(
        &log,
        &here("policies/site.toml"),
        &here("policies/requests.toml"),
        &[
            Expected::each("address", 10_000, &["pass", "refuse"]),
            Expected::each("minute", 333, &["pass", "refuse"]),
            Expected::each("rare", 116, &["pass", "delay", "refuse"]),
            Expected::each("eight", 10_000, &["pass", "delay", "refuse"]),
            Expected::each("spacing", 5_000, &["pass", "refuse"]),
            Expected::all("pair", &["pass", "refuse"]),
            Expected::each("narrow", 3_000, &["pass", "refuse"]),
            Expected::each("wide", 3_000, &["pass", "refuse"]),
            Expected::each("enforced", 2_000, &["pass", "refuse"]),
            Expected::each("queued", 3_000, &["pass", "delay", "refuse"]),
            Expected::each("two_delays", 1_666, &["pass", "delay", "refuse"]),
            Expected::each("idle_slow", 16, &["pass", "refuse"]),
            Expected::each("idle_deep", 500, &["pass", "refuse"]),
        ],
    );
    wrong.extend(calibrate(
        &log,
        &here("policies/site.toml"),
        &here("policies/connections.toml"),
        &[
            Expected::connections("slow", &["pass", "refuse"]),
            Expected::connections("both", &["pass", "delay", "refuse"]),
        ],
    ));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_replay_decides_as_a_recorded_nginx_did() {
    let Some(log) = shared("oracles/nginx/dry-run-1.log.gz") else { return };
    let wrong = calibrate(
        &log,
        &here("policies/recorded-site.toml"),
        &here("policies/recorded.toml"),
        &[
            Expected::each("a", 10_000, &["pass", "refuse"]),
            Expected::each("b", 1_000, &["pass", "delay", "refuse"]),
            Expected::each("c", 10_000, &["pass", "delay", "refuse"]),
            Expected::each("d", 10_000, &["pass", "refuse"]),
            Expected::all("e", &["pass", "refuse"]),
            Expected::each("f", 333, &["pass", "refuse"]),
            Expected::each("g", 5_000, &["pass", "delay"]),
        ],
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
