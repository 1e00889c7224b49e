//! Ratios as decimals with a fixed number of places, divided once and rounded half away from zero.

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

/// `numerator ÷ denominator` in units of 10^-`places`, rounded half away from zero; `None` when the
/// denominator is zero or the result leaves `u64`.
///
/// ```
/// use shadowcap_engine::units::decimal::ratio;
/// assert_eq!(ratio(2, 3, 3), Some(667));
/// assert_eq!(ratio(1, 0, 3), None);
/// ```
pub fn ratio(numerator: u64, denominator: u64, places: u32) -> Option<u64> {
    if let (Ok(small), Ok(divisor)) = (u32::try_from(numerator), u32::try_from(denominator))
        && places <= 6
        && divisor > 0
    {
        // in 64 bits, where division is much faster
        let doubled = u64::from(small) * 10_u64.pow(places) * 2 + u64::from(divisor);
        return Some(doubled / (u64::from(divisor) * 2));
    }
    let scale = 10_u128.checked_pow(places)?;
    let scaled = u128::from(numerator).checked_mul(scale)?;
    let doubled = scaled.checked_mul(2)?.checked_add(u128::from(denominator))?;
    let divisor = u128::from(denominator).checked_mul(2)?;
    doubled.checked_div(divisor).and_then(|rounded| u64::try_from(rounded).ok())
}

/// A number in units of 10^-`places`, rounded half away from zero; what is below 0 or leaves `u64` ends there.
pub fn scaled(number: Decimal, places: u32) -> u64 {
    let scale = Decimal::from(10_u64.saturating_pow(places));
    let whole = number
        .checked_mul(scale)
        .map(|scaled| scaled.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero));
    match whole {
        Some(whole) if whole.is_sign_negative() => 0,
        whole => whole.and_then(|whole| whole.to_u64()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::{ratio, scaled};

    #[test]
    fn a_number_is_rounded_once() {
        assert_eq!(scaled(Decimal::new(12_345, 4), 3), 1_235);
        assert_eq!((scaled(Decimal::MAX, 6), scaled(Decimal::from(-1), 6)), (u64::MAX, 0));
    }

    #[test]
    fn halves_round_away_from_zero() {
        assert_eq!(ratio(1, 2, 0), Some(1));
        assert_eq!(ratio(5, 8, 2), Some(63));
        assert_eq!(ratio(1, 3, 6), Some(333_333));
        assert_eq!(ratio(u64::MAX, 1, 6), None);
        let (half, third) = (1_u64 << 33, 3_u64 << 33);
        assert_eq!(ratio(half, third, 3), ratio(1, 3, 3));
    }
}
