//! A store that is away, forgets or answers late, and what each limit makes of it.

use crate::policy::{OnStoreError, Store};
use crate::replay::OutageTally;
use crate::replay::run::replay_outage;
use crate::replay::tally::Tally;
use crate::site::facts::{AfterOutage, Outage, OutageKind};

use super::*;
use OnStoreError::{Allow, Local, Refuse};

const ERRORS: [OnStoreError; 3] = [Allow, Refuse, Local];

/// An outage of `redis` in these seconds.
fn outage(kind: OutageKind, from: i64, to: i64) -> Outage {
    Outage {
        name: "away".to_owned(),
        store: "redis".to_owned(),
        from_us: from * SECOND_US,
        to_us: to * SECOND_US,
        kind,
        share_per_million: 1_000_000,
        after: AfterOutage::Kept,
    }
}

fn stored(limit: Limit, on_error: OnStoreError) -> Limit {
    let store = Some(Store { name: "redis".to_owned(), on_error });
    Limit { at: Some("app".to_owned()), store, ..limit }
}

fn during(outage: Outage, limits: Vec<Limit>, rows: &[Row]) -> (Tally, OutageTally) {
    on(1, outage, limits, rows)
}

/// The same on so many instances.
fn on(instances: u64, outage: Outage, limits: Vec<Limit>, rows: &[Row]) -> (Tally, OutageTally) {
    let tiers = vec![tier(instances, Balance::RoundRobin)];
    let site = Site { tiers, outages: vec![outage], ..Site::default() };
    let (traffic, labels) = (traffic(rows), LabelIndex::new(&[]));
    replay_outage(&scene(&site, &traffic, &labels), &policy(limits), 0, &|| false).unwrap()
}

fn at(seconds: &[i64]) -> Vec<Row> {
    seconds.iter().map(|second| (*second, 1, 200, 0)).collect()
}

/// Requests refused by a limit of one in ten seconds: in all, and of those that came in the outage.
fn refusals(outage: &Outage, error: OnStoreError, seconds: &[i64]) -> (u64, u64) {
    let one = vec![stored(limit("one", 1), error)];
    let (tally, of_outage) = during(outage.clone(), one, &at(seconds));
    (tally.refused, of_outage.refused)
}

#[test]
fn while_a_store_is_down_the_limit_allows_refuses_or_counts_on_each_instance() {
    let down = outage(OutageKind::Down, 5, 7);
    // 5 and 6 come while it is down; at 7 it is back and knows of 0
    let kept = ERRORS.map(|error| refusals(&down, error, &[0, 5, 6, 7]));
    assert_eq!(kept, [(1, 0), (3, 2), (2, 1)]);
    let empty = Outage { after: AfterOutage::Empty, ..down.clone() };
    let empty = ERRORS.map(|error| refusals(&empty, error, &[0, 5, 6, 7, 8]));
    assert_eq!(empty, [(1, 0), (3, 2), (2, 1)]);
    // what was allowed, refused or counted elsewhere then, it never learns of
    let later = ERRORS.map(|error| refusals(&down, error, &[5, 6, 8]));
    assert_eq!(later, [(0, 0), (2, 2), (1, 1)]);
    let other = Outage { store: "memcached".to_owned(), ..down };
    assert_eq!(refusals(&other, Refuse, &[0, 5, 6, 7]), (3, 2));
}

#[test]
fn what_answers_late_decides_nothing_and_has_charged() {
    let slow = outage(OutageKind::Slow, 5, 7);
    let late = ERRORS.map(|error| refusals(&slow, error, &[5, 6, 8]));
    assert_eq!(late, [(1, 0), (3, 2), (2, 1)]);
    let empty = Outage { after: AfterOutage::Empty, ..slow };
    assert_eq!(refusals(&empty, Allow, &[5, 6, 8]), (0, 0));
}

#[test]
fn a_flush_forgets_what_was_counted_and_who_was_banned() {
    let flush = outage(OutageKind::Flush, 5, 7);
    for error in ERRORS {
        assert_eq!(refusals(&flush, error, &[0, 4, 5, 6, 7]), (3, 1));
        let ban = Some(Ban { us: MINUTE_US, extends: false, clears: false });
        let banned = Limit { ban, ..stored(limit("one", 1), error) };
        let (tally, _) = during(flush.clone(), vec![banned], &at(&[0, 1, 2, 5]));
        assert_eq!(tally.refused, 2);
    }
}

#[test]
fn each_instance_counts_for_itself_and_begins_with_nothing() {
    let down = || outage(OutageKind::Down, 5, 7);
    let one = || vec![stored(limit("one", 1), Local)];
    // the first two instances get a second request
    let (tally, of_outage) = on(6, down(), one(), &at(&[0, 5, 5, 5, 5, 5, 5, 6, 6]));
    assert_eq!((tally.refused, of_outage.refused, of_outage.admitted), (2, 2, 6));
    let [_, _, unknown] = of_outage.cohorts;
    assert_eq!((unknown.requests, unknown.refused, unknown.identities_refused), (8, 2, 1));
}

