//! The back-test: limits chosen on the days before, held against days they never saw.

use crate::replay::run::Scene;
use crate::traffic::Traffic;
use crate::units::span;

use super::answer::Recommended;
use super::ground::Ground;
use super::protects::ProtectTarget;
use super::{alone, recommend};

/// What a limit did on days it never saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdout {
    /// Where these days begin, microseconds.
    pub from_us: i64,
    /// Where they end: behind the last request, microseconds.
    pub to_us: i64,
    /// Requests of these days.
    pub requests: u64,
    /// Identities of these days that are real.
    pub real_identities: u64,
    /// Of these, refused at least once.
    pub real_refused: u64,
    /// Identities of which nobody knows whose they are, likewise; 0 where limits are sized for them.
    pub unknown_refused: u64,
    /// Requests of attacks on these days.
    pub attack_requests: u64,
    /// Of these, refused.
    pub attack_refused: u64,
}

/// Where the days that are held out begin: so long before the last request.
///
/// # Errors
/// If the days before are fewer than those held out: too short to choose on.
pub fn cut_us(traffic: &Traffic, holdout_us: i64) -> Result<i64, String> {
    let times = &traffic.events.times_us;
    let (first, last) = times.first().zip(times.last()).unwrap_or((&0, &0));
    let cut_us = last.saturating_sub(holdout_us).saturating_add(1);
    if cut_us - first < holdout_us {
        return Err(format!(
            "the log covers {}, too little to choose limits on one part and hold them against the last {}: give at least twice as much log, or hold out less",
            span::format_period(last - first),
            span::format(holdout_us)
        ));
    }
    Ok(cut_us)
}

/// Recommends on the requests before an instant, and holds every limit against those that come after, its
/// counters as full as the days before left them. `None` if stopped.
///
/// Who is a customer on the days before is told by these days alone; on the days held out by the whole log.
pub fn recommend_and_hold_out(
    scene: &Scene<'_>,
    targets: &[ProtectTarget],
    cut_us: i64,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Recommended> {
    let times = &scene.traffic.events.times_us;
    let cut = times.partition_point(|time| *time < cut_us);
    let before = scene.traffic.part(&(0..cut));
    let seen = Scene { traffic: &before, ..*scene };
    let mut recommended = recommend(&seen, targets, stopped)?;
    let ground = Ground::new(scene);
    let to_us = times.last().map_or(cut_us, |last| last.saturating_add(1));
    let limits = recommended.recommendations.iter().filter_map(|one| one.limit.as_ref());
    let limits: Vec<_> = limits.collect();
    let mut held = alone::held_out(&ground, &limits, (cut_us, to_us), stopped)?.into_iter();
    for one in recommended.recommendations.iter_mut().filter(|one| one.limit.is_some()) {
        one.holdout = held.next();
    }
    Some(recommended)
}
