//! A policy's limits as the file a person would write: TOML that reads back as the same limits.

use std::fmt::Write;

use crate::limiter::Limiter;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::token_bucket::Refill;
use crate::limiter::{Boundary, aws_waf::AwsWaf};
use crate::policy::{Counters, KeyPart, Limit, MissingKey, OnStoreError};
use crate::site::Site;
use crate::site::matching::{Match, TextCondition, TextField, TextPattern};
use crate::units::escape;
use crate::units::span;
use crate::units::zone::{CalendarUnit, Zone};

/// Columns of a comment.
const WIDTH: usize = 110;
/// The bits by which a policy groups IPv6 where it says nothing.
const IPV6_PREFIX: u8 = 64;
/// AWS WAF's lags where a policy says nothing, microseconds.
const WAF_LAG_US: i64 = span::MINUTE_US;

/// A text as a basic string of TOML.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            _ if character.is_control() || escape::is_invisible(character) => {
                let _ = write!(out, "\\U{:08X}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// A comment, broken at blanks; what is in it can't end it.
pub fn comment(text: &str) -> String {
    let text = escape::terminal(text.as_bytes());
    let mut out = String::from("#");
    let mut used = 1;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if used > 1 && used + 1 + length > WIDTH {
            out.push_str("\n#");
            used = 1;
        }
        out.push(' ');
        out.push_str(word);
        used += 1 + length;
    }
    out.push('\n');
    out
}

/// A limit as a `[[limit]]`: only what isn't so by default. What a recommendation never has (groups,
/// queues, bans, weights, zones) isn't written.
pub fn limit(limit: &Limit, site: &Site) -> String {
    let mut lines = Lines(String::from("[[limit]]\n"));
    lines.text("name", &limit.name);
    if let Some(at) = &limit.at {
        lines.text("at", at);
    }
    if !limit.matching.is_all() {
        lines.raw("match", &matching(&limit.matching, site));
    }
    key(&mut lines, limit);
    lines.text("algorithm", limit.limiter.name());
    limiter(&mut lines, &limit.limiter);
    match limit.missing_key {
        MissingKey::Skip => {}
        MissingKey::Shared => lines.text("missing_key", "shared"),
        MissingKey::Refuse => lines.text("missing_key", "refuse"),
    }
    if limit.counters == Counters::Local {
        lines.text("counters", "local");
    }
    if let Some(store) = &limit.store {
        lines.text("counters", "shared");
        lines.text("store", &store.name);
        lines.text(
            "on_store_error",
            match store.on_error {
                OnStoreError::Allow => "allow",
                OnStoreError::Refuse => "refuse",
                OnStoreError::Local => "local",
            },
        );
    }
    for allowed in &limit.allow {
        let (lint, why) = (string(&allowed.lint), string(&allowed.why));
        lines.raw("allow", &format!("[{{ lint = {lint}, why = {why} }}]"));
    }
    lines.0
}

/// Lines `key = value`.
struct Lines(String);

impl Lines {
    fn raw(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, &string(value));
    }

    fn number(&mut self, key: &str, value: u64) {
        self.raw(key, &grouped(value));
    }

    fn span(&mut self, key: &str, us: i64) {
        self.text(key, &written_span(us));
    }
}

/// A length of time as files write it.
pub fn written_span(us: i64) -> String {
    span::format(us).replace(' ', "")
}

/// A whole number, with `_` between thousands from five digits on.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

