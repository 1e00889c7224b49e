//! Clients that stand out, each with its reasons in words. What they are is not for a program to say:
//! a health check is regular, an office is fast, a crawler sees many pages.
//!
//! A peak or a number of paths stands out by the modified z-score, 0.6745·(x − median) ÷ MAD > 3.5
//! (B. Iglewicz and D. Hoaglin, "How to Detect and Handle Outliers", ASQC 1993; the MAD as F. Hampel
//! has it, JASA 69, 1974), and by ten times the median, since traffic has long tails and medians of 1.
//! Intervals are regular if their MAD is at most one step of the stamps. All in integers.

use rayon::prelude::*;

use crate::site::key::KeySpec;
use crate::traffic::{NONE, Traffic};
use crate::units::decimal;
use crate::units::span::{MINUTE_US, format};

use super::group::Grouped;
use super::peaks;

/// Clients with fewer requests are not looked at.
const LEAST_REQUESTS: usize = 30;
/// Clients that are named at most.
const MOST_SUSPECTS: usize = 20;
/// Times the median from which something may stand out.
const FACTOR: u64 = 10;
/// Times the peak of nine tenths of the clients from which one may stand out: a page with many pictures
/// makes everybody fast now and then.
const BUSY: u64 = 3;
/// Paths from which a client may have seen many.
const MANY_PATHS: u64 = 50;

/// A client that stands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// The client, as the text of its key.
    pub key: Vec<u8>,
    /// Its requests.
    pub requests: u64,
    /// Why, in words.
    pub reasons: Vec<String>,
}

/// What one client did.
#[derive(Debug, Clone, Default)]
struct Profile {
    key: usize,
    requests: u64,
    client_errors: u64,
    peak: u64,
    paths: u64,
    top_path: u64,
    gap_us: i64,
    gap_spread_us: i64,
}

/// Median and median absolute deviation.
#[derive(Debug, Clone, Copy)]
struct Robust {
    median: u64,
    deviation: u64,
}

impl Robust {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.collect();
        let median = median_of(&mut values);
        let mut distances: Vec<u64> = values.iter().map(|value| value.abs_diff(median)).collect();
        Self { median, deviation: median_of(&mut distances) }
    }

    /// Of values given with how often they occur, ascending.
    fn of_counted(values: &[(u32, u64)]) -> Self {
        let median = counted_median(values.iter().map(|(value, n)| (u64::from(*value), *n)));
        let mut distances: Vec<(u64, u64)> =
            values.iter().map(|(value, n)| (u64::from(*value).abs_diff(median), *n)).collect();
        distances.sort_unstable();
        Self { median, deviation: counted_median(distances.into_iter()) }
    }

    /// Whether a value lies far above.
    fn is_far_above(self, value: u64) -> bool {
        let distance = u128::from(value.saturating_sub(self.median));
        let far = distance * 6_745 > 35_000 * u128::from(self.deviation);
        far && value >= FACTOR * self.median.max(1)
    }
}

/// The lower median of values with how often they occur, ascending.
fn counted_median(values: impl Iterator<Item = (u64, u64)> + Clone) -> u64 {
    counted_rank(values, 1, 2)
}

/// The value at rank ⌈q·n⌉ of values with how often they occur, ascending.
fn counted_rank(values: impl Iterator<Item = (u64, u64)> + Clone, q: u64, of: u64) -> u64 {
    let rank = (values.clone().map(|(_, n)| n).sum::<u64>() * q).div_ceil(of);
    let mut seen = 0;
    values
        .into_iter()
        .find_map(|(value, n)| {
            seen += n;
            (seen >= rank).then_some(value)
        })
        .unwrap_or(0)
}

/// The lower median; sorts its argument.
fn median_of(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.len().checked_sub(1).and_then(|last| values.get(last / 2)).copied().unwrap_or(0)
}

