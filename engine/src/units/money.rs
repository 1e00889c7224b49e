//! Amounts of money as text: with the digits that their currency has (ISO 4217).

pub use rust_decimal::Decimal;
use rust_decimal::RoundingStrategy;

/// Currencies without a smaller unit.
const WHOLE: [&str; 16] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV",
    "XAF", "XOF", "XPF",
];
/// Currencies whose smaller unit is a thousandth.
const THOUSANDTHS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

/// Which way money is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// To the nearest, half away from zero.
    Nearest,
    /// Up: of what must not be exceeded.
    Up,
}

/// How many decimals amounts of a currency have.
pub fn digits(currency: &str) -> u32 {
    if WHOLE.contains(&currency) {
        0
    } else if THOUSANDTHS.contains(&currency) {
        3
    } else {
        2
    }
}

/// An amount with its currency's digits: `22500.00`.
pub fn text(amount: Decimal, currency: &str, round: Round) -> String {
    let digits = digits(currency);
    let strategy = match round {
        Round::Nearest => RoundingStrategy::MidpointAwayFromZero,
        Round::Up => RoundingStrategy::AwayFromZero,
    };
    let mut rounded = amount.round_dp_with_strategy(digits, strategy);
    rounded.rescale(digits);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_its_currencys_digits() {
        let of = |amount: &str, currency, round| text(amount.parse().unwrap(), currency, round);
        assert_eq!(of("22500", "INR", Round::Nearest), "22500.00");
        assert_eq!(of("0.125", "USD", Round::Nearest), "0.13");
        assert_eq!(of("0.121", "USD", Round::Up), "0.13");
        assert_eq!(of("12.4", "JPY", Round::Nearest), "12");
        assert_eq!(of("1.2345", "KWD", Round::Nearest), "1.235");
    }
}
