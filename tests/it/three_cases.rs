//! The three cases on generated traffic: the policies do to it what they are meant to.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::samples::{limit, log, missed, replayed, rule, site};
use crate::support::{Folder, root, run, stderr};

#[test]
fn at_dinner_nobody_is_hungry_and_the_scraper_is_slowed() {
    let log = log("tiffin-dinner");
    let report = replayed(&log, "tiffin", &["today", "proposed", "small/improved"], &[]);
    for policy in 1..3 {
        let customers = &report["policies"][policy]["total"]["cohorts"]["customer"];
        assert_eq!(customers["identities_refused"], 0);
        assert!(customers["identities"].as_u64().unwrap() > 200, "{customers}");
    }
    // its one address of this sample asks 3,750 times a minute and gets 63.84, after a start of 64
    let scraper = rule(&report, 1, "scraper");
    let asked = scraper["requests"].as_u64().unwrap();
    assert!(asked.abs_diff(3_750 * 37) < 10, "{asked}");
    assert_eq!(scraper["sustained_per_s"], 1.064);
    let admitted = scraper["requests"].as_u64().unwrap() - scraper["refused"].as_u64().unwrap();
    assert!((2_400..=2_430).contains(&admitted), "{admitted}");
    let today: Vec<String> = missed(&replayed(&log, "tiffin", &["today"], &[]))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let expected =
        ["a night of SMS pumping", "the SMS alarm rings in half an hour", "the scraper is slowed"];
    assert_eq!(today, expected);
}

#[test]
fn a_guesser_has_ten_wrong_codes_an_hour() {
    let report = replayed(&log("tiffin-coupons"), "tiffin", &["today", "proposed"], &[]);
    let guesser = rule(&report, 1, "coupon guesser");
    let passed = guesser["requests"].as_u64().unwrap() - guesser["refused"].as_u64().unwrap();
    assert_eq!((guesser["requests"].as_u64().unwrap(), passed), (30_000, 80));
    assert_eq!(limit(&report, 1, "wrong coupons")["cohorts"]["customer"]["refused"], 0);
    let proposed = replayed(&log("tiffin-coupons"), "tiffin", &["proposed"], &[]);
    assert!(!missed(&proposed).iter().any(|(name, _)| name == "guessing takes months"));
}

#[test]
fn a_looping_app_is_stopped_at_ten_and_duplicates_are_told() {
    let report = replayed(&log("tiffin-loop"), "tiffin", &["today", "proposed"], &[]);
    // one user posts 40 times in two minutes, one four times in 20 seconds
    let looped = rule(&report, 1, "app 5.3 loop");
    assert_eq!((&looped["requests"], &looped["refused"]), (&Value::from(44), &Value::from(30)));
    let again = |policy: usize| {
        let again = &report["policies"][policy]["total"]["duplicates"]["same order again"];
        (again["seen"].as_u64().unwrap(), again["admitted"].as_u64().unwrap())
    };
    assert_eq!((again(0), again(1)), ((42, 42), (42, 12)));
}

#[test]
fn a_night_of_sms_is_capped_alarmed_and_customers_without_a_code_are_counted() {
    let report = replayed(&log("tiffin-sms"), "tiffin", &["today", "small/proposed"], &[]);
    let stop = limit(&report, 1, "sms hard stop");
    // a hundred in each of four clock hours
    let asked = stop["asked"].as_u64().unwrap();
    assert_eq!(asked - stop["refused"].as_u64().unwrap(), 400);
    assert_eq!(report["policies"][1]["alarms"][0]["after_s"], 864);
    let customers = &report["policies"][1]["total"]["cohorts"]["customer"]["identities_refused"];
    assert!(customers.as_u64().unwrap() > 0, "{customers}");
    assert_eq!(report["costs"][0]["policies"][1]["replayed"]["total"], "100.00");
}

