//! Whole-number arithmetic that the algorithms share: division rounded to a named side, and
//! conversions that end at the type's ends instead of wrapping.

/// The largest whole number not above `a / b`; `b` below 1 is taken as 1.
///
/// What fits 64 bits, as nearly all does, is divided in 64 bits: many times faster, and done per request.
#[inline]
pub(super) fn div_floor(a: i128, b: i128) -> i128 {
    let b = b.max(1);
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(a.div_euclid(b)),
        _ => a.div_euclid(b),
    }
}

/// The smallest whole number not below `a / b`; `b` below 1 is taken as 1.
pub(super) fn div_ceil(a: i128, b: i128) -> i128 {
    div_floor(a.saturating_neg(), b).saturating_neg()
}

/// `a · b`, or the end of the type that it is beyond.
///
/// What fits 64 bits, as nearly all does, is multiplied at once.
#[inline]
pub(super) fn product(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(a) * i128::from(b),
        _ => a.saturating_mul(b),
    }
}

/// The nearest `u64`.
#[inline]
pub(super) fn nearest_u64(value: i128) -> u64 {
    u64::try_from(value.max(0)).unwrap_or(u64::MAX)
}

/// The nearest `i64`.
#[inline]
pub(super) fn nearest_i64(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Time from one instant to another, at least 0, microseconds.
#[inline]
pub(super) fn since_us(from_us: i64, to_us: i64) -> i64 {
    to_us.saturating_sub(from_us).max(0)
}

/// A length in whole ticks, rounded up.
pub(super) fn ticks_up(length_us: i64, tick_us: i64) -> i128 {
    div_ceil(i128::from(length_us), i128::from(tick_us))
}

/// From the first to the last tick of an interval `(a, a + horizon]`, microseconds, at least 0.
pub(super) fn span_us(horizon_us: i64, tick_us: i64) -> i128 {
    i128::from(horizon_us).saturating_sub(i128::from(tick_us)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_rounded_to_the_side_it_names() {
        assert_eq!((div_floor(7, 2), div_floor(-7, 2)), (3, -4));
        assert_eq!((div_ceil(7, 2), div_ceil(-7, 2), div_ceil(6, 2)), (4, -3, 3));
    }

    #[test]
    fn conversions_end_at_the_ends() {
        assert_eq!((nearest_u64(-1), nearest_u64(i128::MAX)), (0, u64::MAX));
        assert_eq!((nearest_i64(i128::MIN), nearest_i64(i128::MAX)), (i64::MIN, i64::MAX));
        assert_eq!(since_us(5, 3), 0);
    }
}
