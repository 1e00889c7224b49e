//! The peaks of every key, and their percentiles: for all requests, and for each place.

use rayon::prelude::*;

use crate::site::key::KeySpec;
use crate::traffic::{KeyColumn, NONE, Traffic};
use crate::units::bracket::Bracket;
use crate::units::decimal;

use super::group::Grouped;
use super::peaks::{self, Resolution};
use super::percentile::{Distribution, Percentiles};
use super::shared::distinct_per_key;

/// Decimals of the figure by which calendar bins understate.
pub const UNDERSTATED_DECIMALS: u32 = 3;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Window lengths, microseconds, ascending.
    pub windows_us: Vec<i64>,
    /// What the stamps tell.
    pub resolution: Resolution,
    /// Places to measure on their own, as indexes of [`Traffic::places`].
    pub places: Vec<u32>,
}

/// One key × place × window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The key's name.
    pub key: String,
    /// The place; `None` for all requests.
    pub place: Option<String>,
    /// Window length, microseconds.
    pub window_us: i64,
    /// Requests that have the key.
    pub requests: u64,
    /// Keys that have requests.
    pub keys: u64,
    /// Percentiles over keys of the sliding peak; ends are percentiled separately.
    pub peak: Percentiles<Bracket<u32>>,
    /// Percentiles over keys of the fullest aligned window (UTC).
    pub calendar: Percentiles<Bracket<u32>>,
    /// Median over keys of peak ÷ fullest aligned window, in thousandths.
    pub understated_p50: Bracket<u64>,
    /// Largest of these.
    pub understated_max: Bracket<u64>,
    /// The greatest peak of any key ÷ the fullest aligned window of any key, in thousandths.
    pub understated_of_max: Bracket<u64>,
    /// Keys per peak (its lower end), ascending.
    pub histogram: Vec<(u32, u64)>,
    /// The key with the greatest peak, the first by text of several.
    pub busiest: Vec<u8>,
}

/// A key's totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTotals {
    /// The key's name.
    pub key: String,
    /// Distinct values.
    pub distinct: u64,
    /// Requests without it.
    pub missing: u64,
    /// Distinct users per value, over values that any is seen with.
    pub users: Option<Percentiles<u64>>,
    /// Distinct addresses per value, likewise.
    pub addresses: Option<Percentiles<u64>>,
}

/// One key in one window.
#[derive(Debug, Clone, Copy, Default)]
struct KeyPeaks {
    lo: u32,
    hi: u32,
    calendar_lo: u32,
    calendar_hi: u32,
}

/// Proven ends of peak ÷ calendar, in thousandths. A window lies in two aligned ones, so the quotient
/// is from 1 to 2 whatever the ends are.
fn understated(peak: (u64, u64), calendar: (u64, u64)) -> (u64, u64) {
    let quotient = |peak: u64, calendar: u64| {
        let ratio = decimal::ratio(peak, calendar, UNDERSTATED_DECIMALS);
        let one = 10_u64.pow(UNDERSTATED_DECIMALS);
        ratio.unwrap_or(one).clamp(one, 2 * one)
    };
    (quotient(peak.0, calendar.1), quotient(peak.1, calendar.0))
}

/// Measures every key for all requests and for each place of the plan.
pub fn measure(traffic: &Traffic, keys: &[KeySpec], plan: &Plan) -> (Vec<KeyTotals>, Vec<Measure>) {
    let mut totals = Vec::new();
    let mut measures = Vec::new();
    let parts = by_place(traffic, &plan.places);
    for spec in keys {
        let Some(column) = traffic.key(spec) else { continue };
        if spec.implied && column.distinct() == 0 {
            continue;
        }
        let beside = |name: &str| {
            let other = keys.iter().find(|key| key.name == name && key.name != spec.name)?;
            distinct_per_key(&column, &traffic.key(other)?)
        };
        let all = || {
            let times = traffic.events.times_us.iter().copied();
            let grouped = Grouped::new(column.ids.iter().copied().zip(times), column.distinct());
            (grouped.len(), of_group(&grouped, &column, spec, None, plan))
        };
        let of_places = || {
            let places = parts.par_iter().zip(&plan.places);
            let of_place = |(events, place): (&Vec<u32>, &u32)| {
                let name = usize::try_from(*place).ok().and_then(|at| traffic.places.get(at));
                let of_event = |event: &u32| {
                    let at = usize::try_from(*event).ok()?;
                    Some((*column.ids.get(at)?, *traffic.events.times_us.get(at)?))
                };
                let events = events.iter().filter_map(of_event);
                let grouped = Grouped::new(events, column.distinct());
                of_group(&grouped, &column, spec, name, plan)
            };
            places.map(of_place).collect::<Vec<_>>()
        };
        let ((with_key, of_all), of_places) = rayon::join(all, of_places);
        totals.push(KeyTotals {
            key: spec.name.clone(),
            distinct: count(column.distinct()),
            missing: count(traffic.len() - with_key),
            users: beside("user"),
            addresses: beside("ip"),
        });
        measures.extend(of_all);
        measures.extend(of_places.into_iter().flatten());
    }
    (totals, measures)
}