/// The whole night of SMS pumping at its full numbers, with a thousandth of the customers.
#[test]
fn the_night_we_had_costs_what_the_brief_says() {
    let folder = Folder::new();
    let scenario = fs::read_to_string(root().join("sample-logs/scenarios/tiffin.toml")).unwrap();
    let scenario = scenario
        .replace("identities = 3_000_000", "identities = 3_000")
        .replace("identities = 545_000", "identities = 545")
        .replace("identities = 300_000", "identities = 300");
    let scenario = folder.write("night.toml", scenario);
    let night = ["--from=2026-11-27T21:50:00+05:30", "--to=2026-11-28T06:10:00+05:30"];
    let out = folder.path();
    let made = run(&[&["generate", &scenario, "--out", &out], &night[..]].concat());
    assert!(made.status.success(), "{}", stderr(&made));
    let log = format!("{out}/tiffin.log.gz");
    let policies = ["today", "proposed", "improved", "bad/hard-stop-utc"];
    let report = replayed(&log, "tiffin", &policies, &["--horizon", "8h"]);
    let passed = |policy: usize| {
        let pumping = rule(&report, policy, "sms pumping");
        pumping["requests"].as_u64().unwrap() - pumping["refused"].as_u64().unwrap()
    };
    assert_eq!(passed(0), 200_000);
    // whole clock hours of India: eight; any eight hours of a sliding log as many; of UTC: nine windows
    let close = |policy: usize, most: u64| {
        let passed = passed(policy);
        assert!((most - 60..=most).contains(&passed), "{policy}: {passed}");
    };
    close(1, 80_000);
    close(2, 80_000);
    close(3, 90_000);
    let worst = |policy: usize| {
        let worst = &report["costs"][0]["policies"][policy]["replayed"]["worst_horizon"];
        worst.as_str().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!((worst(1), worst(2), worst(3)), (20_000.0, 20_000.0, 22_500.0));
    let found = missed(&report);
    assert!(
        found.contains(&("the night we had".to_owned(), "sms hard stop".to_owned())),
        "{found:?}"
    );
    for (policy, least, most) in [(1, 852, 864), (2, 852, 864)] {
        let after = report["policies"][policy]["alarms"][0]["after_s"].as_i64().unwrap();
        assert!((least..=most).contains(&after), "{policy}: {after}");
    }
}

#[test]
fn the_newsletter_holds_with_its_proposed_policy_and_each_of_its_choices_tells() {
    let log = log("newsletter-flood");
    let report =
        replayed(&log, "newsletter", &["today", "proposed", "improved"], &["--outage", "all"]);
    assert_eq!(
        missed(&report).into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>(),
        ["a day of bots", "bots get nowhere"].map(str::to_owned).into(),
        "today alone misses them"
    );
    for policy in 1..3 {
        let customers = &report["policies"][policy]["total"]["cohorts"]["customer"];
        assert_eq!(customers["identities_refused"], 0, "{policy}");
    }
    let text = fs::read_to_string(root().join("policies/newsletter/proposed.toml")).unwrap();
    let folder = Folder::new();
    let changed = |name: &str, from: &str, to: &str| {
        assert!(text.contains(from));
        let policy = folder.write(name, text.replace(from, to));
        let site = site("newsletter");
        let arguments = [
            "replay", &log, "--site", &site, "--policy", &policy, "--outage", "all", "--json", "-",
        ];
        let output = run(&arguments);
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    // refused requests count: whoever never pauses stays out; else five come through every ten minutes
    let counting = limit(&report, 1, "per client");
    let lenient = changed("lenient.toml", "count_refused = true", "count_refused = false");
    let passed =
        |limit: &Value| limit["asked"].as_u64().unwrap() - limit["refused"].as_u64().unwrap();
    let (strict, loose) = (passed(counting), passed(limit(&lenient, 0, "per client")));
    assert!(loose >= strict + 3 * 5 * 5, "{strict} {loose}");
    // without Redis: refusing stalls, admitting floods
    let during = |report: &Value, policy: usize| {
        report["policies"][policy]["outages"][0]["admitted"].as_u64().unwrap()
    };
    let open = changed("open.toml", "on_store_error = \"refuse\"", "on_store_error = \"allow\"");
    assert_eq!(during(&report, 1), 0);
    assert!(during(&open, 0) > 100, "{}", during(&open, 0));
    // one e-mail per address: who presses twice is written to once
    let spent = |site: &str| {
        let report = run(&[
            "replay",
            &log,
            "--site",
            site,
            "--policy",
            "policies/newsletter/today.toml",
            "--json",
            "-",
        ]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let customer = report["costs"][0]["observed"]["customer"].clone();
        let end = if customer.is_object() { customer["lo"].clone() } else { customer };
        end.as_str().unwrap().parse::<f64>().unwrap()
    };
    let facts = fs::read_to_string(root().join(site("newsletter"))).unwrap();
    let dedupe = "dedupe = { key = \"email\", within = \"ever\" }\n";
    assert!(facts.contains(dedupe));
    let twice = folder.write("site.toml", facts.replace(dedupe, ""));
    let (once, each) = (spent(&site("newsletter")), spent(&twice));
    assert!(each > once, "{once} {each}");
}

#[test]
fn six_workers_make_twelve_calls_a_second_or_two() {
    let log = log("workers-hour");
    let policies = ["today", "proposed", "bad/local-counters", "bad/fails-open"];
    let report = replayed(&log, "workers", &policies, &["--outage", "all"]);
    // batches of 900 calls: six processes of two a second each take as long as they did, 75 s; one limiter for
    // all takes 450 s, so the last call waits for 375
    let waits_s = |policy: usize| {
        let limit = limit(&report, policy, "vendor spacing");
        assert_eq!(limit["refused"], 0);
        limit["delay_us"]["max"].as_u64().unwrap() / 1_000_000
    };
    assert!(waits_s(0) < 15 && waits_s(2) < 15, "{} {}", waits_s(0), waits_s(2));
    assert!((360..=390).contains(&waits_s(1)), "{}", waits_s(1));
    // what they may ask in an hour, at two a second or at twelve
    let bound = |policy: usize| report["costs"][0]["policies"][policy]["bound"].clone();
    assert_eq!((bound(1), bound(2)), ("14.40".into(), "86.40".into()));
    let attack = |policy: &str| {
        let attacks = report["attacks"].as_array().unwrap();
        attacks.iter().find(|of| of["policy"] == policy).unwrap()["sustained_per_s"].clone()
    };
    assert_eq!(attack("workers 2026-12 (local-counters)"), 12.0);
    assert_eq!(attack("workers 2026-12 (proposed)"), 2.0);
    let during = |policy: usize| {
        let outage = &report["policies"][policy]["outages"][0];
        (outage["refused"].as_u64().unwrap(), outage["admitted"].as_u64().unwrap())
    };
    let (refused, admitted) = during(1);
    assert!(refused > 850 && admitted == 0, "{refused} {admitted}");
    let (refused, admitted) = during(3);
    assert!(refused == 0 && admitted > 850, "{refused} {admitted}");
    let found: BTreeSet<String> =
        missed(&replayed(&log, "workers", &["proposed"], &[])).into_iter().map(|m| m.0).collect();
    assert!(found.is_empty(), "{found:?}");
}
