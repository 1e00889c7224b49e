//! Holds a simulation against the verdicts that an enforcer left in the log: once running free, once
//! set right after each request.

use std::collections::BTreeMap;

use crate::limiter::Limiter;
use crate::policy::Policy;
use crate::replay::arrangement::Arrangement;
use crate::replay::observer::{Asked, Observer};
use crate::replay::prepare::{Memo, Prepared};
use crate::replay::reference;
use crate::replay::run::Scene;
use crate::replay::synced::{Kind, Synced, Word, Words};
use crate::replay::variant::Variant;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::AlreadyRefused;
use crate::traffic::{NONE, Observed, Traffic};

/// Disagreements that are kept per route.
const FIRST: usize = 20;

/// How well a simulation agrees with a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Per route, those with requests that were compared, in the order of the site (or of the
    /// templates).
    pub routes: Vec<RouteAgreement>,
}

/// How well a simulation agrees with a log on one route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteAgreement {
    /// The route.
    pub route: String,
    /// Requests with an observed verdict that some limit was asked about.
    pub compared: u64,
    /// Of these, with the same verdict, running free.
    pub agreed: u64,
    /// Of these, with the same verdict, set right after each request.
    pub agreed_synced: u64,
    /// The farthest any disagreeing arrival would have to move, microseconds.
    pub synced_margin_max_us: i64,
    /// Observed verdicts: passed, delayed, refused.
    pub observed: [u64; 3],
    /// Simulated verdicts, running free.
    pub simulated: [u64; 3],
    /// The first disagreements of the synchronised pass.
    pub first_disagreements: Vec<Disagreement>,
}

/// A verdict that the simulation would have given otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The request.
    pub event: usize,
    /// What the log says.
    pub observed: Kind,
    /// What the simulation says.
    pub simulated: Kind,
    /// By how much the arrival would have to move, microseconds.
    pub margin_us: i64,
}

/// Compares; `None` if stopped.
pub fn calibrate(
    scene: &Scene<'_>,
    policy: &Policy,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Calibration> {
    let traffic = scene.traffic;
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let prepared = Prepared::new(policy, scene.site, traffic, &selector, &mut Memo::default());
    let log = Log::new(&prepared, traffic);
    let mut free = Free { verdicts: vec![None; traffic.len()] };
    let arrangement = Arrangement::ranked(traffic, |event| log.rank(event));
    let variant = Variant::default();
    let done = reference::replay(
        &prepared,
        traffic,
        &selector,
        &arrangement,
        &variant,
        stopped,
        &mut free,
    );
    if !done {
        return None;
    }
    let mut routes: BTreeMap<u32, RouteAgreement> = BTreeMap::new();
    let synced = Synced::new(&prepared, traffic).run(&arrangement, |event| log.words(event));
    for (event, _) in arrangement.in_order() {
        let Some(observed) = log.verdict(event) else { continue };
        let Some(step) = synced.get(event).copied().flatten() else { continue };
        let simulated = free.verdicts.get(event).copied().flatten().unwrap_or(Kind::Pass);
        let place = traffic.events.places.get(event).copied().unwrap_or(NONE);
        let route = routes.entry(place).or_default();
        route.compared += 1;
        count(&mut route.observed, observed);
        count(&mut route.simulated, simulated);
        route.agreed += u64::from(simulated == observed);
        if step.agrees {
            route.agreed_synced += 1;
            continue;
        }
        let (simulated, margin_us) = (step.simulated, step.margin_us);
        route.synced_margin_max_us = route.synced_margin_max_us.max(margin_us);
        if route.first_disagreements.len() < FIRST {
            let disagreement = Disagreement { event, observed, simulated, margin_us };
            route.first_disagreements.push(disagreement);
        }
    }
    let named = |(place, route): (u32, RouteAgreement)| {
        let name = usize::try_from(place).ok().and_then(|place| traffic.places.get(place));
        let outside = if place == NONE { "*" } else { "" };
        RouteAgreement { route: name.map_or(outside, String::as_str).to_owned(), ..route }
    };
    Some(Calibration { routes: routes.into_iter().map(named).collect() })
}

/// The verdicts in the log.
struct Log<'a> {
    traffic: &'a Traffic,
    /// Requests asked about by a limit of requests in flight, and by any other.
    flights: Bitmap,
    rates: Bitmap,
    /// Whether the enforcer says nothing of what it lets through.
    silent: bool,
}

