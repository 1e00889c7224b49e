//! An explanation as text: first what a support engineer would answer, then every request.

use std::fmt::Write;

use shadowcap_engine::units::span;
use shadowcap_engine::units::time::parse_rfc3339;
use shadowcap_engine::units::zone::Zone;

use super::explanation::{Blame, Document, Request, Step};
use super::number::{Thousandths, grouped, plural};
use super::terminal::{Look, wrapped};

/// Requests that are all shown; of more, only what leads to a refusal or a hold-up.
const ALL_SHOWN: usize = 200;
/// Admitted requests shown before each refusal or hold-up, where not all are.
const LEADING: usize = 5;

/// Writes it.
pub(crate) fn write(document: &Document, zone: Zone, look: Look) -> String {
    let mut out = String::new();
    let clock = Clock { zone };
    opening(&mut out, document, &clock, look);
    for blame in &document.limits {
        out.push_str(&wrapped(&because(blame, &clock), look.width, 2));
    }
    let _ = writeln!(out, "\n{}", look.heading("Each request"));
    let mut left_out = 0;
    for (index, request) in document.timeline.iter().enumerate() {
        if !shown(document, index) {
            left_out += 1;
            continue;
        }
        tell_left_out(&mut out, left_out);
        left_out = 0;
        entry(&mut out, request, &clock, look);
    }
    tell_left_out(&mut out, left_out);
    out
}

fn tell_left_out(out: &mut String, count: u64) {
    if count > 0 {
        let _ =
            writeln!(out, "\u{2026} {}", plural(count, "request admitted", "requests admitted"));
    }
}

/// Whether a request is shown: all of a short story, else what leads to something.
fn shown(document: &Document, index: usize) -> bool {
    let matters = |request: &Request| {
        request.outcome != "pass" || request.asked.iter().any(|step| step.verdict != "pass")
    };
    let to = document.timeline.len().min(index + LEADING + 1);
    document.timeline.len() <= ALL_SHOWN
        || document.timeline.get(index..to).is_some_and(|next| next.iter().any(matters))
}

/// Times of day where the site is.
struct Clock {
    zone: Zone,
}

impl Clock {
    fn show(&self, rfc3339: &str) -> String {
        parse_rfc3339(rfc3339).map_or_else(|| rfc3339.to_owned(), |us| self.zone.format(us))
    }
}

fn opening(out: &mut String, document: &Document, clock: &Clock, look: Look) {
    let title = format!("{} under \u{201c}{}\u{201d}", document.client, document.policy);
    let _ = writeln!(out, "{}", look.heading(&title));
    let mut line = plural(document.requests, "request", "requests");
    if let (Some(first), Some(last)) = (document.timeline.first(), document.timeline.last()) {
        let _ = write!(
            line,
            ", {} to {} ({})",
            clock.show(&first.time),
            clock.show(&last.time),
            document.timezone
        );
    }
    match (document.refused, document.delayed) {
        (0, 0) => line.push_str("; all admitted at once."),
        (0, delayed) => {
            let _ = write!(line, "; none refused, {} held up.", grouped(delayed));
        }
        (refused, 0) => {
            let _ = write!(line, "; {} refused.", grouped(refused));
        }
        (refused, delayed) => {
            let _ = write!(line, "; {} refused, {} held up.", grouped(refused), grouped(delayed));
        }
    }
    out.push_str(&wrapped(&line, look.width, 0));
    let what = "A replay of the log: what this policy would have decided, had it been in force.";
    out.push_str(&wrapped(what, look.width, 0));
    if document.cohorts != ["unknown"] {
        let _ = writeln!(out, "counted as {}", document.cohorts.join(" and "));
    }
}

