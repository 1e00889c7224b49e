//! Which instance gets a request, and what local counters make of it.

use crate::replay::tally::InstanceTally;

use super::*;

fn local() -> Limit {
    Limit { at: Some("app".to_owned()), counters: Counters::Local, ..limit("five", 5) }
}

fn replayed(balance: Balance, traffic: &Traffic) -> Replayed {
    let site = Site { tiers: vec![tier(8, balance)], ..Site::default() };
    run_for(&site, vec![local()], traffic)
}

#[test]
fn one_address_spread_over_eight_instances_has_eight_limits_or_one() {
    let rows: Vec<Row> = (0..100).map(|_| (0, 1, 200, 0)).collect();
    let traffic = traffic(&rows);
    let admitted = |balance| {
        let (refused, _) = replayed(balance, &traffic).bracket(|tally| tally.refused);
        (100 - refused.hi, 100 - refused.lo)
    };
    assert_eq!(admitted(Balance::RoundRobin), (40, 40));
    assert_eq!(admitted(Balance::ByClient), (5, 5));
    // by chance an instance may get fewer than its limit
    let rows: Vec<Row> = (0..40).map(|_| (0, 1, 200, 0)).collect();
    let random = replayed(Balance::Random, &super::traffic(&rows));
    let (refused, doubt) = random.bracket(|tally| tally.refused);
    let (least, most) = (40 - refused.hi, 40 - refused.lo);
    assert!(5 < least && least < most && most < 40, "{least} to {most}");
    assert_eq!((random.varied.len(), doubt.unwrap().name()), (7, "random balance"));
}

#[test]
fn each_instance_is_counted_apart() {
    let rows: Vec<Row> = (0..52).map(|n| (0, n % 2, 200, 0)).collect();
    let instances = replayed(Balance::RoundRobin, &traffic(&rows)).base.limits[0].instances.clone();
    // an even number of instances gives each one client; four get a seventh request
    let one = |asked| InstanceTally { asked, refused: asked - 5, keys: 1 };
    assert_eq!(instances, [one(7), one(7), one(7), one(7), one(6), one(6), one(6), one(6)]);
    let shared = Limit { counters: Counters::Shared, ..local() };
    let site = Site { tiers: vec![tier(8, Balance::RoundRobin)], ..Site::default() };
    assert!(run_for(&site, vec![shared], &traffic(&rows)).base.limits[0].instances.is_empty());
}

#[test]
fn where_the_log_tells_the_instance_it_is_believed() {
    let rows: Vec<Row> = (0..20).map(|_| (0, 1, 200, 0)).collect();
    let mut traffic = traffic(&rows);
    assert_eq!(replayed(Balance::Observed, &traffic).base.refused, 0);
    traffic.instances = ["a", "b"].map(str::to_owned).to_vec();
    traffic.events.instances = (0..20).map(|n| u32::from(n >= 8)).collect();
    let observed = replayed(Balance::Observed, &traffic).base;
    assert_eq!((observed.refused, observed.limits[0].instances.len()), (10, 2));
    assert_eq!(observed.limits[0].instances[0].refused, 3);
    // who has none goes in turn: 8 to the first, 4 to the second, the rest over all eight
    traffic.events.instances[12..].fill(NONE);
    let partly = replayed(Balance::Observed, &traffic).base;
    let asked: Vec<u64> = partly.limits[0].instances.iter().map(|one| one.asked).collect();
    assert_eq!(asked, [9, 5, 1, 1, 1, 1, 1, 1]);
    assert_eq!(traffic.count_without_instance(), 8);
    // more than the site knows of
    traffic.instances = (0..20).map(|n| format!("{n:02}")).collect();
    traffic.events.instances = (0..20).collect();
    let more = replayed(Balance::Observed, &traffic).base;
    assert_eq!((more.refused, more.limits[0].instances.len()), (0, 20));
}
