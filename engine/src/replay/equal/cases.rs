//! Generated cases: traffic, a policy of any limits and wrappers, and a site that deploys it somehow.

use proptest::prelude::*;
use proptest::sample::select;
use rust_decimal::Decimal;

use crate::document::Place;
use crate::limiter::nginx::Reclaim;
use crate::limiter::properties::START_US;
use crate::limiter::properties::subjects::{Subject, any_subject};
use crate::limiter::{Limiter, spacing::Spacing};
use crate::policy::{
    Ban, Counters, Group, GroupCharge, KeyPart, Limit, LimitKey, MissingKey, Mode, OnStoreError,
    Policy, Queue, RetryAfter, Store, Strategy as Full, Weight,
};
use crate::site::Site;
use crate::site::facts::{
    Action, AttackerRule, Balance, CustomerRule, Dedupe, Duplicate, ProviderQuota, QuotaPeriod,
    Requirement, Tier,
};
use crate::site::key::KeySpec;
use crate::site::matching::{Match, StatusRange};
use crate::traffic::{Events, NONE, Observed, Traffic};
use crate::units::address::Address;

/// Routes that generated requests are of, and one place more for those outside them.
pub(super) const ROUTES: u32 = 2;
/// Clients that generated requests come from.
pub(super) const CLIENTS: u32 = 5;
/// Instances that a log may have seen.
pub(super) const INSTANCES: u32 = 3;

/// A case for both engines.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) site: Site,
    pub(crate) policy: Policy,
    pub(crate) traffic: Traffic,
    /// Step of the log's stamps, microseconds.
    pub(crate) step_us: i64,
    pub(crate) drop_already_refused: bool,
}

/// Everything around a limiter that a policy may say.
#[derive(Debug, Clone)]
struct Wrapping {
    key: u8,
    route: Option<usize>,
    mode: Mode,
    missing_key: MissingKey,
    weight: Weight,
    ban: Option<Ban>,
    counters: Counters,
    count_when: Option<Vec<StatusRange>>,
    alarm: Option<u64>,
    /// Quarters of its window after the beginning.
    expires: Option<i64>,
    group: Option<(u8, GroupCharge)>,
    queue: Option<Queue>,
    reclaim: Reclaim,
    /// A tier by its number, or a word.
    at: Option<u8>,
    store: Option<(u8, OnStoreError)>,
    /// Whether it shares the zone, and so the limiter, of the limit before it.
    zone: bool,
}

/// One request, in terms of the policy's own windows.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Whose window.
    limit: usize,
    quarters: i64,
    ticks: i64,
    client: u32,
    place: u32,
    status: u16,
    duration: i64,
    observed: Observed,
    instance: u32,
}

fn any_wrapping() -> impl Strategy<Value = Wrapping> {
    let ban = (1_i64..200, any::<bool>(), any::<bool>()).prop_map(|(us, extends, clears)| Ban {
        us,
        extends,
        clears,
    });
    let weight = prop_oneof![
        4 => Just(Weight { default: 1, by_route: Vec::new() }),
        1 => (1_u64..4, 1_u64..4)
            .prop_map(|(default, of_route)| Weight { default, by_route: vec![(1, of_route)] }),
    ];
    let queue = (prop::option::of(0_u64..3), select(vec![Full::Leak, Full::Overflow, Full::Block]))
        .prop_map(|(high_water, strategy)| Queue { high_water, strategy });
    let charge = select(vec![GroupCharge::None, GroupCharge::All]);
    let what = (
        0_u8..4,
        prop::option::weighted(0.3, 0_usize..2),
        prop_oneof![4 => Just(Mode::Enforce), 1 => Just(Mode::Shadow)],
        select(vec![MissingKey::Skip, MissingKey::Shared, MissingKey::Refuse]),
        weight,
        prop::option::weighted(0.2, ban),
        select(vec![Counters::Local, Counters::Shared]),
    );
    let more = (
        prop::option::weighted(0.15, Just(vec![StatusRange { first: 400, last: 499 }])),
        prop::option::weighted(0.2, 0_u64..4),
        prop::option::weighted(0.1, 1_i64..40),
        prop::option::weighted(0.4, (0_u8..2, charge)),
        prop::option::weighted(0.05, queue),
        select(vec![Reclaim::Busy, Reclaim::None]),
        prop::bool::weighted(0.2),
    );
    let errors = select(vec![OnStoreError::Allow, OnStoreError::Refuse, OnStoreError::Local]);
    let place = (prop::option::weighted(0.9, 0_u8..4), prop::option::of((0_u8..2, errors)));
    (what, more, place).prop_map(
        |(
            (key, route, mode, missing_key, weight, ban, counters),
            (count_when, alarm, expires, group, queue, reclaim, zone),
            (at, store),
        )| Wrapping {
            key,
            route,
            mode,
            missing_key,
            weight,
            ban,
            counters,
            count_when,
            alarm,
            expires,
            group,
            queue,
            reclaim,
            at,
            store,
            zone,
        },
    )
}

