//! Clients that try again, or come no more.

use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::replay::tally::Tally;
use crate::site::facts::{Client, ClientKind};

use super::*;

fn client(kind: ClientKind, attempts: u64) -> Client {
    Client {
        name: "app".to_owned(),
        matching: Match::default(),
        kind,
        attempts,
        backoff_us: SECOND_US,
        cap_us: 3 * SECOND_US,
    }
}

fn react(client: Client, limits: Vec<Limit>, rows: &[Row]) -> Tally {
    let site = Site { clients: vec![client], ..Site::default() };
    let (traffic, labels) = (traffic(rows), LabelIndex::new(&[]));
    let open = run_for(&site, limits.clone(), &traffic).base;
    assert_eq!((open.retries, open.retries_admitted, open.given_up), (0, 0, 0));
    let scene = Scene { closed_loop: true, ..scene(&site, &traffic, &labels) };
    replay(&scene, &policy(limits), &|| false).unwrap().base
}

/// What was asked, refused, tried again, and admitted then.
fn figures(tally: &Tally) -> [u64; 4] {
    [tally.requests, tally.refused, tally.retries, tally.retries_admitted]
}

#[test]
fn a_refused_request_comes_again_after_pauses_that_double() {
    let rows = [(0, 1, 200, 0), (1, 1, 200, 0)];
    // refused at 1, again at 2, 4, 7 and 10: the pause grows to 3 s and no more
    let tries =
        |attempts| react(client(ClientKind::Retries, attempts), vec![limit("one", 1)], &rows);
    assert_eq!(figures(&tries(1)), [2, 1, 0, 0]);
    assert_eq!(figures(&tries(4)), [2, 1, 3, 0]);
    assert_eq!(figures(&tries(5)), [2, 1, 4, 1]);
    assert_eq!(figures(&tries(1_000)), [2, 1, 4, 1]);
    let tally = tries(5);
    // the first answer is what counts; how full it was, all attempts tell
    assert_eq!((tally.limits[0].asked, tally.limits[0].refused), (2, 1));
    assert_eq!((tally.limits[0].keys_refused, tally.cohorts[2].requests), (1, 2));
    assert_eq!(tally.limits[0].fill.at_us, Some(0));
}

#[test]
fn a_storm_of_retries_ends() {
    let rows: Vec<Row> = (0..100).map(|_| (0, 1, 200, 0)).collect();
    let tally = react(client(ClientKind::Retries, 50), vec![limit("none", 0)], &rows);
    assert_eq!(figures(&tally), [100, 100, 4_900, 0]);
}

#[test]
fn the_limiter_sees_every_attempt() {
    let rows = [(0, 1, 200, 0), (1, 1, 200, 0)];
    let counting = SlidingLog {
        limit: 1,
        window_us: 10 * SECOND_US,
        boundary: Boundary::Open,
        count_refused: true,
    };
    let watched = Limit { alarm: Some(3), ..of("one", Limiter::SlidingLog(counting)) };
    let tally = react(client(ClientKind::Retries, 4), vec![watched], &rows);
    // asked at 0, 1, 2 and 4
    assert_eq!(tally.alarms[0].first_us, 4 * SECOND_US);
    assert_eq!(tally.limits[0].fill.max_milli, 5_000);
    assert_eq!((tally.limits[0].asked, tally.limits[0].missing_key), (2, 0));
}

