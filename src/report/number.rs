//! Every number of a report is rounded and formatted here.

use serde::{Serialize, Serializer};
use shadowcap_engine::units::bracket::{Bracket, BracketKind};
use shadowcap_engine::units::decimal;

/// A number, or a bracket where only two ends are known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Bracketed<T> {
    /// Known exactly.
    Exact(T),
    /// Between two ends, both possible as far as is known.
    Between {
        /// Least.
        lo: T,
        /// Greatest.
        hi: T,
        /// How well the ends are known.
        kind: Kind,
        /// For what a replay counts: the base case, requests where they are stamped.
        #[serde(skip_serializing_if = "Option::is_none")]
        base: Option<T>,
    },
}

/// How well the ends of a bracket are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The truth lies inside, whatever the input.
    Proven,
    /// Least and greatest of some arrangements.
    Sampled,
    /// Follows from an assumption.
    Assumed,
}

impl Kind {
    /// The engine's.
    pub(crate) fn of(kind: BracketKind) -> Self {
        match kind {
            BracketKind::Proven => Self::Proven,
            BracketKind::Sampled => Self::Sampled,
            BracketKind::Assumed => Self::Assumed,
        }
    }
}

impl<T: Copy> Bracketed<T> {
    /// From the engine's bracket, each end converted.
    pub(crate) fn new<S: Copy + PartialEq>(bracket: Bracket<S>, convert: impl Fn(S) -> T) -> Self {
        if bracket.is_exact() {
            return Self::Exact(convert(bracket.lo));
        }
        let kind = Kind::of(bracket.kind);
        Self::Between { lo: convert(bracket.lo), hi: convert(bracket.hi), kind, base: None }
    }

    /// The same with its base case.
    pub(crate) fn around(self, value: T) -> Self {
        match self {
            Self::Between { lo, hi, kind, .. } => Self::Between { lo, hi, kind, base: Some(value) },
            exact @ Self::Exact(_) => exact,
        }
    }

    /// Both ends.
    pub(crate) fn ends(&self) -> (T, T) {
        match self {
            Self::Exact(value) => (*value, *value),
            Self::Between { lo, hi, .. } => (*lo, *hi),
        }
    }
}

/// A decimal kept as thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(transparent))]
pub(crate) struct Thousandths(#[cfg_attr(test, schemars(with = "f64"))] pub(crate) u64);

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(double(self.0, 3))
    }
}

/// A share kept as millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(transparent))]
pub(crate) struct Millionths(#[cfg_attr(test, schemars(with = "f64"))] pub(crate) u64);

impl Serialize for Millionths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(double(self.0, 6))
    }
}

/// A rate per second. Programs get thousandths of it, people the unit they would say it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) milli: u64,
    pub(crate) micro: u64,
}

impl Serialize for Pace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Thousandths(self.milli).serialize(serializer)
    }
}

/// The double nearest to `units` of 10^-`places`, so that it prints as that decimal.
fn double(units: u64, places: usize) -> f64 {
    let digits = format!("{units:0width$}", width = places + 1);
    let (whole, rest) = digits.split_at(digits.len() - places);
    format!("{whole}.{rest}").parse().unwrap_or(f64::MAX)
}

/// A part of a whole, 6 decimals; `None` of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<Millionths> {
    decimal::ratio(part, whole, 6).map(Millionths)
}

/// `1234567` → `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A bracket of counts: `12` or `12–17`.
pub(super) fn range<T: Copy + Into<u64>>(bracket: &Bracketed<T>) -> String {
    let (lo, hi) = bracket.ends();
    match (lo.into(), hi.into()) {
        (lo, hi) if lo == hi => grouped(lo),
        (lo, hi) => format!("{}\u{2013}{}", grouped(lo), grouped(hi)),
    }
}

/// A bracket of factors with two decimals: `1.67×` or `1.00–2.00×`.
pub(super) fn factor(bracket: &Bracketed<Thousandths>) -> String {
    let two = |value: Thousandths| {
        let hundredths = decimal::ratio(value.0, 10, 0).unwrap_or(0);
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    match bracket.ends() {
        (lo, hi) if two(lo) == two(hi) => format!("{}\u{d7}", two(lo)),
        (lo, hi) => format!("{}\u{2013}{}\u{d7}", two(lo), two(hi)),
    }
}

/// A share as a percentage with one decimal; what is not 0 or all never looks as if it were.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let tenths = decimal::ratio(part.saturating_mul(100), whole, 1).unwrap_or(0);
    match tenths {
        0 if part > 0 => "under 0.1 %".to_owned(),
        1000 if part < whole => "over 99.9 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// The same of a bracket: `0.5–22.8 %`.
pub(super) fn percent_range(part: &Bracketed<u64>, whole: u64) -> String {
    let (lo, hi) = part.ends();
    match (percent(lo, whole), percent(hi, whole)) {
        (lo, hi) if lo == hi => lo,
        (lo, hi) => format!("{}\u{2013}{hi}", lo.trim_end_matches(" %")),
    }
}

/// A rate per second in the unit a person would say it in: `42.6/s`, `10.0/h`.
pub(super) fn pace(Pace { micro, .. }: Pace) -> String {
    let units = [(1, "s"), (60, "min"), (3_600, "h"), (86_400, "day")];
    let whole = units.into_iter().find(|(per, _)| micro.saturating_mul(*per) >= 999_950);
    let (per, unit) = whole.unwrap_or(if micro == 0 { (1, "s") } else { (86_400, "day") });
    let tenths = (micro.saturating_mul(per).saturating_add(50_000)) / 100_000;
    if tenths % 10 == 0 && tenths >= 10_000 {
        return format!("{}/{unit}", grouped(tenths / 10));
    }
    format!("{}.{}/{unit}", grouped(tenths / 10), tenths % 10)
}

/// One thing, several things.
pub(super) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_read_them() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            (grouped(0), grouped(999), grouped(1000)),
            ("0".into(), "999".into(), "1,000".into())
        );
        assert_eq!(range(&Bracketed::new(Bracket::proven(12_u32, 1700), |n| n)), "12\u{2013}1,700");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 100_000), "under 0.1 %");
        assert_eq!(percent(99_999, 100_000), "over 99.9 %");
        assert_eq!((percent(0, 5), percent(5, 5)), ("0.0 %".into(), "100.0 %".into()));
        let wide = Bracket::proven(1000_u64, 1996);
        assert_eq!(factor(&Bracketed::new(wide, Thousandths)), "1.00\u{2013}2.00\u{d7}");
    }

    #[test]
    fn decimals_print_without_noise() {
        for (thousandths, text) in [(1000, "1.0"), (1067, "1.067"), (1999, "1.999"), (100, "0.1")] {
            assert_eq!(serde_json::to_string(&Thousandths(thousandths)).unwrap(), text);
        }
        for (millionths, text) in [(2_778, "0.002778"), (0, "0.0"), (9_000_000_000, "9000.0")] {
            assert_eq!(serde_json::to_string(&Millionths(millionths)).unwrap(), text);
        }
    }

    #[test]
    fn a_pace_has_the_unit_that_people_would_say() {
        let paces = [
            (2_500_000_000, "2,500/s"),
            (42_560_000, "42.6/s"),
            (133_000, "8.0/min"),
            (2_778, "10.0/h"),
            (12, "1.0/day"),
            (1, "0.1/day"),
            (0, "0.0/s"),
        ];
        for (per_s, text) in paces {
            assert_eq!(pace(Pace { milli: 0, micro: per_s }), text);
        }
    }
}
