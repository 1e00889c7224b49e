//! Every metric where it is met and where it isn't.

use std::collections::BTreeSet;

use shadowcap_engine::metric;

use crate::support::{Line, evaluated, read_policy, read_site, record};

const SITE: &str = r#"
timezone = "Europe/Berlin"
identity = "user"
[keys]
user = { from = ["user"] }
[keys_available]
user = 10
[[route]]
name = "buy"
method = ["POST"]
path = "/buy"
[[route]]
name = "menu"
path = "/menu"
[[route]]
name = "sms"
path = "/sms"
[[cohort.attacker]]
name = "scraper"
match = { route = ["menu"] }
[[cohort.attacker]]
name = "nobody"
match = { route = ["sms"], logged_in = true }
[[cohort.customer]]
name = "bought"
match = { route = ["buy"], status = ["2xx"] }
[[duplicate]]
name = "bought again"
match = { route = ["buy"] }
key = "user"
within = "2m"
[[action]]
name = "sms"
match = { route = ["sms"] }
unit_cost = "0.25"
currency = "INR"
[[action]]
name = "mail"
match = { route = ["buy"] }
unit_cost = "1"
currency = "EUR"
[[attack]]
name = "pumping"
match = { route = ["sms"] }
requests = 1_000
rate = "100/m"
[[outage]]
name = "redis away"
store = "redis"
from = 2026-06-01T12:00:00+02:00
to = 2026-06-01T13:00:00+02:00
"#;

/// At noon anna buys once; half an hour later ben does twice in one second and once in the next; at eight
/// anna buys four times in four seconds; at nine a scraper asks for twenty menus in ten seconds; then come
/// four SMS; one line is unreadable.
fn lines() -> Vec<Line<'static>> {
    let mut lines = vec![
        ("2026-06-01T10:00:00Z", "192.0.2.1", "anna", "POST /buy", 201),
        ("2026-06-01T10:30:00Z", "192.0.2.2", "ben", "POST /buy", 201),
        ("2026-06-01T10:30:00Z", "192.0.2.2", "ben", "POST /buy", 201),
        ("2026-06-01T10:30:01Z", "192.0.2.2", "ben", "POST /buy", 201),
        ("", "", "", "", 0),
        ("2026-06-01T18:00:00Z", "192.0.2.1", "anna", "POST /buy", 201),
        ("2026-06-01T18:00:01Z", "192.0.2.1", "anna", "POST /buy", 201),
        ("2026-06-01T18:00:02Z", "192.0.2.1", "anna", "POST /buy", 201),
        ("2026-06-01T18:00:03Z", "192.0.2.1", "anna", "POST /buy", 201),
    ];
    for second in [
        "2026-06-01T19:00:00Z",
        "2026-06-01T19:00:01Z",
        "2026-06-01T19:00:02Z",
        "2026-06-01T19:00:03Z",
        "2026-06-01T19:00:04Z",
        "2026-06-01T19:00:05Z",
        "2026-06-01T19:00:06Z",
        "2026-06-01T19:00:07Z",
        "2026-06-01T19:00:08Z",
        "2026-06-01T19:00:09Z",
    ] {
        lines.extend([(second, "203.0.113.9", "", "GET /menu", 200); 2]);
    }
    lines.extend([("2026-06-01T20:00:00Z", "203.0.113.8", "", "POST /sms", 200); 4]);
    lines
}

/// A limit, or its first lines if more follow.
fn log(name: &str, route: &str, key: &str, limit: u64, window: &str) -> String {
    format!(
        "[[limit]]\nname = \"{name}\"\nmatch = {{ route = [\"{route}\"] }}\nkey = \"{key}\"\n\
algorithm = \"sliding-log\"\nlimit = {limit}\nwindow = \"{window}\"\ncount_refused = false\n"
    )
}

/// The policies, by name.
fn policy(name: &str) -> String {
    let buys = || log("buys", "buy", "user", 3, "1m");
    let menus = || log("menus", "menu", "ip", 5, "10s");
    match name {
        "none" => String::new(),
        "usual" => buys() + &menus(),
        // anna makes four a minute
        "roomy" => log("buys", "buy", "user", 8, "1m"),
        "tight" => log("buys", "buy", "user", 5, "1m"),
        "shadow" => buys() + "mode = \"shadow\"\n",
        "second" => log("buys", "buy", "user", 2, "1s"),
        "shared" => log("menus", "menu", "global", 5, "10s"),
        "held up" => "[[limit]]\nname = \"buys\"\nmatch = { route = [\"buy\"] }\nkey = \"user\"\n\
algorithm = \"nginx\"\nrate = \"60r/m\"\nburst = 9\ndelay = \"all\"\n"
            .to_owned(),
        "stored" => {
            log("buys", "buy", "user", 9, "1m") + "store = \"redis\"\non_store_error = \"refuse\"\n"
        }
        "capped" => log("cap", "sms", "global", 2, "1h") + "alarm = 1\n",
        "clock" => "[[limit]]\nname = \"cap\"\nmatch = { route = [\"sms\"] }\nkey = \"global\"\n\
algorithm = \"fixed-window\"\nanchor = \"clock\"\nlimit = 10\nwindow = \"1h\"\nalarm = 8\n"
            .to_owned(),
        "rehearsed" => log("cap", "sms", "global", 2, "1h") + "mode = \"shadow\"\n",
        "both" => {
            log("loose", "sms", "global", 50, "1h")
                + &log("cap", "sms", "global", 9, "1h")
                + "mode = \"shadow\"\n"
        }
        "per user" => log("mails", "buy", "user", 2, "1h") + "missing_key = \"refuse\"\n",
        other => panic!("{other}"),
    }
}

