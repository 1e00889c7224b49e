//! The window kernels: the fullest sliding and the fullest aligned window of one key's arrivals.

use rayon::prelude::*;

use crate::units::span::SECOND_US;

/// The largest number of arrivals in any half-open window (t − `window_us`, t]; `times` ascend.
///
/// A window that only ever grows is moved along: it grows by one where the arrivals it would then
/// hold fit, and else slides by one. Its final size is the peak, in one pass and one comparison an
/// arrival.
pub fn sliding(times: impl Iterator<Item = i64> + Clone, window_us: i64) -> u32 {
    let mut oldest = times.clone();
    let mut from = oldest.next();
    let mut size = 0;
    for time in times {
        if from.is_some_and(|from| time - from < window_us) {
            size += 1;
        } else {
            from = oldest.next();
        }
    }
    size
}

/// The largest number of arrivals in any window [k·`window_us`, (k + 1)·`window_us`) since the
/// epoch: what a dashboard with aligned bins shows; `times` ascend.
pub fn calendar(times: impl Iterator<Item = i64>, window_us: i64) -> u32 {
    let mut end = i64::MIN;
    let mut size = 0;
    let mut largest = 0;
    for time in times {
        if time < end {
            size += 1;
        } else {
            end = (time.div_euclid(window_us) + 1) * window_us;
            size = 1;
        }
        largest = largest.max(size);
    }
    largest
}

/// What stamps tell: each arrival lies in [stamp, stamp + `us`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// Step of the stamps, microseconds.
    pub us: i64,
    /// Whether all stamps are whole steps. They aren't where a duration was taken from the end of a
    /// response, or where a log with finer stamps lies beside one with coarse ones.
    pub on_steps: bool,
}

impl Resolution {
    /// That of all stamps.
    pub fn of(times_us: &[i64], us: i64) -> Self {
        let on_steps = match us {
            ..=1 => true,
            // by a constant, which costs a tenth
            SECOND_US => times_us.par_iter().all(|time| time.rem_euclid(SECOND_US) == 0),
            us => times_us.par_iter().all(|time| time.rem_euclid(us) == 0),
        };
        Self { us, on_steps }
    }
}

/// Proven ends of a key's sliding peak.
///
/// Arrivals within W have stamps within W + ρ, so the count there is never passed. Stamps that are at
/// most W − ρ apart come from arrivals less than W apart, so their count is reached. The arrivals of
/// one stamp fall into ⌈ρ/W⌉ windows, those of stamps within W into ⌈(W + ρ)/W⌉; one holds its share.
/// (Of whole steps, the last can't give more than the others.)
pub fn sliding_bracket(
    times: impl Iterator<Item = i64> + Clone,
    window_us: i64,
    resolution: Resolution,
) -> (u32, u32) {
    let Resolution { us, on_steps } = resolution;
    if us <= 1 {
        let peak = sliding(times, window_us);
        return (peak, peak);
    }
    let hi = sliding(times.clone(), window_us + us);
    let lo = if window_us < us {
        share(sliding(times.clone(), 1), windows_in(us, window_us))
    } else {
        sliding(times.clone(), window_us - us + 1)
    };
    if on_steps || lo >= hi.div_ceil(2) {
        return (lo, hi);
    }
    let within = share(sliding(times, window_us), windows_in(window_us + us, window_us));
    (lo.max(within), hi)
}

/// Proven ends of a key's fullest aligned window: the count itself where stamps are whole steps and so
/// are windows.
///
/// Else a window surely holds the arrivals whose whole step lies inside, and at most those whose step
/// touches it; and of the stamps in one window or step, the windows that their steps touch share the
/// arrivals.
pub fn calendar_bracket(
    times: impl Iterator<Item = i64> + Clone,
    window_us: i64,
    resolution: Resolution,
) -> (u32, u32) {
    let Resolution { us, on_steps } = resolution;
    if us <= 1 || (on_steps && window_us.rem_euclid(us) == 0) {
        let count = calendar(times, window_us);
        return (count, count);
    }
    let shared = if on_steps {
        let steps = calendar(times.clone(), us);
        if us.rem_euclid(window_us) == 0 {
            return (share(steps, us.div_euclid(window_us)), steps); // each window lies in one step
        }
        share(steps, us.div_euclid(window_us) + 2)
    } else {
        share(calendar(times.clone(), window_us), windows_in(us, window_us) + 1)
    };
    let last_us = us - 1;
    let inside = times
        .clone()
        .filter(|stamp| stamp.div_euclid(window_us) == (stamp + last_us).div_euclid(window_us));
    let lo = calendar(inside, window_us).max(shared);
    // a step touches the windows of its first and of its last instant; a window is touched by the steps
    // that begin in it and by those that reach into it
    let hi = sliding(times, window_us + us);
    (lo, hi)
}

/// How many windows cover a length.
fn windows_in(length_us: i64, window_us: i64) -> i64 {
    (length_us + window_us - 1).div_euclid(window_us)
}

