//! Decisions of a real limiter, held against a replay of the same requests: for limits that wait or ban,
//! which no limiter does alone.

use std::collections::BTreeMap;
use std::io::Write as _;

use shadowcap_engine::document::Place;
use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::policy::{
    Counters, KeyPart, Limit, LimitKey, MissingKey, Mode, Policy, RetryAfter, Weight,
};
use shadowcap_engine::replay::arrangement::Arrangement;
use shadowcap_engine::replay::observer::{Ended, Observer};
use shadowcap_engine::replay::prepare::{Memo, Prepared};
use shadowcap_engine::replay::reference;
use shadowcap_engine::replay::variant::Variant;
use shadowcap_engine::site::Site;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::site::matching::Match;
use shadowcap_engine::traffic::select::Selector;
use shadowcap_engine::traffic::{Events, Observed, Traffic};
use shadowcap_engine::units::address::Address;

/// Disagreements that are shown.
const SHOWN: usize = 5;
/// The least decisions of a limiter.
const LEAST: usize = 100_000;
/// Of all decisions, one in so many at least starts at once, later, or never.
const SHARE: usize = 20;

/// A request, or a job.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) at_us: i64,
    pub(super) key: String,
    pub(super) weight: u64,
    pub(super) lasts_us: i64,
}

/// What became of it, and when, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Starts(i64),
    Refused(i64),
}

/// A limit per address that enforces and does nothing else.
pub(super) fn limit(limiter: Limiter, tick_us: i64) -> Limit {
    let parts = vec![KeyPart::Key(KeySpec::ip(64))];
    Limit {
        name: "real".to_owned(),
        place: Place::default(),
        at: None,
        matching: Match::default(),
        key: LimitKey { name: "ip".to_owned(), parts },
        limiter,
        tick_us,
        group: None,
        zone: None,
        mode: Mode::Enforce,
        alarm: None,
        expires_us: None,
        retry_after: RetryAfter::None,
        missing_key: MissingKey::Refuse,
        weight: Weight { default: 1, by_route: Vec::new() },
        queue: None,
        ban: None,
        counters: Counters::Shared,
        store: None,
        count_when: None,
        allow: Vec::new(),
    }
}

/// How a replay did beside a real limiter.
pub(super) struct Compared {
    name: &'static str,
    decisions: usize,
    agreed: usize,
    at_once: usize,
    later: usize,
    disagreements: Vec<String>,
}

impl Compared {
    pub(super) fn new(name: &'static str) -> Self {
        let disagreements = Vec::new();
        Self { name, decisions: 0, agreed: 0, at_once: 0, later: 0, disagreements }
    }

    /// Replays what one limiter was asked, in the order in which it was, and compares.
    pub(super) fn compare(&mut self, limit: Limit, real: Vec<(Request, Outcome)>) {
        let limiter = limit.limiter.clone();
        let (requests, outcomes): (Vec<Request>, Vec<Outcome>) = real.into_iter().unzip();
        let (traffic, weights) = traffic(&requests);
        let mut limit = limit;
        limit.weight.by_route = weights.into_iter().enumerate().collect();
        let policy = Policy { name: "real".to_owned(), file: String::new(), limits: vec![limit] };
        let replayed = replay(&policy, &Site::default(), &traffic);
        self.decisions += requests.len();
        for (event, (outcome, request)) in outcomes.iter().zip(&requests).enumerate() {
            self.at_once += usize::from(*outcome == Outcome::Starts(request.at_us));
            self.later += usize::from(matches!(outcome, Outcome::Starts(t) if *t > request.at_us));
            let ours = replayed[event];
            self.agreed += usize::from(ours == Some(*outcome));
            if ours != Some(*outcome) && self.disagreements.len() < SHOWN {
                let told = format!("{limiter:?}: {request:?}: {outcome:?}, replayed {ours:?}");
                self.disagreements.push(told);
            }
        }
    }

    /// Prints what was compared, and fails unless all agree and every outcome is common.
    pub(super) fn confirm(&self) {
        let Self { name, decisions, agreed, at_once, later, .. } = self;
        let refused = decisions - at_once - later;
        let _ = writeln!(
            std::io::stderr(),
            "fidelity {name} {decisions} {agreed} (at once {at_once}, later {later}, refused {refused})"
        );
        assert_eq!(decisions, agreed, "{name}:\n{}", self.disagreements.join("\n"));
        assert!(*decisions >= LEAST, "{name}: {decisions} decisions");
        assert!(*at_once.min(&refused) * SHARE >= *decisions, "{name}: {at_once}, {refused}");
    }
}

/// How each request ended.
struct Ends(Vec<Option<Outcome>>);

impl Observer for Ends {
    fn ended(&mut self, ended: &Ended) {
        let refused = ended.refused_by.is_some();
        let outcome =
            if refused { Outcome::Refused(ended.t_us) } else { Outcome::Starts(ended.t_us) };
        self.0[ended.event] = Some(outcome);
    }
}

/// Replays a policy: how each request ended.
pub(super) fn replay(policy: &Policy, site: &Site, traffic: &Traffic) -> Vec<Option<Outcome>> {
    let labels = LabelIndex::new(&[]);
    let selector = Selector::new(traffic, &[], &labels);
    let prepared = Prepared::new(policy, site, traffic, &selector, &mut Memo::default());
    let mut ends = Ends(vec![None; traffic.len()]);
    let (bunched, variant) = (Arrangement::bunched(traffic), Variant::default());
    let never = || false;
    reference::replay(&prepared, traffic, &selector, &bunched, &variant, &never, &mut ends);
    ends.0
}

/// A traffic in which keys are addresses and weights routes, and the weight of each route.
pub(super) fn traffic(requests: &[Request]) -> (Traffic, Vec<u64>) {
    let (mut keys, mut weights) = (BTreeMap::new(), BTreeMap::new());
    for request in requests {
        keys.entry(request.key.as_str()).or_insert(0_u32);
        weights.entry(request.weight).or_insert(0_u32);
    }
    (0..).zip(keys.values_mut()).for_each(|(number, key)| *key = number);
    (0..).zip(weights.values_mut()).for_each(|(number, weight)| *weight = number);
    let events = Events {
        times_us: requests.iter().map(|request| request.at_us).collect(),
        addresses: requests.iter().map(|request| keys[request.key.as_str()]).collect(),
        places: requests.iter().map(|request| weights[&request.weight]).collect(),
        statuses: vec![200; requests.len()],
        durations_us: requests.iter().map(|request| request.lasts_us).collect(),
        observed: vec![Observed::Unknown; requests.len()],
        observed_conn: vec![Observed::Unknown; requests.len()],
        sources: vec![0; requests.len()],
        lines: (1..).take(requests.len()).collect(),
        ..Events::default()
    };
    let addresses = (0..).take(keys.len()).map(|n| Address::from_v4_bits(0x0a00_0000 + n));
    let traffic = Traffic {
        events,
        addresses: addresses.collect(),
        places: weights.keys().map(|weight| format!("weight {weight}")).collect(),
        places_are_routes: true,
        ..Traffic::default()
    };
    (traffic, weights.into_keys().collect())
}
