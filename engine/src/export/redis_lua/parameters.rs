//! The parameters of one limit as the script has them: whole numbers in units of time in which its clock's
//! steps and all its lengths are whole.

use std::fmt::Write as _;

use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::limiter::{Boundary, Limiter};
use crate::policy::{Counters, Limit, Mode, RetryAfter};
use crate::units::span::{self, DAY_US, HOUR_US};
use crate::units::zone::{CalendarUnit, Zone};

/// Whole numbers from here on aren't all exact in Lua.
const INEXACT: i128 = 1 << 53;
/// A zone whose offset stays from the first of these instants to the second has one: 2024 and 2060,
/// microseconds.
const STEADY_US: (i64, i64) = (1_704_067_200_000_000, 2_840_140_800_000_000);
/// HAProxy's windows begin at multiples of this, microseconds.
const HAPROXY_STEP_US: i64 = 2_000;

/// The parts of the script that limits are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    FixedWindow,
    Gcra,
    SlidingCounter,
    SlidingLog,
    TokenBucket,
}

impl Part {
    /// The name of its function.
    pub(super) fn function(self) -> &'static str {
        match self {
            Self::FixedWindow => "fixed_window",
            Self::Gcra => "gcra",
            Self::SlidingCounter => "sliding_counter",
            Self::SlidingLog => "sliding_log",
            Self::TokenBucket => "token_bucket",
        }
    }

    /// Its text.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::FixedWindow => include_str!("fixed_window.lua"),
            Self::Gcra => include_str!("gcra.lua"),
            Self::SlidingCounter => include_str!("sliding_counter.lua"),
            Self::SlidingLog => include_str!("sliding_log.lua"),
            Self::TokenBucket => include_str!("token_bucket.lua"),
        }
    }
}

/// A limit's entry in the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) part: Part,
    /// Its table without braces.
    pub(super) table: String,
    /// What it does otherwise than the policy.
    pub(super) remarks: Vec<String>,
}

/// A limit's entry.
///
/// # Errors
/// Why the script can't have it.
pub(super) fn entry(limit: &Limit) -> Result<Entry, String> {
    if limit.counters == Counters::Local {
        return Err("each instance counts for itself (counters = \"local\")".to_owned());
    }
    if limit.queue.is_some() {
        return Err("requests wait for it, and a script answers at once".to_owned());
    }
    let mut entry = match &limit.limiter {
        Limiter::SlidingLog(log) => sliding_log(limit, log),
        Limiter::FixedWindow(fixed) => fixed_window(limit, fixed)?,
        Limiter::SlidingCounter(counter) => sliding_counter(limit, counter)?,
        Limiter::TokenBucket(bucket) => token_bucket(limit, bucket)?,
        Limiter::Gcra(gcra) => gcra_entry(limit, gcra)?,
        other => return Err(format!("there is no script for {}", other.name())),
    };
    let whole = entry.unit_us;
    entry.number("tick_us", i128::from(limit.tick_us));
    entry.number("unit_us", i128::from(whole));
    entry.number("weight", i128::from(limit.weight.default));
    entry.flag("shadow", limit.mode == Mode::Shadow);
    entry.flag("count_when", limit.count_when.is_some());
    if let Some(ban) = limit.ban {
        entry.time("ban", ban.us);
        entry.flag("ban_extends", ban.extends);
        entry.flag("ban_clears", ban.clears);
    }
    if let Some(expires_us) = limit.expires_us {
        entry.number("expires_us", i128::from(expires_us));
    }
    Ok(Entry { part: entry.part, table: entry.text, remarks: entry.remarks })
}

/// An entry while it is written.
struct Writing {
    part: Part,
    unit_us: i64,
    text: String,
    remarks: Vec<String>,
}

