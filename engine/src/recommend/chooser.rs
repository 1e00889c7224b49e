//! One target: its windows are sized, tried against the attack on it if there is one, and decided about.

use crate::limiter::Limiter;
use crate::limiter::critical::Sizing;
use crate::policy::coverage::covers;
use crate::policy::{self, Counters, Limit, MissingKey};
use crate::site::key::Source;

use super::alone;
use super::answer::{Basis, Point, Real, Recommendation, Split};
use super::candidate::{Candidate, unfit};
use super::choose::{Decision, ENOUGH_PPM, Tried, cheapest, decide};
use super::evidence::Evidence;
use super::ground::Ground;
use super::protects::ProtectTarget;
use super::{placed, requirements, split, why};

/// One key that sends more than one in so many requests decides the limit by itself.
const DOMINANT: u64 = 4;
/// A rule aims at a target if it matches one in so many of its requests.
const AIMED: u64 = 10;
/// How many times slower than customers' peaks a bucket's rate is tried as well.
const SLOWER: [i64; 3] = [4, 16, 64];
/// What is stopped of an attack without a size at all, millionths.
const ALL_PPM: u64 = 1_000_000;

/// One target under way.
pub(super) struct Chooser<'a> {
    ground: &'a Ground<'a>,
    target: &'a ProtectTarget,
    evidence: Evidence<'a>,
    /// Whether an attacker rule aims at the target.
    aimed: bool,
    enough_ppm: u64,
    required: bool,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(ground: &'a Ground<'a>, target: &'a ProtectTarget) -> Self {
        let evidence = Evidence::new(ground, target);
        // whoever has no key isn't asked
        let asked = evidence.with_key.count();
        let (mut rules, mut aimed) = (Vec::new(), false);
        let of_site = ground.scene.site.attackers.iter().zip(&ground.cohorts.rules).enumerate();
        for (at, (rule, (_, requests))) in of_site {
            let count = requests.count_both(&evidence.with_key);
            if count == 0 {
                continue;
            }
            rules.push(at);
            let routes = rule.matching.as_ref().map(|matching| &matching.route);
            let same = routes.is_some_and(|r| !r.is_empty() && *r == target.matching.route);
            aimed |= same || count.saturating_mul(AIMED) >= asked;
        }
        let required = requirements::enough_ppm(ground.scene, &rules);
        let enough_ppm = required.unwrap_or(ENOUGH_PPM).min(ALL_PPM);
        Self { ground, target, evidence, aimed, enough_ppm, required: required.is_some() }
    }

    fn nothing(&self, why: String) -> Recommendation {
        let ProtectTarget { name, matching, key, algorithm, windows_us, .. } = self.target;
        Recommendation {
            target: name.clone(),
            matching: matching.clone(),
            route: self.target.route.clone(),
            key: key.clone(),
            algorithm: algorithm.clone(),
            window_us: windows_us.first().copied(),
            limit: None,
            basis: None,
            confidence: None,
            tradeoff: Vec::new(),
            split: None,
            expected: None,
            holdout: None,
            why,
            notes: Vec::new(),
            instances: placed::counters(self.target, self.ground.scene.site),
        }
    }

    /// Chooses; `None` if stopped.
    pub(super) fn choose(&self, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Recommendation> {
        if let Some(why) = unfit(self.ground, &self.evidence, self.target) {
            return Some(self.nothing(why));
        }
        let sized =
            self.target.windows_us.iter().map(|window_us| {
                Candidate::new(self.ground, &self.evidence, self.target, *window_us)
            });
        let (mut fit, mut reasons) = (Vec::new(), Vec::new());
        for sized in sized {
            match sized {
                Ok(candidate) => fit.push(candidate),
                Err(why) if !reasons.contains(&why) => reasons.push(why),
                Err(_) => {}
            }
        }
        if fit.is_empty() {
            return Some(self.nothing(reasons.join("; ")));
        }
        let mut one =
            if self.aimed { self.against_attack(&fit, stopped)? } else { self.by_pace(&fit) };
        one.notes.extend(reasons);
        one.notes.extend(why::of_evidence(self.ground, &self.evidence, self.target, &one));
        Some(one)
    }

    /// Without an attack on the target the window that lets least through in the long run, since that is
    /// what an attack would get.
    fn by_pace(&self, fit: &[Candidate]) -> Recommendation {
        let Some(best) = slowest(fit.iter()) else { return self.nothing(String::new()) };
        if let Some(why) = self.dominated(best) {
            return Recommendation { window_us: Some(best.window_us), ..self.refused(best, why) };
        }
        let why = why::sized(self.ground.real, self.target, best);
        self.answer(best, best.limiter.clone(), why)
    }

    /// One key that sends a great part of all requests, while nothing tells whether it is a customer.
    fn dominated(&self, best: &Candidate) -> Option<String> {
        let shared = self.target.key.parts.is_empty();
        if self.ground.real == Real::Customers || shared {
            return None;
        }
        let (most, of) = (self.evidence.most_of_one_key, self.evidence.real_requests);
        (most.saturating_mul(DOMINANT) > of)
            .then(|| why::dominated(self.ground.real, self.target, best, (most, of)))
    }

    fn against_attack(
        &self,
        fit: &[Candidate],
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Option<Recommendation> {
        let slower = |of: &Candidate| {
            SLOWER
                .into_iter()
                .filter_map(|times| Candidate::slower(&self.evidence, self.target, of, times))
                .collect::<Vec<_>>()
        };
        let buckets: Vec<Candidate> = if self.target.is_bucket() {
            fit.iter().flat_map(slower).collect()
        } else {
            Vec::new()
        };
        let fit: Vec<Candidate> = fit.iter().cloned().chain(buckets).collect();
        let tried: Vec<Tried> =
            fit.iter().map(|of| self.tried(of, stopped)).collect::<Option<_>>()?;
        let shared = self.target.key.parts.is_empty();
        let decisions: Vec<Decision> =
            tried.iter().map(|tried| decide(tried, self.enough_ppm, shared)).collect();
        let all = || fit.iter().zip(&decisions);
        let fits = all().filter_map(|(of, decision)| match decision {
            Decision::Fits(point) => Some((of, point)),
            _ => None,
        });
        // lowest in attack passed, then in what passes in the long run
        let passed = |point: &Point| point.attack_requests - point.attack_refused;
        let least = fits.clone().map(|(_, point)| passed(point)).min();
        let least: Vec<_> = fits.filter(|(_, point)| Some(passed(point)) == least).collect();
        if let Some(best) = slowest(least.iter().map(|(of, _)| *of))
            && let Some((_, point)) = least.iter().find(|(of, _)| std::ptr::eq(*of, best))
        {
            let why = why::fits(self.ground.real, self.target, best, point);
            return Some(self.answer(best, point.limiter.clone(), why));
        }
        let without = all().filter_map(|(of, decision)| match decision {
            Decision::StopsNothing(point) => Some((of, point)),
            _ => None,
        });
        let without: Vec<_> = without.collect();
        if decisions.iter().all(|decision| *decision != Decision::Overlap)
            && let Some(best) = slowest(without.iter().map(|(of, _)| *of))
            && let Some((_, point)) = without.iter().find(|(of, _)| std::ptr::eq(*of, best))
        {
            let why = why::stops_nothing(self.ground.real, self.target, best, point);
            let split = self.split(best, stopped);
            return Some(Recommendation { split, ..self.answer(best, point.limiter.clone(), why) });
        }
        // the window in which the choice that is left stops most
        let overlaps = fit.iter().zip(&tried).zip(&decisions);
        let overlaps = overlaps.filter(|(_, decision)| **decision == Decision::Overlap);
        let stops = |tried: &Tried| tried.sized.attack_refused;
        let ((best, tried), _) = overlaps.rev().max_by_key(|((_, tried), _)| stops(tried))?;
        Some(self.overlap(best, tried, stopped))
    }

    /// No size spares all that are real and stops the attack.
    fn overlap(
        &self,
        best: &Candidate,
        tried: &Tried,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Recommendation {
        let mut points: Vec<Point> = tried.smaller.iter().rev().cloned().collect();
        points.push(tried.sized.clone());
        points.extend(tried.sparing.clone());
        points.sort_by_key(|point| Sizing::size_of(&point.limiter));
        let customer = placed::refused_customer_cost(self.target, self.ground.scene.site);
        let price = customer.and_then(|_| alone::price(self.ground, &self.evidence.asked));
        if let (Some(customer), Some(price)) = (customer, price) {
            alone::priced(&mut points, customer, price);
        }
        let why = why::overlap(self.ground.real, self.target, self.enough_ppm, self.required);
        let split = self.split(best, stopped);
        let chosen = cheapest(&points).cloned();
        let mut one = match &chosen {
            Some(point) => {
                let why = format!("{why} {}", why::cheapest(self.ground.real, point));
                self.answer(best, point.limiter.clone(), why)
            }
            None => self.refused(best, why),
        };
        if customer.is_some() && chosen.is_none() {
            one.notes.push(why::NO_PRICE.to_owned());
        }
        one.tradeoff = points;
        one.split = split;
        one
    }

    fn split(&self, best: &Candidate, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Split> {
        split::split(
            self.ground,
            self.target,
            &self.evidence,
            best.window_us,
            self.enough_ppm,
            stopped,
        )
    }

    /// Every size of a candidate that is tried; `None` if stopped.
    fn tried(&self, of: &Candidate, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Tried> {
        let limiters = [Some(of.limiter.clone()), of.sparing.clone()].into_iter().flatten();
        let limits: Vec<Limit> = limiters
            .chain(of.smaller.iter().cloned())
            .map(|limiter| placed::limit(self.target, limiter, self.ground.scene.site))
            .collect();
        let mut points = alone::trials(self.ground, &limits, stopped)?.into_iter();
        let sized = points.next()?;
        let sparing = of.sparing.as_ref().and_then(|_| points.next());
        Some(Tried { sized, sparing, smaller: points.collect() })
    }

    /// No limit, but what it would have rested on.
    fn refused(&self, best: &Candidate, why: String) -> Recommendation {
        Recommendation {
            window_us: Some(best.window_us),
            basis: Some(self.basis(best)),
            ..self.nothing(why)
        }
    }

    fn answer(&self, best: &Candidate, limiter: Limiter, why: String) -> Recommendation {
        let site = self.ground.scene.site;
        let mut limit = placed::limit(self.target, limiter, site);
        if limit.counters == Counters::Local {
            let why = "sized for one server's share, on purpose".to_owned();
            limit.allow.push(policy::Allow { lint: "SC005".to_owned(), why });
        }
        // what isn't asked is not bounded: before money, requests without the key are refused, unless
        // customers have such
        let paid = site.actions.iter();
        let mut paid = paid.filter(|action| covers(&limit.matching, &action.matching, Some(site)));
        if !limit.key.parts.is_empty() && self.evidence.real_missing == 0 && paid.next().is_some() {
            limit.missing_key = MissingKey::Refuse;
        }
        let size = Sizing::size_of(&limit.limiter).unwrap_or(0);
        let confidence = Sizing::of(&limit.limiter).ok().map(|sizing| {
            let (_, high, _) = self.evidence.needs(&sizing);
            self.evidence.confidence(&sizing, size, &high.own)
        });
        // of a count of all there is one key, which tells nothing of others
        let confidence = confidence.filter(|_| !self.target.key.parts.is_empty());
        Recommendation { limit: Some(limit), confidence, ..self.refused(best, why) }
    }

    fn basis(&self, best: &Candidate) -> Basis {
        let key = u32::try_from(best.busiest_key).unwrap_or(u32::MAX);
        let address = self.target.key.parts.iter().flat_map(policy::KeyPart::sources);
        let is_address = address.into_iter().any(|source| matches!(source, Source::Address { .. }));
        Basis {
            keys: u64::try_from(self.evidence.real_keys.len()).unwrap_or(u64::MAX),
            requests: self.evidence.real_requests,
            busiest: best.busiest,
            p999: best.p999,
            headroom_milli: self.target.headroom_milli,
            busiest_key: self.evidence.keys.text(key),
            pace: best.pace,
            users_of_busiest: is_address
                .then(|| self.evidence.users_of(best.busiest_key))
                .flatten(),
        }
    }
}

/// The candidate that lets least through in the long run, of several the shortest window.
fn slowest<'c>(all: impl Iterator<Item = &'c Candidate>) -> Option<&'c Candidate> {
    all.reduce(|best, other| {
        let rate = |of: &Candidate| {
            of.sustained().map_or((u128::MAX, 1), |rate| {
                (u128::from(rate.count), u128::from(rate.per_us.unsigned_abs()))
            })
        };
        let ((mine, mine_us), (theirs, theirs_us)) = (rate(best), rate(other));
        if theirs.saturating_mul(mine_us) < mine.saturating_mul(theirs_us) { other } else { best }
    })
}
