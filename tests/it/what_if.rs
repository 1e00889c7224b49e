//! Policies as deployed: instances, stores that are away, clients that try again, and that `analyze` tells
//! of policies what `replay` does.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, line, program, root, run, stderr};

/// The report of a command within a case's folder.
fn report(case: &str, arguments: &[&str]) -> Value {
    let folder = root().join("tests/data/cases").join(case);
    let mut command = program();
    let output =
        command.current_dir(folder).args(arguments).args(["--json", "-"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

#[test]
fn six_workers_let_six_times_as_much_through_and_a_store_that_is_away_stalls_or_floods() {
    let of = |policy: &str| {
        let site = ["replay", "access.log", "--site", "site.toml", "--outage", "Redis away"];
        let report = report("replay-workers", &[&site[..], &["--policy", policy]].concat());
        let policy = &report["policies"][0];
        let admitted = &policy["limits"][0]["admitted_per_s"]["peak"];
        let away = &policy["outages"][0];
        (admitted.as_f64().unwrap(), away["admitted_per_s"].as_f64().unwrap())
    };
    // twelve a second; a limit without a store doesn't notice
    assert_eq!(of("each.toml"), (12.0, 12.0));
    assert_eq!(of("refuse.toml"), (2.0, 0.0));
    // all 24 a second
    assert_eq!(of("allow.toml"), (2.0, 24.0));
}

#[test]
fn an_attack_is_held_by_all_instances_together() {
    let site = ["replay", "access.log", "--site", "site.toml", "--policy"];
    let rule = |policy: &str| {
        let report = report("replay-eight-instances", &[&site[..], &[policy]].concat());
        let rule = report["policies"][0]["total"]["rules"]["scraper"].clone();
        (rule["sustained_per_s"].as_f64().unwrap(), rule["keys_to_defeat"].as_u64().unwrap())
    };
    // four addresses, eight instances of 0.133 a second; eight a second are asked for
    assert_eq!(rule("in-turn.toml"), (4.256, 8));
    assert_eq!(rule("by-client.toml"), (0.532, 61));
    assert_eq!(rule("fleet-wide.toml"), (4.0, 8));
}

#[test]
fn analyze_tells_of_policies_what_replay_does() {
    let arguments = ["access.log", "--site", "site.toml", "--policy", "proposed.toml"];
    let analyzed = report("analyze-with-policy", &[&["analyze"], &arguments[..]].concat());
    let replayed = report("analyze-with-policy", &[&["replay"], &arguments[..]].concat());
    for part in ["policies", "verdicts", "keys"] {
        assert_eq!(analyzed[part], replayed[part]);
    }
    assert!(!analyzed["measure"].as_array().unwrap().is_empty());
    assert_eq!(replayed["measure"], Value::Array(Vec::new()));
}

#[test]
fn what_the_site_does_not_say_can_not_be_asked_for() {
    let folder = root().join("tests/data/cases/replay-workers");
    let wrong = |arguments: &[&str]| {
        let mut command = program();
        let output = command.current_dir(&folder).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        stderr(&output)
    };
    let replay = ["replay", "access.log", "--policy", "each.toml", "--site", "site.toml"];
    let unknown = wrong(&[&replay[..], &["--outage", "Redis gone"]].concat());
    assert!(unknown.contains("Redis away"), "{unknown}");
    let clients = wrong(&[&replay[..], &["--clients"]].concat());
    assert!(clients.contains("[client.NAME]"), "{clients}");
    let alone = wrong(&["analyze", "access.log", "--site", "site.toml", "--outage", "all"]);
    assert!(alone.contains("--policy"), "{alone}");
}

#[test]
fn instances_that_are_observed_are_told_of() {
    let folder = Folder::new();
    for (file, count) in [("one.log", 4), ("two.log", 2), ("three.log", 1)] {
        let time = |second| format!("01/Jun/2024:12:00:0{second} +0000");
        let lines = (0..count).map(|n| line("203.0.113.7", &time(n), "GET /a HTTP/1.1", 200));
        folder.write(file, lines.collect::<String>());
    }
    let tier = "[[tier]]\nname = \"nginx\"\ninstances = 2\nbalance = \"observed\"\n";
    let site = folder.write("site.toml", tier);
    let case = root().join("tests/data/cases/replay-eight-instances/in-turn.toml");
    let text = fs::read_to_string(case).unwrap();
    let text = text.replace("at = \"in turn\"", "at = \"nginx\"");
    let text = text.replace("match = { route = [\"menu\"] }\n", "");
    let policy = folder.write("policy.toml", text);
    let logs = ["one.log", "two.log", "three.log"].map(|name| format!("{}/{name}", folder.path()));
    let [one, two, three] = logs.each_ref().map(String::as_str);
    let options = ["--site", &site, "--policy", &policy, "--format", "nginx", "--json", "-"];
    let output = run(&[&["replay", one, two, three], &options[..]].concat());
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let warnings = report["input"]["warnings"].as_array().unwrap();
    let codes: Vec<&str> = warnings.iter().filter_map(|warning| warning["code"].as_str()).collect();
    assert!(codes.contains(&"SC127") && codes.contains(&"SC128"), "{codes:?}");
    assert!(!codes.contains(&"SC126"), "{codes:?}");
    let instances = report["policies"][0]["limits"][0]["per_instance"].as_array().unwrap();
    let mut asked: Vec<u64> = instances.iter().filter_map(|i| i["asked"].as_u64()).collect();
    asked.sort_unstable();
    assert_eq!(asked, [1, 2, 4]);
}
