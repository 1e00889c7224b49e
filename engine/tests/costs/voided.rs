//! Each rule by which a limit counts for a paid action or doesn't.

use rust_decimal::Decimal;
use shadowcap_engine::cost::{Figures, Seen, figures};
use shadowcap_engine::policy::coverage::{Binding, Ground};
use shadowcap_engine::units::span::{DAY_US, HOUR_US};
use shadowcap_engine::units::time::parse_rfc3339;

use crate::support::{money, policy, site};

/// A site with one paid action, a tier of 2 to 3 instances, and these facts before and behind it.
fn facts(more: &str, of_action: &str) -> String {
    format!(
        r#"
{more}
[[tier]]
name = "app"
instances = 2
instances_max = 3
balance = "round-robin"
[[route]]
name = "send"
method = ["POST"]
path = "/send/{{phone}}"
[[route]]
name = "other"
path = "/other"
[[action]]
name = "mail"
match = {{ route = ["send"], status = ["2xx"] }}
currency = "USD"
{of_action}
"#
    )
}

const ONE: &str = "unit_cost = \"1\"";
/// Ten in any hour.
const TEN: &str = "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1h\"\ncount_refused = false";

/// The figures for an hour; each limit the lines of its table without a name.
fn figured(site_text: &str, limits: &[&str], now: Option<&str>, horizon_us: i64) -> Figures {
    let site = site(site_text);
    let tables: Vec<String> = limits
        .iter()
        .enumerate()
        .map(|(at, lines)| format!("[[limit]]\nname = \"l{at}\"\n{lines}\n"))
        .collect();
    let policy = policy(&format!("name = \"p\"\n{}", tables.concat()), &site);
    let now_us = now.map(|now| parse_rfc3339(now).unwrap());
    let ground = Ground { policy: &policy, site: Some(&site), now_us };
    figures(&ground, &site.actions[0], horizon_us, Seen::default())
}

fn hour(more: &str, limits: &[&str]) -> Figures {
    figured(&facts(more, ONE), limits, None, HOUR_US)
}

fn bound(more: &str, limit: &str) -> Option<u64> {
    hour(more, &[limit]).bound().map(|money| money.to_string().parse().unwrap())
}

/// The only reason for which the only limit is left out.
fn why(more: &str, limit: &str) -> String {
    let figures = hour(more, &[limit]);
    assert_eq!(figures.bound(), None, "{limit}");
    let [out] = figures.bounded.left_out.as_slice() else { panic!("{figures:?}") };
    let [reason] = out.reasons.as_slice() else { panic!("{out:?}") };
    reason.why.clone()
}

fn global(rest: &str) -> String {
    format!("key = \"global\"\n{TEN}\n{rest}")
}

#[test]
fn one_counter_for_all_bounds_the_action() {
    assert_eq!(bound("", &global("")), Some(10));
    assert_eq!(bound("", &global("match = { route = [\"send\"] }")), Some(10));
    // as does one for everything but something else
    assert_eq!(bound("", &global("match = { not = { route = [\"other\"] } }")), Some(10));
}

#[test]
fn a_limit_in_shadow_bounds_nothing() {
    assert_eq!(why("", &global("mode = \"shadow\"")), "is in shadow");
}

#[test]
fn a_limit_on_some_of_the_requests_bounds_nothing() {
    let only = |matching: &str| why("", &global(&format!("match = {{ {matching} }}")));
    assert_eq!(only("route = [\"other\"]"), "is asked about no request of `mail`");
    assert_eq!(only("logged_in = false"), "isn't asked about every request of `mail`");
    assert_eq!(
        only("route = [\"send\"], user_agent = [\"curl*\"]"),
        "isn't asked about every request of `mail`"
    );
}

#[test]
fn who_lacks_the_key_must_not_pass() {
    let keys = "[keys]\nuser = { from = [\"cookie:uid\"] }\n[keys_available]\nuser = 5";
    let by_user = |missing: &str| format!("key = \"user\"\n{TEN}\nmissing_key = \"{missing}\"");
    assert_eq!(why(keys, &by_user("skip")), "lets requests without user pass");
    assert_eq!(bound(keys, &by_user("refuse")), Some(50));
    // and one for those without
    assert_eq!(bound(keys, &by_user("shared")), Some(60));
    // a placeholder of the path is never missing
    let keys = "[keys]\nphone = { from = [\"path:phone\"] }\n[keys_available]\nphone = 5";
    let by_phone = format!("key = \"phone\"\n{TEN}\nmatch = {{ route = [\"send\"] }}");
    assert_eq!(bound(keys, &by_phone), Some(50));
}

