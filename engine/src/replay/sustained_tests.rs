//! The arithmetic of what an attack gets and what it needs, without any log.

use super::*;
use crate::limiter::block::Block;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::policy::{Counters, LimitKey};
use crate::replay::tests::of;
use crate::site::facts::{Balance, Tier};
use crate::units::decimal;
use crate::units::rate::Rate;
use crate::units::span::{MINUTE_US, SECOND_US};

fn limit(name: &str, limiter: Limiter) -> Limit {
    let at = Some("nginx".to_owned());
    Limit { at, counters: Counters::Local, ..of(name, limiter) }
}

fn stored(rate: &str) -> Limit {
    let rate_milli = Nginx::stored_rate(Rate::parse(rate).unwrap());
    let nginx = Nginx { rate_milli, burst: 7, delay: Delay::None, reclaim: Reclaim::Busy };
    limit(rate, Limiter::Nginx(nginx))
}

fn bucket(rate: &str) -> Limit {
    let refill = Refill::Continuous(Rate::parse(rate).unwrap());
    let bucket = limit(rate, Limiter::TokenBucket(TokenBucket { burst: 60, refill }));
    Limit { counters: Counters::Shared, ..bucket }
}

/// Eight servers, and how requests are spread over them.
fn site(balance: Balance) -> Site {
    let tier =
        Tier { name: "nginx".to_owned(), instances: 8, instances_max: 16, balance: Some(balance) };
    Site { tiers: vec![tier], ..Site::default() }
}

/// 2,500 requests a second from 40 addresses: in all, thousandths a second, and what defeats it.
fn scraper(balance: Balance, limits: Vec<Limit>) -> (u64, Option<Defeat>, Option<usize>) {
    let cover = |limit: &Limit| {
        let keys = if limit.key.parts.is_empty() { 1 } else { 40 };
        Some(Cover { keys, weight: 1 })
    };
    let covers: Vec<_> = limits.iter().map(cover).collect();
    let policy = Policy { name: "test".to_owned(), file: String::new(), limits };
    let attack = Pace { count: 18_000_000, per_us: 7_200_000_000 };
    let held = held(&policy, &site(balance), attack, &covers, 0);
    let count = u64::try_from(held.sustained.count).unwrap() * 1_000_000;
    let per_us = u64::try_from(held.sustained.per_us).unwrap();
    (decimal::ratio(count, per_us, 3).unwrap(), held.defeat, held.by)
}

#[test]
fn rates_as_nginx_stores_them_count_on_every_instance() {
    let nginx = |rate: &str| scraper(Balance::RoundRobin, vec![stored(rate)]);
    assert_eq!(nginx("8r/m"), (42_560, Some(Defeat::Keys { limit: 0, keys: 2_350 }), Some(0)));
    assert_eq!(nginx("7r/m"), (37_120, Some(Defeat::Keys { limit: 0, keys: 2_694 }), Some(0)));
    let shared = scraper(Balance::RoundRobin, vec![bucket("60/m")]);
    assert_eq!(shared, (40_000, Some(Defeat::Keys { limit: 0, keys: 2_500 }), Some(0)));
}

#[test]
fn a_client_that_always_meets_one_instance_has_one_counter() {
    let (milli, ..) = scraper(Balance::ByClient, vec![stored("8r/m")]);
    assert_eq!(milli, 5_320);
    // a key that many clients share meets them all
    let global =
        Limit { key: LimitKey { name: "global".to_owned(), parts: Vec::new() }, ..stored("8r/m") };
    assert_eq!(scraper(Balance::ByClient, vec![global]).0, 1_064);
}

#[test]
fn the_tightest_limit_that_enforces_counts() {
    let shadow = Limit { mode: Mode::Shadow, ..bucket("1/m") };
    let limits = vec![bucket("600/m"), shadow, bucket("60/m"), bucket("120/m")];
    let expected = (40_000, Some(Defeat::Keys { limit: 2, keys: 2_500 }), Some(2));
    assert_eq!(scraper(Balance::RoundRobin, limits), expected);
}

#[test]
fn no_number_of_keys_defeats_what_all_share() {
    let key = LimitKey { name: "global".to_owned(), parts: Vec::new() };
    let stop = |rate| Limit { key: key.clone(), ..bucket(rate) };
    let (milli, defeat, by) = scraper(Balance::RoundRobin, vec![bucket("60/m"), stop("10/s")]);
    assert_eq!((milli, defeat, by), (10_000, Some(Defeat::Never { limit: 1 }), Some(1)));
    // one that admits more than the attack asks for doesn't hold it
    let wide = scraper(Balance::RoundRobin, vec![bucket("60/m"), stop("2500/s")]);
    assert_eq!(wide.1, Some(Defeat::Keys { limit: 0, keys: 2_500 }));
    let block = limit("block", Limiter::Block(Block));
    let blocked = scraper(Balance::RoundRobin, vec![block]);
    assert_eq!(blocked, (0, Some(Defeat::Never { limit: 0 }), Some(0)));
}

#[test]
fn what_no_limit_covers_gets_all_it_asks_for() {
    assert_eq!(scraper(Balance::RoundRobin, vec![]), (2_500_000, None, None));
    // one address a hundred times too slow for its limit
    let wide = scraper(Balance::RoundRobin, vec![bucket("6250/s")]);
    assert_eq!(wide, (2_500_000, Some(Defeat::Keys { limit: 0, keys: 1 }), None));
}

#[test]
fn heavy_requests_need_more_keys() {
    let weighs = |weight| per_key(&bucket("60/m"), &Site::default(), 0, weight);
    assert_eq!(weighs(2), Some(Pace { count: 60, per_us: 2 * u128::try_from(MINUTE_US).unwrap() }));
    assert_eq!(weighs(0), None);
}

#[test]
fn paces_are_compared_exactly_at_any_size() {
    let pace = |count, per_us| Pace { count, per_us };
    let second = u128::try_from(SECOND_US).unwrap();
    assert_eq!(pace(1, 3).cmp(pace(2, 6)), Ordering::Equal);
    assert_eq!(pace(133, 1_000 * second).cmp(pace(8, 60 * second)), Ordering::Less);
    let large = u128::MAX / 2;
    assert_eq!(pace(large, large - 1).cmp(pace(large - 1, large - 2)), Ordering::Less);
    assert_eq!(pace(0, 5).cmp(pace(0, 7)), Ordering::Equal);
}