/// The clients that stand out, most requests first, ties by text. `minute_peaks` are all clients'
/// peaks of a minute, with how many have each; `resolution_us` is the step of the stamps.
pub fn suspects(
    traffic: &Traffic,
    key: &KeySpec,
    minute_peaks: &[(u32, u64)],
    resolution_us: i64,
) -> Vec<Suspect> {
    let Some(column) = traffic.key(key) else { return Vec::new() };
    let groups = Grouped::new(column.ids.iter().copied().zip(0..NONE), column.distinct());
    let profiles: Vec<Profile> = (0..groups.keys.len())
        .into_par_iter()
        .filter(|index| groups.of(*index).len() >= LEAST_REQUESTS)
        .map(|index| {
            let key = groups.keys.get(index).and_then(|key| usize::try_from(*key).ok());
            profile(traffic, key.unwrap_or(usize::MAX), groups.of(index))
        })
        .collect();
    let population = Population {
        peaks: Robust::of_counted(minute_peaks),
        busy: counted_rank(minute_peaks.iter().map(|(value, n)| (u64::from(*value), *n)), 9, 10),
        paths: Robust::of(profiles.iter().map(|profile| profile.paths)),
        errors: traffic.events.statuses.iter().filter(|status| is_client_error(**status)).count(),
        requests: traffic.len(),
        resolution_us,
    };
    let mut found: Vec<Suspect> = profiles
        .iter()
        .map(|profile| Suspect {
            key: column.text(profile.key),
            requests: profile.requests,
            reasons: population.reasons(profile),
        })
        .filter(|suspect| !suspect.reasons.is_empty())
        .collect();
    found.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.key.cmp(&b.key)));
    found.truncate(MOST_SUSPECTS);
    found
}

fn at<T: Copy + Default>(column: &[T], event: u32) -> T {
    usize::try_from(event).ok().and_then(|event| column.get(event)).copied().unwrap_or_default()
}

fn time(traffic: &Traffic, event: u32) -> i64 {
    at(&traffic.events.times_us, event)
}

fn is_client_error(status: u16) -> bool {
    (400..500).contains(&status) && status != 499 // 499: the client went away
}

fn profile(traffic: &Traffic, key: usize, events: &[u32]) -> Profile {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut hashes: Vec<u64> =
        events.iter().map(|event| at(&traffic.events.path_hashes, *event)).collect();
    hashes.sort_unstable();
    let (mut paths, mut top_path) = (0, 0);
    for same in hashes.chunk_by(|a, b| a == b) {
        paths += 1;
        top_path = top_path.max(count(same.len()));
    }
    let times: Vec<i64> = events.iter().map(|event| time(traffic, *event)).collect();
    let peak = u64::from(peaks::sliding(times.iter().copied(), MINUTE_US));
    let times = times.iter().copied();
    let mut gaps: Vec<u64> = times.clone().zip(times.skip(1)).map(|(a, b)| b.abs_diff(a)).collect();
    let gap = median_of(&mut gaps);
    let mut spread: Vec<u64> = gaps.iter().map(|g| g.abs_diff(gap)).collect();
    let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    let errors =
        events.iter().filter(|event| is_client_error(at(&traffic.events.statuses, **event)));
    Profile {
        key,
        requests: count(events.len()),
        client_errors: count(errors.count()),
        peak,
        paths,
        top_path,
        gap_us: signed(gap),
        gap_spread_us: signed(median_of(&mut spread)),
    }
}

/// What all clients did.
struct Population {
    peaks: Robust,
    /// The peak that nine tenths of the clients never pass.
    busy: u64,
    paths: Robust,
    errors: usize,
    requests: usize,
    resolution_us: i64,
}

