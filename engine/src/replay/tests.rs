//! The wrappers around limiters, one by one, on requests made by hand.

mod balance;
mod clients;
mod figures;
mod outages;
mod queues;

use crate::limiter::concurrency::Concurrency;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::spacing::Spacing;
use crate::limiter::{Boundary, Limiter};
use crate::measure::cohorts::{Cohort, Cohorts};
use crate::policy::{
    Ban, Counters, Group, GroupCharge, KeyPart, Limit, LimitKey, MissingKey, Mode, Place, Policy,
    Queue, RetryAfter, Strategy, Weight,
};
use crate::site::Site;
use crate::site::facts::{AttackerRule, Balance, CustomerRule, Duplicate, Link, Tier};
use crate::site::key::KeySpec;
use crate::site::labels::LabelIndex;
use crate::site::matching::{Match, StatusRange};
use crate::traffic::{Events, NONE, Observed, Traffic};
use crate::units::address::Address;
use crate::units::span::{DAY_US, MINUTE_US, SECOND_US};

use super::plan::EngineChoice;
use super::run::{Replayed, Scene, replay};

/// One request: second of its arrival, number of its client, status, seconds it took.
type Row = (i64, u32, u16, i64);

fn traffic(rows: &[Row]) -> Traffic {
    let events = Events {
        times_us: rows.iter().map(|row| row.0 * SECOND_US).collect(),
        addresses: rows.iter().map(|row| row.1).collect(),
        places: rows.iter().map(|_| NONE).collect(),
        statuses: rows.iter().map(|row| row.2).collect(),
        durations_us: rows.iter().map(|row| row.3 * SECOND_US).collect(),
        observed: rows.iter().map(|_| Observed::Unknown).collect(),
        observed_conn: rows.iter().map(|_| Observed::Unknown).collect(),
        sources: vec![0; rows.len()],
        lines: (1..).take(rows.len()).collect(),
        ..Events::default()
    };
    let addresses = (0..8).map(|n| Address::from_v4_bits(0xc000_0200 + n)).collect();
    Traffic { events, addresses, ..Traffic::default() }
}

/// A sliding log of so many in ten seconds per address, which counts admitted requests.
fn limit(name: &str, most: u64) -> Limit {
    let log = SlidingLog {
        limit: most,
        window_us: 10 * SECOND_US,
        boundary: Boundary::Open,
        count_refused: false,
    };
    of(name, Limiter::SlidingLog(log))
}

/// A limit per address with nothing special about it.
pub(super) fn of(name: &str, limiter: Limiter) -> Limit {
    let parts = vec![KeyPart::Key(KeySpec::ip(64))];
    Limit {
        name: name.to_owned(),
        place: Place::default(),
        at: None,
        matching: Match::default(),
        key: LimitKey { name: "ip".to_owned(), parts },
        limiter,
        tick_us: 1,
        group: None,
        zone: None,
        mode: Mode::Enforce,
        alarm: None,
        expires_us: None,
        retry_after: RetryAfter::None,
        missing_key: MissingKey::Skip,
        weight: Weight { default: 1, by_route: Vec::new() },
        queue: None,
        ban: None,
        counters: Counters::Shared,
        store: None,
        count_when: None,
        allow: Vec::new(),
    }
}

fn nginx(name: &str, burst: u64, delay: Delay) -> Limit {
    let nginx = Nginx { rate_milli: 1_000, burst, delay, reclaim: Reclaim::Busy };
    Limit { tick_us: 1_000, ..of(name, Limiter::Nginx(nginx)) }
}

fn grouped(limit: Limit, charge: GroupCharge) -> Limit {
    Limit { group: Some(Group { name: "together".to_owned(), charge }), ..limit }
}

fn scene<'a>(site: &'a Site, traffic: &'a Traffic, labels: &'a LabelIndex) -> Scene<'a> {
    Scene {
        site,
        traffic,
        conditions: &[],
        labels,
        steps_us: &[1],
        drop_already_refused: false,
        engine: EngineChoice::Reference,
        closed_loop: false,
        horizon_us: DAY_US,
    }
}

fn policy(limits: Vec<Limit>) -> Policy {
    Policy { name: "test".to_owned(), file: String::new(), limits }
}

fn run_for(site: &Site, limits: Vec<Limit>, traffic: &Traffic) -> Replayed {
    let labels = LabelIndex::new(&[]);
    replay(&scene(site, traffic, &labels), &policy(limits), &|| false).unwrap()
}

/// A tier called `app`.
fn tier(instances: u64, balance: Balance) -> Tier {
    let balance = Some(balance);
    Tier { name: "app".to_owned(), instances, instances_max: instances, balance }
}

