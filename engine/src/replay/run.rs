//! A policy's replay with its doubts: the base case, and each thing that is open varied on its own.

use std::ops::Sub;

use rayon::prelude::*;

use crate::measure::cohorts::Cohorts;
use crate::measure::hours::{InHours, TimesOfDay};
use crate::policy::Policy;
use crate::site::Site;
use crate::site::labels::LabelIndex;
use crate::site::matching::TextCondition;
use crate::traffic::Traffic;
use crate::traffic::select::{AlreadyRefused, Selector};
use crate::units::bracket::{Bracket, BracketKind};

use super::arrangement::{Arrangement, Placement};
use super::cases::{Case, cases};
use super::duplicates::DuplicateWatch;
use super::fast::Shared;
use super::growth;
use super::hours_tally::{Each, HoursCount};
use super::observer::Both;
use super::outage_tally::{OutageCount, OutageTally};
use super::plan::{self, Engine, EngineChoice};
use super::prepare::{Memo, Prepared};
use super::reference;
use super::side_by_side::SideBySide;
use super::spend::{SpendWatch, Spending};
use super::stage::{Eyes, Stage};
use super::sustained::Held;
use super::tally::{Detail, Tally, Tallying};
use super::variant::Variant;

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The site.
    pub site: &'a Site,
    /// The requests.
    pub traffic: &'a Traffic,
    /// The conditions on text that the requests were read with.
    pub conditions: &'a [TextCondition],
    /// The site's address lists.
    pub labels: &'a LabelIndex,
    /// Step of the stamps of each source, microseconds.
    pub steps_us: &'a [i64],
    /// Whether lines that were refused already are left out.
    pub drop_already_refused: bool,
    /// Which engine is to be used.
    pub engine: EngineChoice,
    /// Whether the site's clients react to refusals.
    pub closed_loop: bool,
    /// Length of the intervals whose dearest is looked for, microseconds.
    pub horizon_us: i64,
}

impl<'a> Scene<'a> {
    /// What answers matches, for one assumption about lines that were refused already.
    pub fn selector(&self, already_refused: AlreadyRefused) -> Selector<'a> {
        let mut selector = Selector::new(self.traffic, self.conditions, self.labels);
        selector.already_refused = already_refused;
        selector
    }

    /// The base case: nothing is varied.
    pub(super) fn base(&self) -> Variant {
        let Self { drop_already_refused, closed_loop, .. } = *self;
        Variant { drop_already_refused, closed_loop, ..Variant::default() }
    }

    /// The times of day whose requests are counted on their own, since the site requires something of
    /// them, in the order of [`Site::times_asked`].
    fn hours(&self) -> Vec<InHours> {
        let times_us = &self.traffic.events.times_us;
        let of_day = |(from_min, to_min)| TimesOfDay { from_min, to_min, zone: self.site.zone };
        let asked = self.site.times_asked().into_iter();
        asked.map(|times| InHours::new(times.map(of_day), times_us)).collect()
    }
}

/// Something that the log or the enforcement point leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// Where inside its step of time each request came.
    Resolution,
    /// How fast AWS WAF notices.
    Waf,
    /// Which instance a random balancer picks.
    Balance,
    /// What requests would have been answered that were refused already.
    AlreadyRefused,
}

impl Doubt {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolution => "resolution of the log's stamps",
            Self::Waf => "how fast AWS WAF notices",
            Self::Balance => "random balance",
            Self::AlreadyRefused => "lines already refused",
        }
    }

    /// What kind of bracket its ends make.
    fn kind(self) -> BracketKind {
        match self {
            Self::Waf | Self::AlreadyRefused => BracketKind::Assumed,
            Self::Resolution | Self::Balance => BracketKind::Sampled,
        }
    }
}