/// (policy, requirement, value, whether it is met, limit at fault).
const CASES: &[(&str, &str, &str, bool, &str)] = &[
    // cohorts
    ("usual", "customer.identities_refused max 1", "1", true, ""),
    ("usual", "customer.identities_refused max 0", "1", false, "buys"),
    ("usual", "customer.requests_refused max 1", "1", true, ""),
    ("usual", "customer.requests_refused max 0", "1", false, "buys"),
    ("usual", "attacker.requests_refused min 15", "15", true, ""),
    ("usual", "attacker.requests_refused min 16", "15", false, ""),
    ("usual", "customer.delayed max 0", "0", true, ""),
    ("held up", "customer.delayed max 2", "2", true, ""),
    ("held up", "customer.delayed max 1", "2", false, "buys"),
    ("shadow", "customer.identities_refused max 0", "0", true, ""),
    ("usual", "unknown.requests_refused max 0", "0", true, ""),
    (
        "usual",
        "unknown.identities_refused max 9",
        "unknown: no such request tells whose it is",
        false,
        "",
    ),
    // attack rules
    ("usual", "scraper.refused_share min 0.75", "0.75", true, ""),
    ("usual", "scraper.refused_share min 0.750000001", "0.75", false, "menus"),
    ("none", "scraper.refused_share min 0.5", "0", false, ""),
    ("usual", "scraper.admitted_per_s max 0.5", "0.5", true, ""),
    ("usual", "scraper.admitted_per_s max 0.4", "0.5", false, "menus"),
    ("none", "scraper.admitted_per_s max 1", "2", false, ""),
    ("usual", "scraper.keys_to_defeat min 4", "4", true, ""),
    ("usual", "scraper.keys_to_defeat min 5", "4", false, "menus"),
    ("none", "scraper.keys_to_defeat min 1", "0", false, ""),
    ("shared", "scraper.keys_to_defeat min 1000", "unbounded", true, ""),
    ("shared", "scraper.keys_to_defeat max 1000", "unbounded", false, ""),
    ("usual", "nobody.refused_share min 0", "unknown: the log has no such request", false, ""),
    ("usual", "nobody.admitted_per_s max 9", "unknown: the log has no such request", false, ""),
    ("usual", "nobody.keys_to_defeat min 0", "unknown: the log has no such request", false, ""),
    // limits
    ("usual", "buys.identities_refused max 1", "1", true, ""),
    ("usual", "buys.identities_refused max 0", "1", false, "buys"),
    ("shadow", "buys.identities_refused max 0", "0", true, ""),
    (
        "usual",
        "menus.identities_refused max 9",
        "unknown: no such request tells whose it is",
        false,
        "",
    ),
    ("usual", "buys.fill_max max 1", "1", true, ""),
    ("roomy", "buys.fill_max max 0.5", "0.5", true, ""),
    ("usual", "buys.fill_max max 0.99", "1", false, "buys"),
    ("none", "buys.fill_max max 1", "unknown: the policy has no limit of that name", false, ""),
    (
        "none",
        "buys.identities_refused max 1",
        "unknown: the policy has no limit of that name",
        false,
        "",
    ),
    // duplicates: ben's two, and three of anna's, one of which is refused
    ("usual", "bought-again.admitted max 4", "4", true, ""),
    ("usual", "bought-again.admitted max 3", "4", false, ""),
    // room to grow: refused today, not even at twice, or somewhere between two factors
    ("usual", "growth_to_first_refusal min 1", "1", true, ""),
    ("usual", "growth_to_first_refusal min 1.1", "1", false, "buys"),
    ("roomy", "growth_to_first_refusal min 2", "2..unbounded sampled", true, ""),
    ("roomy", "growth_to_first_refusal min 2.1", "2..unbounded sampled", false, ""),
    ("tight", "growth_to_first_refusal min 1.25", "1.25..1.5 sampled", true, ""),
    ("tight", "growth_to_first_refusal min 1.5", "1.25..1.5 sampled", false, "buys"),
    ("none", "growth_to_first_refusal min 100", "unbounded", true, ""),
    // what was read: one line of 33
    ("none", "input.bad_share max 0.031", "0.0303030303030303030303030303", true, ""),
    ("none", "input.bad_share max 0.03", "0.0303030303030303030303030303", false, ""),
    // money
    ("capped", "sms.bound max 0.50 in 1h", "0.5", true, ""),
    ("capped", "sms.bound max 0.50 in 2h", "1", false, "cap"),
    ("none", "sms.bound max 1000000 in 1h", "unbounded", false, ""),
    ("rehearsed", "sms.bound max 1 in 1h", "unbounded", false, "cap"),
    ("both", "sms.bound max 3 in 1h", "12.5", false, "cap"),
    ("both", "sms.bound max 1 in 1h", "12.5", false, "loose"),
    ("clock", "sms.bound max 7.50 in 2h", "7.5", true, ""),
    ("clock", "sms.bound max 7.49 in 2h", "7.5", false, "cap"),
    ("clock", "sms.bound_aligned max 5 in 2h", "5", true, ""),
    ("clock", "sms.bound_aligned max 4.99 in 2h", "5", false, "cap"),
    ("per user", "mail.bound max 20 in 1h", "20", true, ""),
    ("capped", "sms.replayed_worst max 0.50 in 1h", "0.5", true, ""),
    ("capped", "sms.replayed_worst max 0.49 in 1h", "0.5", false, "cap"),
    ("none", "sms.replayed_worst max 0.99 in 1h", "1", false, ""),
    // the second SMS of a minute's hundred rings; eight more than that take ten times as long at worst
    ("capped", "sms.time_to_alarm_s max 1", "1", true, ""),
    ("clock", "sms.time_to_alarm_s max 9", "10", false, "cap"),
    ("none", "sms.time_to_alarm_s max 3600", "unbounded", false, ""),
    (
        "none",
        "mail.time_to_alarm_s max 3600",
        "unknown: the site declares no [[attack]] on it",
        false,
        "",
    ),
    // what-ifs: without their store, all who buy then are refused
    ("stored", "customer.identities_refused max 0", "0", true, ""),
    ("stored", "customer.identities_refused max 2 outage redis away", "2", true, ""),
    ("stored", "customer.identities_refused max 1 outage redis away", "2", false, "buys"),
    ("none", "sms.replayed_worst max 0.99 in 1h outage redis away", "1", false, ""),
];

