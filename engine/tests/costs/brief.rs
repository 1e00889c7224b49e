//! The numbers of the three cases that need no traffic.

use rust_decimal::Decimal;
use shadowcap_engine::cost::{BUILT_IN, Load, Month, Needed, Stops, Times, bill, per_s, read_book};
use shadowcap_engine::limiter::Grid;
use shadowcap_engine::policy::coverage::Binding;
use shadowcap_engine::units::span::DAY_US;

use crate::support::{attacked, case_policy, case_site, money, of_case};

const SECOND: u128 = 1_000_000;

#[test]
fn a_night_of_sms_pumping_costs_so_much_and_on_full_hours_less() {
    let proposed = of_case("tiffin", "proposed.toml", 8);
    assert_eq!(proposed.bound(), Some(money("22500")));
    assert_eq!(proposed.bound_aligned(), Some(money("20000")));
    let grid = proposed.bounded.aligned_to.map(Grid::name);
    assert_eq!(grid.as_deref(), Some("full hours, Asia/Kolkata"));
    let improved = of_case("tiffin", "improved.toml", 8);
    assert_eq!(improved.bound(), Some(money("20000")));
    assert_eq!(improved.bound_aligned(), Some(money("20000")));
    assert_eq!(improved.bounded.aligned_to, None);
    let site = case_site("tiffin");
    let policy = case_policy("tiffin", "proposed.toml", ("", ""), &site);
    let Some(Binding::Limit(binding)) = proposed.bounded.binding else { panic!("{proposed:?}") };
    assert_eq!(policy.limits[binding].name, "sms hard stop");
    // per phone and per address hold nothing: the site says that both can be rented without end
    let out: Vec<&str> = proposed
        .bounded
        .left_out
        .iter()
        .filter(|out| out.reasons.iter().any(|reason| reason.why.contains("any number")))
        .map(|out| policy.limits[out.limit].name.as_str())
        .collect();
    assert_eq!(out, ["address ceiling", "otp per phone", "otp per address"]);
    assert_eq!(proposed.bounded.kept_by.as_deref(), Some("redis"));
}

#[test]
fn the_same_night_on_hours_of_utc_is_aligned_to_those() {
    let utc = of_case("tiffin", "bad/hard-stop-utc.toml", 8);
    assert_eq!(utc.bound(), Some(money("22500")));
    assert_eq!(utc.bounded.aligned_to.unwrap().name(), "full hours, UTC");
}

#[test]
fn without_limits_the_night_costs_what_it_asks_for_and_nothing_bounds_it() {
    let today = of_case("tiffin", "today.toml", 8);
    assert_eq!((today.bound(), today.bound_aligned()), (None, None));
    let night = attacked("tiffin", "today.toml", ("", ""), "sms night");
    assert_eq!(night.spend, Some((0, money("50000"))));
    assert_eq!(night.alarm, None);
    let cap = today.cap.unwrap();
    assert!(cap.text.contains("limit = 90000"), "{}", cap.text);
    assert_eq!(cap.bound, Some(money("22500")));
    let night = attacked("tiffin", "proposed.toml", ("", ""), "sms night");
    assert_eq!(night.spend, Some((0, money("20000"))));
    assert_eq!(per_s(night.admitted, 6), 2_777_778);
}

#[test]
fn a_scraper_gets_through_what_nginx_stores() {
    let menus = |file, change| attacked("tiffin", file, change, "menu scraper");
    let proposed = menus("proposed.toml", ("", ""));
    assert_eq!(per_s(proposed.sustained, 6), 42_560_000);
    // 8 · (7 + 1) for each of 40 addresses
    assert_eq!(proposed.start, 2_560);
    assert_eq!(per_s(proposed.admitted, 6), 42_888_889);
    assert_eq!(proposed.keys_to_defeat["ip"], Stops::Keys(2_350));
    let seven = menus("proposed.toml", ("\"8r/m\"", "\"7r/m\""));
    assert_eq!(per_s(seven.sustained, 6), 37_120_000);
    assert_eq!(seven.keys_to_defeat["ip"], Stops::Keys(2_694));
    // 60 a minute per address for the fleet
    let fleet = menus("aws.toml", ("", ""));
    assert_eq!(per_s(fleet.sustained, 6), 40_000_000);
    assert_eq!(fleet.keys_to_defeat["ip"], Stops::Keys(2_500));
    // all cloud addresses in one bucket of 60 a minute
    let improved = menus("improved.toml", ("", ""));
    assert_eq!(per_s(improved.sustained, 6), 1_000_000);
    assert_eq!(improved.start, 60);
    assert_eq!(improved.keys_to_defeat["global"], Stops::Never);
    // without limits all of it, in its two hours
    let today = menus("today.toml", ("", ""));
    assert_eq!(per_s(today.sustained, 6), 2_500_000_000);
    assert_eq!((today.by, today.start), (None, 0));
    assert_eq!(today.needed, Some(Needed::Us(7_200 * SECOND)));
}