#[test]
fn keys_without_end_bound_nothing_and_several_multiply() {
    let per_ip = format!("key = \"ip\"\n{TEN}");
    assert_eq!(why("", &per_ip), "is per ip, of which an attacker can have any number");
    let few = "[keys_available]\nip = 7";
    assert_eq!(bound(few, &per_ip), Some(70));
    // no more networks than addresses
    assert_eq!(bound(few, &format!("key = \"ip/24\"\n{TEN}")), Some(70));
    // of the routes only those that are paid for
    let by_route = format!("key = [\"ip\", \"route\"]\n{TEN}");
    assert_eq!(bound(few, &by_route), Some(70));
    let anything = facts(few, ONE).replace("route = [\"send\"], ", "");
    let of = |limit: &str| figured(&anything, &[limit], None, HOUR_US);
    // requests of no route have no such key, or share one
    assert_eq!(of(&by_route).bound(), None);
    let shared = of(&format!("{by_route}\nmissing_key = \"shared\""));
    assert_eq!(shared.bound(), Some(money("150")));
    let both = "[keys]\nuser = { from = [\"cookie:uid\"] }\n[keys_available]\nip = 7\nuser = 3";
    let pair = format!("key = [\"ip\", \"user\"]\n{TEN}\nmissing_key = \"refuse\"");
    assert_eq!(bound(both, &pair), Some(210));
}

#[test]
fn limits_that_expire_hold_until_then() {
    let limit = global("expires = 2026-12-02T00:00:00Z");
    let at = |now: Option<&str>, horizon_us| figured(&facts("", ONE), &[&limit], now, horizon_us);
    let day_before = at(Some("2026-12-01T00:00:00Z"), DAY_US);
    assert_eq!(day_before.bound(), Some(money("240")));
    assert_eq!(day_before.bounded.until_us, parse_rfc3339("2026-12-02T00:00:00Z"));
    let why = |figures: Figures| figures.bounded.left_out[0].reasons[0].why.clone();
    assert_eq!(why(at(Some("2026-12-01T00:00:01Z"), DAY_US)), "expires within 1 d");
    assert_eq!(why(at(Some("2026-12-02T00:00:00Z"), DAY_US)), "has expired");
    assert_eq!(at(None, DAY_US).bound(), Some(money("240")));
}

#[test]
fn local_counters_count_once_per_instance_there_can_be() {
    let local = |key: &str| format!("at = \"app\"\ncounters = \"local\"\nkey = {key}\n{TEN}");
    assert_eq!(bound("", &local("\"global\"")), Some(30));
    let sticky = facts("[keys_available]\nip = 2", ONE).replace("round-robin", "by-client");
    let of = |key: &str| figured(&sticky, &[&local(key)], None, HOUR_US).bound();
    // each address meets one instance, all of them together meet all
    assert_eq!(of("\"ip\""), Some(money("20")));
    assert_eq!(of("\"global\""), Some(money("30")));
}

#[test]
fn a_store_that_is_away_opens_closes_or_multiplies() {
    let stored = |on_error: &str| {
        global(&format!(
            "at = \"app\"\ncounters = \"shared\"\nstore = \"redis\"\non_store_error = \"{on_error}\""
        ))
    };
    assert_eq!(bound("", &stored("refuse")), Some(10));
    assert_eq!(why("", &stored("allow")), "fails open: without its store everything passes");
    // three instances, and what was counted in the store before
    assert_eq!(bound("", &stored("local")), Some(40));
}

#[test]
fn a_store_is_assumed_to_keep_its_counters_unless_a_flush_is_declared() {
    let stored = global("store = \"redis\"\non_store_error = \"refuse\"");
    let kept = hour("", &[&stored]);
    assert_eq!(kept.bounded.kept_by.as_deref(), Some("redis"));
    let outage = |name: &str, from: &str, rest: &str| {
        format!(
            "[[outage]]\nname = \"{name}\"\nstore = \"redis\"\nfrom = 2026-11-24T{from}:00Z\nto = 2026-11-24T{from}:30Z\n{rest}\n"
        )
    };
    let flush = |at: &str| outage(at, at, "kind = \"flush\"");
    let flushed = hour(&flush("12:00"), &[&stored]);
    assert_eq!((flushed.bound(), flushed.bounded.kept_by), (Some(money("20")), None));
    // two within an hour, and two that are not
    assert_eq!(bound(&(flush("12:00") + &flush("12:30")), &stored), Some(30));
    assert_eq!(bound(&(flush("12:00") + &flush("13:30")), &stored), Some(20));
    // a store that comes back empty has forgotten as well; one that was only away has not
    assert_eq!(bound(&outage("a", "12:00", "after = \"empty\""), &stored), Some(20));
    assert_eq!(bound(&outage("a", "12:00", ""), &stored), Some(10));
    // as has none that is another's
    assert_eq!(bound(&flush("12:00").replace("\"redis\"", "\"other\""), &stored), Some(10));
}

