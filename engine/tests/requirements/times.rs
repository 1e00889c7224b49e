//! Requirements for some times of day: over midnight, over a change of the clocks, and without any request.

use crate::support::{Came, Line, evaluated, read_policy, read_site, record};

const SITE: &str = r#"
timezone = "Europe/Berlin"
identity = "user"
[keys]
user = { from = ["user"] }
[[route]]
name = "buy"
path = "/buy"
[[route]]
name = "menu"
path = "/menu"
[[cohort.attacker]]
name = "scraper"
match = { route = ["menu"] }
[[cohort.customer]]
name = "bought"
match = { route = ["buy"], status = ["2xx"] }
[[duplicate]]
name = "again"
match = { route = ["buy"] }
key = "user"
within = "2m"
"#;

const POLICY: &str = r#"
name = "it"
[[limit]]
name = "buys"
match = { route = ["buy"] }
key = "user"
algorithm = "sliding-log"
limit = 1
window = "1m"
count_refused = false
[[limit]]
name = "menus"
match = { route = ["menu"] }
key = "ip"
algorithm = "sliding-log"
limit = 1
window = "10s"
count_refused = false
"#;

/// Two purchases of a user at an instant: the second is refused.
fn twice<'a>(time: &'a str, user: &'a str) -> [Line<'a>; 2] {
    [(time, "192.0.2.1", user, "POST /buy", 201); 2]
}

/// What a requirement for some times of day comes to.
fn came(name: &str, lines: &[Line<'_>], metric: &str, times: (&str, &str)) -> Came {
    let (from, to) = times;
    let required = format!(
        "[[require]]\nname = \"it\"\nmetric = \"{metric}\"\nmax = 0\nbetween = [\"{from}\", \"{to}\"]\n"
    );
    let site = read_site(&(SITE.to_owned() + &required));
    let policy = read_policy(POLICY, &site);
    let name = format!("{name}-{metric}-{}-{}", from.replace(':', ""), to.replace(':', ""));
    let [only] = evaluated(&site, &policy, &record(&name, &site, lines), 1).try_into().unwrap();
    only
}

fn value(name: &str, lines: &[Line<'_>], metric: &str, times: (&str, &str)) -> String {
    came(name, lines, metric, times).value
}

#[test]
fn only_requests_of_these_times_count() {
    // in Berlin it is two hours later
    let mut lines = twice("2026-06-01T10:00:00Z", "anna").to_vec();
    lines.extend(twice("2026-06-01T10:30:00Z", "ben"));
    lines.extend(twice("2026-06-01T18:00:00Z", "ben"));
    let of = |metric: &str, from: &str, to: &str| value("day", &lines, metric, (from, to));
    let refused = "customer.identities_refused";
    assert_eq!(of(refused, "12:00", "13:00"), "2");
    assert_eq!(of(refused, "12:30", "13:00"), "1");
    assert_eq!(of(refused, "12:00", "12:30"), "1");
    assert_eq!(of(refused, "20:00", "20:01"), "1");
    assert_eq!(of("customer.requests_refused", "12:00", "24:00"), "3");
    assert_eq!(of("buys.identities_refused", "12:00", "24:00"), "2");
    assert_eq!(of("buys.identities_refused", "20:00", "24:00"), "1");
    assert_eq!(of("again.admitted", "00:00", "24:00"), "0");
    let nothing = "unknown: the log has no such request at these times of day";
    let at_night = came("day", &lines, refused, ("01:00", "05:00"));
    assert_eq!((at_night.value.as_str(), at_night.pass, at_night.limit), (nothing, false, None));
    assert_eq!(of("buys.identities_refused", "01:00", "05:00"), nothing);
    assert_eq!(came("day", &lines, refused, ("12:00", "13:00")).limit.as_deref(), Some("buys"));
}

#[test]
fn a_night_is_one_time_of_day_on_both_sides_of_midnight() {
    let mut lines = twice("2026-06-01T19:59:59Z", "anna").to_vec();
    lines.extend(twice("2026-06-01T20:00:00Z", "ben"));
    lines.extend(twice("2026-06-01T22:30:00Z", "carl"));
    lines.extend(twice("2026-06-02T00:00:00Z", "dora"));
    let of =
        |from: &str, to: &str| value("night", &lines, "customer.identities_refused", (from, to));
    // 22:00 and 00:30, but not 21:59:59 and 02:00
    assert_eq!(of("22:00", "02:00"), "2");
    assert_eq!(of("22:00", "00:00"), "1");
    assert_eq!(of("00:00", "02:00"), "1");
    assert_eq!(of("02:00", "22:00"), "2");
}

#[test]
fn an_hour_that_comes_twice_counts_twice() {
    // clocks go back from 03:00 to 02:00 at 01:00 UTC
    let mut lines = twice("2026-10-25T00:30:00Z", "anna").to_vec();
    lines.extend(twice("2026-10-25T01:30:00Z", "ben"));
    lines.extend(twice("2026-10-25T02:00:00Z", "carl"));
    let of =
        |from: &str, to: &str| value("back", &lines, "customer.identities_refused", (from, to));
    assert_eq!(of("02:00", "03:00"), "2");
    assert_eq!(of("03:00", "04:00"), "1");
    // and forward, from 02:00 to 03:00
    let mut lines = twice("2026-03-29T00:59:59Z", "anna").to_vec();
    lines.extend(twice("2026-03-29T01:00:00Z", "ben"));
    let of = |from: &str, to: &str| value("on", &lines, "customer.identities_refused", (from, to));
    assert_eq!(of("02:00", "03:00"), "unknown: the log has no such request at these times of day");
    assert_eq!((of("01:00", "02:00"), of("03:00", "04:00")), ("1".to_owned(), "1".to_owned()));
}

#[test]
fn an_attacks_rate_is_over_its_seconds_at_these_times() {
    let menu = |time| (time, "203.0.113.9", "", "GET /menu", 200);
    let lines = [
        menu("2026-06-01T17:59:59Z"),
        menu("2026-06-01T18:00:20Z"),
        menu("2026-06-01T18:00:20Z"),
        menu("2026-06-01T18:00:39Z"),
        menu("2026-06-02T09:00:00Z"),
    ];
    let times = ("20:00", "21:00");
    let of = |metric: &str| value("rate", &lines, metric, times);
    // two of three in the twenty seconds from the first to the last in them
    assert_eq!(of("scraper.admitted_per_s"), "0.1");
    assert_eq!(of("scraper.refused_share"), "0.3333333333333333333333333333");
    // over two evenings: to the end of the first, and from the beginning of the second
    let lines = [menu("2026-06-01T18:59:50Z"), menu("2026-06-02T18:00:09Z")];
    assert_eq!(value("evenings", &lines, "scraper.admitted_per_s", times), "0.1");
}