#[test]
fn nginx_stores_eight_a_minute_as_less() {
    let site = case_site("tiffin");
    let policy = case_policy("tiffin", "proposed.toml", ("", ""), &site);
    let rate = policy.limits[0].limiter.long_run().unwrap();
    // 7.98 a minute
    let per_minute_milli = rate.count * 60_000_000_000 / rate.per_us.unsigned_abs();
    assert_eq!(per_minute_milli, 7_980);
}

#[test]
fn guessing_takes_months() {
    for file in ["proposed.toml", "improved.toml"] {
        let night = attacked("tiffin", file, ("", ""), "coupon night");
        let days = 125 * u128::from(DAY_US.unsigned_abs());
        assert_eq!(night.needed, Some(Needed::Us(days)), "{file}");
        assert_eq!(night.keys_to_defeat["user"], Stops::Keys(375));
        assert_eq!(night.spend, None);
    }
}

#[test]
fn the_alarm_rings_in_a_quarter_of_an_hour_or_twice_that() {
    let minutes = |tenths: u128| tenths * 6 * SECOND;
    let proposed = of_case("tiffin", "proposed.toml", 8);
    let expected = Times { typical_us: minutes(144), worst_us: minutes(288) };
    assert_eq!(proposed.alarm, Some(expected));
    assert_eq!(proposed.time_to_alarm_worst_s(), Some(1_728));
    let improved = of_case("tiffin", "improved.toml", 8);
    let sliding = Times { typical_us: minutes(144), worst_us: minutes(144) };
    assert_eq!(improved.alarm, Some(sliding));
    // 43.8 min at 25,000 an hour, which no two hours' limits are below
    assert_eq!(proposed.until_response, Some(money("4562.50")));
    // 10,000 of the 12,250 that are asked for in 29.4 min
    assert_eq!(improved.until_response, Some(money("2500")));
    // 90,000 at 10,000 an hour
    assert_eq!(proposed.time_to_burn_us, Some(9 * 3_600 * SECOND));
    assert_eq!(improved.time_to_burn_us, Some(8 * 3_600 * SECOND));
}

#[test]
fn a_newsletter_without_its_cap_is_unbounded_and_told_which_cap_would_bound_it() {
    let missing = of_case("newsletter", "bad/cap-missing.toml", 24);
    assert_eq!(missing.bound(), None);
    let why: Vec<&str> =
        missing.bounded.left_out.iter().map(|out| out.reasons[0].why.as_str()).collect();
    let any = "is per ip, of which an attacker can have any number";
    assert_eq!(why, [any, any]);
    let cap = missing.cap.unwrap();
    assert!(cap.text.contains("key = \"global\""), "{}", cap.text);
    assert!(cap.text.contains("limit = 4000` in `window = \"1d\""), "{}", cap.text);
    assert_eq!((cap.limit, cap.bound), (None, Some(money("20"))));
    let proposed = of_case("newsletter", "proposed.toml", 24);
    assert_eq!(
        (proposed.bound(), proposed.bound_aligned()),
        (Some(money("20")), Some(money("10")))
    );
    assert_eq!(of_case("newsletter", "improved.toml", 24).bound(), Some(money("10")));
    // a cap that is there and fails open is mended by a word, and there is one that fails closed beside it
    let open = of_case("newsletter", "bad/cap-fails-open.toml", 24);
    assert!(open.bound().is_some_and(|bound| bound > money("20")), "{open:?}");
}

