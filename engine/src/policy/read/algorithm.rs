//! The parameters of each algorithm.

use crate::document::{Code, Item, Table};
use crate::limiter::Boundary;
use crate::limiter::Limiter;
use crate::limiter::aws_waf::AwsWaf;
use crate::limiter::block::Block;
use crate::limiter::concurrency::Concurrency;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::spacing::Spacing;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::policy::Weight;
use crate::units::span::MINUTE_US;
use crate::units::zone::{CalendarUnit, Zone};

const BOUNDARIES: [(&str, Boundary); 2] = [("open", Boundary::Open), ("closed", Boundary::Closed)];
const WINDOW_BOUNDARIES: [(&str, Boundary); 3] =
    [("open", Boundary::Open), ("closed", Boundary::Closed), ("until-full", Boundary::UntilFull)];
const RECLAIMS: [(&str, Reclaim); 2] = [("busy", Reclaim::Busy), ("none", Reclaim::None)];
const DELAYS: [(&str, Delay); 2] = [("all", Delay::All), ("none", Delay::None)];
const ESTIMATES: [(&str, Estimate); 2] =
    [("interpolated", Estimate::Interpolated), ("floored", Estimate::Floored)];
const UNITS: [(&str, CalendarUnit); 2] =
    [("day", CalendarUnit::Day), ("month", CalendarUnit::Month)];
/// Windows that AWS WAF offers, microseconds.
const WAF_WINDOWS_US: [i64; 4] = [MINUTE_US, 2 * MINUTE_US, 5 * MINUTE_US, 10 * MINUTE_US];
/// The least limit that AWS WAF takes.
const WAF_LEAST: u64 = 10;

/// Reads the parameters of an algorithm; `None` where one is missing or wrong, which was reported.
pub(super) fn limiter(table: &Table<'_>, algorithm: &str, weight: &Weight) -> Option<Limiter> {
    Some(match algorithm {
        "nginx" => Limiter::Nginx(nginx(table)?),
        "fixed-window" => Limiter::FixedWindow(fixed_window(table, weight)?),
        "sliding-log" => Limiter::SlidingLog(sliding_log(table)?),
        "sliding-counter" => Limiter::SlidingCounter(sliding_counter(table)?),
        "token-bucket" => Limiter::TokenBucket(token_bucket(table)?),
        "gcra" => Limiter::Gcra(gcra(table)?),
        "spacing" => Limiter::Spacing(spacing(table)?),
        "concurrency" => Limiter::Concurrency(Concurrency { limit: table.whole("limit")? }),
        "aws-waf" => Limiter::AwsWaf(aws_waf(table)?),
        _ => Limiter::Block(Block),
    })
}

fn nginx(table: &Table<'_>) -> Option<Nginx> {
    let rate = table.rate("rate");
    let known = rate.filter(|rate| rate.is_per_second_or_minute());
    if let (Some(rate), None, Some(item)) = (rate, known, table.peek("rate")) {
        let problem = item.wrong(Code::OutOfRange, format!("nginx has no rate `{rate}`"));
        item.report(problem.allowed("whole requests per second or minute, as in 10r/s or 8r/m"));
    }
    let burst = table.whole("burst");
    let delay = match table.get("delay") {
        None => Some(Delay::All),
        Some(item) if item.is_whole() => item.whole(0..=1_000_000_000_000).map(Delay::After),
        Some(item) if item.is_text() => item.word(&DELAYS),
        Some(item) => {
            item.wrong_type("all, none, or a whole number of requests");
            None
        }
    };
    let reclaim = table.word("reclaim", &RECLAIMS);
    let rate_milli = Nginx::stored_rate(known?);
    Some(Nginx { rate_milli, burst: burst?, delay: delay?, reclaim: reclaim? })
}

fn fixed_window(table: &Table<'_>, weight: &Weight) -> Option<FixedWindow> {
    let limit = table.whole("limit");
    let anchors = [("clock", 0_u8), ("first-request", 1), ("calendar", 2)];
    let anchor = table.word("anchor", &anchors);
    let zone = zone(table, anchor.is_some_and(|anchor| anchor == 1), "first-request");
    let boundary = boundary(table, anchor);
    let window = table.get("window");
    let unit = |item: Item<'_>| {
        let named = item.is_text().then(|| item.text()).flatten();
        UNITS.iter().find(|(name, _)| Some(*name) == named).map(|(_, unit)| *unit)
    };
    let window = match (anchor, window, window.and_then(unit)) {
        (Some(2), Some(_), Some(unit)) => Some(Window::Calendar { unit, zone }),
        (Some(2), Some(item), None) => {
            let problem = item.wrong(Code::Contradiction, "a calendar window is a day or a month");
            item.report(
                problem.allowed("day, month").help("for a length of time use anchor = \"clock\""),
            );
            None
        }
        (Some(_), Some(item), Some(_)) => {
            let message = "days and months are windows of the calendar";
            let problem = item.wrong(Code::Contradiction, message);
            item.report(problem.help("use anchor = \"calendar\", or a length such as 24h"));
            None
        }
        (Some(anchor), Some(item), None) => item.span_us(false).and_then(|us| match anchor {
            0 => Some(Window::Clock { us, zone }),
            _ => Some(Window::FirstRequest { us, boundary: boundary? }),
        }),
        _ => None,
    };
    let weighs = weight.default != 1 || weight.by_route.iter().any(|(_, weight)| *weight != 1);
    let count_refused = match table.peek("count_refused") {
        Some(item) => item.flag(),
        None if weighs => {
            table
                .missing("count_refused", "with weights it matters whether refused requests count");
            None
        }
        None => Some(false),
    };
    Some(FixedWindow { limit: limit?, window: window?, count_refused: count_refused? })
}

