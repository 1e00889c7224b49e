//! The report's part about what the site requires. Part of `shadowcap/report/1`.

use serde::Serialize;

use super::model::Seconds;
use super::number::{Kind, Millionths, Thousandths};

/// A requirement under a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Requirement {
    /// Its name.
    pub(crate) name: String,
    /// The policy.
    pub(crate) policy: String,
    /// What it is about.
    pub(crate) metric: String,
    /// What the value counts; of money, the currency.
    pub(crate) unit: String,
    /// The value; nothing if it can't be told, which meets no requirement.
    pub(crate) value: Option<RequiredValue>,
    /// Why there is no value.
    pub(crate) why: Option<String>,
    /// At least.
    pub(crate) min: Option<Limit>,
    /// At most.
    pub(crate) max: Option<Limit>,
    /// Only requests at these times of day in the site's zone: from, and to before which.
    pub(crate) between: Option<(String, String)>,
    /// For bounds: in any interval so long, seconds.
    pub(crate) horizon_s: Option<Seconds>,
    /// The what-if in which it is evaluated.
    pub(crate) outage: Option<String>,
    /// Whether it is met: `max` by the upper end of the value, `min` by the lower one.
    pub(crate) pass: bool,
    /// If not, the limit at fault, if one is.
    pub(crate) limit: Option<String>,
    /// The policy file it stands in.
    pub(crate) file: Option<String>,
    /// Line of its table there.
    pub(crate) line: Option<usize>,
}

/// What a metric comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum RequiredValue {
    /// Known exactly.
    Exact(End),
    /// Between two ends.
    Between {
        /// Least.
        lo: End,
        /// Greatest.
        hi: End,
        /// How well the ends are known.
        kind: Kind,
    },
}

/// One end of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum End {
    /// A count.
    Count(u64),
    /// A share.
    Share(Millionths),
    /// A rate a second, or a factor.
    Decimal(Thousandths),
    /// Money, with the digits of its currency.
    Money(String),
    /// `unbounded`.
    Unbounded(&'static str),
}

/// What the site file says, as it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Limit {
    /// A number.
    Number(f64),
    /// Money.
    Money(String),
}
