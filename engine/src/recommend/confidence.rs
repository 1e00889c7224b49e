//! How sure a limit is that a log gave: how many keys and days it rests on, how large a share of keys
//! yet unseen may need more, and how much the days differ.
//!
//! All of it takes the keys (or the days) of the log for a sample of those to come, drawn alike. That an
//! attack or a holiday yet unseen is unlike, no figure here tells.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::limiter::critical::{Critical, SizingVisitor};
use crate::measure::percentile::nearest_rank;
use crate::traffic::bitmap::Bitmap;
use crate::units::zone::{CalendarUnit, Zone};

use super::critical::{AskedKeys, Lane, OpenLimit};

/// How often days are drawn anew.
const DRAWS: u64 = 1_000;
/// What each stream of draws begins with.
const SEED: u64 = 0x7368_6164_6f77;
/// One in a fixed-point number.
const ONE: i128 = 1_000_000_000_000_000_000;
/// What a bound fails with, one in so many: 95 % one-sided.
const FAILS_ONE_IN: i128 = 20;

/// What a limit rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confidence {
    /// Keys seen.
    pub keys: u64,
    /// Civil days on which any was seen.
    pub days: u64,
    /// With 95 % confidence at most this share of keys yet unseen needs more than the limit, millionths.
    pub unseen_hi_ppm: u64,
    /// Where the quantile of what keys need on a day lies, between the 2.5th and the 97.5th of a thousand draws
    /// of as many days out of those seen. `None` with fewer than two days.
    pub bootstrap: Option<(u64, u64)>,
}

/// How sure a limit of that size is.
///
/// `of` are the requests whose keys count, a cohort's for example; all requests fill the limiter. The
/// bootstrap's quantile is `quantile.0` ÷ `quantile.1` in (0, 1], 1 for the greatest; what a key needs on
/// a day is what its requests of that day need, after those of the days before. Days are those of `zone`.
pub fn confidence(
    asked: &AskedKeys<'_>,
    open: &OpenLimit,
    of: &Bitmap,
    size: u64,
    quantile: (u64, u64),
    zone: Zone,
) -> Confidence {
    let begins = days(asked, of, zone);
    let needs = Daily { asked, open, of, begins: &begins };
    let (days, keys) = open.sizing.visit(needs);
    let above = keys.iter().filter(|need| **need > size).count();
    let (keys, above) = (count(keys.len()), count(above));
    let bootstrap = interval(&days, quantile);
    Confidence {
        keys,
        days: count(days.len()),
        unseen_hi_ppm: unseen_hi_ppm(keys, above),
        bootstrap,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// When the civil days begin on which any of these requests arrives, microseconds, ascending.
fn days(asked: &AskedKeys<'_>, of: &Bitmap, zone: Zone) -> Vec<i64> {
    let mut days: Vec<(i64, i64)> = Vec::new();
    for key in 0..asked.keys() {
        for (event, t_us) in asked.of(key) {
            let known = days.partition_point(|(begin_us, _)| *begin_us <= t_us);
            let last = known.checked_sub(1).and_then(|last| days.get(last));
            let is_known = last.is_some_and(|(_, end_us)| t_us < *end_us);
            if !is_known && of.contains(usize::try_from(event).unwrap_or(usize::MAX)) {
                days.insert(known, zone.period_us(CalendarUnit::Day, t_us));
            }
        }
    }
    days.into_iter().map(|(begin_us, _)| begin_us).collect()
}

/// What each key needs on each day.
struct Daily<'a> {
    asked: &'a AskedKeys<'a>,
    open: &'a OpenLimit,
    of: &'a Bitmap,
    begins: &'a [i64],
}

impl SizingVisitor for Daily<'_> {
    /// Per day what keys need; and what each needs in all.
    type Output = (Vec<Vec<u64>>, Vec<u64>);

    fn visit<A: Critical>(self, open: &A) -> Self::Output
    where
        A::State: Send,
    {
        let mut days = vec![Vec::new(); self.begins.len()];
        let mut keys = Vec::new();
        let holds = self.open.sizing.counts_in_flight();
        let mut lane = Lane::new(self.asked, open, self.open.tick_us, holds);
        for key in 0..self.asked.keys() {
            let mut most: Option<u64> = None;
            // the day of the last request, by number, and what that day takes so far
            let mut today: Option<(usize, u64)> = None;
            let mut note = |done: Option<(usize, u64)>| {
                if let Some((day, need)) = done {
                    most = most.max(Some(need));
                    if let Some(of_day) = days.get_mut(day) {
                        of_day.push(need);
                    }
                }
            };
            lane.each_demand(key, |event, t_us, demand| {
                if !self.of.contains(usize::try_from(event).unwrap_or(usize::MAX)) {
                    return;
                }
                let day = self.begins.partition_point(|begin| *begin <= t_us).saturating_sub(1);
                let need = open.size_for(demand);
                today = match today {
                    Some((known, so_far)) if known == day => Some((day, need.max(so_far))),
                    before => {
                        note(before);
                        Some((day, need))
                    }
                };
            });
            note(today);
            keys.extend(most);
        }
        (days, keys)
    }
}