impl Population {
    fn reasons(&self, profile: &Profile) -> Vec<String> {
        let Profile {
            requests, client_errors, peak, paths, top_path, gap_us, gap_spread_us, ..
        } = profile.clone();
        let mut reasons = Vec::new();
        if self.peaks.is_far_above(peak) && peak >= BUSY * self.busy {
            let median = self.peaks.median;
            reasons.push(format!(
                "{peak} requests in its busiest minute, where half of the clients never have more than {median}"
            ));
        }
        let all_errors = u128::try_from(self.errors).unwrap_or(u128::MAX);
        let all = u128::try_from(self.requests).unwrap_or(u128::MAX);
        let often = u128::from(client_errors) * all >= 2 * all_errors * u128::from(requests);
        if client_errors * 2 >= requests && often {
            reasons.push(format!(
                "{} of its requests end in a 4xx status",
                percent(client_errors, requests)
            ));
        }
        if paths >= MANY_PATHS && self.paths.is_far_above(paths) {
            reasons.push(format!("{paths} different paths"));
        }
        if top_path * 10 >= requests * 9 && peak * 6 >= requests.min(60) {
            reasons.push(format!("{} of its requests go to one path", percent(top_path, requests)));
        }
        // coarse stamps make everything fast look regular
        if gap_us >= 5 * self.resolution_us && gap_spread_us <= self.resolution_us.min(gap_us / 20)
        {
            reasons.push(format!("a request every {}, like a clock", format(gap_us)));
        }
        reasons
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{} %", decimal::ratio(part.saturating_mul(100), whole, 0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Events;
    use crate::units::address::Address;
    use crate::units::span::SECOND_US;

    /// 40 quiet clients, and one more that does this: (second, status, path).
    fn stands_out(requests: impl Iterator<Item = (i64, u16, u64)>) -> Vec<String> {
        let mut rows: Vec<(i64, u32, u16, u64)> = Vec::new();
        for client in 0..40_u32 {
            for visit in 0..40_i64 {
                let second = i64::from(client) * 7 + visit * 600 + (visit * visit * 37) % 400;
                rows.push((
                    second,
                    client,
                    200,
                    u64::from(client) % 5 + u64::try_from(visit).unwrap() % 6,
                ));
            }
        }
        rows.extend(requests.map(|(second, status, path)| (second, 40, status, path)));
        rows.sort_unstable();
        let events = Events {
            times_us: rows.iter().map(|row| row.0 * SECOND_US).collect(),
            addresses: rows.iter().map(|row| row.1).collect(),
            statuses: rows.iter().map(|row| row.2).collect(),
            path_hashes: rows.iter().map(|row| row.3).collect(),
            ..Events::default()
        };
        let addresses = (0..41_u8)
            .map(|n| Address::parse(format!("192.0.2.{n}").as_bytes()).unwrap())
            .collect();
        let traffic = Traffic { events, addresses, ..Traffic::default() };
        let found = suspects(&traffic, &KeySpec::ip(64), &[(1, 30), (2, 11)], SECOND_US);
        assert!(found.iter().all(|suspect| suspect.key == b"192.0.2.40"), "{found:?}");
        found.into_iter().flat_map(|suspect| suspect.reasons).collect()
    }

    #[test]
    fn each_way_to_stand_out_is_named_and_quiet_clients_are_not() {
        let uneven = |n: i64| n * 500 + (n * n * 91) % 470;
        assert_eq!(stands_out([].into_iter()), [""; 0]);
        assert_eq!(
            stands_out((0..40).map(|n| (uneven(n), 200, 1 + n.unsigned_abs() % 7))),
            [""; 0]
        );
        let fast = stands_out((0..50).map(|n| (uneven(n / 25), 200, n.unsigned_abs() % 7)));
        assert!(fast[0].starts_with("25 requests in its busiest minute"), "{fast:?}");
        let errors = stands_out((0..40).map(|n| (uneven(n), 404, n.unsigned_abs() % 7)));
        assert_eq!(errors, ["100 % of its requests end in a 4xx status"]);
        let paths = stands_out((0..400).map(|n| (uneven(n), 200, n.unsigned_abs())));
        assert_eq!(paths, ["400 different paths"]);
        let clock = stands_out((0..40_i64).map(|n| (n * 30, 200, n.unsigned_abs() % 7)));
        assert_eq!(clock, ["a request every 30 s, like a clock"]);
        let one = stands_out((0..60).map(|n| (uneven(n / 12), 200, 7)));
        assert!(
            one.iter().any(|reason| reason == "100 % of its requests go to one path"),
            "{one:?}"
        );
    }
}