/// The events of each of these places, in one pass.
fn by_place(traffic: &Traffic, places: &[u32]) -> Vec<Vec<u32>> {
    let mut slots = vec![None; traffic.places.len()];
    for (slot, place) in places.iter().enumerate() {
        if let Some(entry) = usize::try_from(*place).ok().and_then(|at| slots.get_mut(at)) {
            *entry = Some(slot);
        }
    }
    let mut parts = vec![Vec::new(); places.len()];
    for (event, place) in (0..NONE).zip(&traffic.events.places) {
        let slot = usize::try_from(*place).ok().and_then(|at| slots.get(at).copied().flatten());
        if let Some(part) = slot.and_then(|slot| parts.get_mut(slot)) {
            part.push(event);
        }
    }
    parts
}

/// The places with the most requests, at most `limit`; ties by name.
pub fn top_places(traffic: &Traffic, limit: usize) -> Vec<u32> {
    let mut counts = vec![0_u64; traffic.places.len()];
    for place in &traffic.events.places {
        if let Some(count) = usize::try_from(*place).ok().and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    // places are numbered in the order of their names
    let mut ranked: Vec<(u64, u32)> =
        counts.into_iter().zip(0..NONE).filter(|(count, _)| *count > 0).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(limit).map(|(_, place)| place).collect()
}

fn of_group(
    grouped: &Grouped<i64>,
    column: &KeyColumn<'_>,
    spec: &KeySpec,
    place: Option<&String>,
    plan: &Plan,
) -> Vec<Measure> {
    let width = plan.windows_us.len();
    if width == 0 || grouped.keys.is_empty() {
        return Vec::new();
    }
    // all windows of one key while its arrivals are in the cache
    let mut table = vec![KeyPeaks::default(); grouped.keys.len() * width];
    table.par_chunks_mut(width).enumerate().for_each(|(index, row)| {
        let arrivals = grouped.of(index);
        for (cell, window_us) in row.iter_mut().zip(&plan.windows_us) {
            *cell = key_peaks(arrivals, *window_us, plan.resolution);
        }
    });
    plan.windows_us
        .par_iter()
        .enumerate()
        .filter_map(|(at, window_us)| {
            let cells = || table.iter().skip(at).step_by(width).copied();
            let counted = Counted::of(cells());
            let (peak_lo, peak_hi) = (counted.lo.percentiles()?, counted.hi.percentiles()?);
            let calendar_lo = counted.calendar_lo.percentiles()?;
            let calendar_hi = counted.calendar_hi.percentiles()?;
            let (short_lo, short_hi) = (&counted.understated_lo, &counted.understated_hi);
            let (of_lo, of_hi) =
                understated((peak_lo.max, peak_hi.max), (calendar_lo.max, calendar_hi.max));
            Some(Measure {
                key: spec.name.clone(),
                place: place.cloned(),
                window_us: *window_us,
                requests: count(grouped.len()),
                keys: count(grouped.keys.len()),
                peak: bracketed(&peak_lo, &peak_hi),
                calendar: bracketed(&calendar_lo, &calendar_hi),
                understated_p50: Bracket::proven(
                    short_lo.nearest_rank(1, 2)?,
                    short_hi.nearest_rank(1, 2)?,
                ),
                understated_max: Bracket::proven(
                    short_lo.nearest_rank(1, 1)?,
                    short_hi.nearest_rank(1, 1)?,
                ),
                understated_of_max: Bracket::proven(of_lo, of_hi),
                histogram: counted.lo.entries().map(|(peak, keys)| (narrow(peak), keys)).collect(),
                busiest: busiest(grouped, column, cells(), narrow(peak_lo.max)),
            })
        })
        .collect()
}

fn key_peaks(arrivals: &[i64], window_us: i64, resolution: Resolution) -> KeyPeaks {
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return KeyPeaks::default();
    };
    let latest = last + resolution.us.max(1) - 1;
    if first.div_euclid(window_us) == latest.div_euclid(window_us) {
        let all = u32::try_from(arrivals.len()).unwrap_or(u32::MAX); // most keys, in long windows
        return KeyPeaks { lo: all, hi: all, calendar_lo: all, calendar_hi: all };
    }
    let times = || arrivals.iter().copied();
    let (lo, hi) = peaks::sliding_bracket(times(), window_us, resolution);
    let (calendar_lo, calendar_hi) = peaks::calendar_bracket(times(), window_us, resolution);
    KeyPeaks { lo, hi, calendar_lo, calendar_hi }
}

