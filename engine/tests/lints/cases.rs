//! What each lint fires on and what it leaves alone, beside the documentation's examples.

use shadowcap_engine::policy::lint::Within;

use crate::support::{bucket, by, codes, found, log, nginx};

const USERS: &str =
    "[keys]\nuser = { from = [\"cookie:uid\"] }\ntenant = { from = [\"tenant\"] }\n";
const STORE: &str = "store = \"redis\"\non_store_error = \"refuse\"\ncounters = \"shared\"\n";

/// The codes of two limits without a site.
fn pair(first: &str, second: &str) -> Vec<&'static str> {
    codes("", &[first, second])
}

#[test]
fn a_limit_behind_a_tighter_one_never_binds() {
    let first = by("ip", &log(10, "1m"));
    assert_eq!(pair(&first, &by("ip", &log(600, "1h"))), ["SC001"]);
    assert_eq!(pair(&first, &by("ip", &log(599, "1h"))), [""; 0]);
    assert_eq!(pair(&by("global", &log(10, "1m")), &by("ip", &log(600, "1h"))), ["SC001"]);
    assert_eq!(pair(&first, &by("global", &log(600, "1h"))), [""; 0]);
    assert_eq!(pair(&by("ip", &log(600, "1h")), &first), [""; 0]);
    // around a border of fixed windows twice as many pass
    let clock = "algorithm = \"fixed-window\"\nanchor = \"clock\"\nlimit = 10\nwindow = \"1m\"";
    assert_eq!(pair(&by("ip", clock), &by("ip", &log(19, "1m"))), [""; 0]);
    assert_eq!(pair(&by("ip", clock), &by("ip", &log(20, "1m"))), ["SC001"]);
}

#[test]
fn buckets_are_compared_at_once_and_in_the_long_run() {
    let narrow = by("ip", &bucket("60/m", 20));
    assert_eq!(pair(&narrow, &by("ip", &bucket("120/m", 20))), ["SC001"]);
    assert_eq!(pair(&narrow, &by("ip", &bucket("120/m", 19))), [""; 0]);
    assert_eq!(pair(&narrow, &by("ip", &bucket("59/m", 1000))), [""; 0]);
    // from a clock of microseconds to one of milliseconds: what leaks in one step may be missing
    assert_eq!(pair(&narrow, &by("ip", &nginx("90r/m", 21))), ["SC001"]);
    assert_eq!(pair(&narrow, &by("ip", &nginx("90r/m", 19))), [""; 0]);
    assert_eq!(pair(&by("ip", &nginx("60r/m", 20)), &by("ip", &log(1_000, "10m"))), ["SC001"]);
    assert_eq!(pair(&by("ip", &nginx("60r/m", 20)), &by("ip", &log(600, "10m"))), [""; 0]);
}

#[test]
fn what_does_not_hold_everything_back_makes_nothing_idle() {
    let (tight, later) = (log(10, "1m"), by("ip", &log(1000, "1h")));
    for excuse in [
        "mode = \"shadow\"",
        "expires = 2027-01-01",
        "match = { path = [\"/a\"] }",
        "store = \"redis\"\non_store_error = \"allow\"",
        "store = \"redis\"\non_store_error = \"local\"",
        "weight = 2",
    ] {
        let first = by("ip", &format!("{tight}\n{excuse}"));
        assert!(!pair(&first, &later).contains(&"SC001"), "{excuse}");
    }
    let queue = by("ip", &format!("{}\non_limit = \"queue\"\nhigh_water = 9", log(5, "1s")));
    let behind = codes("", &[&by("ip", &tight), &queue, &later]);
    assert_eq!(behind, [""; 0], "what waits between them leaves in heaps");
    let same = "match = { path = [\"/a\"], method = [\"GET\"] }";
    let wider = by("ip", &format!("{tight}\nmatch = {{ path = [\"/*\"] }}"));
    assert_eq!(pair(&wider, &by("ip", &format!("{}\n{same}", log(1000, "1h")))), ["SC001"]);
    // requests without a user pass the first and are refused by the second
    let user = |rest: &str| by("user", rest);
    let refuse = format!("{}\nmissing_key = \"refuse\"", log(1000, "1h"));
    assert_eq!(codes(USERS, &[&user(&tight), &user(&refuse)]), [""; 0]);
    assert_eq!(codes(USERS, &[&user(&tight), &user(&log(1000, "1h"))]), ["SC001"]);
}