/// What one limit did, as a person would say it.
fn because(blame: &Blame, clock: &Clock) -> String {
    let mut text = format!(
        "\u{201c}{}\u{201d} ({} per {}; line {} of the policy) ",
        blame.limit, blame.allows, blame.key, blame.line
    );
    let would = if blame.shadow { "would have refused" } else { "refused" };
    if blame.refused > 0 {
        let _ = write!(text, "{would} {}", plural(blame.refused, "request", "requests"));
        match (&blame.first_refusal, &blame.last_refusal) {
            (Some(first), Some(last)) if first != last => {
                let _ = write!(text, ", from {} to {}", clock.show(first), clock.show(last));
            }
            (Some(first), _) => {
                let _ = write!(text, " at {}", clock.show(first));
            }
            _ => {}
        }
        text.push('.');
        if let (Some(again), Some(last)) = (&blame.admitted_again, &blame.last_refusal) {
            let wait = wait(last, again);
            let _ = write!(
                text,
                " After the last of them, this limit would have admitted the same request at {}{wait}.",
                clock.show(again)
            );
        }
    }
    if blame.delayed > 0 {
        let _ = write!(
            text,
            "{}held up {}, the longest for {}.",
            if blame.refused > 0 { " Others it " } else { "" },
            plural(blame.delayed, "request", "requests"),
            duration(blame.longest_delay_us)
        );
    }
    text
}

/// How long from one instant to another: ` (57 m 9 s later)`.
fn wait(from: &str, to: &str) -> String {
    match (parse_rfc3339(from), parse_rfc3339(to)) {
        (Some(from), Some(to)) if to > from => format!(" ({} later)", duration(to - from)),
        _ => String::new(),
    }
}

/// A short length of time in milliseconds, a longer one in its two largest units.
fn duration(us: i64) -> String {
    if us < 1_000 {
        return "under 1 ms".to_owned();
    }
    if us < span::SECOND_US * 10 {
        return format!("{}.{:03} s", us / span::SECOND_US, us % span::SECOND_US / 1000);
    }
    span::format_period(us)
}

fn entry(out: &mut String, request: &Request, clock: &Clock, look: Look) {
    let route = request.route.as_deref().unwrap_or("(no route)");
    let outcome = match (&request.refused_by, request.delay_us) {
        (Some(limit), _) => format!("REFUSED by \u{201c}{limit}\u{201d}"),
        (None, us @ 1..) => format!("admitted after {}", duration(us)),
        _ => "admitted".to_owned(),
    };
    let status = request.status.map_or_else(String::new, |status| format!(", {status} in the log"));
    let line = format!(
        "{}  {route}  {outcome}{status}  ({}:{})",
        clock.show(&request.time),
        request.file,
        request.line
    );
    out.push_str(&wrapped(&line, look.width, 4));
    for step in &request.asked {
        out.push_str("    ");
        out.push_str(&wrapped(&told(request, step, clock), look.width.saturating_sub(4), 8));
    }
}

/// What one limit said.
fn told(request: &Request, step: &Step, clock: &Clock) -> String {
    let mut text = format!("\u{201c}{}\u{201d} for {}: ", step.limit, step.key);
    let of = number(step.of);
    match step.cause {
        Some("banned") => text.push_str("refused, since the key is banned"),
        Some("no-key") => text.push_str("refused, since the request has no such key"),
        Some("queue-full") => text.push_str("refused, since the queue is full"),
        Some("too-heavy") => text.push_str("refused, since it weighs more than the limit allows"),
        _ => {
            let verdict = match step.verdict {
                "pass" => "passes".to_owned(),
                "delay" => format!("passes after {}", duration(step.delay_us)),
                "shadow" => "would refuse (shadow mode)".to_owned(),
                _ => "refuses".to_owned(),
            };
            let _ = write!(text, "{verdict}, {} of {of} used", number(step.used_before));
            if step.used_after != step.used_before {
                let _ = write!(text, ", then {}", number(step.used_after));
            }
        }
    }
    if step.response_counted {
        text.push_str("; its response counted");
    }
    if let Some(again) = &step.admitted_again {
        let _ = write!(
            text,
            "; it would have let the same through at {}{}",
            clock.show(again),
            wait(&request.time, again)
        );
    }
    text
}

/// `5`, `3.12`.
fn number(milli: Thousandths) -> String {
    let whole = grouped(milli.0 / 1000);
    match milli.0 % 1000 {
        0 => whole,
        rest => {
            let decimals = format!("{rest:03}");
            format!("{whole}.{}", decimals.trim_end_matches('0'))
        }
    }
}