/// `METRIC max N in SPAN outage NAME` as a table.
fn requirement(text: &str) -> String {
    let (text, outage) = text.split_once(" outage ").map_or((text, None), |(a, b)| (a, Some(b)));
    let (text, horizon) = text.split_once(" in ").map_or((text, None), |(a, b)| (a, Some(b)));
    let words: Vec<&str> = text.split(' ').collect();
    let money = horizon.is_some();
    let number = if money { format!("\"{}\"", words[2]) } else { words[2].to_owned() };
    let mut table =
        format!("[[require]]\nname = \"it\"\nmetric = \"{}\"\n{} = {number}\n", words[0], words[1]);
    table += &outage.map_or_else(String::new, |name| format!("outage = \"{name}\"\n"));
    table + &horizon.map_or_else(String::new, |span| format!("horizon = \"{span}\"\n"))
}

fn came(policy_name: &str, asked: &str, step_us: i64) -> (String, bool, String) {
    let site = read_site(&(SITE.to_owned() + &requirement(asked)));
    let policy = read_policy(&format!("name = \"it\"\n{}", policy(policy_name)), &site);
    let log = record(&format!("{policy_name}-{}", asked.replace(' ', "-")), &site, &lines());
    let [only] = evaluated(&site, &policy, &log, step_us).try_into().unwrap();
    (only.value, only.pass, only.limit.unwrap_or_default())
}

#[test]
fn every_metric_is_met_and_missed_as_its_value_says() {
    let mut wrong = Vec::new();
    for (policy, asked, value, pass, limit) in CASES {
        let came = came(policy, asked, 1);
        let expected = ((*value).to_owned(), *pass, (*limit).to_owned());
        if came != expected {
            wrong.push(format!("{policy}: {asked}: {came:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_metric_is_without_a_case_that_passes_and_one_that_fails() {
    let seen = |pass: bool| -> BTreeSet<&str> {
        let cases = CASES.iter().filter(|case| case.3 == pass);
        cases.map(|case| case.1.split(' ').next().unwrap().rsplit('.').next().unwrap()).collect()
    };
    for metric in metric::list(None, None) {
        let field = metric.name.rsplit('.').next().unwrap();
        assert!(seen(true).contains(field) && seen(false).contains(field), "{}", metric.name);
    }
}

#[test]
fn a_bracket_must_meet_max_with_its_upper_and_min_with_its_lower_end() {
    // whether ben's third comes within a second of his first two isn't in stamps of a second
    let asked =
        |what: &str| came("second", &format!("customer.requests_refused {what}"), 1_000_000);
    let value = "0..1 sampled".to_owned();
    assert_eq!(asked("max 1"), (value.clone(), true, String::new()));
    assert_eq!(asked("max 0"), (value.clone(), false, "buys".to_owned()));
    assert_eq!(asked("min 0"), (value.clone(), true, String::new()));
    assert_eq!(asked("min 1"), (value, false, String::new()));
    let share = came("second", "bought-again.admitted max 5", 1_000_000);
    assert_eq!(share, ("4..5 sampled".to_owned(), true, String::new()));
}
