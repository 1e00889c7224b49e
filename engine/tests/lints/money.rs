//! What stands before a paid action: which limits count, which are left out and why, and which
//! requirement that breaks.

use shadowcap_engine::policy::lint::{Code, Finding};

use crate::support::{by, codes, found, log};

const SITE: &str = r#"
[keys]
phone = { from = "query:phone" }

[[tier]]
name = "app"
instances = 2
instances_max = 4
balance = "random"

[input]
client_ip = { from = "x_forwarded_for", hop = 1 }

[[route]]
name = "otp"
method = ["POST"]
path = "/otp"

[[action]]
name = "sms (night)"
match = { route = ["otp"], status = ["2xx"] }
unit_cost = "0.25"
units_max = 2
currency = "INR"

[[require]]
name = "cheap nights"
metric = "sms-night.bound"
horizon = "8h"
max = "4000"
"#;

/// 8,000 messages in 8 hours at half a rupee.
fn cap() -> String {
    by("global", &log(1_000, "1h"))
}

fn with(limit: &str, more: &str) -> String {
    format!("{limit}\n{more}")
}

/// The finding that nothing bounds the action.
fn no_bound(site: &str, limits: &[&str]) -> Option<Finding> {
    found(site, limits).into_iter().find(|finding| finding.code == Code::NoBound)
}

#[test]
fn one_limit_for_all_bounds_what_is_paid() {
    assert_eq!(codes(SITE, &[&cap()]), [""; 0]);
    let dearer = SITE.replace("4000", "3999");
    assert!(no_bound(&dearer, &[&cap()]).is_none(), "it is bound, if too high");
}

#[test]
fn a_limit_that_does_not_count_is_listed_with_its_reason_and_its_cure() {
    for (more, why, help) in [
        ("mode = \"shadow\"", "`one` is in shadow", "set `mode = \"enforce\"` on `one`"),
        (
            "store = \"redis\"\non_store_error = \"allow\"",
            "`one` fails open",
            "set `on_store_error = \"refuse\"` on `one`",
        ),
        ("expires = 2026-01-01", "`one` has expired", "key = \"global\""),
        ("expires = 2026-12-01T15:00:00Z", "`one` expires within 8 h", "key = \"global\""),
        ("match = { key_prefix = { phone = [\"+91\"] } }", "isn't asked about every", "global"),
        ("match = { path = [\"/otp\"], logged_in = false }", "isn't asked about", "global"),
        ("count_when = { status = [404] }", "counts other responses than the action's", "global"),
        ("count_when = { status = [\"2xx\"] }", "any number of requests in flight", "global"),
    ] {
        let finding = no_bound(SITE, &[&with(&cap(), more)]).unwrap_or_else(|| panic!("{more}"));
        assert!(finding.text.contains(why), "{more}: {}", finding.text);
        assert!(finding.help.contains(help), "{more}: {}", finding.help);
        assert_eq!(finding.requirement.as_deref(), Some("cheap nights"));
        assert!(finding.text.ends_with("(sms-night.bound) cannot hold"), "{}", finding.text);
    }
}

#[test]
fn what_covers_the_action_counts_however_it_says_so() {
    for matching in [
        "{ route = [\"otp\"] }",
        "{ path = [\"/otp\"] }",
        "{ path = [\"/**\"], method = [\"POST\"] }",
        "{ not = { method = [\"GET\"] } }",
    ] {
        let limit = with(&cap(), &format!("match = {matching}"));
        assert!(no_bound(SITE, &[&limit]).is_none(), "{matching}");
    }
    for matching in
        ["{ method = [\"GET\"] }", "{ path = [\"/search\"] }", "{ not = { route = [\"otp\"] } }"]
    {
        let finding = no_bound(SITE, &[&with(&cap(), &format!("match = {matching}"))]).unwrap();
        assert!(finding.text.contains("no limit stands before it"), "{matching}: {}", finding.text);
    }
}

#[test]
fn keys_bound_only_if_an_attacker_has_so_many() {
    let per_phone = by("phone", &with(&log(5, "1h"), "missing_key = \"refuse\""));
    let finding = no_bound(SITE, &[&per_phone]).unwrap();
    assert!(finding.text.contains("is per phone, of which an attacker can have any number"));
    // 4,000 rupees at half a rupee
    assert!(finding.help.contains("`limit = 8000` in `window = \"8h\"`"), "{}", finding.help);
    assert!(finding.help.contains("`match = { route = [\"otp\"] }`"), "{}", finding.help);
    let known = format!("{SITE}\n[keys_available]\nphone = 100\n");
    assert_eq!(codes(&known, &[&per_phone]), [""; 0]);
    let skips = by("phone", &log(5, "1h"));
    assert_eq!(codes(&known, &[&skips]), ["SC016", "SC017"]);
    let cured = no_bound(&known, &[&skips]).unwrap();
    assert_eq!(cured.help, "set `missing_key = \"refuse\"` on `one`");
}

