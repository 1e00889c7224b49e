//! Generated traffic: the same bytes whatever the threads and the span, and what the scenario says is in it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use shadowcap_engine::generate::{Generated, Scenario, Truth, generate, read};
use shadowcap_engine::units::span::{HOUR_US, MINUTE_US};

/// A day of a small site, with all that scenarios can say.
const SMALL: &str = r#"
name = "small"
timezone = "Asia/Kolkata"
from = 2026-11-24T18:00:00+05:30
to = 2026-11-24T22:00:00+05:30

[[output]]
file = "small.log"
format = "combined"
peer = "10.0.0.{1-3}"

[[output]]
file = "small.jsonl"
format = "jsonl"
fields = { ts = "{time}", ip = "{client}", user = "{user}", status = "{status}", path = "{path}", bot = "{field:bot}", xff = "{forwarded}" }

[[output]]
file = "small.csv"
format = "csv"
fields = { end = "{end}", client_ip = "{client}", agent = "{agent}" }

[[output]]
file = "alb.log"
format = "alb"

[pool.carrier]
networks = ["100.64.0.0/16"]
shared = 50
busy = [{ addresses = 1, share = 0.1 }]

[pool.homes]
networks = ["240.0.0.0/8", "2001:db8::/40"]

[curve.evening]
hours = "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 4 8 8 4 2 1"

[request.menu]
path = "/menu/{1-900}"
takes = "60ms"

[request.order]
method = "POST"
path = "/orders/{phone}"
status = { 201 = 0.9, 500 = 0.1 }
takes = "900ms"
proves = true

[[crowd]]
name = "people"
identities = 3000
user = "u{n}"
phone = "{n+9000000000}"
pools = { carrier = 0.5, homes = 0.5 }
agents = { "App/2 \"beta\", new" = 0.5, "App/1" = 0.5 }
per_day = 2
curve = "evening"

[[crowd.habit]]
one_in = 40
hour = 20
step = [{ request = "menu", times = 40, every = "1s" }, { request = "order", pause = "2m", logs_in = true }]

[[crowd.habit]]
step = [
    { request = "menu", times = "1-6", think = "8s", least = "2s" },
    { request = "order", chance = 0.3, logs_in = true },
    { request = "menu", chance = 0.5 },
]

[[schedule]]
name = "scraper"
kind = "attacker"
rule = "scraper"
identities = 10
first = 5000
pools = { homes = 1 }
fields = { bot = "1" }
forges = true
request = "menu"
from = 2026-11-24T19:00:00+05:30
for = "1h"
requests = 36_000

[[schedule]]
name = "one"
kind = "attacker"
first = 6000
pools = { homes = 1 }
request = "order"
from = 2026-11-24T19:30:00+05:30
for = "1h"
requests = 500

[[schedule]]
name = "again and again"
like = "people"
identities = 20
logged_in = true
request = "order"
from = 2026-11-24T20:00:00+05:30
for = "30m"
burst = "3-4"
within = "20s"
"#;

fn small() -> Scenario {
    read(SMALL.as_bytes(), "small.toml").unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// All that is written, by output, and the truth.
fn made(scenario: &Scenario) -> (Vec<Vec<u8>>, Truth) {
    let mut texts = vec![Vec::new(); scenario.outputs.len()];
    let mut write = |index: usize, bytes: &[u8]| {
        texts[index].extend_from_slice(bytes);
        Ok(())
    };
    match generate(scenario, &mut write, &|| false, &mut |_| {}).unwrap() {
        Generated::Whole(truth) => (texts, truth),
        Generated::Stopped => panic!("nobody stopped it"),
    }
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8(text.to_vec()).unwrap().lines().map(str::to_owned).collect()
}

/// Lines of truth, by group.
fn truth(scenario: &Scenario, truth: &Truth) -> BTreeMap<String, Vec<serde_json::Value>> {
    let mut text = Vec::new();
    truth.write(scenario, &mut text).unwrap();
    let mut groups: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
    for line in lines(&text) {
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        groups.entry(value["group"].as_str().unwrap().to_owned()).or_default().push(value);
    }
    groups
}

#[test]
fn threads_change_nothing() {
    let scenario = small();
    let on = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| made(&scenario))
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));
    assert!(one.1.requests() > 40_000, "{}", one.1.requests());
    assert!(one.0.iter().all(|text| lines(text).len() as u64 >= one.1.requests()));
}

