//! One window of a target, sized: the busiest of those that are real, times headroom, as a person would
//! write it.

use crate::limiter::Limiter;
use crate::limiter::critical::Sizing;
use crate::measure::percentile::nearest_rank;
use crate::units::bracket::Bracket;
use crate::units::rate::Rate;
use crate::units::span;

use super::evidence::{Evidence, Needs, ranked};
use super::form;
use super::ground::Ground;
use super::protects::ProtectTarget;
use super::round;

/// Real keys below which nothing is recommended: with twenty, one in seven of those yet to come may well
/// go faster than any of them (the rule of three: 3 ÷ 20).
pub(super) const LEAST_KEYS: usize = 20;
/// Requests below which no count of all is sized, as few as would say nothing of the busiest hour to come.
const LEAST_REQUESTS: u64 = 100;
/// Ranks of real keys at which a smaller limit is tried, thousandths.
const RANKS: [usize; 5] = [1_000, 999, 990, 900, 500];

/// One window of a target, sized.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) window_us: i64,
    /// The limiter that spares the busiest, with headroom.
    pub(super) limiter: Limiter,
    pub(super) busiest: Bracket<u64>,
    pub(super) p999: Bracket<u64>,
    pub(super) busiest_key: usize,
    /// The busiest key's most requests in any window, on which a bucket's rate rests.
    pub(super) pace: Option<Bracket<u64>>,
    /// The limiter that would refuse no real request even where it shares its key with an attack; `None` if
    /// that is the same.
    pub(super) sparing: Option<Limiter>,
    /// Smaller ones, the largest first.
    pub(super) smaller: Vec<Limiter>,
    /// The size without the busiest key.
    pub(super) without_busiest: Option<u64>,
}

/// The reason why a target can't be sized whatever the window, if there is one.
pub(super) fn unfit(
    ground: &Ground<'_>,
    evidence: &Evidence<'_>,
    target: &ProtectTarget,
) -> Option<String> {
    let key = &target.key.name;
    let asked = evidence.asked.count();
    if asked == 0 {
        return Some("no request in this log matches".to_owned());
    }
    let words = ground.real.words();
    if evidence.real_keys.is_empty() {
        return Some(if evidence.real_missing > 0 {
            let missing = evidence.real_missing;
            format!("none of the {missing} requests of {words} has the key `{key}`")
        } else {
            format!("none of the {asked} requests that match is of {words}")
        });
    }
    if evidence.already_refused.saturating_mul(2) > asked {
        return Some(format!(
            "{} of {asked} requests had been refused by a limiter already when the log was written: how often clients would have come without it can't be told; take a log from before it, or from in front of it",
            evidence.already_refused
        ));
    }
    if target.key.parts.is_empty() && evidence.real_requests < LEAST_REQUESTS {
        return Some(format!(
            "only {} requests of {words}, where {LEAST_REQUESTS} are the least to size a count of all from",
            evidence.real_requests
        ));
    }
    let keys = evidence.real_keys.len();
    if !target.key.parts.is_empty() && keys < LEAST_KEYS {
        return Some(format!(
            "only {keys} {} of {words}, where {LEAST_KEYS} are the least to say anything of those yet to come",
            if keys == 1 { "key" } else { "keys" }
        ));
    }
    None
}

/// Why a window can't be looked at, if it can't.
fn unfit_window(ground: &Ground<'_>, target: &ProtectTarget, window_us: i64) -> Option<String> {
    let (window, step_us) = (span::format(window_us), ground.resolution.us);
    if target.algorithm == "concurrency" {
        let durations = &ground.scene.traffic.events.durations_us;
        let timed = durations.iter().any(|us| *us >= 0);
        return (!timed).then(|| {
            "the log doesn't say how long requests took, so none can be counted in flight"
                .to_owned()
        });
    }
    if step_us > window_us {
        return Some(format!(
            "the log's stamps are {} apart, coarser than {window}",
            span::format(step_us)
        ));
    }
    (ground.period_us < window_us.saturating_mul(2)).then(|| {
        let period = span::format_period(ground.period_us);
        format!("the log covers {period}, less than two windows of {window}")
    })
}

impl Candidate {
    /// Sizes a window.
    ///
    /// # Errors
    /// The reason why the log can't carry it.
    pub(super) fn new(
        ground: &Ground<'_>,
        evidence: &Evidence<'_>,
        target: &ProtectTarget,
        window_us: i64,
    ) -> Result<Self, String> {
        if let Some(why) = form::unfit(target, window_us) {
            return Err(why.to_owned());
        }
        if let Some(why) = unfit_window(ground, target, window_us) {
            return Err(why);
        }
        let sized = Sized { evidence, target, window_us };
        let candidate = if let Some(open) = target.over(window_us, ground.scene.site.zone) {
            sized.candidate(&|_| Some((open.sizing.clone(), None)))
        } else {
            let (low, high, proven) = evidence.needs(&form::pace(window_us));
            let (low, high) = (evidence.sorted(&low.own), evidence.sorted(&high.own));
            sized.candidate(&|rank| {
                let pace = ranked(&low, &high, rank, proven);
                let wanted = round::times(pace.hi, target.headroom_milli).max(1);
                let open = target.bucket(form::rate(target, wanted, window_us))?;
                Some((open.sizing, Some(pace)))
            })
        };
        candidate.ok_or_else(|| "nothing can be sized from it".to_owned())
    }