fn run(limits: Vec<Limit>, rows: &[Row]) -> Replayed {
    run_for(&Site::default(), limits, &traffic(rows))
}

/// Refusals of each limit.
fn refused(replayed: &Replayed) -> Vec<u64> {
    replayed.base.limits.iter().map(|limit| limit.refused).collect()
}

const THREE: [Row; 3] = [(0, 1, 200, 0), (1, 1, 200, 0), (2, 1, 200, 0)];

#[test]
fn limits_are_asked_in_order_and_the_first_refusal_ends_the_request() {
    let replayed = run(vec![limit("one", 2), limit("two", 1)], &THREE);
    // the second request is refused by "two", yet "one" stays charged, so it refuses the third
    assert_eq!(refused(&replayed), [1, 1]);
    assert_eq!(replayed.base.limits[1].asked, 2);
    assert_eq!((replayed.base.refused, replayed.base.requests), (2, 3));
}

#[test]
fn a_refusal_charges_no_member_of_a_group_that_charges_none() {
    let group = |charge| vec![grouped(limit("one", 2), charge), grouped(limit("two", 1), charge)];
    assert_eq!(refused(&run(group(GroupCharge::None), &THREE)), [0, 2]);
    assert_eq!(refused(&run(group(GroupCharge::All), &THREE)), [1, 2]);
    // a dry run decides as if in earnest
    let shadow = |limit: Limit| Limit { mode: Mode::Shadow, ..limit };
    let dry = run(group(GroupCharge::None).into_iter().map(shadow).collect(), &THREE);
    let would: Vec<u64> = dry.base.limits.iter().map(|limit| limit.shadow_refused).collect();
    assert_eq!((would, dry.base.refused), (vec![0, 2], 0));
}

#[test]
fn limits_of_one_zone_share_a_state() {
    let zoned =
        |name: &str, burst| Limit { zone: Some("z".to_owned()), ..nginx(name, burst, Delay::None) };
    let apart = run(vec![nginx("a", 5, Delay::None), nginx("b", 5, Delay::None)], &THREE);
    assert_eq!(refused(&apart), [0, 0]);
    let rows: Vec<Row> = (0..4).map(|_| (0, 1, 200, 0)).collect();
    // each request is charged twice: 0, 1 | 2, 3 | 4, 5 | 6
    assert_eq!(refused(&run(vec![zoned("a", 5), zoned("b", 5)], &rows)), [1, 0]);
}

#[test]
fn a_delayed_request_reaches_later_limits_late() {
    let slow = nginx("slow", 5, Delay::All);
    let rows = [(0, 1, 200, 0), (0, 1, 200, 0)];
    let one_a_second = of(
        "later",
        Limiter::SlidingLog(SlidingLog {
            limit: 1,
            window_us: SECOND_US,
            boundary: Boundary::Open,
            count_refused: false,
        }),
    );
    let replayed = run(vec![slow, one_a_second.clone()], &rows);
    assert_eq!((refused(&replayed), replayed.base.delayed), (vec![0, 0], 1));
    assert_eq!(replayed.base.limits[0].delay_us(1000), Some(SECOND_US));
    assert_eq!(refused(&run(vec![one_a_second], &rows)), [1]);
}

#[test]
fn a_ban_refuses_until_it_ends_and_an_attempt_may_extend_it() {
    let banned = |extends, clears| {
        let ban = Some(Ban { us: 20 * SECOND_US, extends, clears });
        Limit { ban, ..limit("one", 1) }
    };
    let rows = [(0, 1, 200, 0), (1, 1, 200, 0), (15, 1, 200, 0), (21, 1, 200, 0), (34, 1, 200, 0)];
    // refused at 1, so banned in [1, 21)
    assert_eq!(refused(&run(vec![banned(false, false)], &rows)), [2]);
    assert_eq!(refused(&run(vec![banned(true, false)], &rows)), [4]);
    let soon = [(0, 1, 200, 0), (1, 1, 200, 0), (2, 2, 200, 0), (3, 1, 200, 0)];
    assert_eq!(refused(&run(vec![banned(false, true)], &soon)), [2]);
}

#[test]
fn shadow_decides_and_ends_nothing() {
    let shadow = Limit { mode: Mode::Shadow, ..limit("one", 1) };
    let replayed = run(vec![shadow, limit("two", 2)], &THREE);
    assert_eq!(refused(&replayed), [0, 1]);
    assert_eq!(replayed.base.limits[0].shadow_refused, 2);
}

#[test]
fn an_expired_limit_is_not_asked() {
    let until = Limit { expires_us: Some(2 * SECOND_US), ..limit("one", 1) };
    let replayed = run(vec![until], &THREE);
    assert_eq!((replayed.base.limits[0].asked, replayed.base.refused), (2, 1));
}