#[test]
fn another_seed_is_other_traffic() {
    let scenario = small();
    let other = Scenario { seed: 2, ..small() };
    assert!(made(&scenario).0 != made(&other).0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_span_is_a_piece_of_the_whole(cut in 1_i64..239, length in 1_i64..120) {
        let whole = small();
        let from_us = whole.from_us + cut * MINUTE_US + 1_234;
        let to_us = (from_us + length * MINUTE_US).min(whole.to_us);
        let piece = Scenario { from_us, to_us, ..small() };
        let rest = Scenario { from_us: to_us, ..small() };
        let before = Scenario { to_us: from_us, ..small() };
        let mut joined = made(&before).0.swap_remove(0);
        joined.extend(made(&piece).0.swap_remove(0));
        if to_us < whole.to_us {
            joined.extend(made(&rest).0.swap_remove(0));
        }
        prop_assert!(joined == made(&whole).0.swap_remove(0));
    }
}

#[test]
fn scale_changes_how_many_and_nobody_s_own_pace() {
    let whole = small();
    let tenth = small().scaled(100_000);
    let (all, some) = (truth(&whole, &made(&whole).1), truth(&tenth, &made(&tenth).1));
    let people = |of: &BTreeMap<String, Vec<serde_json::Value>>| of["people"].len();
    assert!(
        (8..12).contains(&(people(&all) / people(&some))),
        "{} {}",
        people(&all),
        people(&some)
    );
    // a tenth of the scraper's addresses, each as busy as before; the attack of one key is as it was
    let each = |of: &BTreeMap<String, Vec<serde_json::Value>>, group: &str| -> Vec<u64> {
        of[group].iter().map(|line| line["requests"].as_u64().unwrap()).collect()
    };
    assert_eq!(each(&all, "scraper"), [3_600; 10]);
    assert_eq!(each(&some, "scraper"), [3_600]);
    assert_eq!(each(&some, "one"), [500]);
    assert_eq!(each(&some, "again and again").len(), 2);
    assert!(each(&all, "again and again").iter().all(|many| (3..=4).contains(many)));
}

#[test]
fn an_identity_has_one_session_at_a_time_and_its_busiest_minute_is_the_habit_s() {
    let scenario = Scenario { schedules: Vec::new(), ..small() };
    let (texts, _) = made(&scenario);
    let mut by_client: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in lines(&texts[1]) {
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let us = shadowcap_engine::units::time::parse_rfc3339(value["ts"].as_str().unwrap());
        let client = value["ip"].as_str().unwrap();
        // those who share an address come together
        if !client.starts_with("100.64.") {
            by_client.entry(client.to_owned()).or_default().push(us.unwrap());
        }
    }
    let mut busiest = 0;
    for times in by_client.values_mut() {
        times.sort_unstable();
        for (at, from) in times.iter().enumerate() {
            let within = times[at..].iter().take_while(|us| **us < from + MINUTE_US).count();
            busiest = busiest.max(within);
        }
        let sessions = times.windows(2).filter(|pair| pair[1] - pair[0] > 20 * MINUTE_US).count();
        assert!(sessions <= 4, "{times:?}");
    }
    assert_eq!(busiest, 40);
}

#[test]
fn most_come_in_the_hours_of_the_curve() {
    let scenario = Scenario { schedules: Vec::new(), ..small() };
    let (texts, _) = made(&scenario);
    let at = |hour: &str| lines(&texts[0]).iter().filter(|line| line.contains(hour)).count();
    let (six, seven) = (at("[24/Nov/2026:18:"), at("[24/Nov/2026:19:"));
    assert!((17..23).contains(&(seven * 10 / six)), "{six} {seven}");
    assert_eq!(scenario.to_us - scenario.from_us, 4 * HOUR_US);
}

#[test]
fn lines_look_as_their_formats_do() {
    let (texts, _) = made(&small());
    let first = |index: usize, with: &str| {
        lines(&texts[index]).into_iter().find(|line| line.contains(with)).unwrap()
    };
    let combined = first(0, "POST /orders/90");
    assert!(combined.starts_with("10.0.0."), "{combined}");
    assert!(combined.contains(" +0530] \"POST /orders/90"), "{combined}");
    // what would end a field early is escaped
    assert!(first(0, "beta").contains("App/2 \\x22beta\\x22, new"));
    let json: serde_json::Value = serde_json::from_str(&first(1, "\"user\"")).unwrap();
    assert!(json["status"].is_number() && json["user"].as_str().unwrap().starts_with('u'));
    // who forges sends an address of their own, and clients reach this server themselves
    let forged: serde_json::Value = serde_json::from_str(&first(1, "\"bot\":\"1\"")).unwrap();
    assert!(forged["xff"].is_string() && forged["xff"] != forged["ip"]);
    assert_eq!(lines(&texts[2])[0], "end,client_ip,agent");
    assert!(first(2, "beta").ends_with("\"App/2 \"\"beta\"\", new\""));
    assert!(first(3, "menu").starts_with("http 2026-11-24T"), "{}", first(3, "menu"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let wrong = SMALL
        .replace("shared = 50", "shared = 0")
        .replace("request = \"menu\", chance = 0.5", "request = \"meny\", chance = 0.5")
        .replace("/menu/{1-900}", "/menu/{900-1}")
        .replace("per_day = 2", "per_day = 20")
        .replace("burst = \"3-4\"", "burst = \"4-3\"")
        .replace("file = \"small.csv\"", "file = \"../small.csv\"")
        .replace("networks = [\"240.0.0.0/8\"", "networks = [\"240.0.0.0/80\"");
    let problems = read(wrong.as_bytes(), "wrong.toml").unwrap_err();
    let found: Vec<(usize, &str)> =
        problems.iter().map(|problem| (problem.place.line, problem.code.text())).collect();
    let expected = [
        (18, "F013"),
        (28, "F009"),
        (32, "F013"),
        (38, "F013"),
        (55, "F009"),
        (67, "F007"),
        (102, "F013"),
    ];
    assert_eq!(found, expected, "{problems:#?}");
}
