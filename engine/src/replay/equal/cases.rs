//! Generated cases: traffic, a policy of any limits and wrappers, and a site that deploys it somehow.

use proptest::prelude::*;
use proptest::sample::select;

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
use crate::site::facts::{AttackerRule, Balance, CustomerRule, Duplicate, Tier};
use crate::site::key::KeySpec;
use crate::site::matching::{Match, StatusRange};
use crate::traffic::{Events, NONE, Observed, Traffic};
use crate::units::address::Address;

/// Routes that generated requests are of, and one place more for those outside them.
const ROUTES: u32 = 2;
/// Clients that generated requests come from.
const CLIENTS: u32 = 5;
/// Instances that a log may have seen.
const INSTANCES: u32 = 3;

/// A case for both engines.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) site: Site,
    pub(super) policy: Policy,
    pub(super) traffic: Traffic,
    /// Step of the log's stamps, microseconds.
    pub(super) step_us: i64,
    pub(super) drop_already_refused: bool,
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

fn any_site() -> impl Strategy<Value = Site> {
    let tiers = (any_tier("near"), any_tier("far"));
    let attacker = prop::option::of(0_i64..300);
    (tiers, attacker, any::<bool>(), prop::option::of(0_i64..200)).prop_map(
        |((near, far), attacked_from, customers, within)| {
            let of_status = |first| Match {
                status: vec![StatusRange { first, last: first }],
                ..Match::default()
            };
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
            let duplicates = within.map(|within_us| Duplicate {
                name: "again".to_owned(),
                matching: of_status(200),
                key: "ip".to_owned(),
                within_us,
            });
            Site {
                tiers: vec![near, far],
                attackers: attackers.into_iter().collect(),
                customers: customers.into_iter().collect(),
                duplicates: duplicates.into_iter().collect(),
                ..Site::default()
            }
        },
    )
}

pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let limits = prop::collection::vec((any_subject(), any_wrapping()), 1..4);
    let requests = prop::collection::vec(any_request(), 1..50);
    let step_us = select(vec![1_i64, 1, 1, 20, 1_000_000]);
    (limits, requests, any_site(), step_us, prop::bool::weighted(0.1)).prop_map(
        |(limits, requests, site, step_us, drop_already_refused)| {
            let mut traffic = traffic(&requests, &limits);
            for time in &mut traffic.events.times_us {
                *time = time.div_euclid(step_us) * step_us;
            }
            Case { site, policy: policy(&limits), traffic, step_us, drop_already_refused }
        },
    )
}
