//! Where a curve is worked out: at the limits that are of interest, and where its steps are.

use crate::measure::cohorts::Cohort;

use super::critical::CriticalLimits;

/// Most points of a curve.
pub const MOST_POINTS: usize = 64;

/// The sizes at which a curve is worked out, ascending, at most [`MOST_POINTS`]: the marks first, then
/// the critical limits of the busiest, second, fourth, eighth … key of all and of each cohort. At one of
/// these fewer keys are refused than at any size below it.
pub fn sizes(critical: &CriticalLimits, marks: &[u64]) -> Vec<u64> {
    let mut all: Vec<Vec<u64>> =
        Cohort::ALL.iter().map(|cohort| steps(critical.of(*cohort))).collect();
    all.push(steps(&critical.limits));
    let deepest = all.iter().map(Vec::len).max().unwrap_or(0);
    // the busiest of each, then the second of each, and so on
    let by_rank = (0..deepest).flat_map(|rank| all.iter().filter_map(move |of| of.get(rank)));
    let mut sizes: Vec<u64> = Vec::new();
    for size in marks.iter().chain(by_rank) {
        if sizes.len() < MOST_POINTS && !sizes.contains(size) {
            sizes.push(*size);
        }
    }
    sizes.sort_unstable();
    sizes
}

/// The critical limits of the keys that are asked, at ranks 1, 2, 4 … 256 and 1,024, 4,096 … from the top:
/// whoever reads a curve asks how many are refused, not which thousands.
fn steps(limits: &[u64]) -> Vec<u64> {
    let mut asked: Vec<u64> = limits.iter().copied().filter(|limit| *limit > 0).collect();
    asked.sort_unstable_by(|a, b| b.cmp(a));
    let next = |rank: &usize| rank.checked_mul(if *rank < 256 { 2 } else { 4 });
    let ranks = std::iter::successors(Some(1_usize), next);
    let mut steps: Vec<u64> = ranks.map_while(|rank| asked.get(rank - 1).copied()).collect();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_first_and_then_the_steps_from_the_top() {
        let limits = (1..=1_000).collect();
        let critical = CriticalLimits { limits, ..CriticalLimits::default() };
        let sizes = sizes(&critical, &[7, 2_000, 7]);
        assert_eq!(sizes, [7, 745, 873, 937, 969, 985, 993, 997, 999, 1_000, 2_000]);
    }

    #[test]
    fn there_are_never_more_than_fit() {
        let critical = CriticalLimits { limits: vec![0, 3], ..CriticalLimits::default() };
        let marks: Vec<u64> = (100..300).collect();
        assert_eq!(sizes(&critical, &marks).len(), MOST_POINTS);
        assert_eq!(sizes(&critical, &[]), [3]);
        assert!(sizes(&CriticalLimits::default(), &[]).is_empty());
    }
}