fn any_request() -> impl Strategy<Value = Request> {
    let quarters = prop_oneof![6 => Just(0_i64), 2 => Just(1), 3 => Just(4), 1 => 0_i64..14];
    let ticks = prop_oneof![4 => Just(0_i64), 3 => Just(1), 2 => 0_i64..5, 1 => 0_i64..40];
    let client = prop_oneof![6 => 0..2_u32, 3 => 0..CLIENTS, 1 => Just(NONE)];
    let place = prop_oneof![3 => 0..ROUTES, 1 => Just(NONE)];
    let observed = prop_oneof![9 => Just(Observed::Unknown), 1 => Just(Observed::Refuse)];
    let status = select(vec![200_u16, 201, 404, 429]);
    let instance = prop_oneof![8 => 0..INSTANCES, 1 => Just(NONE)];
    (0_usize..3, quarters, ticks, client, place, status, -1_i64..90, observed, instance).prop_map(
        |(limit, quarters, ticks, client, place, status, duration, observed, instance)| Request {
            limit,
            quarters,
            ticks,
            client,
            place,
            status,
            duration,
            observed,
            instance,
        },
    )
}

/// A limit as a policy may have it.
fn limit(index: usize, subject: &Subject, wrapping: Wrapping) -> Limit {
    let ip = || KeyPart::Key(KeySpec::ip(64));
    let (name, parts) = match wrapping.key {
        0 => ("global", Vec::new()),
        1 => ("ip+route", vec![ip(), KeyPart::Route]),
        _ => ("ip", vec![ip()]),
    };
    let limiter = match subject.limiter.clone() {
        Limiter::Nginx(nginx) => {
            Limiter::Nginx(crate::limiter::nginx::Nginx { reclaim: wrapping.reclaim, ..nginx })
        }
        other => other,
    };
    let counting = matches!(
        limiter,
        Limiter::FixedWindow(_) | Limiter::SlidingLog(_) | Limiter::SlidingCounter(_)
    );
    // spacing always waits; of the others, those that count may
    let waits = Queue { high_water: None, strategy: Full::Leak };
    let queue = match &limiter {
        Limiter::Spacing(Spacing { .. }) => Some(wrapping.queue.unwrap_or(waits)),
        Limiter::FixedWindow(_) | Limiter::SlidingLog(_) | Limiter::Concurrency(_) => {
            wrapping.queue
        }
        _ => None,
    };
    let group = wrapping.group.filter(|_| queue.is_none());
    Limit {
        name: format!("limit {index}"),
        place: Place::default(),
        // two tiers, and a word that is none
        at: wrapping.at.map(|at| ["near", "near", "far", "edge"][usize::from(at)].to_owned()),
        matching: Match { route: wrapping.route.into_iter().collect(), ..Match::default() },
        key: LimitKey { name: name.to_owned(), parts },
        tick_us: subject.tick_us,
        group: group.map(|(name, charge)| Group { name: name.to_string(), charge }),
        zone: None,
        mode: wrapping.mode,
        alarm: wrapping.alarm,
        expires_us: wrapping.expires.map(|quarters| START_US + quarters * subject.window_us / 4),
        retry_after: RetryAfter::None,
        missing_key: wrapping.missing_key,
        weight: wrapping.weight,
        queue,
        ban: wrapping.ban,
        counters: wrapping.counters,
        store: wrapping
            .store
            .map(|(number, on_error)| Store { name: format!("store {number}"), on_error }),
        count_when: wrapping.count_when.filter(|_| counting && queue.is_none()),
        allow: Vec::new(),
        limiter,
    }
}

fn policy(limits: &[(Subject, Wrapping)]) -> Policy {
    let mut list: Vec<Limit> = Vec::new();
    for (index, (subject, wrapping)) in limits.iter().enumerate() {
        let mut next = limit(index, subject, wrapping.clone());
        // a zone is one state: same rate, same key, same place
        if let (true, Some(before)) = (wrapping.zone, list.last_mut())
            && matches!(before.limiter, Limiter::Nginx(_))
        {
            before.zone = Some("zone".to_owned());
            next.zone.clone_from(&before.zone);
            next.limiter = before.limiter.clone();
            next.key = before.key.clone();
            next.counters = before.counters;
            next.at.clone_from(&before.at);
            next.tick_us = before.tick_us;
            next.count_when = None;
            next.queue = None;
        }
        list.push(next);
    }
    Policy { name: "generated".to_owned(), file: String::new(), limits: list }
}

