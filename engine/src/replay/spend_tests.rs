//! Spend, charge by charge, on requests made by hand.

use crate::measure::cohorts::Cohorts;
use crate::site::facts::{AttackerRule, CustomerRule, Dedupe};
use crate::site::key::KeySpec;
use crate::site::labels::LabelIndex;
use crate::site::matching::{Match, StatusRange};
use crate::traffic::{Events, Observed};
use crate::units::address::Address;
use crate::units::span::{DAY_US, HOUR_US, MINUTE_US};
use crate::units::time::parse_rfc3339;

use super::*;

/// Requests: minute, client, status.
fn traffic(rows: &[(i64, u32, u16)]) -> Traffic {
    let begin = parse_rfc3339("2026-11-24T00:00:00Z").unwrap();
    let events = Events {
        times_us: rows.iter().map(|row| begin + row.0 * MINUTE_US).collect(),
        addresses: rows.iter().map(|row| row.1).collect(),
        places: vec![NONE; rows.len()],
        statuses: rows.iter().map(|row| row.2).collect(),
        durations_us: vec![0; rows.len()],
        observed: rows.iter().map(|row| Observed::of(None, Some(row.2))).collect(),
        observed_conn: vec![Observed::Unknown; rows.len()],
        sources: vec![0; rows.len()],
        lines: (1..).take(rows.len()).collect(),
        ..Events::default()
    };
    let addresses = (0..8).map(|n| Address::from_v4_bits(0xc000_0200 + n)).collect();
    Traffic { events, addresses, address_keys: vec![KeySpec::ip(64)], ..Traffic::default() }
}

fn of_status(first: u16) -> Match {
    Match { status: vec![StatusRange { first, last: first + 99 }], ..Match::default() }
}

fn action() -> Action {
    Action {
        name: "sms".to_owned(),
        matching: of_status(200),
        unit_cost: Some("0.25".parse().unwrap()),
        prices: Vec::new(),
        priced_key: None,
        currency: "INR".to_owned(),
        units_max: 1,
        dedupe: None,
        provider_quota: None,
        response_us: None,
    }
}

fn site(action: Action) -> Site {
    Site { actions: vec![action], ..Site::default() }
}

fn of_site(site: &Site, rows: &[(i64, u32, u16)], horizon_us: i64) -> SpendTally {
    let traffic = traffic(rows);
    let labels = LabelIndex::new(&[]);
    let selector = Selector::new(&traffic, &[], &labels);
    let cohorts = Cohorts::new(site, &traffic, &selector);
    observed(site, &traffic, &selector, &cohorts, horizon_us).remove(0)
}

fn money(tally: &SpendTally, amount: u128) -> String {
    tally.money(amount).unwrap().to_string()
}

#[test]
fn the_dearest_interval_slides() {
    // four within an hour that no clock hour holds
    let rows = [(0, 0, 200), (40, 0, 200), (50, 1, 200), (70, 0, 200), (99, 0, 200), (100, 0, 200)];
    let tally = of_site(&site(action()), &rows, HOUR_US);
    assert_eq!(money(&tally, tally.total().hi), "1.50");
    // from 50 to 100: at 40 it is exactly an hour old
    let worst = tally.worst_in(HOUR_US).unwrap();
    assert_eq!((money(&tally, worst.hi), worst.lo), ("1.00".to_owned(), worst.hi));
    assert_eq!(tally.worst_in(DAY_US), None);
}

#[test]
fn only_answers_that_match_are_charged_and_none_that_was_refused() {
    let rows = [(0, 0, 200), (1, 0, 500), (2, 0, 429)];
    let tally = of_site(&site(action()), &rows, HOUR_US);
    assert_eq!(tally.charged, 1);
    // also where the action doesn't look at the answer
    let any = Action { matching: Match::default(), ..action() };
    assert_eq!(of_site(&site(any), &rows, HOUR_US).charged, 2);
}