#[test]
fn requests_without_the_key_are_skipped_share_a_state_or_are_refused() {
    let rows = [(0, NONE, 200, 0), (1, NONE, 200, 0), (2, 1, 200, 0)];
    for (missing_key, asked, refusals, keys_refused) in
        [(MissingKey::Skip, 1, 0, 0), (MissingKey::Shared, 3, 1, 1), (MissingKey::Refuse, 3, 2, 0)]
    {
        let replayed = run(vec![Limit { missing_key, ..limit("one", 1) }], &rows);
        let tally = &replayed.base.limits[0];
        assert_eq!((tally.asked, tally.refused), (asked, refusals), "{missing_key:?}");
        assert_eq!((tally.missing_key, tally.keys_refused), (2, keys_refused), "{missing_key:?}");
    }
}

#[test]
fn weights_count_as_so_many_requests() {
    let heavy = Limit { weight: Weight { default: 3, by_route: Vec::new() }, ..limit("one", 6) };
    assert_eq!(refused(&run(vec![heavy], &THREE)), [1]);
}

#[test]
fn responses_count_when_they_complete_and_only_those_that_match() {
    let wrong = Some(vec![StatusRange { first: 404, last: 404 }]);
    let coupons = || Limit { count_when: wrong.clone(), ..limit("wrong coupons", 1) };
    let rows = [(0, 1, 200, 0), (1, 1, 404, 5), (2, 1, 404, 1), (7, 1, 404, 0)];
    // the second and third race each other: neither has completed when the other is asked
    assert_eq!(refused(&run(vec![coupons()], &rows)), [1]);
    // what another limit refuses never counts
    let replayed = run(vec![coupons(), limit("rest", 1)], &rows);
    assert_eq!(refused(&replayed), [0, 3]);
}

#[test]
fn a_slot_is_held_from_arrival_to_completion() {
    let slots = || of("slots", Limiter::Concurrency(Concurrency { limit: 1 }));
    let rows = [(0, 1, 200, 5), (4, 1, 200, 5), (5, 1, 200, 0), (5, 1, 200, 0)];
    // at 5 the first has completed before the third arrives; the fourth finds it in flight for a tick
    assert_eq!(refused(&run(vec![slots()], &rows)), [2]);
    // a later refusal gives the slot back at once
    let replayed = run(vec![slots(), limit("rest", 0)], &rows);
    assert_eq!(refused(&replayed), [0, 4]);
}

#[test]
fn an_idle_key_is_freed_by_a_new_one_only_on_a_busy_server() {
    let slow = Nginx { rate_milli: 16, burst: 1, delay: Delay::None, reclaim: Reclaim::Busy };
    let limits = || vec![Limit { tick_us: 1_000, ..of("slow", Limiter::Nginx(slow)) }];
    let mut rows: Vec<Row> = (0..2).map(|_| (0, 1, 200, 0)).collect();
    // at 63 its excess has leaked to nothing: freed, its first request is free again
    rows.extend([(63, 2, 200, 0), (63, 1, 200, 0), (63, 1, 200, 0), (63, 1, 200, 0)]);
    let replayed = run(limits(), &rows);
    assert_eq!(refused(&replayed), [1]);
    assert_eq!(replayed.reclaim_differs, [1]);
}

#[test]
fn local_counters_multiply_a_limit_by_the_instances() {
    let mut site = Site { tiers: vec![tier(3, Balance::RoundRobin)], ..Site::default() };
    let local =
        || Limit { at: Some("app".to_owned()), counters: Counters::Local, ..limit("one", 1) };
    let rows: Vec<Row> = (0..4).map(|second| (second, 1, 200, 0)).collect();
    assert_eq!(refused(&run_for(&site, vec![local()], &traffic(&rows))), [1]);
    site.tiers[0].balance = Some(Balance::ByClient);
    assert_eq!(refused(&run_for(&site, vec![local()], &traffic(&rows))), [3]);
    let shared = Limit { counters: Counters::Shared, ..local() };
    assert_eq!(refused(&run_for(&site, vec![shared], &traffic(&rows))), [3]);
}

#[test]
fn an_alarm_rings_at_the_first_request_over_its_number_after_the_attack_began() {
    let attack = AttackerRule {
        name: "flood".to_owned(),
        matching: Some(Match::default()),
        from_us: Some(SECOND_US),
        to_us: None,
        list: None,
    };
    let site = Site { attackers: vec![attack], ..Site::default() };
    let watched = Limit { alarm: Some(2), ..limit("watched", 1) };
    let replayed = run_for(&site, vec![watched], &traffic(&THREE));
    let alarm = replayed.base.alarms[0];
    assert_eq!((alarm.limit, alarm.first_us, alarm.after_us), (0, 2 * SECOND_US, Some(SECOND_US)));
    assert_eq!((replayed.base.rules[0].requests, replayed.base.rules[0].refused), (2, 2));
}

