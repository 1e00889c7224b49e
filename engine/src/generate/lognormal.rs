//! Log-normal lengths of time as tables of quantiles, so that a draw is a look-up in whole microseconds. The
//! only floating point of the room; `libm`'s functions are the same on every platform.

use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

/// Quantiles of a table: those of (i + ½) ÷ 1024.
const QUANTILES: u16 = 1_024;
/// Halvings when a quantile is looked for: to the last bit.
const HALVINGS: u32 = 60;

/// A log-normal distribution of lengths of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNormal(Vec<u32>);

impl LogNormal {
    /// The distribution of a median and a standard deviation of the logarithm, in thousandths. Lengths are at
    /// least `least_us`, and end at the quantile 1 − 1⁄2048.
    pub fn new(median_us: u32, sigma_milli: u32, least_us: u32) -> Self {
        let sigma = f64::from(sigma_milli) / 1_000.0;
        let length = |z: f64| {
            let us = f64::from(median_us) * libm::exp(sigma * z);
            let whole = Decimal::from_f64(us).and_then(|us| us.round().to_u32());
            whole.unwrap_or(u32::MAX).max(least_us)
        };
        Self(normal_quantiles().map(length).collect())
    }

    /// A length, microseconds, by 32 random bits.
    pub fn us(&self, bits: u32) -> u32 {
        let index = usize::try_from(bits >> 22).unwrap_or(0);
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Quantiles of the standard normal distribution, by halving: Φ(z) = ½ erfc(−z ÷ √2).
fn normal_quantiles() -> impl Iterator<Item = f64> {
    (0..QUANTILES).map(|index| {
        let wanted = (f64::from(index) + 0.5) / f64::from(QUANTILES);
        let (mut lo, mut hi) = (-5.0_f64, 5.0_f64);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(lo, hi);
            let below = 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2);
            if below < wanted { lo = middle } else { hi = middle }
        }
        lo
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_below_the_median_and_the_spread_is_sigma() {
        let lengths = LogNormal::new(1_000_000, 500, 0);
        let at = |share_ppm: u64| lengths.us(u32::try_from((share_ppm << 32) / 1_000_000).unwrap());
        assert!(at(499_000) <= 1_000_000 && at(501_000) >= 1_000_000);
        // e^0.5 and e^-0.5 at one sigma
        assert!((1_640_000..1_660_000).contains(&at(841_345)), "{}", at(841_345));
        assert!((600_000..613_000).contains(&at(158_655)), "{}", at(158_655));
        assert_eq!(LogNormal::new(1_000, 500, 2_000).us(0), 2_000);
        assert_eq!(LogNormal::new(7, 0, 0).us(u32::MAX), 7);
    }
}