/// The least that the fullest of so many windows holds.
fn share(count: u32, windows: i64) -> u32 {
    count.div_ceil(u32::try_from(windows).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Straight from the definition: every window that ends at an arrival.
    fn brute_sliding(times: &[i64], window: i64) -> u32 {
        let inside = |end: i64| times.iter().filter(|t| **t > end - window && **t <= end).count();
        times.iter().map(|t| u32::try_from(inside(*t)).unwrap()).max().unwrap_or(0)
    }

    fn brute_calendar(times: &[i64], window: i64) -> u32 {
        let bins: std::collections::BTreeMap<i64, u32> =
            times.iter().fold(std::collections::BTreeMap::new(), |mut bins, time| {
                *bins.entry(time.div_euclid(window)).or_default() += 1;
                bins
            });
        bins.values().copied().max().unwrap_or(0)
    }

    fn sorted(mut times: Vec<i64>) -> Vec<i64> {
        times.sort_unstable();
        times
    }

    #[test]
    fn a_window_is_open_at_its_start_and_closed_at_its_end() {
        assert_eq!(sliding([0, 10].into_iter(), 10), 1);
        assert_eq!(sliding([0, 9].into_iter(), 10), 2);
        assert_eq!(sliding([].into_iter(), 10), 0);
        assert_eq!(calendar([9, 10, 19].into_iter(), 10), 2);
        assert_eq!(calendar([-1, 0].into_iter(), 10), 1);
    }

    fn bracket(stamps: &[i64], window: i64, us: i64) -> (u32, u32) {
        sliding_bracket(stamps.iter().copied(), window, Resolution::of(stamps, us))
    }

    #[test]
    fn brackets_of_one_second_stamps_are_those_of_the_rule() {
        let stamps = [0, 0, 1, 1, 1, 2].map(|s| s * 1_000_000);
        assert_eq!(bracket(&stamps, 1_000_000, 1_000_000), (3, 5));
        assert_eq!(bracket(&stamps, 500_000, 1_000_000), (2, 5));
        assert_eq!(bracket(&stamps, 10_000_000, 1_000_000), (6, 6));
        assert_eq!(bracket(&stamps, 1_000_000, 1), (3, 3));
    }

    #[test]
    fn stamps_less_a_duration_prove_less() {
        // ends stamped 1 s and 2 s, durations 10 and 20 ms: the arrivals are 0 to 1.99 s apart
        let stamps = [990_000, 1_980_000];
        let resolution = Resolution::of(&stamps, 1_000_000);
        assert!(!resolution.on_steps);
        assert_eq!(sliding_bracket(stamps.into_iter(), 1_000_000, resolution), (1, 2));
        assert_eq!(calendar_bracket(stamps.into_iter(), 1_000_000, resolution), (1, 2));
        assert_eq!(sliding_bracket(stamps.into_iter(), 2_000_000, resolution), (2, 2));
    }

    proptest! {
        #[test]
        fn kernels_equal_brute_force(
            times in proptest::collection::vec(-300_i64..300, 0..80), window in 1_i64..200
        ) {
            let times = sorted(times);
            prop_assert_eq!(sliding(times.iter().copied(), window), brute_sliding(&times, window));
            prop_assert_eq!(calendar(times.iter().copied(), window), brute_calendar(&times, window));
        }

        #[test]
        fn the_true_peak_lies_within_its_bracket(
            arrivals in proptest::collection::vec(0_i64..400, 1..60),
            window in 1_i64..120, resolution in 1_i64..30
        ) {
            let arrivals = sorted(arrivals);
            let stamps = arrivals.iter().map(|t| t - t.rem_euclid(resolution));
            let truth = sliding(arrivals.iter().copied(), window);
            let on_steps = Resolution { us: resolution, on_steps: true };
            let (lo, hi) = sliding_bracket(stamps.clone(), window, on_steps);
            prop_assert!(lo <= truth && truth <= hi, "{} {} {}", lo, truth, hi);
            let whole = window - window.rem_euclid(resolution);
            if resolution > 1 && whole > 0 {
                prop_assert_eq!(lo, sliding(stamps.clone(), whole), "as wide as steps allow");
            }
            let truth = calendar(arrivals.iter().copied(), window);
            let (lo, hi) = calendar_bracket(stamps, window, on_steps);
            prop_assert!(lo <= truth && truth <= hi, "calendar {} {} {}", lo, truth, hi);
        }

        #[test]
        fn the_true_peak_lies_within_its_bracket_where_durations_were_taken_off(
            requests in proptest::collection::vec((0_i64..400, 0_i64..90), 1..60),
            window in 1_i64..120, resolution in 2_i64..30
        ) {
            let end = |(arrival, duration): &(i64, i64)| arrival + duration;
            let stamp = |r: &(i64, i64)| end(r) - end(r).rem_euclid(resolution) - r.1;
            let stamps = sorted(requests.iter().map(stamp).collect());
            let arrivals = sorted(requests.iter().map(|(arrival, _)| *arrival).collect());
            let off_steps = Resolution { us: resolution, on_steps: false };
            let truth = sliding(arrivals.iter().copied(), window);
            let (lo, hi) = sliding_bracket(stamps.iter().copied(), window, off_steps);
            prop_assert!(lo <= truth && truth <= hi, "{} {} {}", lo, truth, hi);
            let truth = calendar(arrivals.iter().copied(), window);
            let (lo, hi) = calendar_bracket(stamps.iter().copied(), window, off_steps);
            prop_assert!(lo <= truth && truth <= hi, "calendar {} {} {}", lo, truth, hi);
        }

        #[test]
        fn a_calendar_bin_understates_by_less_than_two(
            times in proptest::collection::vec(0_i64..400, 1..60), window in 1_i64..120
        ) {
            let times = sorted(times);
            let (peak, bin) = (sliding(times.iter().copied(), window), calendar(times.iter().copied(), window));
            prop_assert!(bin <= peak && peak <= 2 * bin);
        }
    }
}