fn key(lines: &mut Lines, limit: &Limit) {
    if limit.key.parts.is_empty() {
        return lines.text("key", "global");
    }
    let mut prefix = IPV6_PREFIX;
    let names = limit.key.parts.iter().map(|part| match part {
        KeyPart::Route => string("route"),
        KeyPart::Key(spec) => match spec.address_prefix() {
            None => string(&spec.name),
            // by one number it says how one family is cut, whole as the other then is or by default
            Some((32, v6)) if v6 > 32 && v6 != IPV6_PREFIX => string(&format!("ip/{v6}")),
            Some((v4, v6)) => {
                prefix = v6;
                if v4 == 32 { string("ip") } else { string(&format!("ip/{v4}")) }
            }
        },
    });
    let names: Vec<String> = names.collect();
    match names.as_slice() {
        [one] => lines.raw("key", one),
        several => lines.raw("key", &format!("[{}]", several.join(", "))),
    }
    if prefix != IPV6_PREFIX {
        lines.number("ipv6_prefix", prefix.into());
    }
}

fn limiter(lines: &mut Lines, limiter: &Limiter) {
    match limiter {
        Limiter::Nginx(nginx) => self::nginx(lines, nginx),
        Limiter::FixedWindow(fixed) => fixed_window(lines, fixed),
        Limiter::SlidingLog(log) => {
            lines.number("limit", log.limit);
            lines.span("window", log.window_us);
            if log.boundary != Boundary::Open {
                lines.text("boundary", boundary_word(log.boundary));
            }
            lines.raw("count_refused", &log.count_refused.to_string());
        }
        Limiter::SlidingCounter(counter) => sliding_counter(lines, counter),
        Limiter::TokenBucket(bucket) => {
            match bucket.refill {
                Refill::Continuous(rate) => lines.text("rate", &rate.to_string()),
                Refill::Interval { fill, us } => {
                    lines.text("refill", "interval");
                    lines.number("fill", fill);
                    lines.span("interval", us);
                }
            }
            lines.number("burst", bucket.burst);
        }
        Limiter::Gcra(gcra) => {
            lines.text("rate", &gcra.rate.to_string());
            lines.number("burst", gcra.burst_total);
            lines.text("burst_is", "total");
        }
        Limiter::Spacing(spacing) => {
            if spacing.min_time_us > 0 {
                lines.span("min_time", spacing.min_time_us);
            }
            if let Some(most) = spacing.max_concurrent {
                lines.number("max_concurrent", most);
            }
        }
        Limiter::Concurrency(slots) => lines.number("limit", slots.limit),
        Limiter::AwsWaf(waf) => aws_waf(lines, waf),
        Limiter::Block(_) => {}
    }
}

fn fixed_window(lines: &mut Lines, fixed: &FixedWindow) {
    lines.number("limit", fixed.limit);
    match fixed.window {
        Window::Clock { us, zone } => {
            lines.span("window", us);
            lines.text("anchor", "clock");
            zone_of(lines, zone);
        }
        Window::FirstRequest { us, boundary } => {
            lines.span("window", us);
            lines.text("anchor", "first-request");
            lines.text("boundary", boundary_word(boundary));
        }
        Window::Calendar { unit, zone } => {
            let unit = if unit == CalendarUnit::Day { "day" } else { "month" };
            lines.text("window", unit);
            lines.text("anchor", "calendar");
            zone_of(lines, zone);
        }
    }
    if fixed.count_refused {
        lines.raw("count_refused", "true");
    }
}

fn sliding_counter(lines: &mut Lines, counter: &SlidingCounter) {
    lines.number("limit", counter.limit);
    lines.span("window", counter.window_us);
    let interpolated = counter.estimate == Estimate::Interpolated;
    lines.text("estimate", if interpolated { "interpolated" } else { "floored" });
    match counter.anchor {
        Anchor::Stepped => lines.text("anchor", "stepped"),
        Anchor::Clock(zone) => {
            lines.text("anchor", "clock");
            zone_of(lines, zone);
        }
    }
    lines.raw("count_refused", &counter.count_refused.to_string());
}

/// A rate as nginx's own configuration has it.
pub fn nginx_rate(rate_milli: u64) -> String {
    if rate_milli.is_multiple_of(1_000) {
        return format!("{}r/s", rate_milli / 1_000);
    }
    format!("{}r/m", rate_milli.saturating_mul(60).div_ceil(1_000))
}

