//! The report's one document, `shadowcap/report/1`. Within version 1, fields are only added; every
//! field is always present. The published schema comes from these types and their comments.

use serde::Serialize;

use super::cost_model::{Attack, Cost, Infrastructure};
use super::curve_model::Curve;
use super::number::{Bracketed, Thousandths};
use super::policy_model::{Policy, PolicyVerdict};
use super::recommendation_model::Recommendation;
use super::requirement_model::Requirement;

/// The whole report. Times are RFC 3339 in UTC with 6 decimals, windows whole or decimal seconds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// `shadowcap/report/1`.
    pub(crate) schema: &'static str,
    /// The program that wrote this.
    pub(crate) generator: Generator,
    /// What was read.
    pub(crate) input: Input,
    /// Keys, in the order in which they were asked for, `ip` first.
    pub(crate) keys: Vec<Key>,
    /// Peaks: by key as in `keys`, then route (`*` first, then as given, or by most requests), then window.
    pub(crate) measure: Vec<Measure>,
    /// Clients that stand out, at most 20, by requests, most first, then by their key.
    pub(crate) suspects: Vec<Suspect>,
    /// Policies replayed, in the order given.
    pub(crate) policies: Vec<Policy>,
    /// What each replay says, in words, in the order of the policies.
    pub(crate) verdicts: Vec<PolicyVerdict>,
    /// Requests over time.
    pub(crate) series: Vec<Never>,
    /// What each size of a limit would refuse: by `[[protect]]` as in the site file, then by window.
    pub(crate) curves: Vec<Curve>,
    /// Limits to set, in the order of the site's `[[protect]]`s, else of keys and routes.
    pub(crate) recommendations: Vec<Recommendation>,
    /// Money spent and at risk, by action in the order of the site file.
    pub(crate) costs: Vec<Cost>,
    /// Figures for declared attacks, by attack in the order of the site file, then policy.
    pub(crate) attacks: Vec<Attack>,
    /// What running the limits costs, by policy, then item in the order of the site file.
    pub(crate) infrastructure: Vec<Infrastructure>,
    /// What the site requires and whether it is met, by policy in the order given, then as in the site file.
    pub(crate) requirements: Vec<Requirement>,
    /// The gate's verdict.
    pub(crate) gate: Option<Never>,
    /// The arguments that changed the result, flags in a fixed order.
    pub(crate) arguments: Vec<String>,
}

/// Stands where this version of the program never has an entry.
#[derive(Debug)]
pub(crate) enum Never {}

impl Serialize for Never {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Never {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Never".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "This version writes none.", "not": {} })
    }
}

/// The program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Generator {
    /// `shadowcap`.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
}

/// What was read.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Input {
    /// The files, by name.
    pub(crate) sources: Vec<Source>,
    /// Physical lines of all of them.
    pub(crate) lines: u64,
    /// Lines that are requests; `requests` and all `skipped` together are `lines`.
    pub(crate) requests: u64,
    /// First arrival.
    pub(crate) first: Option<String>,
    /// Last arrival.
    pub(crate) last: Option<String>,
    /// Coarsest step of the stamps, microseconds.
    pub(crate) resolution_us: Option<i64>,
    /// Requests that arrived before one already read from their file.
    pub(crate) out_of_order: u64,
    /// Requests answered 429: already refused by a limiter.
    pub(crate) already_limited: u64,
    /// Lines that are no requests, in the order of the list of reasons; reasons without lines left out.
    pub(crate) skipped: Vec<Skipped>,
    /// What to know before trusting the numbers, by code and text.
    pub(crate) warnings: Vec<Warning>,
}

/// One file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Source {
    /// Its name as given, or as found in a folder or by a glob; `-` is standard input.
    pub(crate) file: String,
    /// Its format, if any line was a request.
    pub(crate) format: Option<&'static str>,
    /// How the format was known, in words.
    pub(crate) format_reason: Option<String>,
    /// What it is, if it is no access log: then it was left out.
    pub(crate) foreign: Option<&'static str>,
    /// `gzip`, `zstd` or nothing.
    pub(crate) compression: Option<&'static str>,
    /// Bytes as stored.
    pub(crate) bytes: u64,
    /// Physical lines.
    pub(crate) lines: u64,
    /// Lines that are requests.
    pub(crate) requests: u64,
    /// Step of the stamps, microseconds.
    pub(crate) resolution_us: Option<i64>,
    /// XXH3, 128 bits, of the bytes as stored.
    pub(crate) digest: Option<String>,
}

