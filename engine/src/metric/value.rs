//! What a metric's value can be: a number, two ends, without end, or unknown; and how it is held against the
//! limits of a requirement.

use rust_decimal::Decimal;
use thiserror::Error;

use crate::site::facts::Requirement;
use crate::units::bracket::{Bracket, BracketKind};

/// One end of a value, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// So much.
    At(Decimal),
    /// More than any number.
    Unbounded,
}

/// A metric's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Between two ends, which are one where it is known exactly.
    Known(Bracket<End>),
    /// It can't be told.
    Unknown(Unknown),
}

/// Why a value can't be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unknown {
    /// Nobody is there of whom it tells.
    #[error("the log has no such request")]
    NoRequest,
    /// The same at some times of day.
    #[error("the log has no such request at these times of day")]
    NoRequestThen,
    /// Requests, but of nobody who is known.
    #[error("no such request tells whose it is")]
    NoIdentity,
    /// The policy is another's.
    #[error("the policy has no limit of that name")]
    NoLimit,
    /// The limit stands there for nothing, or the log is of something else.
    #[error("the limit was asked about no request")]
    NotAsked,
    /// Nothing in the input was meant to be a request.
    #[error("nothing was read")]
    NothingRead,
    /// The site says of nobody what he would do.
    #[error("the site declares no [[attack]] on it")]
    NoAttack,
    /// Whoever evaluates didn't work it out.
    #[error("it wasn't worked out")]
    NotWorkedOut,
}

impl Value {
    /// A number that is known exactly.
    pub fn exact(number: impl Into<Decimal>) -> Self {
        Self::Known(Bracket::exact(End::At(number.into())))
    }

    /// More than any number.
    pub fn unbounded() -> Self {
        Self::Known(Bracket::exact(End::Unbounded))
    }

    /// Between two numbers.
    pub fn between(of: Bracket<Decimal>) -> Self {
        let Bracket { lo, hi, kind } = of;
        Self::Known(Bracket { lo: End::At(lo), hi: End::At(hi), kind })
    }

    /// At least so much, as far as was tried.
    pub fn at_least(number: Decimal) -> Self {
        let lo = End::At(number);
        Self::Known(Bracket { lo, hi: End::Unbounded, kind: BracketKind::Sampled })
    }

    /// Whether it meets a requirement: `max` is held against the upper end, `min` against the lower one. What
    /// is unknown meets none, so that nothing passes for want of evidence.
    pub fn meets(&self, requirement: &Requirement) -> bool {
        let Self::Known(Bracket { lo, hi, .. }) = self else { return false };
        requirement.max.is_none_or(|max| *hi <= End::At(max))
            && requirement.min.is_none_or(|min| *lo >= End::At(min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(min: Option<u64>, max: Option<u64>) -> Requirement {
        Requirement {
            name: "r".to_owned(),
            metric: "growth_to_first_refusal".to_owned(),
            max: max.map(Decimal::from),
            min: min.map(Decimal::from),
            between_min: None,
            horizon_us: 0,
            outage: None,
            line: 1,
        }
    }

    #[test]
    fn max_is_held_against_the_upper_end_and_min_against_the_lower() {
        let meets = |value: &Value, min, max| value.meets(&requirement(min, max));
        let number = Value::exact(5_u64);
        assert!(meets(&number, Some(5), Some(5)) && !meets(&number, None, Some(4)));
        assert!(!meets(&number, Some(6), None));
        let (lo, hi) = (Decimal::from(3), Decimal::from(7));
        let bracket = Value::between(Bracket { lo, hi, kind: BracketKind::Sampled });
        assert!(meets(&bracket, Some(3), Some(7)));
        assert!(!meets(&bracket, None, Some(6)) && !meets(&bracket, Some(4), None));
    }

    #[test]
    fn what_has_no_end_fails_every_max_and_what_is_unknown_everything() {
        let meets = |value: &Value, min, max| value.meets(&requirement(min, max));
        assert!(!meets(&Value::unbounded(), None, Some(u64::MAX)));
        assert!(meets(&Value::unbounded(), Some(u64::MAX), None));
        let room = Value::at_least(Decimal::from(2));
        assert!(meets(&room, Some(2), None));
        assert!(!meets(&room, Some(3), None) && !meets(&room, None, Some(9)));
        let unknown = Value::Unknown(Unknown::NoRequest);
        assert!(!meets(&unknown, Some(0), None) && !meets(&unknown, None, Some(u64::MAX)));
    }
}
