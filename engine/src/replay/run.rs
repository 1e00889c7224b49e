//! A policy's replay with its doubts: the base case, and each thing that is open varied on its own.

use rayon::prelude::*;

use crate::limiter::{Limiter, Verdict};
use crate::measure::cohorts::Cohorts;
use crate::policy::{Limit, Policy};
use crate::site::Site;
use crate::site::labels::LabelIndex;
use crate::site::matching::TextCondition;
use crate::traffic::Traffic;
use crate::traffic::select::{AlreadyRefused, Selector};
use crate::units::bracket::{Bracket, BracketKind};
use crate::units::span::SECOND_US;

use super::arrangement::{Arrangement, Placement};
use super::duplicates::DuplicateWatch;
use super::observer::{Asked, Both, Observer};
use super::prepare::Prepared;
use super::reference;
use super::tally::{Tally, Tallying};
use super::variant::{Variant, Waf};

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
}

impl<'a> Scene<'a> {
    /// What answers matches, for one assumption about lines that were refused already.
    pub fn selector(&self, already_refused: AlreadyRefused) -> Selector<'a> {
        let mut selector = Selector::new(self.traffic, self.conditions, self.labels);
        selector.already_refused = already_refused;
        selector
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
    /// The base case.
    pub base: Tally,
    /// Further cases, each with what it varies.
    pub varied: Vec<(Doubt, Tally)>,
    /// Per limit: verdicts that are others if nginx frees no idle keys.
    pub reclaim_differs: Vec<u64>,
    /// Identities that are customers and match an attacker rule too.
    pub overlap: u64,
}