/// Lines skipped for one reason.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Skipped {
    /// The reason, of a closed list.
    pub(crate) reason: &'static str,
    /// How many.
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) example: Option<Example>,
}

/// A skipped line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Example {
    /// The file.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u64,
    /// Its form, words and numbers masked; with `--reveal` its text.
    pub(crate) text: String,
}

/// Something to know.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Warning {
    /// A stable code.
    pub(crate) code: &'static str,
    /// What it is, and what to do.
    pub(crate) text: String,
}

/// A key.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the report's")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Key {
    /// Its name.
    pub(crate) key: String,
    /// Distinct values.
    pub(crate) distinct: u64,
    /// Requests without it.
    pub(crate) missing: u64,
    /// Distinct users per value, over values that any user is seen with.
    pub(crate) users_per_key: Option<Companions>,
    /// Distinct addresses per value, for keys other than `ip`.
    pub(crate) addresses_per_key: Option<Companions>,
}

/// Percentiles of how many values of another key go with a value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Companions {
    /// Median.
    pub(crate) p50: u64,
    /// 99 %.
    pub(crate) p99: u64,
    /// Largest.
    pub(crate) max: u64,
}

/// A client that stands out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Suspect {
    /// The client, as a pseudonym unless revealed.
    pub(crate) key: String,
    /// Its requests.
    pub(crate) requests: u64,
    /// Why it stands out, in words.
    pub(crate) reasons: Vec<String>,
}

/// Peaks of one key, route and window.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Measure {
    /// The key.
    pub(crate) key: String,
    /// A route, a path template with its method, or `*` for all requests.
    pub(crate) route: String,
    /// `*`: all clients.
    pub(crate) cohort: &'static str,
    /// Length of the window, seconds.
    pub(crate) window_s: Seconds,
    /// Requests counted.
    pub(crate) requests: u64,
    /// Keys that sent them.
    pub(crate) keys: u64,
    /// The most requests of a key in any sliding window, over all keys.
    pub(crate) peak: Percentiles<Bracketed<u32>>,
    /// The most requests of a key in an aligned window (UTC), over all keys.
    pub(crate) calendar: Percentiles<Bracketed<u32>>,
    /// By what factor aligned windows understate the peak, per key.
    pub(crate) understated: Understated,
    /// Pairs of a peak (its lower end) and how many keys have it, by peak.
    pub(crate) histogram: Vec<(u32, u64)>,
    /// The key with the highest peak.
    pub(crate) busiest: Option<String>,
}

/// Nearest-rank percentiles over all keys.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Percentiles<T> {
    /// Median.
    pub(crate) p50: T,
    /// 90 %.
    pub(crate) p90: T,
    /// 99 %.
    pub(crate) p99: T,
    /// 99.9 %.
    pub(crate) p999: T,
    /// Largest.
    pub(crate) max: T,
}

/// Peak ÷ fullest aligned window, 3 decimals, 1 to 2.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Understated {
    /// Median over keys.
    pub(crate) p50: Bracketed<Thousandths>,
    /// Largest over keys.
    pub(crate) max: Bracketed<Thousandths>,
    /// The greatest peak of any key ÷ the fullest aligned window of any key.
    pub(crate) of_max: Bracketed<Thousandths>,
}

/// A length of time, kept in microseconds, written in seconds: whole if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(transparent))]
pub(crate) struct Seconds {
    /// Microseconds.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub(crate) us: i64,
}

impl Serialize for Seconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.us % 1_000_000 == 0 {
            return serializer.serialize_i64(self.us / 1_000_000);
        }
        // windows are at most 366 days: 45 bits of microseconds, exact in a double
        let text = format!("{}.{:06}", self.us / 1_000_000, self.us % 1_000_000);
        serializer.serialize_f64(text.parse().unwrap_or(f64::NAN))
    }
}