#[test]
fn a_share_of_calls_fails_and_a_group_is_one_call() {
    let half = Outage { share_per_million: 500_000, ..outage(OutageKind::Down, 0, 9_999) };
    let rows: Vec<Row> = (0..1_000).map(|second| (second, 1, 200, 0)).collect();
    // one refuses whatever the store answers, the other whatever it doesn't
    let answered = stored(limit("none", 0), Allow);
    let failed = stored(limit("any", 1_000), Refuse);
    let apart = vec![answered.clone(), failed.clone()];
    let together: Vec<Limit> =
        apart.iter().map(|limit| grouped(limit.clone(), GroupCharge::All)).collect();
    let (tally, _) = during(half.clone(), together, &rows);
    let [none, any] = [&tally.limits[0], &tally.limits[1]].map(|limit| limit.refused);
    assert_eq!((none + any, tally.refused), (1_000, 1_000));
    assert!((450..550).contains(&none), "{none}");
    // asked one after another, each makes a call of its own
    let (tally, of_outage) = during(half.clone(), apart.clone(), &rows);
    assert!((700..800).contains(&tally.refused), "{}", tally.refused);
    assert_eq!(of_outage.refused, tally.refused);
    assert_eq!(during(half, apart, &rows).0, tally);
}

#[test]
fn what_waits_goes_on_waiting_starts_at_once_or_follows_its_instance() {
    let spaced = |error| {
        // with a slot to wait for: a start that is only a matter of time is given out at once
        let spacing = Spacing { min_time_us: 4 * SECOND_US, max_concurrent: Some(1) };
        let queue = Some(Queue { high_water: None, strategy: Strategy::Leak });
        vec![stored(Limit { queue, ..of("spaced", Limiter::Spacing(spacing)) }, error)]
    };
    let delays = |outage: Outage, error, seconds: &[i64]| {
        let rows: Vec<Row> = seconds.iter().map(|second| (*second, 1, 200, 4)).collect();
        let (tally, _) = during(outage, spaced(error), &rows);
        let seconds: Vec<i64> = tally.limits[0].delays_us.iter().map(|us| us / SECOND_US).collect();
        (seconds, tally.refused)
    };
    let down = || outage(OutageKind::Down, 2, 10);
    let four = [0, 0, 0, 0];
    assert_eq!(delays(down(), Allow, &four), (vec![2, 2, 2], 0));
    assert_eq!(delays(down(), Refuse, &four), (vec![10, 14, 18], 0));
    // the instance begins with nothing; at 10 the store is back, and knows of the start at 0
    assert_eq!(delays(down(), Local, &four), (vec![2, 6, 10], 0));
    assert_eq!(delays(outage(OutageKind::Flush, 2, 3), Refuse, &four), (vec![2, 6, 10], 0));
    // who comes meanwhile is asked, and that fails
    assert_eq!(delays(down(), Allow, &[0, 0, 5, 5]), (vec![2], 0));
    assert_eq!(delays(down(), Refuse, &[0, 0, 5, 5]), (vec![10], 2));
    // of two instances each has a line of its own
    let rows: Vec<Row> = (0..5).map(|_| (0, 1, 200, 4)).collect();
    let (tally, _) = on(2, down(), spaced(Local), &rows);
    let seconds: Vec<i64> = tally.limits[0].delays_us.iter().map(|us| us / SECOND_US).collect();
    assert_eq!(seconds, [2, 2, 6, 6]);
}

#[test]
fn slots_and_responses_survive_an_outage() {
    let slots =
        |error| vec![stored(of("slots", Limiter::Concurrency(Concurrency { limit: 1 })), error)];
    let down = || outage(OutageKind::Down, 5, 7);
    // taken at 0, given back at 6 while the store is away; the third finds it free
    let rows = [(0, 1, 200, 6), (4, 1, 200, 0), (8, 1, 200, 0)];
    assert_eq!(during(down(), slots(Refuse), &rows).0.refused, 1);
    // a slot of before isn't given back to a store that has forgotten it
    let flush = outage(OutageKind::Flush, 5, 7);
    let rows = [(0, 1, 200, 8), (6, 1, 200, 9), (9, 1, 200, 0)];
    assert_eq!(during(flush, slots(Refuse), &rows).0.refused, 1);
    // a response that comes while the store is away is counted nowhere, unless instances count
    let wrong = Some(vec![StatusRange { first: 404, last: 404 }]);
    let coupons =
        |error| vec![stored(Limit { count_when: wrong.clone(), ..limit("coupons", 1) }, error)];
    let rows = [(4, 1, 404, 2), (6, 1, 404, 1), (8, 1, 200, 0)];
    let refused = |error| during(down(), coupons(error), &rows).0.refused;
    // the second is asked at 6, when the first is counted, and counted at 7, when the store is back
    assert_eq!(ERRORS.map(refused), [1, 1, 1]);
    let rows = [(4, 1, 404, 2), (8, 1, 200, 0)];
    let refused = |error| during(down(), coupons(error), &rows).0.refused;
    assert_eq!(ERRORS.map(refused), [0, 0, 0]);
    let slow = outage(OutageKind::Slow, 5, 7);
    assert_eq!(during(slow, coupons(Allow), &rows).0.refused, 1);
}