impl Writing {
    /// For a limit whose lengths are these, microseconds.
    fn new(part: Part, limit: &Limit, lengths_us: &[i64]) -> Self {
        let ban_us = limit.ban.map(|ban| ban.us);
        let lengths = lengths_us.iter().copied().chain(ban_us);
        let unit_us = lengths.fold(limit.tick_us.max(1), common);
        Self { part, unit_us, text: format!("new = {}", part.function()), remarks: Vec::new() }
    }

    fn number(&mut self, name: &str, value: i128) {
        let _ = write!(self.text, ", {name} = {value}");
    }

    fn flag(&mut self, name: &str, set: bool) {
        if set {
            let _ = write!(self.text, ", {name} = true");
        }
    }

    fn word(&mut self, name: &str, word: &str) {
        let _ = write!(self.text, ", {name} = '{word}'");
    }

    /// A length of time in units; they divide it.
    fn time(&mut self, name: &str, us: i64) {
        self.number(name, i128::from(self.units(us)));
    }

    fn units(&self, us: i64) -> i64 {
        us.checked_div(self.unit_us).unwrap_or(us)
    }
}

/// The greatest common divisor.
fn common(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b > 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a
}

/// # Errors
/// When a number is too large to be exact.
fn exact(what: &str, number: i128) -> Result<(), String> {
    if number < INEXACT {
        return Ok(());
    }
    Err(format!("{what} would go beyond 2^53, where Lua no longer counts exactly"))
}

/// A zone's offset, microseconds.
///
/// # Errors
/// When it changes: then the script would need the zone's rules.
fn offset_us(zone: Zone) -> Result<i64, String> {
    match zone.next_change_us(STEADY_US.0, STEADY_US.1) {
        None => Ok(zone.offset_us(STEADY_US.0)),
        Some(_) => Err(format!(
            "the clocks of {} change (summer time), and Redis doesn't know when: use UTC or a zone without",
            zone.name()
        )),
    }
}

fn sliding_log(limit: &Limit, log: &SlidingLog) -> Writing {
    let mut entry = Writing::new(Part::SlidingLog, limit, &[log.window_us]);
    entry.number("limit", i128::from(log.limit));
    entry.time("window", log.window_us);
    entry.flag("closed", log.boundary == Boundary::Closed);
    entry.flag("count_refused", log.count_refused);
    entry.flag("exact", limit.retry_after == RetryAfter::Exact);
    entry
}

fn fixed_window(limit: &Limit, fixed: &FixedWindow) -> Result<Writing, String> {
    let part = Part::FixedWindow;
    let mut entry = match fixed.window {
        Window::Clock { us, zone } => clocked(part, limit, "clock", us, offset_us(zone)?),
        Window::Calendar { unit: CalendarUnit::Day, zone } => {
            clocked(part, limit, "day", DAY_US, offset_us(zone)?)
        }
        Window::Calendar { unit: CalendarUnit::Month, zone } => {
            clocked(part, limit, "month", DAY_US, offset_us(zone)?)
        }
        Window::FirstRequest { us, boundary } => {
            let mut entry = Writing::new(part, limit, &[us]);
            entry.word("anchor", "first");
            entry.time("window", us);
            entry.flag("closed", boundary == Boundary::Closed);
            entry.flag("until_full", boundary == Boundary::UntilFull);
            entry
        }
    };
    entry.number("limit", i128::from(fixed.limit));
    entry.flag("count_refused", fixed.count_refused);
    Ok(entry)
}

/// Windows that a clock cuts.
fn clocked(part: Part, limit: &Limit, anchor: &str, us: i64, offset_us: i64) -> Writing {
    let mut entry = Writing::new(part, limit, &[us, offset_us]);
    entry.word("anchor", anchor);
    entry.time("window", us);
    entry.time("offset", offset_us);
    entry
}

