//! What comments say of a limit: which requests it is about, and by what key.

use super::Note;
use crate::limiter::fixed_window::Window;
use crate::limiter::sliding_counter::{Anchor, Estimate};
use crate::limiter::token_bucket::Refill;
use crate::limiter::{Boundary, Limiter};
use crate::policy::{KeyPart, Limit, MissingKey, RetryAfter};
use crate::site::Site;
use crate::site::key::{Normalise, Source};
use crate::site::matching::{Match, TextField, TextPattern};
use crate::units::span;
use crate::units::zone::CalendarUnit;

/// Which requests a match means.
pub(super) fn requests(site: &Site, matching: &Match) -> String {
    if matching.is_all() {
        return "all requests".to_owned();
    }
    let mut parts = Vec::new();
    let mut list = |what: &str, names: Vec<&str>| {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(" or ")));
        }
    };
    let routes = matching.route.iter().filter_map(|index| site.routes.get(*index));
    list("route", routes.map(|route| route.name.as_str()).collect());
    for condition in &matching.texts {
        let what = match &condition.of {
            TextField::Method => "method",
            TextField::Host => "host",
            TextField::Path => "path",
            TextField::UserAgent => "user agent",
            TextField::Field(name) => name,
        };
        list(what, condition.any.iter().map(TextPattern::written).collect());
    }
    let labels = |indices: &[usize]| {
        let labels = indices.iter().filter_map(|index| site.labels.get(*index));
        labels.map(|label| label.name.as_str()).collect()
    };
    list("address list", labels(&matching.label));
    list("no address list", labels(&matching.not_label));
    match matching.logged_in {
        Some(true) => list("logged in", vec![""]),
        Some(false) => list("not logged in", vec![""]),
        None => {}
    }
    for (key, texts) in &matching.key_prefix {
        list(&format!("{key} beginning with"), texts.iter().map(String::as_str).collect());
    }
    for (key, texts) in &matching.key_country {
        list(&format!("{key} of"), texts.iter().map(String::as_str).collect());
    }
    if let Some(not) = &matching.not {
        let not = format!("({})", requests(site, not));
        list("not", vec![&not]);
    }
    parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(", ")
}

/// What a limit tells clients apart by, and what is done without it.
pub(super) fn key(limit: &Limit) -> String {
    if limit.key.parts.is_empty() {
        return "all together".to_owned();
    }
    let missing = match limit.missing_key {
        MissingKey::Skip => "not asked without",
        MissingKey::Shared => "those without share one",
        MissingKey::Refuse => "refused without",
    };
    let sure =
        |part: &KeyPart| part.sources().all(|source| matches!(source, Source::Address { .. }));
    let always = limit.key.parts.iter().all(|part| matches!(part, KeyPart::Key(_)) && sure(part));
    let missing = if always { String::new() } else { format!(", {missing}") };
    format!("by {}{}{missing}", limit.key.name, forms(limit))
}

/// How the texts of a key are made.
fn forms(limit: &Limit) -> String {
    let mut forms = Vec::new();
    for part in &limit.key.parts {
        let KeyPart::Key(spec) = part else { continue };
        if let Some(Normalise::Phone { region }) = &spec.normalise {
            let region = region.as_deref().map_or(String::new(), |r| format!(", region {r}"));
            forms.push(format!("{} as E.164{region}", spec.name));
        }
        for source in part.sources() {
            if let Source::Address { v4, v6 } = source {
                forms.push(format!("IPv4 by /{v4}, IPv6 by /{v6}, IPv4 within IPv6 as IPv4"));
            }
        }
    }
    if forms.is_empty() { String::new() } else { format!(" ({})", forms.join("; ")) }
}

/// What a limit of Redis decides by.
pub(super) fn rule(limiter: &Limiter) -> String {
    let plain = |us: i64| span::format(us);
    match limiter {
        Limiter::SlidingLog(log) => {
            let far = if log.boundary == Boundary::Closed { ", its end included" } else { "" };
            let what = if log.count_refused { "counting refused ones" } else { "admitted ones" };
            format!("sliding-log: {} in any {}{far}, {what}", log.limit, plain(log.window_us))
        }
        Limiter::FixedWindow(fixed) => {
            let window = match fixed.window {
                Window::Clock { us, zone } => {
                    format!("{} of the clock of {}", plain(us), zone.name())
                }
                Window::FirstRequest { us, boundary } => {
                    let boundary = match boundary {
                        Boundary::Open => "open",
                        Boundary::Closed => "closed",
                        Boundary::UntilFull => "until-full",
                    };
                    format!("{} from a key's first request, {boundary}", plain(us))
                }
                Window::Calendar { unit: CalendarUnit::Day, zone } => {
                    format!("day of {}", zone.name())
                }
                Window::Calendar { unit: CalendarUnit::Month, zone } => {
                    format!("month of {}", zone.name())
                }
            };
            format!("fixed-window: {} in each {window}", fixed.limit)
        }
        Limiter::SlidingCounter(counter) => {
            let estimate = match counter.estimate {
                Estimate::Interpolated => "interpolated",
                Estimate::Floored => "floored",
            };
            let anchor = match counter.anchor {
                Anchor::Clock(zone) => format!("on the clock of {}", zone.name()),
                Anchor::Stepped => "stepped".to_owned(),
            };
            let what =
                if counter.count_refused { "counting refused ones" } else { "admitted ones" };
            format!(
                "sliding-counter: {} in {}, {estimate}, {anchor}, {what}",
                counter.limit,
                plain(counter.window_us)
            )
        }
        Limiter::TokenBucket(bucket) => match bucket.refill {
            Refill::Continuous(rate) => format!("token-bucket: {rate}, {} when full", bucket.burst),
            Refill::Interval { fill, us } => {
                format!("token-bucket: {fill} each {}, {} when full", plain(us), bucket.burst)
            }
        },
        Limiter::Gcra(gcra) => format!("gcra: {}, {} at once", gcra.rate, gcra.burst_total),
        other => other.name().to_owned(),
    }
}

/// What refused clients are told.
pub(super) fn retry_after(limit: &Limit) -> String {
    match limit.retry_after {
        RetryAfter::None => "nothing".to_owned(),
        RetryAfter::Window => "Retry-After with the length of the window".to_owned(),
        RetryAfter::Exact => {
            "Retry-After with retry_after_ms, in whole seconds rounded up".to_owned()
        }
        RetryAfter::Fixed(us) => format!("Retry-After with {}", span::format(us)),
    }
}

/// How many notes there are, as a header says it.
pub(super) fn many_notes(notes: &[Note]) -> String {
    match notes.len() {
        0 => "Everything is said as the policy does.".to_owned(),
        1 => "One thing isn't said as the policy does: look for NOTE.".to_owned(),
        many => format!("{many} things aren't said as the policy does: look for NOTE."),
    }
}
