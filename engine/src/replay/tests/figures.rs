//! What is counted beside verdicts: windows' first seconds, store calls, memory, growth, attacks.

use super::*;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::policy::{OnStoreError, Store};
use crate::replay::sustained::{Defeat, Pace};
use crate::units::zone::Zone;

/// So many in each minute of the clock.
fn minutes(most: u64) -> Limit {
    let window = Window::Clock { us: MINUTE_US, zone: Zone::UTC };
    of("minutes", Limiter::FixedWindow(FixedWindow { limit: most, window, count_refused: false }))
}

fn stored(limit: Limit, store: &str) -> Limit {
    let store = Store { name: store.to_owned(), on_error: OnStoreError::Refuse };
    Limit { store: Some(store), ..limit }
}

/// Requests of a client at such seconds.
fn at(seconds: &[i64]) -> Vec<Row> {
    seconds.iter().map(|second| (*second, 1, 200, 0)).collect()
}

#[test]
fn a_windows_first_second_counts_what_was_admitted_in_it() {
    let rows = at(&[0, 1, 1, 1, 1, 59, 60, 60, 60, 120]);
    let replayed = run(vec![minutes(2), limit("sliding", 9)], &rows);
    let peaks: Vec<_> = replayed.base.limits.iter().map(|limit| limit.peak_after_reset).collect();
    // of the three at 60 s two are admitted; those at 1 s come a second too late
    assert_eq!(peaks, [Some(2), None]);
    let day = FixedWindow {
        limit: 3,
        window: Window::Calendar {
            unit: crate::units::zone::CalendarUnit::Day,
            zone: Zone::parse("Asia/Kolkata").unwrap(),
        },
        count_refused: false,
    };
    // midnight in India is 18:30 UTC
    let evening = 18 * 3_600 + 1_800;
    let rows = at(&[evening - 1, evening, evening, evening + 1]);
    let replayed = run(vec![of("day", Limiter::FixedWindow(day))], &rows);
    assert_eq!(replayed.base.limits[0].peak_after_reset, Some(2));
}

#[test]
fn limits_of_a_group_in_one_store_share_a_call() {
    let calls = |limits: Vec<Limit>| {
        let base = run(limits, &at(&[0, 0, 5])).base;
        let each: Vec<_> = base.limits.iter().map(|limit| limit.store_calls).collect();
        let peaks = base.limits.iter().map(|limit| limit.most_store_calls_in_a_second);
        (each, peaks.collect::<Vec<_>>(), base.most_store_calls_in_a_second)
    };
    let member = |name, store| stored(grouped(limit(name, 9), GroupCharge::All), store);
    let alone = |name| stored(limit(name, 9), "redis");
    assert_eq!(calls(vec![alone("a"), alone("b")]), (vec![3, 3], vec![2, 2], 4));
    assert_eq!(calls(vec![limit("a", 9), alone("b")]), (vec![0, 3], vec![0, 2], 2));
    let three = vec![member("a", "redis"), member("b", "other"), member("c", "redis")];
    assert_eq!(calls(three), (vec![3, 3, 0], vec![2, 2, 0], 4));
    // the first member isn't asked: the call is the second's
    let nobody = Match { logged_in: Some(true), ..Match::default() };
    let mut group = vec![member("a", "redis"), member("b", "redis")];
    group[0].matching = nobody;
    assert_eq!(calls(group), (vec![0, 3], vec![0, 2], 2));
}

#[test]
fn memory_is_keys_and_entries_that_live_together() {
    let bytes = |limit: Limit, rows: &[Row]| run(vec![limit], rows).base.limits[0].state_bytes;
    let log = |most| stored(limit("log", most), "redis");
    // a key lives ten seconds from its last entry, in slots of about one
    let two = [(0, 1, 200, 0), (5, 2, 200, 0)];
    let apart = [(0, 1, 200, 0), (12, 2, 200, 0)];
    assert_eq!(bytes(log(9), &two), Some(2 * (144 + 40)));
    assert_eq!(bytes(log(9), &apart), Some(144 + 40));
    // what is refused isn't logged
    assert_eq!(bytes(log(2), &at(&[0, 0, 0, 0])), Some(144 + 2 * 40));
    // nginx keeps a state for a minute at least
    let minute = [(0, 1, 200, 0), (59, 2, 200, 0)];
    assert_eq!(bytes(nginx("nginx", 0, Delay::None), &minute), Some(2 * 128));
    // a window of the clock ends for all at once
    let ends = [(30, 1, 200, 0), (62, 2, 200, 0)];
    assert_eq!(bytes(stored(minutes(9), "redis"), &ends), Some(120));
    // what a process takes for its own counters, nobody can tell
    assert_eq!(bytes(minutes(9), &ends), None);
    assert_eq!(bytes(of("block", Limiter::Block(crate::limiter::block::Block)), &two), None);
}

#[test]
fn growth_is_the_first_factor_at_which_a_customer_is_refused() {
    let growth = |most: u64, rows: &[Row]| run(vec![limit("log", most)], rows).growth;
    let ten = at(&[0; 10]);
    // ⌊11 ÷ 1.1⌋ = 10, ⌊11 ÷ 1.25⌋ = 8
    let found = [9, 10, 11, 13, 15, 19, 20].map(|most| growth(most, &ten));
    assert_eq!(found, [Some(100), Some(110), Some(125), Some(150), Some(200), Some(200), None]);
    // a customer orders once a second; who isn't one goes ten times as fast
    let mut site = Site::default();
    site.customers.push(CustomerRule {
        name: "ordered".to_owned(),
        matching: Some(Match {
            status: vec![StatusRange { first: 201, last: 201 }],
            ..Match::default()
        }),
        at_least: 1,
        list: None,
    });
    let rows: Vec<Row> =
        [(0, 1, 201, 0)].into_iter().chain((0..9).map(|_| (0, 2, 200, 0))).collect();
    let of_customers = run_for(&site, vec![limit("log", 4)], &traffic(&rows)).growth;
    assert_eq!((growth(4, &rows), of_customers), (Some(100), None));
}

#[test]
fn an_attack_rule_is_held_by_what_covers_all_its_requests() {
    let all = Match::default();
    let rule = AttackerRule {
        name: "all".to_owned(),
        matching: Some(all.clone()),
        from_us: None,
        to_us: Some(9 * SECOND_US),
        list: None,
    };
    let site = Site { attackers: vec![rule], ..Site::default() };
    let rows: Vec<Row> =
        (0..40).map(|n| (n / 4, 1 + u32::try_from(n % 2).unwrap(), 200, 0)).collect();
    let held = |limits| run_for(&site, limits, &traffic(&rows)).held.remove(0);
    // 36 requests in the nine seconds 0 to 8; two keys of 1 in 10 s each
    let log = held(vec![limit("log", 1)]);
    let second = u128::try_from(SECOND_US).unwrap();
    assert_eq!(log.sustained, Pace { count: 2, per_us: 10 * second });
    assert_eq!(log.defeat, Some(Defeat::Keys { limit: 0, keys: 40 }));
    let logged_in = Match { logged_in: Some(true), ..all };
    let elsewhere = held(vec![Limit { matching: logged_in, ..limit("log", 1) }]);
    assert_eq!(
        (elsewhere.sustained, elsewhere.defeat),
        (Pace { count: 36, per_us: 9 * second }, None)
    );
    // one that is no longer in force at the end
    let expired = held(vec![Limit { expires_us: Some(8 * SECOND_US), ..limit("log", 1) }]);
    assert_eq!(expired.by, None);
}