fn nginx(lines: &mut Lines, nginx: &Nginx) {
    lines.text("rate", &nginx_rate(nginx.rate_milli));
    lines.number("burst", nginx.burst);
    match nginx.delay {
        Delay::All => lines.text("delay", "all"),
        Delay::None => lines.text("delay", "none"),
        Delay::After(requests) => lines.number("delay", requests),
    }
    if nginx.reclaim == Reclaim::None {
        lines.text("reclaim", "none");
    }
}

fn aws_waf(lines: &mut Lines, waf: &AwsWaf) {
    lines.number("limit", waf.limit);
    lines.span("window", waf.window_us);
    for (key, us) in [("lag_detect", waf.detect_us), ("lag_release", waf.release_us)] {
        match us {
            WAF_LAG_US => {}
            0 => lines.text(key, "0s"),
            us => lines.span(key, us),
        }
    }
}

fn zone_of(lines: &mut Lines, zone: Zone) {
    if zone != Zone::UTC {
        lines.text("timezone", zone.name());
    }
}

fn boundary_word(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Open => "open",
        Boundary::Closed => "closed",
        Boundary::UntilFull => "until-full",
    }
}

/// A match as an inline table, with the site's names of routes and labels.
pub fn matching(matching: &Match, site: &Site) -> String {
    let mut parts: Vec<String> = Vec::new();
    let list = |texts: Vec<String>| format!("[{}]", texts.join(", "));
    let routes = matching.route.iter().filter_map(|at| site.routes.get(*at));
    let routes: Vec<String> = routes.map(|route| string(&route.name)).collect();
    if !routes.is_empty() {
        parts.push(format!("route = {}", list(routes)));
    }
    for (of, name) in [
        (TextField::Method, "method"),
        (TextField::Host, "host"),
        (TextField::Path, "path"),
        (TextField::UserAgent, "user_agent"),
    ] {
        for condition in matching.texts.iter().filter(|condition| condition.of == of) {
            parts.push(format!("{name} = {}", list(patterns(condition))));
        }
    }
    for (name, labels) in [("label", &matching.label), ("not_label", &matching.not_label)] {
        let labels = labels.iter().filter_map(|at| site.labels.get(*at));
        let labels: Vec<String> = labels.map(|label| string(&label.name)).collect();
        if !labels.is_empty() {
            parts.push(format!("{name} = {}", list(labels)));
        }
    }
    if let Some(logged_in) = matching.logged_in {
        parts.push(format!("logged_in = {logged_in}"));
    }
    for (name, by_key) in
        [("key_prefix", &matching.key_prefix), ("key_country", &matching.key_country)]
    {
        let entries = by_key.iter().map(|(key, texts)| {
            let texts = texts.iter().map(|text| string(text)).collect();
            format!("{} = {}", word(key), list(texts))
        });
        let entries: Vec<String> = entries.collect();
        if !entries.is_empty() {
            parts.push(format!("{name} = {{ {} }}", entries.join(", ")));
        }
    }
    let fields = matching.texts.iter().filter_map(|condition| match &condition.of {
        TextField::Field(name) => Some(format!("{} = {}", word(name), list(patterns(condition)))),
        _ => None,
    });
    let fields: Vec<String> = fields.collect();
    if !fields.is_empty() {
        parts.push(format!("field = {{ {} }}", fields.join(", ")));
    }
    if let Some(not) = &matching.not {
        parts.push(format!("not = {}", self::matching(not, site)));
    }
    format!("{{ {} }}", parts.join(", "))
}

fn patterns(condition: &TextCondition) -> Vec<String> {
    let written = condition.any.iter().map(|pattern| match pattern {
        TextPattern::Regex { written, .. } => string(&format!("regex:{written}")),
        pattern => string(pattern.written()),
    });
    written.collect()
}

/// A key of a table: bare where TOML allows it.
fn word(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { string(key) }
}

#[cfg(test)]
#[path = "policy_text_tests.rs"]
mod tests;
