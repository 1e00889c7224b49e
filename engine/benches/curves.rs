//! How long the curves of ten limits take, in single-limit replays of the same run: five algorithms each
//! on two keys, on 5 million requests of 200,000 clients.
//!
//! `cargo bench -p shadowcap-engine --bench curves`; `SHADOWCAP_EVENTS` changes how many requests.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::time::Duration;

use shadowcap_engine::limiter::critical::Sizing;
use shadowcap_engine::measure::cohorts::Cohorts;
use shadowcap_engine::policy::{KeyPart, LimitKey, Policy, Weight};
use shadowcap_engine::recommend::critical::{
    AskedKeys, CriticalLimits, OpenLimit, critical_limits,
};
use shadowcap_engine::recommend::curve::{Point, curve};
use shadowcap_engine::recommend::points::sizes;
use shadowcap_engine::replay::arrangement::Arrangement;
use shadowcap_engine::replay::keys::Keys;
use shadowcap_engine::replay::plan::EngineChoice;
use shadowcap_engine::replay::run::{Scene, replay_all};
use shadowcap_engine::site::Site;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::traffic::bitmap::Bitmap;
use shadowcap_engine::traffic::select::Selector;
use shadowcap_engine::units::span::DAY_US;

use shared::{CLIENTS, Stream, policies, timed, traffic};

mod shared;

/// Each is run so often, and the fastest counts: what else the machine does only makes it slower.
const RUNS: usize = 3;

/// Gives requests a second key: three users to an address as a rule, and none at every tenth.
fn add_users(traffic: &mut Traffic) {
    let mut stream = Stream(11);
    let users = CLIENTS * 3;
    let of = |address: &u32| match stream.below(10) {
        0 => u32::MAX,
        _ => address * 3 + u32::try_from(stream.below(3)).unwrap(),
    };
    let ids = traffic.events.addresses.iter().map(of).collect();
    traffic.events.keys.push(ids);
    let texts = (0..users).map(|user| format!("user{user:07}").into_bytes().into());
    traffic.key_texts.push(("user".to_owned(), texts.collect()));
}

/// The limits of policies with their sizes left open.
fn open(policies: &[Policy]) -> Vec<OpenLimit> {
    let limits = policies.iter().map(|policy| &policy.limits[0]);
    let open = |limit: &shadowcap_engine::policy::Limit| {
        let sizing = Sizing::of(&limit.limiter).unwrap();
        OpenLimit { sizing, tick_us: limit.tick_us }
    };
    limits.map(open).collect()
}

fn key(spec: KeySpec) -> LimitKey {
    LimitKey { name: spec.name.clone(), parts: vec![KeyPart::Key(spec)] }
}

/// Some limits on one key.
struct Half {
    key: LimitKey,
    open: Vec<OpenLimit>,
}

/// The critical limits of a half, for all keys, with what they were worked out from.
fn critical<T>(
    traffic: &Traffic,
    half: &Half,
    then: impl FnOnce(&AskedKeys<'_>, Vec<CriticalLimits>) -> T,
) -> T {
    let weight = Weight { default: 1, by_route: Vec::new() };
    let (keys, set) = (Keys::new(&half.key, traffic), Bitmap::filled(traffic.len(), true));
    let asked = AskedKeys::new(traffic, &Arrangement::bunched(traffic), &set, &keys, &weight);
    let critical = critical_limits(&asked, &half.open);
    then(&asked, critical)
}

/// Every point of every curve.
fn points(scene: &Scene<'_>, halves: &[Half]) -> Vec<Vec<Point>> {
    let selector = Selector::new(scene.traffic, &[], scene.labels);
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let of_half = |half: &Half| {
        critical(scene.traffic, half, |asked, critical| -> Vec<Vec<Point>> {
            let each = half.open.iter().zip(&critical).map(|(open, critical)| {
                curve(asked, &cohorts, open, critical, &sizes(critical, &[5, 60]))
            });
            each.collect()
        })
    };
    halves.iter().flat_map(of_half).collect()
}

fn main() {
    let events = std::env::var("SHADOWCAP_EVENTS").ok().and_then(|n| n.parse().ok());
    let mut traffic = traffic(events.unwrap_or(5_000_000));
    add_users(&mut traffic);
    let (site, labels, policies) = (Site::default(), LabelIndex::new(&[]), policies());
    let scene = Scene {
        site: &site,
        traffic: &traffic,
        conditions: &[],
        labels: &labels,
        steps_us: &[1],
        drop_already_refused: false,
        closed_loop: false,
        horizon_us: DAY_US,
        engine: EngineChoice::Fast,
    };
    // every other limit on each key
    let every_other = |from| open(&policies).into_iter().skip(from).step_by(2).collect();
    let halves = [
        Half { key: key(KeySpec::ip(64)), open: every_other(0) },
        Half { key: key(KeySpec::user()), open: every_other(1) },
    ];
    let mut fastest = [Duration::MAX; 3];
    for _ in 0..RUNS {
        let (replays, replayed) = timed(|| {
            let each = policies.chunks(1).map(|policy| replay_all(&scene, policy, &|| false));
            each.flatten().flatten().count()
        });
        let (limits, told) = timed(|| {
            let each = halves.iter().map(|half| critical(&traffic, half, |_, all| all.len()));
            each.sum::<usize>()
        });
        let (curves, points) = timed(|| points(&scene, &halves));
        assert_eq!(
            (replayed, told, points.len()),
            (policies.len(), policies.len(), policies.len())
        );
        for (best, took) in fastest.iter_mut().zip([replays, limits, curves]) {
            *best = took.min(*best);
        }
    }
    let [replays, limits, curves] = fastest;
    let replay = replays.as_secs_f64() / f64::from(u32::try_from(policies.len()).unwrap());
    println!("a single-limit replay: {:.0} ms", replay * 1e3);
    println!("critical limits of ten, all keys: {:.0} ms", limits.as_secs_f64() * 1e3);
    println!("their curves, every point: {:.0} ms", curves.as_secs_f64() * 1e3);
    println!("bench critical-limits-vs-replays {:.1}", limits.as_secs_f64() / replay);
    println!("bench curves-vs-replays {:.1}", curves.as_secs_f64() / replay);
}