fn bracketed(lo: &Percentiles<u64>, hi: &Percentiles<u64>) -> Percentiles<Bracket<u32>> {
    let bracket = |lo, hi| Bracket::proven(narrow(lo), narrow(hi));
    Percentiles {
        p50: bracket(lo.p50, hi.p50),
        p90: bracket(lo.p90, hi.p90),
        p99: bracket(lo.p99, hi.p99),
        p999: bracket(lo.p999, hi.p999),
        max: bracket(lo.max, hi.max),
    }
}

/// A count of requests of one key, which 32 bits hold.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The figures of all keys in one window, counted.
#[derive(Default)]
struct Counted {
    lo: Distribution,
    hi: Distribution,
    calendar_lo: Distribution,
    calendar_hi: Distribution,
    understated_lo: Distribution,
    understated_hi: Distribution,
}

impl Counted {
    fn of(cells: impl Iterator<Item = KeyPeaks>) -> Self {
        let mut counted = Self::default();
        for cell in cells {
            let peak = (u64::from(cell.lo), u64::from(cell.hi));
            let calendar = (u64::from(cell.calendar_lo), u64::from(cell.calendar_hi));
            let short = understated(peak, calendar);
            counted.lo.add(peak.0);
            counted.hi.add(peak.1);
            counted.calendar_lo.add(calendar.0);
            counted.calendar_hi.add(calendar.1);
            counted.understated_lo.add(short.0);
            counted.understated_hi.add(short.1);
        }
        counted
    }
}

fn busiest(
    grouped: &Grouped<i64>,
    column: &KeyColumn<'_>,
    cells: impl Iterator<Item = KeyPeaks>,
    peak: u32,
) -> Vec<u8> {
    let best = grouped.keys.iter().zip(cells).filter(|(_, cell)| cell.lo == peak);
    best.filter_map(|(key, _)| usize::try_from(*key).ok().map(|key| column.text(key)))
        .min()
        .unwrap_or_default()
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Events;
    use crate::units::address::Address;
    use crate::units::span::SECOND_US;

    #[test]
    fn every_place_is_measured_and_the_first_busiest_by_text_named() {
        let addresses: Vec<Address> =
            ["9.0.0.1", "10.0.0.1"].map(|text| Address::parse(text.as_bytes()).unwrap()).to_vec();
        let events = Events {
            times_us: [0, 0, 1, 1, 70].map(|s| s * SECOND_US).to_vec(),
            addresses: vec![0, 1, 0, 1, NONE],
            places: vec![0, 0, 1, 0, 0],
            keys: vec![],
            ..Events::default()
        };
        let places = vec!["GET /a".to_owned(), "GET /b".to_owned()];
        let traffic = Traffic { events, addresses, places, ..Traffic::default() };
        let plan = Plan {
            windows_us: vec![SECOND_US, 60 * SECOND_US],
            resolution: Resolution { us: SECOND_US, on_steps: true },
            places: top_places(&traffic, 5),
        };
        assert_eq!(plan.places, [0, 1]);
        let (totals, measures) = measure(&traffic, &[KeySpec::ip(64)], &plan);
        assert_eq!((totals[0].distinct, totals[0].missing), (2, 1));
        assert_eq!(measures.len(), 6);
        let all = &measures[0];
        assert_eq!((all.keys, all.requests), (2, 4));
        assert_eq!(all.peak.max, Bracket::proven(1, 2));
        assert_eq!(all.busiest, b"10.0.0.1");
        assert_eq!(all.histogram, [(1, 2)]);
        assert_eq!(measures[1].peak.max, Bracket::exact(2));
        assert_eq!(measures[4].place.as_deref(), Some("GET /b"));
        assert_eq!(measures[4].keys, 1);
    }
}