impl Replayed {
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
    pub fn bracket(&self, figure: impl Fn(&Tally) -> u64) -> (Bracket<u64>, Option<Doubt>) {
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

/// One case of a replay.
#[derive(Debug, Clone, Copy)]
struct Case {
    doubt: Doubt,
    placement: Placement,
    variant: Variant,
    already_refused: AlreadyRefused,
}

/// Replays a policy and all that is open; `None` if stopped.
pub fn replay(
    scene: &Scene<'_>,
    policy: &Policy,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Replayed> {
    let base = Variant { drop_already_refused: scene.drop_already_refused, ..Variant::default() };
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let prepared = Prepared::new(policy, scene.site, scene.traffic, &selector);
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let bunched = Arrangement::bunched(scene.traffic);
    let stage = Stage { scene, prepared: &prepared, cohorts: &cohorts, selector, stopped };
    // what nginx limits decide is kept only where two replays are compared
    let (tally_of_base, verdicts) = stage.run(&bunched, &base, true)?;
    let freed = tally_of_base.limits.iter().any(|limit| limit.reclaimed > 0);
    let reclaim_differs = if freed {
        let (_, others) = stage.run(&bunched, &Variant { no_reclaim: true, ..base }, true)?;
        verdicts.differing(others, policy.limits.len())
    } else {
        vec![0; policy.limits.len()]
    };
    let varied: Option<Vec<(Doubt, Tally)>> = cases(scene, policy, &prepared, base)
        .par_iter()
        .map(|case| {
            let arrangement = Arrangement::new(scene.traffic, case.placement, scene.steps_us);
            let (tally, _) = if case.already_refused == AlreadyRefused::NoneMatch {
                stage.run(&arrangement, &case.variant, false)?
            } else {
                let selector = scene.selector(case.already_refused);
                let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
                let stage = Stage { selector, cohorts: &cohorts, ..stage };
                stage.run(&arrangement, &case.variant, false)?
            };
            Some((case.doubt, tally))
        })
        .collect();
    let overlap = cohorts.overlap;
    Some(Replayed { base: tally_of_base, varied: varied?, reclaim_differs, overlap })
}

/// What all cases of a replay share, but for those that see the log with other eyes.
#[derive(Clone, Copy)]
struct Stage<'a> {
    scene: &'a Scene<'a>,
    prepared: &'a Prepared<'a>,
    cohorts: &'a Cohorts,
    selector: Selector<'a>,
    stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Stage<'_> {
    /// Replays one case; `None` if stopped. The verdicts of nginx limits are empty unless kept.
    fn run(
        &self,
        arrangement: &Arrangement<'_>,
        variant: &Variant,
        keep: bool,
    ) -> Option<(Tally, Verdicts)> {
        let Self { scene, prepared, cohorts, selector, stopped } = self;
        let duplicates = DuplicateWatch::all(scene.site, scene.traffic, selector);
        let tallying = Tallying::new(prepared, scene.traffic, cohorts, duplicates);
        let limits = prepared.limits.iter().map(|ready| &ready.limit.limiter);
        let kept = limits.map(|limiter| keep && matches!(limiter, Limiter::Nginx(_))).collect();
        let mut both = Both(tallying, Verdicts { kept, list: Vec::new() });
        let done = reference::replay(
            prepared,
            scene.traffic,
            selector,
            arrangement,
            variant,
            *stopped,
            &mut both,
        );
        done.then(|| (both.0.finish(), both.1))
    }
}

/// The cases besides the base.
fn cases(scene: &Scene<'_>, policy: &Policy, prepared: &Prepared<'_>, base: Variant) -> Vec<Case> {
    let case = |doubt| Case {
        doubt,
        placement: Placement::Bunched,
        variant: base,
        already_refused: AlreadyRefused::NoneMatch,
    };
    let mut list = Vec::new();
    let finest = policy.limits.iter().map(|limit| limit.tick_us).min().unwrap_or(i64::MAX);
    if scene.steps_us.iter().any(|step| *step > finest) {
        for placement in [Placement::Spread, Placement::Border] {
            list.push(Case { placement, ..case(Doubt::Resolution) });
        }
    }
    if policy.limits.iter().any(|limit| matches!(limit.limiter, Limiter::AwsWaf(_))) {
        for phase_us in (0..10).map(|second| second * SECOND_US) {
            for waf in [Waf::Lenient(phase_us), Waf::Strict(phase_us)] {
                list.push(Case { variant: Variant { waf, ..base }, ..case(Doubt::Waf) });
            }
        }
    }
    if prepared.spreads_at_random() {
        for seed in 1..8 {
            list.push(Case { variant: Variant { seed, ..base }, ..case(Doubt::Balance) });
        }
    }
    let counts_responses = |limit: &Limit| limit.count_when.is_some();
    let open = policy.limits.iter().any(counts_responses) || scene.site.looks_at_status();
    if open && scene.traffic.any_already_refused() && !base.drop_already_refused {
        let already_refused = AlreadyRefused::AllMatch;
        list.push(Case { already_refused, ..case(Doubt::AlreadyRefused) });
    }
    list
}

/// Every verdict of the nginx limits, to be compared with those of another replay.
#[derive(Debug)]
struct Verdicts {
    /// Per limit: whether its verdicts are kept.
    kept: Vec<bool>,
    list: Vec<(u32, u32, Verdict)>,
}

impl Observer for Verdicts {
    fn asked(&mut self, asked: &Asked) {
        if self.kept.get(asked.limit) != Some(&true) {
            return;
        }
        let (event, limit) = (u32::try_from(asked.event), u32::try_from(asked.limit));
        if let (Ok(event), Ok(limit)) = (event, limit) {
            self.list.push((event, limit, asked.verdict));
        }
    }
}

impl Verdicts {
    /// Per limit, how many requests get another verdict, or are asked in one of both only.
    fn differing(mut self, mut other: Self, limits: usize) -> Vec<u64> {
        self.list.sort_unstable();
        other.list.sort_unstable();
        let mut counts = vec![0; limits];
        let (mut mine, mut theirs) = (self.list.iter().peekable(), other.list.iter().peekable());
        loop {
            let place = |entry: &&(u32, u32, Verdict)| (entry.0, entry.1);
            let (left, right) = (mine.peek().map(place), theirs.peek().map(place));
            let differs = match (left, right) {
                (None, None) => return counts,
                (Some(left), Some(right)) if left == right => mine.next() != theirs.next(),
                (Some(left), right) if right.is_none_or(|right| left < right) => {
                    mine.next();
                    true
                }
                _ => {
                    theirs.next();
                    true
                }
            };
            let limit = left.into_iter().chain(right).min().map(|(_, limit)| limit);
            let slot = limit.and_then(|limit| usize::try_from(limit).ok());
            if let (true, Some(count)) = (differs, slot.and_then(|slot| counts.get_mut(slot))) {
                *count += 1;
            }
        }
    }
}
