//! What `recommend` finds on a generated week, without being told what to protect.

use std::fs;

use serde_json::Value;

use crate::samples::replayed;
use crate::support::{Folder, hi, root, run, stderr, stdout};

fn lo_share(value: &Value) -> f64 {
    value.as_f64().or_else(|| value["lo"].as_f64()).unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn limits_of_a_week_part_attacks_from_customers_or_it_is_said_that_none_can() {
    let folder = Folder::new();
    let out = folder.path();
    let scenario = "sample-logs/scenarios/tiffin.toml";
    let made = run(&["generate", scenario, "--out", &out, "--scale", "0.001"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let log = format!("{out}/tiffin.log.gz");
    // the facts of the site, and nothing of what is to be sized
    let facts = fs::read_to_string(root().join("policies/tiffin/site.toml")).unwrap();
    let (facts, _) = facts.split_once("# What `recommend` sizes.").unwrap();
    fs::create_dir_all(format!("{out}/lists")).unwrap();
    for list in fs::read_dir(root().join("policies/tiffin/lists")).unwrap() {
        let list = list.unwrap();
        fs::copy(list.path(), format!("{out}/lists/{}", list.file_name().display())).unwrap();
    }
    let site = folder.write("site.toml", facts);
    let json = format!("{out}/report.json");
    let arguments = ["recommend", &log, "--site", &site, "--holdout", "2d", "--json", &json];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let list = report["recommendations"].as_array().unwrap();
    let of = |name: &str| list.iter().find(|one| one["protect"] == name).unwrap();
    // the scraper, the guesser, the looping app: limits close above the busiest customer stop them
    for (name, least) in
        [("menu per ip", 0.9), ("coupon_apply per user", 0.9), ("order_create per user", 0.2)]
    {
        let one = of(name);
        let (limit, busiest) = (one["limit"].as_u64().unwrap(), hi(&one["basis"]["busiest"]));
        assert!((busiest..=2 * busiest).contains(&limit), "{name}: {limit}, {busiest}");
        let share = lo_share(&one["expected"]["attacker_refused_share"]);
        assert!(share >= least, "{name}: {share}");
    }
    // each of the numbers pumped asks as seldom as a customer: no limit by phone or address parts them
    let by_phone = of("otp_send per phone");
    assert!(by_phone["why"].as_str().unwrap().contains("no smaller limit"), "{by_phone}");
    let by_address = of("otp_send per ip");
    assert!(by_address["limit"].is_null() && by_address["tradeoff"].is_array(), "{by_address}");
    assert!(by_address["split"]["what"].as_str().unwrap().contains("pumping"), "{by_address}");
    for one in list.iter().filter(|one| !one["limit"].is_null()) {
        let holdout = &one["holdout"];
        assert_eq!(holdout["customer_identities_refused"], 0, "{one}");
        assert_eq!(hi(&one["expected"]["customer_identities_refused"]), 0, "{one}");
        if let Some(share) = one["split"]["attacker_refused_share"].as_f64() {
            assert!((0.0..=1.0).contains(&share), "{one}");
        }
    }
    // nobody whom the truth knows as a customer is refused, proven or not
    let policy = folder.write("recommended.toml", stdout(&output));
    let replay = run(&["replay", &log, "--site", &site, "--policy", &policy, "--json", "-"]);
    let replay: Value = serde_json::from_slice(&replay.stdout).unwrap();
    let cohorts = &replay["policies"][0]["total"]["cohorts"];
    for who in ["customer", "unknown"] {
        assert_eq!(cohorts[who]["identities_refused"], 0, "{who}: {cohorts}");
    }
}

/// The proposed policy on the same week, of which it has seen nothing.
#[test]
fn the_proposed_policy_refuses_customers_in_the_night_of_sms_alone() {
    let folder = Folder::new();
    let out = folder.path();
    let scenario = "sample-logs/scenarios/tiffin.toml";
    let week = [
        "--scale",
        "0.001",
        "--from",
        "2026-11-23T00:00:00+05:30",
        "--to",
        "2026-11-27T21:00:00+05:30",
    ];
    let made = run(&[&["generate", scenario, "--out", &out], &week[..]].concat());
    assert!(made.status.success(), "{}", stderr(&made));
    let log = format!("{out}/tiffin.log.gz");
    let report = replayed(&log, "tiffin", &["proposed", "improved"], &[]);
    for policy in 0..2 {
        let customers = &report["policies"][policy]["total"]["cohorts"]["customer"];
        assert_eq!(customers["identities_refused"], 0, "{policy}: {customers}");
        assert!(customers["identities"].as_u64().unwrap() > 2_500, "{customers}");
    }
}

/// The busiest customer of each kind, and one in a thousand, at dinner on Tuesday.
#[test]
fn customers_peaks_are_those_of_the_case() {
    let folder = Folder::new();
    let out = folder.path();
    let scenario = "sample-logs/scenarios/tiffin.toml";
    let dinner = [
        "--scale",
        "0.02",
        "--from",
        "2026-11-24T20:00:00+05:30",
        "--to",
        "2026-11-24T21:00:00+05:30",
    ];
    let made = run(&[&["generate", scenario, "--out", &out], &dinner[..]].concat());
    assert!(made.status.success(), "{}", stderr(&made));
    let log = format!("{out}/tiffin.log.gz");
    let site = "policies/tiffin/site.toml";
    let report = crate::support::report(&[&log, "--site", site, "--window", "10m"]);
    let rows = report["measure"].as_array().unwrap();
    let peak = |key: &str, route: &str, window_s: u64| {
        let row = rows.iter().find(|row| {
            row["key"] == key
                && row["route"] == route
                && row["window_s"] == window_s
                && row["cohort"] == "*"
        });
        let peak = &row.unwrap_or_else(|| panic!("{key} {route} {window_s}"))["peak"];
        (hi(&peak["p999"]), hi(&peak["max"]))
    };
    assert_eq!(peak("user", "*", 60), (40, 90));
    assert_eq!(peak("user", "order_create", 600), (2, 4));
    assert_eq!(peak("user", "coupon_apply", 3_600), (3, 6));
    assert_eq!(peak("phone", "otp_send", 3_600).1, 4);
    // a fiftieth of 3,000 OTPs and of 3,600 requests a second
    let otps = peak_of_all(rows, "otp_send");
    assert!((35..=85).contains(&otps), "{otps}");
    let scraped = 60 * 3_750;
    let customers = report["input"]["requests"].as_u64().unwrap() - scraped;
    assert!(customers.abs_diff(3_600 * 3_600 / 50) < 8_000, "{customers}");
}

/// Requests of a route in all.
fn peak_of_all(rows: &[Value], route: &str) -> u64 {
    let row = rows.iter().find(|row| row["key"] == "phone" && row["route"] == route);
    let histogram = row.unwrap()["histogram"].as_array().unwrap();
    histogram.iter().map(|pair| pair[0].as_u64().unwrap() * pair[1].as_u64().unwrap()).sum()
}
