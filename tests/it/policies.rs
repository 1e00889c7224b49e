//! The commands about policies as users meet them: documents that keep to their schemas, exit codes, and
//! what support does with a pseudonym.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, line, program, root, run, stderr, stdout};

const SAMPLE: &str = "sample-logs/tiffin-evening.log.gz";
const MEASURED: &str = "policies/quickstart/measured.toml";

/// Ten requests, every other one refused when the log was written.
fn half_refused(folder: &Folder) -> String {
    let status = |second| if second % 2 == 0 { 200 } else { 429 };
    let time = |second| format!("01/Jun/2024:12:00:0{second} +0000");
    let lines = (0..10).map(|n| line("203.0.113.7", &time(n), "GET /a HTTP/1.1", status(n)));
    folder.write("refused.log", lines.collect::<String>())
}

/// Runs a command with `--json -` and holds what it prints to a published schema.
fn document(schema: &str, arguments: &[&str]) -> Value {
    let output = program().args(arguments).args(["--json", "-"]).output().unwrap();
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let path = root().join("schemas").join(format!("{schema}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(wrong.is_empty(), "{arguments:?}: {wrong:?}");
    document
}

#[test]
fn documents_keep_to_their_schemas() {
    let site = ["--site", "policies/tiffin/site.toml"];
    let policy = ["--policy", "policies/tiffin/proposed.toml"];
    let report = document("report", &[&["replay", SAMPLE], &site[..], &policy[..]].concat());
    assert_eq!(report["policies"][0]["limits"].as_array().unwrap().len(), 8);
    assert_eq!(report["policies"][0]["name"], report["verdicts"][0]["policy"]);
    let explained = ["explain", SAMPLE, "--policy", MEASURED, "--key", "ip:7ec79c645b06"];
    let story = document("explanation", &explained);
    assert_eq!(story["requests"], 700);
    let folder = Folder::new();
    let log = half_refused(&folder);
    let calibrated = document("calibration", &["calibrate", &log, "--policy", MEASURED]);
    assert_eq!((&calibrated["compared"], &calibrated["agreed"]), (&10.into(), &5.into()));
    // a log without verdicts has nothing to compare
    let silent = document("calibration", &["calibrate", SAMPLE, "--policy", MEASURED]);
    assert_eq!(silent["compared"], 0);
    let checked = document("check", &["check", "policies/quickstart/guess.toml"]);
    assert_eq!(checked["files"][0]["findings"][0]["code"], "SC002");
    let metrics = document("metrics", &[&["metrics"], &site[..], &policy[..]].concat());
    let names = metrics["metrics"].as_array().unwrap().iter().map(|metric| &metric["name"]);
    assert!(names.into_iter().any(|name| name == "sms-hard-stop.fill_max"));
}

#[test]
fn a_pseudonym_out_of_a_report_leads_to_its_client() {
    let report = document("report", &["analyze", SAMPLE]);
    let suspect = report["suspects"][0]["key"].as_str().unwrap();
    let shown = run(&["explain", SAMPLE, "--policy", MEASURED, "--key", suspect]);
    let text = stdout(&shown);
    assert!(text.starts_with(suspect), "{text}");
    for part in [
        "refused",
        "per address",
        "would have admitted the same request at",
        "line 4 of the policy",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let unknown = run(&["explain", SAMPLE, "--policy", MEASURED, "--key", "ip=192.0.2.99"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("no request that was read has it"));
}

#[test]
fn nothing_of_a_client_is_shown_unless_revealed() {
    let folder = Folder::new();
    let mut log = String::new();
    for second in 0..9 {
        let time = format!("01/Jun/2024:12:00:0{second} +0000");
        log += &line("203.0.113.77", &time, "GET /a HTTP/1.1", 200);
    }
    let log = folder.write("access.log", log);
    let rows = format!("{}/decisions.parquet", folder.path());
    let arguments = ["replay", &log, "--policy", MEASURED, "--decisions", &rows];
    for extra in [vec![], vec!["--json", "-"]] {
        let output = program().args(arguments).args(extra).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!stdout(&output).contains("203.0.113.77"));
    }
    let decisions = fs::read(&rows).unwrap();
    assert!(decisions.starts_with(b"PAR1"));
    assert!(!decisions.windows(12).any(|window| window == b"203.0.113.77"));
    let shown = run(&["explain", &log, "--policy", MEASURED, "--key", "ip=203.0.113.77"]);
    assert!(!stdout(&shown).contains("203.0.113.77"));
    let revealed =
        run(&["explain", &log, "--policy", MEASURED, "--key", "ip=203.0.113.77", "--reveal"]);
    assert!(stdout(&revealed).starts_with("ip:203.0.113.77 "));
}

#[test]
fn requests_in_flight_need_durations() {
    let policy = "tests/data/cases/replay-concurrency/policy.toml";
    let output = run(&["replay", SAMPLE, "--policy", policy]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("$request_time"), "{}", stderr(&output));
}

#[test]
fn agreement_and_findings_decide_the_exit_code() {
    let folder = Folder::new();
    let log = half_refused(&folder);
    let calibrate = |least: &str| {
        let arguments = ["calibrate", &log, "--policy", MEASURED, "--min-agreement", least];
        run(&arguments).status.code()
    };
    assert_eq!((calibrate("50%"), calibrate("99%")), (Some(0), Some(1)));
    let check = |deny: &str| {
        run(&["check", "policies/quickstart/guess.toml", "--deny", deny]).status.code()
    };
    assert_eq!((check("error"), check("warning")), (Some(0), Some(1)));
}

#[test]
fn a_draft_of_a_site_file_is_one() {
    let folder = Folder::new();
    let site = format!("{}/site.toml", folder.path());
    let output = run(&["init", SAMPLE, "--out", &site]);
    assert!(output.status.success(), "{}", stderr(&output));
    let checked = run(&["check", &site]);
    assert!(stdout(&checked).contains("0 errors"), "{}", stdout(&checked));
    let replayed = run(&["replay", SAMPLE, "--site", &site, "--policy", MEASURED]);
    assert!(replayed.status.success(), "{}", stderr(&replayed));
    let again = run(&["init", SAMPLE, "--out", &site]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn lines_refused_already_can_be_left_out() {
    let folder = Folder::new();
    let time = |second: u32| format!("01/Jun/2024:12:00:{second:02} +0000");
    let log: String = (0..20)
        .map(|n| {
            line("203.0.113.7", &time(n), "GET /a HTTP/1.1", if n % 2 == 0 { 200 } else { 429 })
        })
        .collect();
    let log = folder.write("access.log", log);
    let replay = |extra: &[&str]| {
        document("report", &[&["replay", &log, "--policy", MEASURED], extra].concat())
    };
    let kept = replay(&[]);
    assert_eq!(kept["policies"][0]["total"]["requests"], 20);
    let codes = kept["input"]["warnings"].as_array().unwrap().iter().map(|w| &w["code"]);
    assert!(codes.into_iter().any(|code| code == "SC121"));
    assert_eq!(replay(&["--already-limited", "drop"])["policies"][0]["total"]["requests"], 10);
}

#[test]
fn a_policy_is_replayed_the_same_with_any_number_of_threads() {
    let with = |threads: &str| {
        let arguments = ["replay", SAMPLE, "--policy", MEASURED, "--threads", threads];
        stdout(&run(&arguments))
    };
    assert_eq!(with("1"), with("3"));
}