/// A policy replayed.
#[derive(Debug)]
pub struct Replayed {
    /// Which engine replayed it.
    pub engine: Engine,
    /// The base case.
    pub base: Tally,
    /// Further cases, each with what it varies.
    pub varied: Vec<(Doubt, Tally)>,
    /// Per limit: verdicts that are others if nginx frees no idle keys.
    pub reclaim_differs: Vec<u64>,
    /// Identities that are customers and match an attacker rule too.
    pub overlap: u64,
    /// At which factor of growth the first customer is refused, hundredths.
    pub growth: Option<u64>,
    /// The limit that refuses most of those then.
    pub growth_by: Option<usize>,
    /// How the policy holds each attack rule, in the order of the site file.
    pub held: Vec<Held>,
}

impl Replayed {
    /// Nothing replayed yet.
    fn new(engine: Engine, overlap: u64) -> Self {
        Self {
            engine,
            base: Tally::default(),
            varied: Vec::new(),
            reclaim_differs: Vec::new(),
            overlap,
            growth: None,
            growth_by: None,
            held: Vec::new(),
        }
    }

    /// Whether it matters where in their steps of time requests came.
    pub fn depends_on_placement(&self) -> bool {
        let figures = |tally: &Tally| {
            let limits = tally.limits.iter();
            let of_limits: Vec<[u64; 4]> =
                limits.map(|l| [l.asked, l.refused, l.shadow_refused, l.delayed]).collect();
            (tally.refused, tally.delayed, of_limits)
        };
        let base = figures(&self.base);
        let mut cases = self.varied.iter();
        cases.any(|(doubt, tally)| *doubt == Doubt::Resolution && figures(tally) != base)
    }

    /// A figure between its least and its most over one doubt, and that doubt: the one that varies it
    /// most.
    pub fn bracket<T: Copy + Ord + Sub<Output = T>>(
        &self,
        figure: impl Fn(&Tally) -> T,
    ) -> (Bracket<T>, Option<Doubt>) {
        let base = figure(&self.base);
        let mut widest = (Bracket::exact(base), None);
        for doubt in [Doubt::Resolution, Doubt::Waf, Doubt::Balance, Doubt::AlreadyRefused] {
            let cases = self.varied.iter().filter(|(of, _)| *of == doubt);
            let (lo, hi) = cases
                .map(|(_, tally)| figure(tally))
                .fold((base, base), |(lo, hi), value| (lo.min(value), hi.max(value)));
            if hi - lo > widest.0.hi - widest.0.lo {
                widest = (Bracket { lo, hi, kind: doubt.kind() }, Some(doubt));
            }
        }
        widest
    }
}

