//! Everything a site wants sized, from requests to marked curves.

use super::*;
use crate::policy::read::read;
use crate::recommend::curve::Basis;
use crate::recommend::protects::protects;
use crate::replay::plan::EngineChoice;
use crate::site::Site;
use crate::site::facts::{CustomerRule, Protect};
use crate::site::labels::LabelIndex;
use crate::site::matching::{Match, StatusRange};
use crate::traffic::{Events, NONE, Observed, Traffic};
use crate::units::address::Address;
use crate::units::span::{DAY_US, MINUTE_US, SECOND_US};

/// Three clients: one with 2 requests a second apart, one with 5 at once, one with 12 at once.
fn traffic() -> Traffic {
    let of = [(0_u32, 0_i64), (0, 1)].into_iter();
    let of = of.chain((0..5).map(|_| (1, 1))).chain((0..12).map(|_| (2, 2)));
    let (addresses, seconds): (Vec<u32>, Vec<i64>) = of.unzip();
    let count = addresses.len();
    let events = Events {
        statuses: addresses.iter().map(|client| if *client == 2 { 404 } else { 200 }).collect(),
        addresses,
        times_us: seconds.iter().map(|second| second * SECOND_US).collect(),
        places: vec![NONE; count],
        sources: vec![0; count],
        lines: vec![1; count],
        durations_us: vec![-1; count],
        observed: vec![Observed::Unknown; count],
        observed_conn: vec![Observed::Unknown; count],
        ..Events::default()
    };
    let addresses = (1..4).map(|n| Address::from_v4_bits(0xc000_0200 + n)).collect();
    Traffic { events, addresses, ..Traffic::default() }
}

fn site(algorithms: &[&str]) -> Site {
    let ok = Match { status: vec![StatusRange { first: 200, last: 299 }], ..Match::default() };
    let customer =
        CustomerRule { name: "ok".to_owned(), matching: Some(ok), at_least: 1, list: None };
    let protect = |algorithm: &&str| Protect {
        name: (*algorithm).to_owned(),
        matching: Match::default(),
        key: "ip".to_owned(),
        algorithm: Some((*algorithm).to_owned()),
        windows_us: vec![MINUTE_US],
        headroom_milli: 1_500,
        refused_customer_cost: None,
    };
    let protects = algorithms.iter().map(protect).collect();
    Site { customers: vec![customer], protects, ..Site::default() }
}

fn sized(site: &Site, policies: &[Policy]) -> Vec<Vec<SizedCurve>> {
    let (traffic, labels) = (traffic(), LabelIndex::new(&[]));
    let scene = Scene {
        site,
        traffic: &traffic,
        conditions: &[],
        labels: &labels,
        steps_us: &[1],
        drop_already_refused: false,
        closed_loop: false,
        horizon_us: DAY_US,
        engine: EngineChoice::Auto,
    };
    curves(&scene, &protects(site, &traffic, &[]), policies, &|| false).unwrap()
}

#[test]
fn a_window_has_its_curve_with_what_policies_have_marked() {
    let site = site(&["sliding-log", "concurrency", "spacing"]);
    let text = "name = \"now\"\n[[limit]]\nname = \"per ip\"\nkey = \"ip\"\nalgorithm = \"sliding-log\"\n\
limit = 7\nwindow = \"1m\"\ncount_refused = false\n";
    let policy = read(text.as_bytes(), "now.toml", &site).unwrap();
    let all = sized(&site, &[policy]);
    assert_eq!((all[1].len(), all[2].len()), (0, 0), "no durations, and nothing to be sized");
    let [log] = all[0].as_slice() else { panic!("one window") };
    assert_eq!((log.window_us, log.keys, log.requests), (Some(MINUTE_US), 3, [7, 0, 12]));
    assert_eq!(log.marks, [Mark { what: "now".to_owned(), size: 7 }]);
    let told: Vec<(u64, u64, [u64; 3], [u64; 3])> = log
        .points
        .iter()
        .map(|sized| &sized.point)
        .map(|p| (p.size, p.keys_refused, p.requests_refused, p.identities_refused))
        .collect();
    let (none, five, ten) = ([0, 0, 0], [0, 0, 5], [0, 0, 7]);
    let expected = [
        (2, 2, [3, 0, 10], [1, 0, 1]),
        (5, 1, ten, [0, 0, 1]),
        (7, 1, five, [0, 0, 1]),
        (12, 0, none, none),
    ];
    assert_eq!(told, expected);
    assert!(log.points.iter().all(|sized| sized.point.basis == Basis::Replayed));
}

#[test]
fn only_a_limit_that_differs_in_its_size_alone_is_a_mark() {
    let tier = crate::site::facts::Tier {
        name: "app".to_owned(),
        instances: 4,
        instances_max: 4,
        balance: Some(crate::site::facts::Balance::RoundRobin),
    };
    let site = Site { tiers: vec![tier], ..site(&["sliding-log"]) };
    let marks = |more: &str| {
        let text = format!(
            "name = \"now\"\n[[limit]]\nname = \"per ip\"\nkey = \"ip\"\nalgorithm = \"sliding-log\"\n\
limit = 7\nwindow = \"1m\"\n{more}\n"
        );
        let policy = read(text.as_bytes(), "now.toml", &site).unwrap();
        sized(&site, &[policy])[0][0].marks.len()
    };
    assert_eq!(marks("count_refused = false"), 1);
    assert_eq!(marks("count_refused = true"), 0);
    assert_eq!(marks("count_refused = false\nweight = 2"), 0);
    assert_eq!(marks("count_refused = false\nat = \"app\"\ncounters = \"local\""), 0);
}

#[test]
fn windows_of_the_clock_are_told_for_every_size_and_buckets_by_their_frontier() {
    let all = sized(&site(&["fixed-window", "nginx"]), &[]);
    assert!(all[0][0].points.iter().all(|sized| sized.point.basis == Basis::Exact));
    let [bucket] = all[1].as_slice() else { panic!("one frontier") };
    assert_eq!((bucket.window_us, bucket.marks.len()), (None, 0));
    // 12 at once take a burst of 11 at any rate, so the slowest is enough
    let pairs: Vec<(String, u64)> = bucket
        .points
        .iter()
        .map(|sized| (sized.rate.unwrap().to_string(), sized.point.size))
        .collect();
    assert_eq!(pairs, [("1/m".to_owned(), 11)]);
    assert!(bucket.points.iter().all(|sized| sized.point.keys_refused == 0));
}