#[test]
fn local_counters_are_as_many_as_their_instances() {
    let site = "[[tier]]\nname = \"app\"\ninstances = 4\nbalance = \"random\"\n[input]\n\
                client_ip = { from = \"x_forwarded_for\", hop = 1 }\n";
    let excuse = "allow = [{ lint = \"SC005\", why = \"a share each\" }]";
    let local = |limit: u64| {
        by("ip", &format!("{}\nat = \"app\"\ncounters = \"local\"\n{excuse}", log(limit, "1m")))
    };
    let shared = |limit: u64| by("ip", &format!("{}\nat = \"app\"\n{STORE}", log(limit, "1m")));
    assert_eq!(codes(site, &[&local(10), &shared(41)]), ["SC010", "SC001", "SC010"]);
    assert_eq!(codes(site, &[&local(10), &shared(39)]), ["SC010", "SC010"]);
    assert_eq!(codes(site, &[&local(10), &local(11)]), ["SC010", "SC001", "SC010"]);
}

#[test]
fn twins_differ_in_nothing_that_decides() {
    let one = by("ip", &log(10, "1m"));
    assert_eq!(pair(&one, &one), ["SC013"]);
    assert_eq!(pair(&one, &format!("{one}\nretry_after = \"exact\"")), ["SC001"]);
    let path = |paths: &str| format!("{one}\nmatch = {{ path = {paths} }}");
    assert_eq!(pair(&path("[\"/a\", \"/b\"]"), &path("[\"/b\", \"/a\"]")), ["SC013"]);
    assert_eq!(pair(&path("[\"/a\"]"), &path("[\"/b\"]")), [""; 0]);
}

#[test]
fn more_per_user_than_per_address_whatever_the_algorithm() {
    let swapped = |user: &str, address: &str| {
        let all = codes(USERS, &[&by("user", user), &by("ip", address)]);
        all.contains(&"SC011")
    };
    assert!(swapped(&log(600, "1m"), &log(60, "1m")));
    assert!(swapped(&bucket("600/m", 600), &log(60, "1m")));
    assert!(!swapped(&log(60, "1m"), &log(60, "1m")), "equal");
    assert!(!swapped(&log(10, "1s"), &log(100, "1m")), "many at once from an address");
    let some = format!("{}\nmatch = {{ path = [\"/a\"] }}", log(60, "1m"));
    assert!(!swapped(&log(600, "1m"), &some), "of other requests");
    let tenant = codes(USERS, &[&by("tenant", &log(600, "1m")), &by("ip", &log(60, "1m"))]);
    assert_eq!(tenant, [""; 0], "a tenant has many addresses");
}

#[test]
fn what_nginx_does_is_told_in_its_own_numbers() {
    let text = |rate: &str, burst: u64| {
        let found = found("", &[&by("ip", &nginx(rate, burst))]);
        found.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
    };
    assert_eq!(text("1r/m", 5), ["nginx stores 1r/m as 0.96/min (0.016 r/s)"]);
    assert_eq!(text("100r/m", 5), ["nginx stores 100r/m as 99.96/min (1.666 r/s)"]);
    assert_eq!(text("60r/m", 0), ["without a burst refuses any two requests less than 1 s apart"]);
    for exact in ["3r/m", "9r/m", "750r/m", "1r/s", "999r/s"] {
        assert_eq!(text(exact, 5), [""; 0], "{exact}");
    }
    let delayed = |burst: u64, delay: &str| {
        let limit = nginx("60r/m", burst).replace("delay = \"none\"", delay);
        found("", &[&by("ip", &limit)]).into_iter().map(|f| f.text).collect::<Vec<_>>()
    };
    assert_eq!(delayed(11, ""), ["holds the last request of a burst for 11 s"]);
    assert_eq!(delayed(10, ""), [""; 0]);
    assert_eq!(delayed(20, "delay = 10"), [""; 0]);
}

#[test]
fn keys_that_clients_choose_or_share() {
    let site = "[keys]\nua = { from = [\"header:User-Agent\"] }\nhost = { from = [\"host\"] }\n\
                xff = { from = [\"cookie:uid\", \"header:X-Real-IP\"] }\n\
                verified = { from = [\"sent_http_x_user\"] }\n";
    for (key, expected) in
        [("ua", Some("User-Agent")), ("xff", Some("X-Real-Ip")), ("host", None), ("verified", None)]
    {
        let all = found(site, &[&by(key, &log(10, "1m"))]);
        assert_eq!(!all.is_empty(), expected.is_some(), "{key}: {all:?}");
        for (finding, header) in all.iter().zip(expected) {
            assert!(finding.code.text() == "SC007" && finding.text.contains(header), "{finding:?}");
        }
    }
    assert_eq!(codes("", &[&by("ip/128", &log(10, "1m"))]), ["SC008"]);
    assert_eq!(codes("", &[&by("ip/24", &log(10, "1m"))]), [""; 0]);
    assert_eq!(codes("", &[&by("ip/56", &log(10, "1m"))]), [""; 0]);
    let ban = |more: &str| by("ip", &format!("{}\nban = \"10m\"\n{more}", log(10, "1m")));
    assert_eq!(codes("", &[&ban("")]), ["SC019"]);
    assert_eq!(codes(USERS, &[&ban("").replace("\"ip\"", "\"user\"")]), [""; 0]);
}