#[test]
fn six_workers_call_six_times_as_often() {
    let calls = |file| of_case("workers", file, 1).bound();
    assert_eq!(calls("proposed.toml"), Some(money("14.40")));
    assert_eq!(calls("today.toml"), Some(money("86.40")));
    let all = attacked("workers", "today.toml", ("", ""), "all workers at once");
    assert_eq!(per_s(all.sustained, 6), 12_000_000);
    let all = attacked("workers", "proposed.toml", ("", ""), "all workers at once");
    assert_eq!(per_s(all.sustained, 6), 2_000_000);
}

#[test]
fn the_same_limits_on_aws_cost_so_much_a_month() {
    let site = case_site("tiffin");
    let book = read_book(BUILT_IN.1.as_bytes(), BUILT_IN.0).unwrap();
    let load = Load::of_site(site.traffic.as_ref().unwrap());
    let (months, problems) = bill(&book, site.infrastructure.as_ref().unwrap(), Some(load));
    assert_eq!(problems, []);
    let of = |item: &str| -> &Month { months.iter().find(|month| month.item == item).unwrap() };
    assert_eq!(of("waf requests").month, money("1872"));
    assert_eq!(of("waf in all").month, money("1879"));
    assert!(of("waf in all").basis.ends_with("0.602 per million requests"));
    assert_eq!(of("cdn requests").month, money("3120"));
    assert_eq!(of("redis nodes").month, money("255.792"));
    assert_eq!(of("redis serverless calls").month.round_dp(2), money("20.09"));
    assert_eq!(of("redis serverless storage").month, money("6.132"));
    let turns = of("redis nodes").break_even_calls_per_s_milli.unwrap();
    assert_eq!(turns, of("redis serverless calls").break_even_calls_per_s_milli.unwrap());
    // about 20,900
    assert_eq!(turns / 1_000, 20_874);
    // at so many calls both cost the same
    let mut load = load;
    load.store_calls_per_s_milli = Some(turns);
    let (months, _) = bill(&book, site.infrastructure.as_ref().unwrap(), Some(load));
    let month = |item: &str| months.iter().find(|m| m.item == item).unwrap().month;
    let both = month("redis serverless calls") + month("redis serverless storage");
    assert!((both - month("redis nodes")).abs() < Decimal::new(1, 2), "{both}");
}

/// Behind a limit that counts what it refuses an attack that never pauses gets its burst once.
#[test]
fn what_counts_refused_requests_starves_an_attack_that_never_pauses() {
    let text = "name = \"s\"\n[[route]]\nname = \"post\"\npath = \"/post\"\n[[action]]\nname = \"mail\"\n\
match = { route = [\"post\"] }\nunit_cost = \"0.001\"\ncurrency = \"USD\"\n[[attack]]\nname = \"bots\"\n\
match = { route = [\"post\"] }\nrequests = 2_400_000\nrate = \"40000/m\"\nkeys = { ip = KEYS }\n";
    let policy = "name = \"p\"\n[[limit]]\nname = \"per client\"\nmatch = { route = [\"post\"] }\nkey = \"ip\"\n\
algorithm = \"sliding-log\"\nlimit = 5\nwindow = \"10m\"\ncount_refused = true\n[[limit]]\nname = \"cap\"\n\
match = { route = [\"post\"] }\nkey = \"global\"\nalgorithm = \"sliding-log\"\nlimit = 2000\nwindow = \"24h\"\n\
count_refused = false\nalarm = 800\n";
    for (keys, passed, rings) in [("300", 1_500, true), ("100", 500, false)] {
        let folder = shadowcap_engine::site::read::Folder::of(std::path::Path::new("site.toml"));
        let text = text.replace("KEYS", keys);
        let site =
            shadowcap_engine::site::read::read(text.as_bytes(), "site.toml", &folder).unwrap();
        let policy =
            shadowcap_engine::policy::read::read(policy.as_bytes(), "p.toml", &site).unwrap();
        let ground = shadowcap_engine::policy::coverage::Ground {
            policy: &policy,
            site: Some(&site),
            now_us: None,
        };
        let attacked = shadowcap_engine::cost::attack(&ground, &site.attacks[0]).unwrap();
        assert_eq!((attacked.start, attacked.admitted.count), (passed, passed.into()));
        // 801 at 666.7 a second, and 500 never get so far
        let alarm = attacked.alarm.map(|times| (times.typical_us, times.worst_us));
        assert_eq!(alarm, rings.then_some((1_200_000, 1_200_000)), "{keys}");
    }
}