/// `boundary` of a fixed window: asked with `first-request` alone, and there always.
fn boundary(table: &Table<'_>, anchor: Option<u8>) -> Option<Boundary> {
    let boundary = table.word("boundary", &WINDOW_BOUNDARIES);
    if anchor == Some(1) && !table.has("boundary") {
        let help = "closed: a request exactly a window later is still inside, as with Redis expiry";
        table.missing("boundary", help);
    }
    if anchor.is_some_and(|anchor| anchor != 1) && table.has("boundary") {
        let help = "windows of the clock and the calendar touch; leave it out";
        table.contradicts("boundary", "`boundary` is for anchor = \"first-request\"", help);
    }
    boundary
}

/// `timezone`, which windows that don't follow a clock can't have.
fn zone(table: &Table<'_>, clockless: bool, anchor: &str) -> Zone {
    let Some(item) = table.get("timezone") else { return Zone::UTC };
    if clockless {
        let message = format!("`timezone` means nothing with anchor = \"{anchor}\"");
        table.contradicts("timezone", &message, "leave it out");
    }
    item.zone().unwrap_or(Zone::UTC)
}

fn sliding_log(table: &Table<'_>) -> Option<SlidingLog> {
    let (limit, window_us) = (table.whole("limit"), window_us(table));
    let boundary = match table.peek("boundary") {
        Some(item) => item.word(&BOUNDARIES),
        None => Some(Boundary::Open),
    };
    let count_refused = table.flag("count_refused");
    Some(SlidingLog {
        limit: limit?,
        window_us: window_us?,
        boundary: boundary?,
        count_refused: count_refused?,
    })
}

/// A window that is a length of time.
fn window_us(table: &Table<'_>) -> Option<i64> {
    let item = table.get("window")?;
    if item.is_text() && matches!(item.text(), Some("day" | "month")) {
        let problem =
            item.wrong(Code::Contradiction, "days and months are windows of the calendar");
        item.report(
            problem.help("use a length such as 24h, or a fixed-window with anchor = \"calendar\""),
        );
        return None;
    }
    item.span_us(false)
}

fn sliding_counter(table: &Table<'_>) -> Option<SlidingCounter> {
    let (limit, window_us) = (table.whole("limit"), window_us(table));
    let estimate = table.word("estimate", &ESTIMATES);
    let anchor = table.word("anchor", &[("clock", false), ("stepped", true)]);
    let zone = zone(table, anchor == Some(true), "stepped");
    let count_refused = table.flag("count_refused");
    Some(SlidingCounter {
        limit: limit?,
        window_us: window_us?,
        estimate: estimate?,
        anchor: if anchor? { Anchor::Stepped } else { Anchor::Clock(zone) },
        count_refused: count_refused?,
    })
}

fn token_bucket(table: &Table<'_>) -> Option<TokenBucket> {
    let burst = table.get("burst").and_then(|item| item.whole(1..=1_000_000_000_000));
    let by_interval = table.word("refill", &[("continuous", false), ("interval", true)])?;
    let unwanted: &[&str] = if by_interval { &["rate"] } else { &["interval", "fill"] };
    for key in unwanted.iter().filter(|key| table.has(key)) {
        let refill = if by_interval { "interval" } else { "continuous" };
        let help = "continuous has `rate`, interval has `interval` and `fill`";
        table.contradicts(key, &format!("`{key}` means nothing with refill = \"{refill}\""), help);
    }
    let refill = if by_interval {
        for key in ["interval", "fill"].iter().filter(|key| !table.has(key)) {
            table.missing(key, "refill = \"interval\" adds `fill` tokens each `interval`");
        }
        let (fill, us) = (table.whole("fill"), table.span_us("interval"));
        Refill::Interval { fill: fill?, us: us? }
    } else {
        Refill::Continuous(table.rate("rate")?)
    };
    Some(TokenBucket { burst: burst?, refill })
}

fn gcra(table: &Table<'_>) -> Option<Gcra> {
    let rate = table.rate("rate");
    let extra = table.word("burst_is", &[("total", false), ("extra", true)]);
    let least = u64::from(extra == Some(false));
    let burst = table.get("burst").and_then(|item| item.whole(least..=1_000_000_000_000));
    let burst_total = burst?.saturating_add(u64::from(extra?));
    Some(Gcra { rate: rate?, burst_total })
}

fn spacing(table: &Table<'_>) -> Option<Spacing> {
    if !table.has("min_time") && !table.has("max_concurrent") {
        table.missing("min_time", "give `min_time`, `max_concurrent` or both");
        return None;
    }
    let min_time_us = table.span_us("min_time").unwrap_or_default();
    let max_concurrent = table.whole("max_concurrent");
    Some(Spacing { min_time_us, max_concurrent })
}

fn aws_waf(table: &Table<'_>) -> Option<AwsWaf> {
    let limit = table.get("limit").and_then(|item| item.whole(WAF_LEAST..=2_000_000_000));
    let window_us = window_us(table);
    let offered = window_us.filter(|us| WAF_WINDOWS_US.contains(us));
    if let (Some(_), None, Some(item)) = (window_us, offered, table.peek("window")) {
        let problem = item.wrong(Code::OutOfRange, "AWS WAF has no such window");
        item.report(problem.allowed("1m, 2m, 5m, 10m"));
    }
    let (detect_us, release_us) = (table.span_us("lag_detect"), table.span_us("lag_release"));
    Some(AwsWaf {
        limit: limit?,
        window_us: offered?,
        detect_us: detect_us?,
        release_us: release_us?,
        phase_us: 0,
    })
}
