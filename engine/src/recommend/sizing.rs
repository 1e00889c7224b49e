//! The curves of everything that is to be sized: what is asked, with which marks, worked out key by key.

use crate::limiter::critical::Sizing;
use crate::measure::cohorts::Cohorts;
use crate::policy::{Limit, Policy};
use crate::replay::arrangement::Arrangement;
use crate::replay::keys::Keys;
use crate::replay::run::Scene;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::AlreadyRefused;
use crate::units::rate::Rate;

use super::critical::{AskedKeys, CriticalLimits, OpenLimit, critical_limits};
use super::curve::{Point, curve, requests};
use super::frontier::{frontier, rates};
use super::points::sizes;
use super::protects::ProtectTarget;

/// A size that stands somewhere already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Where: the policy's name, and the limit's if the policy has several of the kind.
    pub what: String,
    /// The size.
    pub size: u64,
}

/// One point of the curve of what is sized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedPoint {
    /// Of a bucket: its rate.
    pub rate: Option<Rate>,
    /// The rest.
    pub point: Point,
}

/// The curve of what is sized, over one window; or a bucket's frontier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedCurve {
    /// The window, microseconds; `None` for what has none.
    pub window_us: Option<i64>,
    /// Distinct keys asked.
    pub keys: u64,
    /// Requests asked, by cohort as [`crate::measure::cohorts::Cohort::ALL`].
    pub requests: [u64; 3],
    /// What policies have, by size, then by name.
    pub marks: Vec<Mark>,
    /// By size, ascending; a bucket's by rate, ascending: of each rate the smallest burst that refuses
    /// nobody.
    pub points: Vec<SizedPoint>,
}

/// The curves of what is to be sized, in its order: one for each window, and of a bucket one in all.
/// `None` if stopped.
///
/// Marks are the limits of `policies` that differ from what is sized in nothing but their size. What can't be
/// sized, and what counts requests in flight where no line says how long they took, has no curve.
pub fn curves(
    scene: &Scene<'_>,
    targets: &[ProtectTarget],
    policies: &[Policy],
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Vec<SizedCurve>>> {
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let cohorts = Cohorts::new(scene.site, scene.traffic, &selector);
    let of_target = |target: &ProtectTarget| {
        let mut set = selector.select(&target.matching);
        if scene.drop_already_refused {
            let already = |event| scene.traffic.already_refused(event);
            set.and_not(&Bitmap::of(scene.traffic.len(), already));
        }
        let sized = Sized { scene, target, policies, cohorts: &cohorts };
        (!stopped()).then(|| sized.curves(&set))
    };
    targets.iter().map(of_target).collect()
}

/// One thing that is sized.
struct Sized<'a> {
    scene: &'a Scene<'a>,
    target: &'a ProtectTarget,
    policies: &'a [Policy],
    cohorts: &'a Cohorts<'a>,
}

impl Sized<'_> {
    fn curves(&self, set: &Bitmap) -> Vec<SizedCurve> {
        let Self { scene, target, cohorts, .. } = self;
        let traffic = scene.traffic;
        let (keys, arrangement) = (Keys::new(&target.key, traffic), Arrangement::bunched(traffic));
        let asked = AskedKeys::new(traffic, &arrangement, set, &keys, &target.weight);
        let asked = asked.by_cohort(cohorts);
        if target.is_bucket() {
            return self.bucket(&asked).into_iter().collect();
        }
        let untimed = traffic.events.durations_us.iter().all(|us| *us < 0);
        let windows_us = target.windows_us.iter().copied();
        let open = windows_us.filter_map(|us| Some((us, target.over(us, scene.site.zone)?)));
        let open = open.filter(|(_, open)| !(open.sizing.counts_in_flight() && untimed));
        let (mut windows_us, mut open): (Vec<i64>, Vec<OpenLimit>) = open.unzip();
        // slots have no window
        if open.first().is_some_and(|open| open.sizing.counts_in_flight()) {
            open.truncate(1);
            windows_us.truncate(1);
        }
        let critical = critical_limits(&asked, &open);
        let all = windows_us.iter().zip(&open).zip(&critical);
        all.map(|((window_us, open), critical)| self.over(&asked, *window_us, open, critical))
            .collect()
    }

    fn over(
        &self,
        asked: &AskedKeys<'_>,
        window_us: i64,
        open: &OpenLimit,
        critical: &CriticalLimits,
    ) -> SizedCurve {
        let marks = self.marks(open);
        let marked: Vec<u64> = marks.iter().map(|mark| mark.size).collect();
        let sizes = sizes(critical, &marked);
        let points = curve(asked, self.cohorts, open, critical, &sizes).into_iter();
        let points = points.map(|point| SizedPoint { rate: None, point }).collect();
        let window_us = (!open.sizing.counts_in_flight()).then_some(window_us);
        self.curve(asked, window_us, marks, points)
    }

    fn bucket(&self, asked: &AskedKeys<'_>) -> Option<SizedCurve> {
        let bucket = self.target.bucket(rates().next()?)?;
        let pairs = frontier(asked, &bucket, rates(), 0).into_iter();
        let points = pairs.flat_map(|pair| {
            let points = curve(asked, self.cohorts, &pair.open, &pair.critical, &[pair.burst]);
            let sized = move |point| SizedPoint { rate: Some(pair.rate), point };
            points.into_iter().map(sized)
        });
        // a burst says nothing without its rate
        Some(self.curve(asked, None, Vec::new(), points.collect()))
    }

    fn curve(
        &self,
        asked: &AskedKeys<'_>,
        window_us: Option<i64>,
        marks: Vec<Mark>,
        points: Vec<SizedPoint>,
    ) -> SizedCurve {
        let keys = u64::try_from(asked.asked()).unwrap_or(u64::MAX);
        SizedCurve { window_us, keys, requests: requests(asked, self.cohorts), marks, points }
    }

    /// What policies have of this kind: limits that differ from it in their size alone, and count in one place.
    fn marks(&self, open: &OpenLimit) -> Vec<Mark> {
        let target = self.target;
        let of_kind = |limit: &&Limit| {
            let own = Sizing::of(&limit.limiter).ok();
            limit.key.name == target.key.name
                && limit.matching == target.matching
                && limit.weight == target.weight
                && limit.tick_us == open.tick_us
                && limit.count_when.is_none()
                && limit.counters_of_key(self.scene.site, |tier| tier.instances) == 1
                && own.is_some_and(|own| own.limiter(0) == open.sizing.limiter(0))
        };
        let mut marks = Vec::new();
        for policy in self.policies {
            let limits: Vec<&Limit> = policy.limits.iter().filter(of_kind).collect();
            for limit in &limits {
                let what = match limits.len() {
                    1 => policy.name.clone(),
                    _ => format!("{}: {}", policy.name, limit.name),
                };
                marks.extend(Sizing::size_of(&limit.limiter).map(|size| Mark { what, size }));
            }
        }
        marks.sort_by(|a, b| (a.size, &a.what).cmp(&(b.size, &b.what)));
        marks
    }
}

#[cfg(test)]
#[path = "sizing_tests.rs"]
mod tests;