#[test]
fn local_counters_and_fallbacks_multiply() {
    let local = with(&cap(), "at = \"app\"\nmatch = { route = [\"otp\"] }\ncounters = \"local\"");
    let all = found(SITE, &[&local]);
    assert_eq!(all.len(), 1);
    assert!(all[0].text.contains("4 instances of `app`"), "{}", all[0].text);
    assert!(
        all[0].text.ends_with("so the requirement `cheap nights` (sms-night.bound) cannot hold")
    );
    let four = SITE.replace("4000", "16000");
    assert!(
        found(&four, &[&local])[0].requirement.is_none(),
        "four times 4,000 is as much as may be"
    );
    let fallback = "at = \"app\"\nmatch = { route = [\"otp\"] }\ncounters = \"shared\"\nstore = \"redis\"\non_store_error = \"local\"";
    assert_eq!(codes(SITE, &[&with(&cap(), fallback)]), [""; 0], "a bound, which `cost` prints");
}

#[test]
fn a_fixed_window_says_how_much_it_lets_through() {
    let clock = |zone: &str| {
        by(
            "global",
            &format!(
                "algorithm = \"fixed-window\"\nanchor = \"clock\"\nlimit = 1000\nwindow = \"1h\"\n{zone}"
            ),
        )
    };
    let india = SITE.replacen("[keys]", "timezone = \"Asia/Kolkata\"\n[keys]", 1);
    let text = |site: &str, zone: &str| found(site, &[&clock(zone)])[0].clone();
    let utc = text(&india, "");
    assert!(
        utc.text.contains("it admits 2000 in that time, not 1000, and 9000 in 8 h"),
        "{}",
        utc.text
    );
    assert!(
        utc.text.contains("by the clock of UTC, 30 m after those of Asia/Kolkata"),
        "{}",
        utc.text
    );
    assert_eq!(utc.requirement.as_deref(), Some("cheap nights"), "4,500 rupees");
    let home = text(&india.replace("4000", "4500"), "timezone = \"Asia/Kolkata\"");
    assert!(!home.text.contains("clock of") && home.requirement.is_none(), "{home:?}");
    let worst = india.replace("sms-night.bound", "sms-night.replayed_worst");
    assert_eq!(text(&worst, "").requirement.as_deref(), Some("cheap nights"));
    assert_eq!(text(&worst, "timezone = \"Asia/Kolkata\"").requirement, None, "a night is 8 hours");
}

#[test]
fn a_limit_in_shadow_matters_only_where_something_is_required_of_it() {
    let shadow = |matching: &str| {
        with(&by("ip", &log(10, "1m")), &format!("mode = \"shadow\"\nmatch = {{ {matching} }}"))
    };
    assert_eq!(codes(SITE, &[&cap(), &shadow("route = [\"otp\"]")]), ["SC023"]);
    assert_eq!(codes(SITE, &[&cap(), &shadow("path = [\"/search\"]")]), [""; 0]);
    let named = SITE.replace("sms-night.bound", "two.fill_max").replace("horizon = \"8h\"\n", "");
    let all = found(&named, &[&cap(), &shadow("path = [\"/search\"]")]);
    assert_eq!(all[0].requirement.as_deref(), Some("cheap nights"));
}

#[test]
fn requests_in_flight_are_bounded_by_a_limit_or_by_the_sites_word() {
    let counted = by("ip", &with(&log(10, "1h"), "count_when = { status = [404] }"));
    let slots = |key: &str| by(key, "algorithm = \"concurrency\"\nlimit = 2");
    let codes = |site: &str, limits: &[&str]| {
        let all = codes(site, limits);
        all.contains(&"SC018")
    };
    assert!(codes("", &[&counted]));
    assert!(!codes("", &[&slots("ip"), &counted]) && !codes("", &[&slots("global"), &counted]));
    assert!(codes("", &[&counted, &slots("ip")]), "too late");
    assert!(codes("", &[&with(&slots("ip"), "mode = \"shadow\""), &counted]));
    assert!(!codes("[max_in_flight]\nip = 4\n", &[&counted]));
}

#[test]
fn what_is_paid_once_per_key_is_bounded_by_the_keys() {
    let once = |key: &str, few: &str| {
        let dedupe = format!("units_max = 2\ndedupe = {{ key = \"{key}\", within = \"ever\" }}");
        let site = SITE.replace("units_max = 2", &dedupe);
        no_bound(&format!("{site}\n{few}"), &[])
    };
    assert!(once("ip", "").is_some());
    assert!(once("ip", "[keys_available]\nip = 100\n").is_none());
    // a request may lack the number, and is paid for each time
    assert!(once("phone", "[keys_available]\nphone = 100\n").is_some());
}