/// The most keys yet unseen that may need more, as a share in millionths, with 95 % confidence: where
/// none of n did, 3/n (the rule of three), and in general λ/n with λ the upper limit of the mean of a
/// Poisson count. It is never under the exact binomial limit (Clopper and Pearson) by more than its
/// rounding. 1 where no key was seen.
pub fn unseen_hi_ppm(keys: u64, above: u64) -> u64 {
    const MILLION: u64 = 1_000_000;
    if keys == 0 || above >= keys {
        return MILLION;
    }
    let milli = u128::from(mean_hi_milli(above)) * u128::from(MILLION);
    let share = milli.div_ceil(u128::from(keys) * 1_000);
    u64::try_from(share).unwrap_or(MILLION).min(MILLION)
}

/// The least mean, thousandths, under which a Poisson count is so low in one of 20 cases at most.
fn mean_hi_milli(seen: u64) -> u64 {
    // between its count and twice that and ten: 3, 4.7, 6.3 … and by ever less above
    let (mut low, mut high) =
        (seen.saturating_mul(1_000), seen.saturating_mul(2_000).saturating_add(10_000));
    while low + 1 < high {
        let middle = low.midpoint(high);
        if is_rare(seen, middle) { high = middle } else { low = middle }
    }
    // for none the rule says three, of which 2.996 is the rounding
    if seen == 0 { 3_000 } else { high }
}

/// Whether a Poisson count of that mean is at most `seen` in one of 20 cases or fewer: whether the terms
/// mean^i ÷ i! up to it are at most a twentieth of all. In units of the term of `seen`, so that nothing is
/// too large; terms end where they round to nothing.
fn is_rare(seen: u64, mean_milli: u64) -> bool {
    let mean = i128::from(mean_milli.max(1));
    let (mut up_to, mut term, mut at) = (ONE, ONE, i128::from(seen));
    while at > 0 && term > 0 {
        term = (term * at * 1_000).div_euclid(mean);
        up_to += term;
        at -= 1;
    }
    let (mut all, mut term, mut at) = (up_to, ONE, i128::from(seen));
    // as soon as it is enough: terms may grow without end
    while term > 0 && up_to * FAILS_ONE_IN > all {
        at += 1;
        term = (term * mean).div_euclid(at * 1_000);
        all += term;
    }
    up_to * FAILS_ONE_IN <= all
}

/// Where a quantile lies over draws of days: of a day what keys need on it.
fn interval(days: &[Vec<u64>], quantile: (u64, u64)) -> Option<(u64, u64)> {
    let number = count(days.len());
    if number < 2 {
        return None;
    }
    // what is needed on any day, greatest first, by which day's keys
    let by_day =
        days.iter().zip(0_usize..).flat_map(|(needs, day)| needs.iter().map(move |n| (*n, day)));
    let mut needs: Vec<(u64, usize)> = by_day.collect();
    needs.sort_unstable_by(|a, b| b.cmp(a));
    let mut drawn: Vec<u64> = (0..DRAWS)
        .filter_map(|draw| {
            let mut times = vec![0_u64; days.len()];
            for turn in 0..number {
                let throw = [draw.to_le_bytes(), turn.to_le_bytes()];
                let day = xxh3_64_with_seed(throw.as_flattened(), SEED) % number;
                if let Some(times) = usize::try_from(day).ok().and_then(|day| times.get_mut(day)) {
                    *times += 1;
                }
            }
            quantile_of(days, &needs, &times, quantile)
        })
        .collect();
    drawn.sort_unstable();
    Some((nearest_rank(&drawn, 25, 1_000)?, nearest_rank(&drawn, 975, 1_000)?))
}

/// The quantile of what keys need on days, each taken so many times.
fn quantile_of(
    days: &[Vec<u64>],
    needs: &[(u64, usize)],
    times: &[u64],
    (numerator, denominator): (u64, u64),
) -> Option<u64> {
    let total: u64 = days.iter().zip(times).map(|(needs, times)| count(needs.len()) * times).sum();
    let rank = total.checked_mul(numerator)?.div_ceil(denominator.max(1));
    // from the top: quantiles of interest are near it
    let from_top = total.checked_sub(rank)?.checked_add(1)?;
    let mut seen = 0;
    needs.iter().find_map(|(need, day)| {
        seen += times.get(*day).copied().unwrap_or(0);
        (seen >= from_top).then_some(*need)
    })
}

#[cfg(test)]
#[path = "confidence_tests.rs"]
mod tests;