#[test]
fn duplicates_are_counted_against_what_was_admitted() {
    let duplicate = Duplicate {
        name: "again".to_owned(),
        matching: Match::default(),
        key: "ip".to_owned(),
        within_us: SECOND_US,
    };
    let site = Site { duplicates: vec![duplicate], ..Site::default() };
    let replayed = run_for(&site, vec![limit("two", 2)], &traffic(&THREE));
    // the third is refused, and still seen; nothing was admitted within a second before a fourth
    assert_eq!(replayed.base.duplicates, [("again".to_owned(), 2, 1)]);
}

#[test]
fn an_identity_is_refused_in_the_cohort_of_the_request() {
    let attack = AttackerRule {
        name: "late".to_owned(),
        matching: Some(Match::default()),
        from_us: Some(2 * SECOND_US),
        to_us: None,
        list: None,
    };
    let customer = CustomerRule {
        name: "ordered".to_owned(),
        matching: Some(Match {
            status: vec![StatusRange { first: 201, last: 201 }],
            ..Match::default()
        }),
        at_least: 1,
        list: None,
    };
    let site = Site { attackers: vec![attack], customers: vec![customer], ..Site::default() };
    let rows = [(0, 1, 201, 0), (0, 2, 200, 0), (1, 1, 200, 0), (2, 1, 200, 0)];
    let replayed = run_for(&site, vec![limit("two", 2)], &traffic(&rows));
    let [customer, attacker, unknown] = replayed.base.cohorts;
    assert_eq!((customer.requests, customer.identities, customer.identities_refused), (2, 1, 0));
    assert_eq!((attacker.requests, attacker.refused, attacker.identities_refused), (1, 1, 1));
    assert_eq!((unknown.requests, unknown.refused), (1, 0));
    assert_eq!(replayed.overlap, 1);
}

#[test]
fn a_request_without_identity_belongs_to_the_one_customer_nearby() {
    let customer = CustomerRule {
        name: "anyone known".to_owned(),
        matching: Some(Match::default()),
        at_least: 1,
        list: None,
    };
    let site = Site {
        identity: "user".to_owned(),
        customers: vec![customer],
        link: Some(Link { keys: vec!["user".to_owned(), "ip".to_owned()], within_us: MINUTE_US }),
        ..Site::default()
    };
    let mut traffic =
        traffic(&[(0, 1, 200, 0), (10, 1, 200, 0), (100, 1, 200, 0), (10, 2, 200, 0)]);
    traffic.key_texts = vec![("user".to_owned(), vec![b"ann".as_slice().into()])];
    traffic.events.keys = vec![vec![0, NONE, NONE, NONE]];
    let labels = LabelIndex::new(&[]);
    let selector = crate::traffic::select::Selector::new(&traffic, &[], &labels);
    let cohorts = Cohorts::new(&site, &traffic, &selector);
    let who: Vec<Cohort> = (0..4).map(|event| cohorts.of(event)).collect();
    assert_eq!(who, [Cohort::Customer, Cohort::Customer, Cohort::Unknown, Cohort::Unknown]);
    assert_eq!((cohorts.linked, cohorts.identity(1), cohorts.identity(2)), (1, Some(0), None));
}

#[test]
fn stamps_of_a_second_give_the_least_and_the_most_of_three_arrangements() {
    let rows = [(0, 1, 200, 0), (0, 1, 200, 0), (1, 1, 200, 0), (1, 1, 200, 0)];
    let traffic = traffic(&rows);
    let half = SlidingLog {
        limit: 2,
        window_us: SECOND_US / 2,
        boundary: Boundary::Open,
        count_refused: false,
    };
    let (site, labels) = (Site::default(), LabelIndex::new(&[]));
    let policy = policy(vec![of("half", Limiter::SlidingLog(half))]);
    let scene = Scene { steps_us: &[SECOND_US], ..scene(&site, &traffic, &labels) };
    let replayed = replay(&scene, &policy, &|| false).unwrap();
    let (bracket, doubt) = replayed.bracket(|tally| tally.refused);
    assert_eq!((bracket.lo, bracket.hi), (0, 2));
    assert_eq!(doubt.unwrap().name(), "resolution of the log's stamps");
    assert!(replayed.base.limits[0].first_refusal_us.is_none());
}