#[test]
fn weights_leave_room_for_fewer_and_none_for_nothing() {
    assert_eq!(bound("", &global("weight = 3")), Some(3));
    assert_eq!(bound("", &global("weight = { send = 5, other = 1 }")), Some(2));
    let nothing = facts("", ONE).replace("route = [\"send\"], ", "");
    let limit = global("weight = { other = 2 }");
    assert_eq!(figured(&nothing, &[&limit], None, HOUR_US).bound(), Some(money("10")));
}

#[test]
fn responses_are_outrun_by_requests_in_flight() {
    let by_response = global("count_when = { status = [\"2xx\"] }");
    assert_eq!(
        why("", &by_response),
        "counts responses, which any number of requests in flight can outrun"
    );
    assert_eq!(
        why("[max_in_flight]\nip = 4", &global("count_when = { status = [404] }")),
        "counts other responses than the action's"
    );
    // 10 − 1 + 4, by a limit before it or by the site's word
    let slots = "key = \"global\"\nalgorithm = \"concurrency\"\nlimit = 4";
    assert_eq!(hour("", &[slots, &by_response]).bound(), Some(money("13")));
    let keys = "[keys_available]\nip = 2\n[max_in_flight]\nip = 4";
    let per_ip = format!("key = \"ip\"\n{TEN}\ncount_when = {{ status = [\"2xx\"] }}");
    assert_eq!(bound(keys, &per_ip), Some(26));
    // slots in shadow hold nothing
    let shadow = format!("{slots}\nmode = \"shadow\"");
    assert_eq!(hour("", &[&shadow, &by_response]).bound(), None);
}

#[test]
fn what_bounds_something_else_bounds_nothing_here() {
    let slots = "key = \"global\"\nalgorithm = \"concurrency\"\nlimit = 4";
    assert_eq!(why("", slots), "bounds how many requests are in flight, not how many there are");
    let waf = "key = \"global\"\nalgorithm = \"aws-waf\"\nlimit = 10\nwindow = \"60s\"";
    assert_eq!(why("", waf), "notices a flood late, however large it is by then");
}

#[test]
fn a_chain_is_as_tight_as_its_tightest() {
    let hundred = global("").replace("limit = 10", "limit = 100");
    let figures = hour("", &[&hundred, &global(""), &hundred]);
    assert_eq!(figures.bound(), Some(money("10")));
    assert_eq!(figures.bounded.binding, Some(Binding::Limit(1)));
}

#[test]
fn every_reason_of_a_limit_is_told() {
    let keys = "[keys]\nuser = { from = [\"cookie:uid\"] }";
    let all = format!(
        "at = \"app\"\nkey = \"user\"\nmode = \"shadow\"\ncounters = \"shared\"\nstore = \"redis\"\non_store_error = \"allow\"\n{TEN}\nmatch = {{ logged_in = false }}"
    );
    let figures = hour(keys, &[&all]);
    let whys: Vec<&str> =
        figures.bounded.left_out[0].reasons.iter().map(|reason| reason.why.as_str()).collect();
    assert_eq!(
        whys,
        [
            "is in shadow",
            "fails open: without its store everything passes",
            "isn't asked about every request of `mail`",
            "lets requests without user pass",
            "is per user, of which an attacker can have any number",
        ]
    );
}

