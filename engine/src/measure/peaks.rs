//! The window kernels: the fullest sliding and the fullest aligned window of one key's arrivals.

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

/// Proven ends of a key's sliding peak, when stamps are arrivals floored to `resolution_us`.
///
/// Every arrival lies in [stamp, stamp + ρ). Stamps within one window of ⌊W/ρ⌋·ρ come from arrivals
/// within that length, so their count is reached; and arrivals within W have stamps within W + ρ, so
/// that count is never passed. For W under ρ the arrivals of one stamp fall into ⌈ρ/W⌉ windows, one
/// of which holds at least its share.
pub fn sliding_bracket(
    times: impl Iterator<Item = i64> + Clone,
    window_us: i64,
    resolution_us: i64,
) -> (u32, u32) {
    if resolution_us <= 1 {
        let peak = sliding(times, window_us);
        return (peak, peak);
    }
    let hi = sliding(times.clone(), window_us + resolution_us);
    let whole = window_us - window_us.rem_euclid(resolution_us);
    if whole > 0 {
        return (sliding(times, whole), hi);
    }
    let windows = u32::try_from((resolution_us + window_us - 1).div_euclid(window_us));
    (sliding(times, resolution_us).div_ceil(windows.unwrap_or(u32::MAX)), hi)
}

/// Proven ends of a key's fullest aligned window, when stamps are arrivals floored to
/// `resolution_us`: the count itself where windows are whole steps long.
///
/// Else a window surely holds the arrivals whose whole step lies inside, and at most those whose step
/// touches it; and of the fullest step, the windows it touches share the arrivals.
pub fn calendar_bracket(
    times: impl Iterator<Item = i64> + Clone,
    window_us: i64,
    resolution_us: i64,
) -> (u32, u32) {
    if resolution_us <= 1 || window_us.rem_euclid(resolution_us) == 0 {
        let count = calendar(times, window_us);
        return (count, count);
    }
    let steps = calendar(times.clone(), resolution_us);
    let share = |windows: i64| steps.div_ceil(u32::try_from(windows).unwrap_or(u32::MAX));
    if resolution_us.rem_euclid(window_us) == 0 {
        return (share(resolution_us.div_euclid(window_us)), steps); // each window lies in one step
    }
    let share = share(resolution_us.div_euclid(window_us) + 2);
    let last_us = resolution_us - 1;
    let inside = times
        .clone()
        .filter(|stamp| stamp.div_euclid(window_us) == (stamp + last_us).div_euclid(window_us));
    let lo = calendar(inside, window_us).max(share);
    // a step touches the windows of its first and of its last instant; a window is touched by the steps
    // that begin in it and by the one that reaches into it
    let hi = sliding(times, window_us + resolution_us);
    (lo, hi)
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

    #[test]
    fn brackets_of_one_second_stamps_are_those_of_the_rule() {
        let stamps = [0, 0, 1, 1, 1, 2].map(|s| s * 1_000_000);
        assert_eq!(sliding_bracket(stamps.into_iter(), 1_000_000, 1_000_000), (3, 5));
        assert_eq!(sliding_bracket(stamps.into_iter(), 500_000, 1_000_000), (2, 5));
        assert_eq!(sliding_bracket(stamps.into_iter(), 10_000_000, 1_000_000), (6, 6));
        assert_eq!(sliding_bracket(stamps.into_iter(), 1_000_000, 1), (3, 3));
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
            let (lo, hi) = sliding_bracket(stamps.clone(), window, resolution);
            prop_assert!(lo <= truth && truth <= hi, "{} {} {}", lo, truth, hi);
            let truth = calendar(arrivals.iter().copied(), window);
            let (lo, hi) = calendar_bracket(stamps, window, resolution);
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
