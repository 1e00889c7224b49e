//! `replay` held against a second replay: a Python script that was written from the rules alone and shares
//! no line with the engine.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{program, root, shared, stderr};

/// Public logs: path in the shared corpus, and the script's name for their format.
const LOGS: [(&str, &str); 3] = [
    ("corpus/apache-combined/elastic__examples__apache_logs.log", "nginx"),
    ("corpus/elb-classic/atombrenner__elb-lambda-analyse__elb.log", "elb"),
    ("corpus/nginx-custom/hanXen__honeypot_log__access.log", "nginx"),
];

/// Whether Python 3.11 or later is here; a line says if it isn't. With `servers` in `SHADOWCAP_REQUIRE` its
/// absence is a failure.
fn has_python() -> bool {
    let found = Command::new("python3").args(["-c", "import tomllib"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("SHADOWCAP_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word == "servers"), "Python 3.11 is absent");
    let _ = writeln!(std::io::stdout(), "skipped: there is no Python 3.11");
    false
}

fn second(policy: &Path, log: &Path, format: &str) -> Value {
    let script = root().join("tests/brute/replay.py");
    let mut python = Command::new("python3");
    python.arg(script).arg("--policy").arg(policy).arg("--log").arg(log);
    let output = python.args(["--format", format]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn first(policy: &Path, log: &Path) -> Value {
    let mut command = program();
    command.arg("replay").arg(log).arg("--policy").arg(policy).args(["--json", "-"]);
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// The base case of a figure, which a bracket names.
fn base(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value["base"].as_u64().unwrap())
}

/// What is compared of one limit: name; asked, refused (or would be), delayed, without key, keys refused.
type Counts = (String, [u64; 5]);

fn of_mine(limit: &Value) -> Counts {
    let name = limit["name"].as_str().unwrap().to_owned();
    let count = |field: &str| base(&limit[field]);
    let refused = count("refused") + count("shadow_refused");
    let counts = [count("asked"), refused, count("delayed")];
    let [asked, refused, delayed] = counts;
    (name, [asked, refused, delayed, count("missing_key"), count("keys_refused")])
}

fn of_theirs(limit: &Value) -> Counts {
    let name = limit["name"].as_str().unwrap().to_owned();
    let fields = ["asked", "refused", "delayed", "missing_key", "keys_refused"];
    (name, fields.map(|field| limit[field].as_u64().unwrap()))
}

#[test]
fn a_second_replay_gives_the_same_counts() {
    if !has_python() {
        return;
    }
    for (log, format) in LOGS {
        let Some(log) = shared(log) else { return };
        for policy in ["policy.toml", "grouped.toml"] {
            let policy = root().join("tests/brute").join(policy);
            let (mine, theirs) = (first(&policy, &log), second(&policy, &log, format));
            let total = &mine["policies"][0]["total"];
            let of_total = |field: &str| base(&total[field]);
            let totals = ["requests", "refused", "delayed"];
            assert_eq!(
                totals.map(of_total),
                totals.map(|field| theirs[field].as_u64().unwrap()),
                "{} under {}",
                log.display(),
                policy.display()
            );
            let all = |value: &Value, of: fn(&Value) -> Counts| -> Vec<Counts> {
                value.as_array().unwrap().iter().map(of).collect()
            };
            let limits = all(&mine["policies"][0]["limits"], of_mine);
            assert_eq!(limits, all(&theirs["limits"], of_theirs), "{}", log.display());
            let _ = writeln!(
                std::io::stdout(),
                "second replay: {} of {} requests refused, alike",
                theirs["refused"],
                theirs["requests"]
            );
        }
    }
}

#[test]
fn the_second_replay_decides_small_logs_as_worked_out_by_hand() {
    if !has_python() {
        return;
    }
    let mut python = Command::new("python3");
    python.current_dir(root()).args(["-B", "-m", "unittest", "discover", "-s", "tests/brute"]);
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Ran "), "{}", stderr(&output));
}