#[test]
fn an_address_behind_a_tier_needs_to_be_found() {
    let tier = "[[tier]]\nname = \"app\"\ninstances = 1\n";
    let limit = by("ip", &log(10, "1m"));
    assert_eq!(codes(tier, &[&limit]), ["SC006"]);
    let said = format!("{tier}[input]\nclient_ip = {{ from = \"x_forwarded_for\", hop = 1 }}\n");
    assert_eq!(codes(&said, &[&limit]), [""; 0]);
    assert_eq!(codes(USERS, &[&limit]), [""; 0], "nothing stands before it");
}

#[test]
fn the_edge_meets_static_files_unless_it_is_told() {
    let edge =
        |more: &str| codes("", &[&by("ip", &format!("at = \"edge\"\n{}\n{more}", log(10, "1m")))]);
    for (more, fires) in [
        ("", true),
        ("match = { path = [\"/**\"] }", true),
        ("match = { method = [\"GET\", \"POST\"] }", true),
        ("match = { method = [\"POST\"] }", false),
        ("match = { path = [\"/api/**\"] }", false),
        ("match = { not = { path = [\"/assets/**\"] } }", false),
        ("match = { host = [\"api.example\"] }", false),
    ] {
        assert_eq!(edge(more).contains(&"SC010"), fires, "{more}");
    }
    assert_eq!(codes("", &["at = \"edge\"\nkey = \"global\"\nalgorithm = \"block\""]), [""; 0]);
}

#[test]
fn raw_paths_are_found_in_matches_exceptions_and_routes() {
    let limit = |matching: &str| by("ip", &format!("{}\nmatch = {matching}", log(10, "1m")));
    assert_eq!(codes("", &[&limit("{ path = [\"/a//b\"] }")]), ["SC009"]);
    assert_eq!(codes("", &[&limit("{ path = [\"regex:^/a%2fb\"] }")]), ["SC009"]);
    assert_eq!(codes("", &[&limit("{ not = { path = [\"/%61\"] } }")]), ["SC009"]);
    let route = "[[route]]\nname = \"login\"\npath = \"/%6Cogin\"\n";
    let all = found(route, &[&limit("{ route = [\"login\"] }")]);
    assert_eq!((all[0].file, all[0].place.line), (Within::Site, 1));
    assert!(all[0].code.text() == "SC009" && all[0].text.contains("route `login`"), "{all:?}");
}

#[test]
fn exceptions_silence_one_code_on_one_limit() {
    let excuse = |code: &str| format!("allow = [{{ lint = \"{code}\", why = \"meant\" }}]");
    let limit = |key: &str, more: &str| by(key, &format!("{}\n{more}", nginx("8r/m", 0)));
    let two = |more: &str| codes(USERS, &[&limit("ip", more), &limit("user", "")]);
    assert_eq!(two(""), ["SC002", "SC003", "SC002", "SC003"]);
    assert_eq!(two(&excuse("SC003")), ["SC002", "SC002", "SC003"]);
    assert_eq!(two(&excuse("SC004")), ["SC002", "SC003", "SC025", "SC002", "SC003"]);
    // what can't be looked for without a site isn't missing
    assert_eq!(codes("", &[&limit("ip", &excuse("SC005"))]), ["SC002", "SC003"]);
}

#[test]
fn alarms_come_first_and_queues_end() {
    let alarm = |n: u64| by("ip", &format!("{}\nalarm = {n}", log(10, "1m")));
    assert_eq!(codes("", &[&alarm(11)]), ["SC022"]);
    assert_eq!(codes("", &[&alarm(10)]), [""; 0]);
    let queue = |more: &str| by("ip", &format!("{}\non_limit = \"queue\"\n{more}", log(10, "1m")));
    assert_eq!(codes("", &[&queue("")]), ["SC024"]);
    assert_eq!(codes("", &[&queue("high_water = 5\nstrategy = \"overflow\"")]), [""; 0]);
    let spaced =
        |more: &str| by("ip", &format!("algorithm = \"spacing\"\nmin_time = \"1s\"\n{more}"));
    assert_eq!(codes("", &[&spaced("high_water = 5")]), ["SC024"]);
    assert_eq!(codes("", &[&spaced("high_water = 0")]), [""; 0]);
    assert_eq!(codes("", &[&spaced("high_water = 5\nmax_concurrent = 1")]), [""; 0]);
}
