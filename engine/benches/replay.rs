//! How fast replays are, as ratios measured in one run: ten policies of one limit each, on 5 million
//! requests of 200,000 clients, against governor's keyed limiter called for each request in the order of
//! the log.
//!
//! `cargo bench -p shadowcap-engine --bench replay`; `SHADOWCAP_EVENTS` changes how many requests, and
//! `SHADOWCAP_EACH` has each policy run on its own as well.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::fs;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use shadowcap_engine::replay::plan::{Engine, EngineChoice};
use shadowcap_engine::replay::run::{Scene, replay_all};
use shadowcap_engine::site::Site;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::traffic::Traffic;

use shared::{BEGIN_US, CLIENTS, FIRST_ADDRESS, policies, timed, traffic};

mod shared;

/// Each is run so often, and the fastest counts: what else the machine does only makes it slower.
const RUNS: usize = 5;

/// A client's address.
fn address(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(FIRST_ADDRESS + number).into()
}

/// A figure of the process's memory, bytes; `None` where the system doesn't tell.
fn memory(figure: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(figure))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// As a fraction, to a thousand.
fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count / 1_000).unwrap()) * 1e3
}

/// Millions a second.
fn millions(count: u64, took: Duration) -> f64 {
    number(count) / took.as_secs_f64() / 1e6
}

/// How many governor's keyed limiter admits, asked for each request in the order of the log.
fn by_governor<K: Clone + Eq + Hash>(traffic: &Traffic, keys: &[K]) -> u64 {
    let clock = FakeRelativeClock::default();
    let quota = Quota::per_minute(NonZeroU32::new(10).unwrap());
    let limiter = RateLimiter::dashmap_with_clock(quota, clock.clone());
    let mut now_us = BEGIN_US;
    let mut admitted = 0;
    for (t_us, key) in traffic.events.times_us.iter().zip(keys) {
        clock.advance(Duration::from_micros(u64::try_from(t_us - now_us).unwrap()));
        now_us = *t_us;
        admitted += u64::from(limiter.check_key(key).is_ok());
    }
    admitted
}

fn main() {
    let events = std::env::var("SHADOWCAP_EVENTS").ok().and_then(|n| n.parse().ok());
    let traffic = traffic(events.unwrap_or(5_000_000));
    let events = u64::try_from(traffic.len()).unwrap();
    let (site, labels, policies) = (Site::default(), LabelIndex::new(&[]), policies());
    let scene = Scene {
        site: &site,
        traffic: &traffic,
        conditions: &[],
        labels: &labels,
        steps_us: &[1],
        drop_already_refused: false,
        closed_loop: false,
        horizon_us: shadowcap_engine::units::span::DAY_US,
        engine: EngineChoice::Fast,
    };
    println!("{events} requests, {CLIENTS} clients, {} policies", policies.len());
    let before = memory("VmRSS");
    let replayed = replay_all(&scene, &policies, &|| false).unwrap();
    let beyond = memory("VmHWM").zip(before).map(|(most, before)| most.saturating_sub(before));
    assert!(replayed.iter().all(|replayed| replayed.engine == Engine::Fast));
    let each = std::env::var_os("SHADOWCAP_EACH").is_some();
    for policy in policies.chunks(1).filter(|_| each) {
        let (took, replayed) = timed(|| replay_all(&scene, policy, &|| false).unwrap());
        let refused = replayed[0].base.refused;
        let (speed, name) = (millions(events, took), &policy[0].name);
        println!("  {speed:6.1} M/s, {refused:8} refused: {name}");
    }
    let addresses: Vec<IpAddr> = traffic.events.addresses.iter().map(|id| address(*id)).collect();
    // in turn, so that what else the machine does meets all of them
    let same = policies.iter().zip(&replayed).find(|(policy, _)| policy.name == "gcra").unwrap().1;
    let mut fastest = [Duration::MAX; 3];
    for _ in 0..RUNS {
        let (ours, _) = timed(|| replay_all(&scene, &policies, &|| false).unwrap());
        let (by_address, admitted) = timed(|| by_governor(&traffic, &addresses));
        let (by_number, _) = timed(|| by_governor(&traffic, &traffic.events.addresses));
        assert_eq!(events - admitted, same.base.refused, "the same limit, the same refusals");
        for (best, took) in fastest.iter_mut().zip([ours, by_address, by_number]) {
            *best = took.min(*best);
        }
    }
    let [ours, by_address, by_number] = fastest;
    let decisions = events * u64::try_from(policies.len()).unwrap();
    let (ours, governor) = (millions(decisions, ours), millions(events, by_address));
    println!("all ten policies: {ours:.1} M decisions/s");
    println!("governor, by address: {governor:.1} M decisions/s");
    println!("governor, by number: {:.1} M decisions/s", millions(events, by_number));
    println!("bench replay-vs-governor {:.1}", ours / governor);
    if let Some(beyond) = beyond {
        println!("bench replay-bytes-per-event {:.1}", number(beyond) / number(events));
    }
}