impl<'a> Log<'a> {
    fn new(prepared: &Prepared<'_>, traffic: &'a Traffic) -> Self {
        let mut flights = Bitmap::filled(traffic.len(), false);
        let mut rates = flights.clone();
        for ready in &prepared.limits {
            let counts_flights = matches!(ready.limit.limiter, Limiter::Concurrency(_));
            (if counts_flights { &mut flights } else { &mut rates }).or(&ready.asked);
        }
        let columns = [&traffic.events.observed, &traffic.events.observed_conn];
        let says = |word: Observed| columns.iter().any(|verdicts| verdicts.contains(&word));
        // a log without any verdict holds nothing to compare
        let silent = !says(Observed::Pass) && (says(Observed::Refuse) || says(Observed::Delay));
        Self { traffic, flights, rates, silent }
    }

    /// What each kind of limiter said of a request, as far as any of the policy is asked.
    fn words(&self, event: usize) -> Words {
        let events = &self.traffic.events;
        let word = |asked: &Bitmap, column: &[Observed]| {
            let said = column.get(event).copied().filter(|_| asked.contains(event))?;
            let (kind, dry_run) = match said {
                Observed::Unknown => (self.silent.then_some(Kind::Pass)?, false),
                Observed::Pass => (Kind::Pass, false),
                Observed::Delay => (Kind::Delay, false),
                Observed::DelayDryRun => (Kind::Delay, true),
                Observed::Refuse => (Kind::Refuse, false),
                Observed::RefuseDryRun => (Kind::Refuse, true),
            };
            Some(Word { kind, dry_run })
        };
        [word(&self.rates, &events.observed), word(&self.flights, &events.observed_conn)]
    }

    /// The observed verdict: the most severe word.
    fn verdict(&self, event: usize) -> Option<Kind> {
        self.words(event).into_iter().flatten().map(|word| word.kind).max()
    }

    /// A request that lasts, or was held up, is logged later than one that was refused in the same instant,
    /// though it was decided earlier: of one stamp, those that went on come first. A dry run of rates
    /// holds up nothing, so its lines are in order.
    fn rank(&self, event: usize) -> Kind {
        let [rates, flights] = self.words(event);
        let words = rates.filter(|word| !word.dry_run).into_iter().chain(flights);
        words.map(|word| word.kind).max().unwrap_or(Kind::Pass)
    }
}

fn count(counts: &mut [u64; 3], kind: Kind) {
    let [pass, delay, refuse] = counts;
    match kind {
        Kind::Pass => *pass += 1,
        Kind::Delay => *delay += 1,
        Kind::Refuse => *refuse += 1,
    }
}

/// The verdict of each request over all limits asked, those in shadow mode too: a dry run's verdicts are
/// what is compared.
struct Free {
    verdicts: Vec<Option<Kind>>,
}

impl Observer for Free {
    fn asked(&mut self, asked: &Asked) {
        if let Some(slot) = self.verdicts.get_mut(asked.event) {
            let kind = Kind::from(asked.verdict);
            *slot = Some(slot.map_or(kind, |known| known.max(kind)));
        }
    }
}

impl Calibration {
    /// Requests compared.
    pub fn compared(&self) -> u64 {
        self.routes.iter().map(|route| route.compared).sum()
    }

    /// Of these, with the same verdict, running free.
    pub fn agreed(&self) -> u64 {
        self.routes.iter().map(|route| route.agreed).sum()
    }

    /// Of these, with the same verdict, set right after each request.
    pub fn agreed_synced(&self) -> u64 {
        self.routes.iter().map(|route| route.agreed_synced).sum()
    }
}