fn traffic(requests: &[Request], limits: &[(Subject, Wrapping)]) -> Traffic {
    let mut now_us = START_US;
    let mut times_us = Vec::new();
    for request in requests {
        let (subject, _) = &limits[request.limit % limits.len()];
        now_us += request.quarters * subject.window_us / 4 + request.ticks * subject.tick_us;
        times_us.push(now_us);
    }
    let column = |of: fn(&Request) -> u32| requests.iter().map(of).collect::<Vec<u32>>();
    let durations = requests.iter().zip(&times_us).map(|(request, _)| request.duration.max(-1));
    let events = Events {
        addresses: column(|request| request.client),
        places: column(|request| request.place),
        instances: column(|request| request.instance),
        statuses: requests.iter().map(|request| request.status).collect(),
        durations_us: durations.collect(),
        observed: requests.iter().map(|request| request.observed).collect(),
        observed_conn: vec![Observed::Unknown; requests.len()],
        sources: vec![0; requests.len()],
        lines: (1..).take(requests.len()).collect(),
        times_us,
        ..Events::default()
    };
    Traffic {
        events,
        addresses: (0..CLIENTS).map(|n| Address::from_v4_bits(0xc000_0200 + n)).collect(),
        places: (0..ROUTES).map(|route| format!("route{route}")).collect(),
        places_are_routes: true,
        instances: (0..INSTANCES).map(|number| format!("instance {number}")).collect(),
        ..Traffic::default()
    }
}

/// A row of servers, spread over in any way.
fn any_tier(name: &'static str) -> impl Strategy<Value = Tier> {
    let balance =
        select(vec![Balance::RoundRobin, Balance::Random, Balance::ByClient, Balance::Observed]);
    (1_u64..5, balance).prop_map(move |(instances, balance)| Tier {
        name: name.to_owned(),
        instances,
        instances_max: instances,
        balance: Some(balance),
    })
}

fn of_status(first: u16) -> Match {
    Match { status: vec![StatusRange { first, last: first }], ..Match::default() }
}

/// A requirement for some times of day.
fn at_hours(between_min: Option<(u32, u32)>) -> Requirement {
    Requirement {
        name: "some hours".to_owned(),
        metric: "limit-0.identities_refused".to_owned(),
        max: Some(0.into()),
        min: None,
        between_min,
        horizon_us: 0,
        outage: None,
        line: 1,
    }
}

fn paid_action(within_us: i64) -> Action {
    let once = within_us % 2 == 0;
    Action {
        name: "paid".to_owned(),
        matching: of_status(200),
        unit_cost: Some(Decimal::TWO),
        prices: Vec::new(),
        priced_key: None,
        currency: "USD".to_owned(),
        units_max: 3,
        dedupe: once.then(|| Dedupe { key: "ip".to_owned(), within_us: Some(within_us) }),
        provider_quota: Some(ProviderQuota {
            amount: Decimal::TEN,
            per: QuotaPeriod::Day,
            late_us: within_us,
        }),
        response_us: None,
    }
}

fn any_site() -> impl Strategy<Value = Site> {
    let tiers = (any_tier("near"), any_tier("far"));
    let attacker = prop::option::of(0_i64..300);
    // times of day that begin or end at midnight, where generated requests do, or near it; and all day
    let minute = || select(vec![0_u32, 0, 1, 2, 3, 1_438, 1_439]);
    let some = (minute(), minute()).prop_filter("no time at all", |(from, to)| from != to);
    let times = prop::collection::vec(prop::option::weighted(0.8, some), 0..3);
    (tiers, attacker, any::<bool>(), prop::option::of(0_i64..200), times).prop_map(
        |((near, far), attacked_from, customers, within, times)| {
            let attackers = attacked_from.map(|from| AttackerRule {
                name: "attack".to_owned(),
                matching: Some(Match { route: vec![0], ..Match::default() }),
                from_us: Some(START_US + from),
                to_us: None,
                list: None,
            });
            let customers = customers.then(|| CustomerRule {
                name: "customer".to_owned(),
                matching: Some(of_status(201)),
                at_least: 1,
                list: None,
            });
            let requirements = times.into_iter().map(at_hours);
            let duplicates = within.map(|within_us| Duplicate {
                name: "again".to_owned(),
                matching: of_status(200),
                key: "ip".to_owned(),
                within_us,
            });
            // what is paid for is seen by both engines alike
            let paid = within.map(paid_action);
            Site {
                actions: paid.into_iter().collect(),
                tiers: vec![near, far],
                attackers: attackers.into_iter().collect(),
                customers: customers.into_iter().collect(),
                duplicates: duplicates.into_iter().collect(),
                requirements: requirements.collect(),
                ..Site::default()
            }
        },
    )
}

pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    let limits = prop::collection::vec((any_subject(), any_wrapping()), 1..4);
    let requests = prop::collection::vec(any_request(), 1..50);
    let step_us = select(vec![1_i64, 1, 1, 20, 1_000_000]);
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.3));
    (limits, requests, any_site(), step_us, flags).prop_map(
        |(limits, requests, site, step_us, (drop_already_refused, over_midnight))| {
            let mut traffic = traffic(&requests, &limits);
            let times_us = &mut traffic.events.times_us;
            if over_midnight {
                // they begin at midnight; now the one in the middle comes then
                let before_us = times_us[times_us.len() / 2] - START_US;
                for time in times_us.iter_mut() {
                    *time -= before_us;
                }
            }
            for time in &mut traffic.events.times_us {
                *time = time.div_euclid(step_us) * step_us;
            }
            Case { site, policy: policy(&limits), traffic, step_us, drop_already_refused }
        },
    )
}