#[test]
fn a_client_waits_as_the_limit_that_refused_says() {
    let told = |retry_after| {
        let limits = vec![Limit { retry_after, ..limit("one", 1) }];
        let rows = [(0, 1, 200, 0), (4, 1, 200, 0)];
        figures(&react(client(ClientKind::HonoursRetryAfter, 2), limits, &rows))
    };
    // refused at 4: told nothing it comes at 5, else at 10, 14, 9 and 11
    assert_eq!(told(RetryAfter::None), [2, 1, 1, 0]);
    assert_eq!(told(RetryAfter::Exact), [2, 1, 1, 1]);
    assert_eq!(told(RetryAfter::Window), [2, 1, 1, 1]);
    assert_eq!(told(RetryAfter::Fixed(5 * SECOND_US)), [2, 1, 1, 0]);
    assert_eq!(told(RetryAfter::Fixed(7 * SECOND_US)), [2, 1, 1, 1]);
    // a ban is part of the answer
    let ban = Some(Ban { us: 20 * SECOND_US, extends: false, clears: false });
    let banned = |retry_after| {
        let limits = vec![Limit { retry_after, ban, ..limit("one", 1) }];
        let rows = [(0, 1, 200, 0), (4, 1, 200, 0)];
        figures(&react(client(ClientKind::HonoursRetryAfter, 2), limits, &rows))
    };
    assert_eq!(banned(RetryAfter::Exact), [2, 1, 1, 1]);
    assert_eq!(banned(RetryAfter::Window), [2, 1, 1, 0]);
    // the length of a window is longer than what is left of it: the third takes the room at 10
    let fixed = FixedWindow {
        limit: 1,
        window: Window::Clock { us: 10 * SECOND_US, zone: crate::units::zone::Zone::UTC },
        count_refused: false,
    };
    let windowed = |retry_after| {
        let limits = vec![Limit { retry_after, ..of("one", Limiter::FixedWindow(fixed)) }];
        let rows = [(0, 1, 200, 0), (4, 1, 200, 0), (11, 1, 200, 0)];
        react(client(ClientKind::HonoursRetryAfter, 2), limits, &rows)
    };
    // exactly: at 10, and the third is refused then, and told 20; a window: at 14, refused
    assert_eq!(figures(&windowed(RetryAfter::Exact)), [3, 2, 2, 2]);
    assert_eq!(figures(&windowed(RetryAfter::Window)), [3, 1, 1, 0]);
    // without a window, when exactly
    let slow = Limit { retry_after: RetryAfter::Window, ..nginx("slow", 0, Delay::None) };
    let rows = [(0, 1, 200, 0), (0, 1, 200, 0)];
    let tally = react(client(ClientKind::HonoursRetryAfter, 2), vec![slow], &rows);
    assert_eq!(figures(&tally), [2, 1, 1, 1]);
}

#[test]
fn a_client_that_gives_up_comes_no_more() {
    let seconds = [0, 1, 2, 10, 11, 12, 13, 14];
    let mut rows: Vec<Row> = seconds.iter().map(|second| (*second, 1, 200, 0)).collect();
    rows.push((30, 2, 200, 0));
    rows.push((30, 1, 200, 0));
    let tally = react(client(ClientKind::GivesUp, 3), vec![limit("one", 1)], &rows);
    // refused at 1 and 2, admitted at 10, refused at 11, 12 and 13; another client isn't concerned
    assert_eq!(figures(&tally), [8, 5, 0, 0]);
    assert_eq!(tally.given_up, 2);
}

#[test]
fn only_clients_that_match_react_and_a_retry_gets_an_instance_of_its_own() {
    let of_nobody = Client {
        matching: Match { status: vec![StatusRange { first: 599, last: 599 }], ..Match::default() },
        ..client(ClientKind::Retries, 9)
    };
    let rows = [(0, 1, 200, 0), (1, 1, 200, 0)];
    assert_eq!(figures(&react(of_nobody, vec![limit("one", 1)], &rows)), [2, 1, 0, 0]);
    // in turn over two: the second of client 1 meets the first instance again, its retry the other
    let tiers = vec![tier(2, Balance::RoundRobin)];
    let clients = vec![client(ClientKind::Retries, 2)];
    let site = Site { tiers, clients, ..Site::default() };
    let local = Limit { at: Some("app".to_owned()), counters: Counters::Local, ..limit("one", 1) };
    let rows = [(0, 1, 200, 0), (0, 2, 200, 0), (1, 1, 200, 0)];
    let (traffic, labels) = (traffic(&rows), LabelIndex::new(&[]));
    let scene = Scene { closed_loop: true, ..scene(&site, &traffic, &labels) };
    let tally = replay(&scene, &policy(vec![local]), &|| false).unwrap().base;
    assert_eq!(figures(&tally), [3, 1, 1, 1]);
    let asked: Vec<u64> = tally.limits[0].instances.iter().map(|one| one.asked).collect();
    assert_eq!(asked, [2, 1]);
}
