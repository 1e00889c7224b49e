//! What a limit rests on, by hand.

use proptest::prelude::*;

use super::*;

#[test]
fn none_of_n_is_the_rule_of_three_and_more_are_poissons_limits() {
    assert_eq!(
        [1, 2, 3, 300, 10_000].map(|keys| unseen_hi_ppm(keys, 0)),
        [1_000_000, 1_000_000, 1_000_000, 10_000, 300]
    );
    // the upper limits of tables (95 %, one-sided): 4.744, 6.296, 10.513, 16.962, 118.1 (exact 118.079)
    assert_eq!([1, 2, 5, 10].map(mean_hi_milli), [4_744, 6_296, 10_514, 16_963]);
    assert_eq!(mean_hi_milli(100).div_ceil(100), 1_181);
    assert_eq!(unseen_hi_ppm(1_000, 1), 4_744);
    assert_eq!((unseen_hi_ppm(0, 0), unseen_hi_ppm(5, 5)), (1_000_000, 1_000_000));
    // many are no matter
    assert!((1_001_000..1_003_000).contains(&(mean_hi_milli(1_000_000) / 1_000)));
}

/// The binomial probability of at most so many of n, straight from its definition.
fn at_most(above: u32, keys: u32, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(i32::try_from(keys).unwrap());
    let mut sum = term;
    for k in 0..above {
        term *= f64::from(keys - k) / f64::from(k + 1) * share / (1.0 - share);
        sum += term;
    }
    sum
}

proptest! {
    #[test]
    fn it_covers_what_the_binomial_says(keys in 30_u32..3_000, above in 0_u32..10) {
        let hi = unseen_hi_ppm(keys.into(), above.into());
        // with a share that large so few are seen in 5 % of cases at most
        let share = f64::from(u32::try_from(hi).unwrap()) / 1e6;
        prop_assert!(share >= 1.0 || at_most(above, keys, share) <= 0.050_1);
        let closer = share * 0.7;
        prop_assert!(at_most(above, keys, closer) > 0.05);
    }
}

#[test]
fn the_interval_is_that_of_the_days() {
    let same = vec![vec![1, 2, 3], vec![3, 1], vec![3]];
    assert_eq!(interval(&same, (1, 1)), Some((3, 3)));
    assert_eq!(interval(&same[..1], (1, 1)), None);
    // one day in three is busier: not drawn in (2/3)^3 of cases, well over the 2.5 that are cut
    let differ = vec![vec![1, 2, 3], vec![9, 1], vec![4]];
    assert_eq!(interval(&differ, (1, 1)), Some((3, 9)));
    // of ten days it is missed in a third of cases, of two the interval is both
    assert_eq!(interval(&[vec![5], vec![7]], (1, 1)), Some((5, 7)));
    assert_eq!(interval(&[vec![1, 1, 1, 8], vec![1, 1, 2, 8]], (1, 2)), Some((1, 1)));
    assert_eq!(interval(&differ, (1, 1)), interval(&differ, (1, 1)));
}