fn sliding_counter(limit: &Limit, counter: &SlidingCounter) -> Result<Writing, String> {
    let part = Part::SlidingCounter;
    let floored = counter.estimate == Estimate::Floored;
    let mut entry = match counter.anchor {
        Anchor::Clock(zone) => clocked(part, limit, "clock", counter.window_us, offset_us(zone)?),
        Anchor::Stepped => {
            // what HAProxy and `limits` do at the ends of windows is part of the algorithm
            let haproxy = floored && counter.count_refused;
            let step_us = if haproxy { HAPROXY_STEP_US } else { counter.window_us };
            let mut entry = Writing::new(part, limit, &[counter.window_us, step_us]);
            entry.word("anchor", "stepped");
            entry.time("window", counter.window_us);
            if haproxy {
                entry.time("step", step_us);
            }
            entry.flag("expires", floored && !counter.count_refused);
            entry
        }
    };
    let window = i128::from(entry.units(counter.window_us));
    exact("its limit times its window", (i128::from(counter.limit) + 1).saturating_mul(window))?;
    entry.number("limit", i128::from(counter.limit));
    entry.flag("floored", floored);
    entry.flag("count_refused", counter.count_refused);
    Ok(entry)
}

/// The heaviest request that the script takes.
const HEAVIEST: i128 = 1_000_000;

fn token_bucket(limit: &Limit, bucket: &TokenBucket) -> Result<Writing, String> {
    let part = Part::TokenBucket;
    let burst = i128::from(bucket.burst);
    let mut entry = match bucket.refill {
        Refill::Continuous(rate) => {
            let mut entry = Writing::new(part, limit, &[]);
            // tokens in the smallest parts of which whole ones come in each unit
            let gain = i64::try_from(rate.count).unwrap_or(i64::MAX).saturating_mul(entry.unit_us);
            let parts = common(rate.per_us, gain);
            let whole = |number: i64| i128::from(number.checked_div(parts).unwrap_or(number));
            let token = whole(rate.per_us);
            exact("its tokens", (burst + HEAVIEST).saturating_mul(token))?;
            entry.number("token", token);
            entry.number("gain", whole(gain));
            entry.number("step", 1);
            entry
        }
        Refill::Interval { fill, us } => {
            let mut entry = Writing::new(part, limit, &[us]);
            exact("its tokens", burst + HEAVIEST)?;
            entry.number("token", 1);
            entry.number("gain", i128::from(fill));
            entry.time("step", us);
            let keep_us = us.saturating_mul(KEPT_STEPS).max(HOUR_US);
            entry.number("keep_ms", i128::from(keep_us.div_euclid(1_000)));
            entry.remarks.push(format!(
                "a key that was full for {} is forgotten, and its steps then begin anew",
                span::format_period(keep_us)
            ));
            entry
        }
    };
    entry.number("burst", burst);
    Ok(entry)
}

/// How many steps a full bucket's key is kept, so that its steps stay where they are.
const KEPT_STEPS: i64 = 10;

fn gcra_entry(limit: &Limit, gcra: &Gcra) -> Result<Writing, String> {
    let mut entry = Writing::new(Part::Gcra, limit, &[1]);
    let (burst, emission_ns) = (i128::from(gcra.burst_total), gcra.emission_ns());
    exact("its nanoseconds", (burst + HEAVIEST).saturating_mul(emission_ns))?;
    entry.number("burst", burst);
    entry.number("emission_ns", emission_ns);
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_common_unit() {
        assert_eq!(common(1_000, 60_000_000), 1_000);
        assert_eq!(common(1_000, 0), 1_000);
        assert_eq!(common(1_000, -19_800_000_500), 500);
    }

    #[test]
    fn a_zone_with_summer_time_is_refused() {
        let zone = |name: &str| offset_us(Zone::parse(name).unwrap());
        assert_eq!(zone("Asia/Kolkata"), Ok(19_800_000_000));
        assert_eq!(zone("Europe/Istanbul"), Ok(3 * HOUR_US));
        assert!(zone("Europe/Berlin").unwrap_err().contains("Europe/Berlin"));
    }

    #[test]
    fn what_is_not_exact_is_refused() {
        assert!(exact("x", INEXACT - 1).is_ok() && exact("x", INEXACT).is_err());
    }
}