/// Replays a policy and all that is open; `None` if stopped.
pub fn replay(
    scene: &Scene<'_>,
    policy: &Policy,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Replayed> {
    replay_all(scene, std::slice::from_ref(policy), stopped)?.pop()
}

/// Replays policies side by side, each with all that is open; `None` if stopped.
pub fn replay_all(
    scene: &Scene<'_>,
    policies: &[Policy],
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Replayed>> {
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    // what policies grow out of is prepared along with them, since they ask for the same
    let less: Vec<Vec<Policy>> = policies.iter().map(growth::shrunk).collect();
    let mut memo = Memo::default();
    let mut prepare =
        |policy| Prepared::new(policy, scene.site, scene.traffic, &selector, &mut memo);
    let prepared: Vec<Prepared<'_>> = policies.iter().map(&mut prepare).collect();
    let less: Vec<Vec<Prepared<'_>>> =
        less.iter().map(|policies| policies.iter().map(&mut prepare).collect()).collect();
    let base = scene.base();
    let cases: Vec<Vec<Case>> =
        prepared.iter().map(|prepared| cases(scene, prepared, base)).collect();
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let other_selector = scene.selector(AlreadyRefused::AllMatch);
    let other_cohorts = cases
        .iter()
        .flatten()
        .any(Case::sees_all_match)
        .then(|| Cohorts::new(scene.site, scene.traffic, &other_selector));
    let hours = scene.hours();
    let all = SideBySide {
        scene,
        eyes: Eyes::new(scene, selector, &cohorts, &hours),
        other_eyes: other_cohorts.as_ref().map(|c| Eyes::new(scene, other_selector, c, &hours)),
        prepared: &prepared,
        less: &less,
        cases,
        stopped,
    };
    let engines = policies.iter().map(|policy| plan::engine(scene, policy));
    let mut replayed: Vec<Replayed> =
        engines.map(|engine| Replayed::new(engine, cohorts.overlap)).collect();
    // arrangements one after the other: each is as large as a column or two
    for placement in Placement::ALL {
        all.replay(placement, &mut replayed)?;
    }
    Some(replayed)
}

/// Replays the base case of each policy and no other: verdicts, and whom they hit. `None` if stopped.
pub fn replay_plainly(
    scene: &Scene<'_>,
    policies: &[Policy],
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Tally>> {
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let mut memo = Memo::default();
    let prepare = |policy| Prepared::new(policy, scene.site, scene.traffic, &selector, &mut memo);
    let prepared: Vec<Prepared<'_>> = policies.iter().map(prepare).collect();
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let eyes = Eyes::new(scene, selector, &cohorts, &[]);
    let arrangement = Arrangement::bunched(scene.traffic);
    let shared = Shared::default();
    let (eyes, arrangement, shared) = (&eyes, &arrangement, &shared);
    let tallies = prepared.par_iter().map(|prepared| {
        let engine = plan::engine(scene, prepared.policy);
        let stage = Stage { scene, prepared, eyes, engine, arrangement, shared, stopped };
        stage.tally(&scene.base(), Detail::Verdicts)
    });
    tallies.collect()
}

/// Replays the base case of a policy, and tells what becomes of the requests that come in
/// `[from, to)`, microseconds. `None` if stopped.
pub fn replay_period(
    scene: &Scene<'_>,
    policy: &Policy,
    period_us: (i64, i64),
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<OutageTally> {
    replay_counting(scene, policy, &scene.base(), period_us, stopped).map(|(_, during)| during)
}

/// Replays the base case of a policy in one of the site's outages, by its index: all that the policy does
/// then, and what becomes of the requests that come while it lasts. `None` if stopped, or if there is no
/// such outage.
pub fn replay_outage(
    scene: &Scene<'_>,
    policy: &Policy,
    outage: usize,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<(Tally, OutageTally)> {
    let facts = scene.site.outages.get(outage)?;
    let variant = Variant { outage: Some(outage), ..scene.base() };
    replay_counting(scene, policy, &variant, (facts.from_us, facts.to_us), stopped)
}

/// One replay by the reference, and what becomes of the requests of a period.
fn replay_counting(
    scene: &Scene<'_>,
    policy: &Policy,
    variant: &Variant,
    period_us: (i64, i64),
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<(Tally, OutageTally)> {
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let memo = &mut Memo::default();
    let prepared = Prepared::new(policy, scene.site, scene.traffic, &selector, memo);
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let duplicates = DuplicateWatch::all(scene.site, scene.traffic, &selector);
    let tallying = Tallying::new(&prepared, scene.traffic, &cohorts, duplicates, Detail::Figures);
    let during = OutageCount::new(&cohorts, period_us);
    let hours = scene.hours();
    let each = hours.iter().map(|hours| {
        let duplicates = DuplicateWatch::all(scene.site, scene.traffic, &selector).into_iter();
        let duplicates = duplicates.map(|watch| watch.within(&hours.requests)).collect();
        HoursCount::new(hours, policy, scene.traffic, &cohorts, duplicates)
    });
    let each = Each(each.collect());
    let watches = SpendWatch::all(scene.site, scene.traffic, &selector, scene.horizon_us);
    let mut all = Both(Both(tallying, during), Both(each, Spending { watches }));
    let arrangement = Arrangement::bunched(scene.traffic);
    let done = reference::replay(
        &prepared,
        scene.traffic,
        &selector,
        &arrangement,
        variant,
        stopped,
        &mut all,
    );
    let Both(Both(tallying, during), Both(Each(hours), spending)) = all;
    done.then(|| {
        let spends = spending.finish(&cohorts);
        let hours = hours.into_iter().map(HoursCount::finish).collect();
        (Tally { spends, hours, ..tallying.finish() }, during.finish())
    })
}