#[test]
fn what_is_charged_once_is_charged_once_per_key_and_time() {
    let rows = [(0, 0, 200), (10, 0, 200), (20, 1, 200), (31, 0, 200), (50, 0, 200)];
    let with = |within_us| {
        let dedupe = Some(Dedupe { key: "ip".to_owned(), within_us });
        of_site(&site(Action { dedupe, ..action() }), &rows, DAY_US).charged
    };
    assert_eq!(with(None), 2);
    // 31 is more than 30 after the first that was charged, 50 less than 30 after that
    assert_eq!(with(Some(30 * MINUTE_US)), 3);
    assert_eq!(with(Some(31 * MINUTE_US)), 3);
}

#[test]
fn the_longest_prefix_prices_a_key_and_what_none_fits_is_between_nothing_and_the_dearest() {
    let prices = [("192.0.2.", "1"), ("192.0.2.1", "3")];
    let prices = prices.map(|(prefix, price)| (prefix.to_owned(), price.parse().unwrap()));
    let priced = Action {
        unit_cost: None,
        prices: prices.to_vec(),
        priced_key: Some("ip".to_owned()),
        ..action()
    };
    let rows = [(0, 0, 200), (1, 1, 200)];
    let tally = of_site(&site(priced.clone()), &rows, HOUR_US);
    assert_eq!((money(&tally, tally.total().lo), tally.unpriced), ("4".to_owned(), 0));
    let few = Action { prices: vec![("192.0.2.1".to_owned(), "3".parse().unwrap())], ..priced };
    let tally = of_site(&site(few), &rows, HOUR_US);
    assert_eq!((tally.total().lo, tally.total().hi, tally.unpriced), (3, 6, 1));
}

#[test]
fn units_are_known_between_one_and_the_most() {
    let tally = of_site(&site(Action { units_max: 5, ..action() }), &[(0, 0, 200)], HOUR_US);
    let total = tally.total();
    assert_eq!((money(&tally, total.lo), money(&tally, total.hi)), ("0.25".into(), "1.25".into()));
}

#[test]
fn a_quota_stops_customers_too_until_its_period_ends() {
    let quota = ProviderQuota {
        amount: "0.50".parse().unwrap(),
        per: QuotaPeriod::Day,
        late_us: 10 * MINUTE_US,
    };
    let rule = |matching| AttackerRule {
        name: "pump".to_owned(),
        matching: Some(matching),
        from_us: None,
        to_us: Some(parse_rfc3339("2026-11-24T00:20:00Z").unwrap()),
        list: None,
    };
    let customers = CustomerRule {
        name: "paid".to_owned(),
        matching: Some(of_status(200)),
        at_least: 1,
        list: None,
    };
    let site = Site {
        attackers: vec![rule(of_status(200))],
        customers: vec![customers],
        ..site(Action { provider_quota: Some(quota), ..action() })
    };
    // used up at minute 5, stopped from 15 on; minutes of the next day begin anew
    let rows = [
        (0, 0, 200),
        (5, 0, 200),
        (14, 1, 200),
        (16, 1, 200),
        (30, 2, 200),
        (40, 2, 200),
        (50, 3, 200),
        (1_450, 4, 200),
    ];
    let tally = of_site(&site, &rows, HOUR_US);
    let stopped = tally.stopped.unwrap();
    let at = |text: &str| parse_rfc3339(text).unwrap();
    assert_eq!(stopped.used_up_us, at("2026-11-24T00:05:00Z"));
    assert_eq!(stopped.from_us, at("2026-11-24T00:15:00Z"));
    assert_eq!(stopped.until_us, at("2026-11-25T00:00:00Z"));
    assert_eq!((stopped.customer_requests, stopped.customers), (3, 2));
    // all that the attack asked for was charged to it
    assert_eq!(tally.cohorts.map(|amount| amount.hi), {
        let mut by_cohort = [0; 3];
        for (cohort, charged) in [(Cohort::Customer, 4), (Cohort::Attacker, 4)] {
            by_cohort[Cohort::ALL.iter().position(|of| *of == cohort).unwrap()] = charged * 25;
        }
        by_cohort
    });
}