    /// The same bucket with a rate so many times slower and the burst that spares the busiest all the same:
    /// where an attack goes on for long, a slow rate stops more of it than a small burst. `None` where the
    /// rate is as slow as can be written already.
    pub(super) fn slower(
        evidence: &Evidence<'_>,
        target: &ProtectTarget,
        than: &Self,
        times: i64,
    ) -> Option<Self> {
        let rate = than.sustained()?;
        let slow = form::rate(target, rate.count.max(1), rate.per_us.checked_mul(times)?);
        let open = target.bucket(slow)?;
        let sized = Sized { evidence, target, window_us: than.window_us };
        let candidate = sized.candidate(&|_| Some((open.sizing.clone(), None)))?;
        let is_slower = candidate.sustained().is_some_and(|other| slower_than(other, rate));
        is_slower.then_some(Self { smaller: Vec::new(), ..candidate })
    }

    /// What one counter lets through in the long run; none for counts in flight.
    pub(super) fn sustained(&self) -> Option<Rate> {
        self.limiter.long_run()
    }
}

fn slower_than(one: Rate, other: Rate) -> bool {
    let per = |rate: Rate, us: i64| u128::from(rate.count) * u128::from(us.unsigned_abs());
    per(one, other.per_us) < per(other, one.per_us)
}

/// What is sized.
struct Sized<'a> {
    evidence: &'a Evidence<'a>,
    target: &'a ProtectTarget,
    window_us: i64,
}

impl Sized<'_> {
    fn size(&self, sizing: &Sizing, need: u64) -> u64 {
        round::up(round::times(need, self.target.headroom_milli)).max(form::least(sizing))
    }

    /// The candidate of what a rank of the real keys makes of the form.
    fn candidate(
        &self,
        of_rank: &dyn Fn(usize) -> Option<(Sizing, Option<Bracket<u64>>)>,
    ) -> Option<Candidate> {
        let Self { evidence, window_us, .. } = *self;
        let (sizing, pace) = of_rank(1_000)?;
        let (low, high, proven) = evidence.needs(&sizing);
        let (sorted_low, sorted) = (evidence.sorted(&low.own), evidence.sorted(&high.own));
        let busiest_key = evidence.busiest(&high.own)?;
        let busiest = ranked(&sorted_low, &sorted, 1_000, proven);
        let size = self.size(&sizing, busiest.hi);
        let limiter = sizing.limiter(size);
        let beside = evidence.sorted(&high.beside_attacks).last().copied().unwrap_or(0);
        let sparing = round::up(beside).max(form::least(&sizing));
        let second = sorted.len().checked_sub(2).and_then(|at| sorted.get(at));
        Some(Candidate {
            window_us,
            busiest,
            p999: ranked(&sorted_low, &sorted, 999, proven),
            busiest_key,
            pace,
            sparing: (sparing > size).then(|| sizing.limiter(sparing)),
            smaller: self.smaller(&limiter, of_rank, &high, &sizing),
            without_busiest: second.map(|need| self.size(&sizing, *need)),
            limiter,
        })
    }

    /// Smaller limiters: without headroom, then such as fewer and fewer of the real keys would pass, down to
    /// the least.
    fn smaller(
        &self,
        than: &Limiter,
        of_rank: &dyn Fn(usize) -> Option<(Sizing, Option<Bracket<u64>>)>,
        high: &Needs,
        sizing: &Sizing,
    ) -> Vec<Limiter> {
        let least = form::least(sizing);
        let mut list: Vec<Limiter> = Vec::new();
        let mut add = |limiter: Limiter| {
            if limiter != *than && !list.contains(&limiter) {
                list.push(limiter);
            }
        };
        for rank in RANKS {
            let Some((at_rank, _)) = of_rank(rank) else { continue };
            let needs = if at_rank == *sizing {
                self.evidence.sorted(&high.own)
            } else {
                self.evidence.sorted(&self.evidence.needs(&at_rank).1.own)
            };
            let need = nearest_rank(&needs, rank, 1_000).unwrap_or(0);
            add(at_rank.limiter(round::up(need).max(least)));
        }
        if let Some((slowest, _)) = of_rank(1) {
            add(slowest.limiter(least));
        }
        let size = |limiter: &Limiter| Sizing::size_of(limiter).unwrap_or(0);
        let limit = size(than);
        list.retain(|limiter| size(limiter) <= limit);
        list
    }
}