#[test]
fn money_is_the_dearest_price_that_no_block_refuses_times_the_most_units() {
    let keys =
        "[keys]\nphone = { from = [\"path:phone\"], normalise = \"phone\", region = \"IN\" }";
    let folder = std::env::temp_dir().join(format!("shadowcap-prices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let list = folder.join("prices.csv");
    std::fs::write(&list, "prefix,price\n+91,0.25\n+9198,0.5\n+44,4\n").unwrap();
    let priced = facts(keys, &format!("prices = {:?}\nunits_max = 2", list.to_str().unwrap()));
    let cap = global("");
    let of = |limits: &[&str]| figured(&priced, limits, None, HOUR_US).bound();
    assert_eq!(of(&[&cap]), Some(money("80")));
    let abroad = "key = \"global\"\nalgorithm = \"block\"\nmatch = { route = [\"send\"], not = { key_prefix = { phone = [\"+91\"] } } }";
    assert_eq!(of(&[abroad, &cap]), Some(money("10")));
    let british =
        "key = \"global\"\nalgorithm = \"block\"\nmatch = { key_prefix = { phone = [\"+44\"] } }";
    // a number that no prefix fits may cost as much as the dearest
    assert_eq!(of(&[british, &cap]), Some(money("80")));
    // what blocks in shadow blocks nothing
    let shadow = format!("{abroad}\nmode = \"shadow\"");
    assert_eq!(of(&[&shadow, &cap]), Some(money("80")));
    // and what is blocked altogether costs nothing
    let all = "key = \"global\"\nalgorithm = \"block\"";
    assert_eq!(of(&[all]), Some(Decimal::ZERO));
}

#[test]
fn what_is_charged_once_per_key_is_bounded_by_the_keys_there_are() {
    let once = |within: &str, keys: &str| {
        let action = format!("{ONE}\ndedupe = {{ key = \"ip\", within = \"{within}\" }}");
        figured(&facts(keys, &action), &[], None, DAY_US)
    };
    let few = "[keys_available]\nip = 7";
    assert_eq!(once("ever", "").bound(), None);
    let ever = once("ever", few);
    assert_eq!((ever.bound(), ever.bounded.binding), (Some(money("7")), Some(Binding::Dedupe)));
    // once in each six hours
    assert_eq!(once("6h", few).bound(), Some(money("28")));
}

/// Requests without the key are charged each: a key that they may lack bounds nothing.
#[test]
fn what_is_charged_once_per_key_that_requests_may_lack_is_not_bounded() {
    let action = format!("{ONE}\ndedupe = {{ key = \"user\", within = \"ever\" }}");
    let keys = "[keys_available]\nuser = 10\n[keys]\nuser = { from = [\"cookie:uid\"] }";
    assert_eq!(figured(&facts(keys, &action), &[], None, DAY_US).bound(), None);
}

/// `ip` is networks of 64 bits: an attacker has 2^64 single addresses in each.
#[test]
fn a_limit_per_single_ipv6_address_is_not_bounded_by_the_addresses_there_are() {
    let of = |key: &str| {
        let limit = format!(
            "key = \"{key}\"\nalgorithm = \"sliding-log\"\nlimit = 1\nwindow = \"1d\"\ncount_refused = false"
        );
        figured(&facts("[keys_available]\nip = 10", ONE), &[&limit], None, DAY_US).bound()
    };
    assert_eq!((of("ip"), of("ip/24"), of("ip/128")), (Some(money("10")), Some(money("10")), None));
}

#[test]
fn a_providers_quota_adds_what_passes_until_it_notices_in_each_period_that_is_met() {
    let quota = |per: &str, late: &str, horizon_us: i64, zone: &str| {
        let quota = format!(
            "{ONE}\nprovider_quota = {{ amount = \"5\", per = \"{per}\", late = \"{late}\" }}"
        );
        let text = format!("timezone = \"{zone}\"\n{}", facts("", &quota));
        let limit = global("").replace("limit = 10", "limit = 1000");
        figured(&text, &[&limit], None, horizon_us)
    };
    // 5 and an hour's 1,000, in each of three months, which 30 days around a February meet
    let month = quota("month", "10m", 30 * DAY_US, "Asia/Kolkata");
    assert_eq!((month.bound(), month.bounded.binding), (Some(money("3015")), Some(Binding::Quota)));
    // an 8 h night can hold the end of a month, and its limit alone admits less than twice the quota
    assert_eq!(quota("month", "10m", 8 * HOUR_US, "UTC").bound(), Some(money("2010")));
    assert_eq!(quota("month", "10m", HOUR_US, "UTC").bound(), Some(money("1000")));
    // 48 hours and a bit meet three days, and four where clocks go forward
    assert_eq!(quota("day", "10m", 48 * HOUR_US, "UTC").bound(), Some(money("3015")));
    let berlin = quota("day", "10m", 47 * HOUR_US + HOUR_US / 2, "Europe/Berlin");
    assert_eq!(berlin.bound(), Some(money("4020")));
    // without a limit any number passes until it notices
    let alone =
        format!("{ONE}\nprovider_quota = {{ amount = \"5\", per = \"month\", late = \"10m\" }}");
    assert_eq!(figured(&facts("", &alone), &[], None, HOUR_US).bound(), None);
}

#[test]
fn the_cheapest_cap_is_a_word_before_it_is_a_limit() {
    let stored = global("store = \"redis\"\non_store_error = \"allow\"");
    let shadow = format!("{stored}\nmode = \"shadow\"").replace("limit = 10", "limit = 9");
    let cap = hour("", &[&shadow, &stored]).cap.unwrap();
    // one word on the second before two on the first
    assert_eq!(cap.text, "set `on_store_error = \"refuse\"` on `l1`");
    assert_eq!((cap.limit, cap.bound), (Some(1), Some(money("10"))));
    let cap = hour("", &[&shadow]).cap.unwrap();
    assert_eq!(
        cap.text,
        "set `mode = \"enforce\"` on and set `on_store_error = \"refuse\"` on `l0`"
    );
    assert_eq!(cap.bound, Some(money("9")));
    // nothing to mend, and nothing that says how much may be spent
    let cap = hour("", &[]).cap.unwrap();
    assert!(cap.text.starts_with("add a `sliding-log` with `key = \"global\"`"), "{}", cap.text);
    assert_eq!((cap.limit, cap.bound), (None, None));
}
