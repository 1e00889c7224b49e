//! One client's story under a policy: one document, `shadowcap/explanation/1`, and its text, to be read
//! or forwarded as it is.

use serde::Serialize;
use shadowcap_engine::ingest::summary::Summary;
use shadowcap_engine::limiter::{Level, Ready, Verdict};
use shadowcap_engine::measure::cohorts::{Cohort, Cohorts};
use shadowcap_engine::replay::observer::{Asked, Cause};
use shadowcap_engine::replay::prepare::Prepared;
use shadowcap_engine::replay::timeline::Entry;
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::time::format_rfc3339;
use shadowcap_engine::units::zone::Zone;

use super::limit_words;
use super::number::Thousandths;
use super::pseudonym::Names;

/// What an explanation is made of.
pub(crate) struct Story<'a> {
    /// The client as it was asked for, shown as other keys are.
    pub(crate) client: String,
    /// The policy.
    pub(crate) prepared: &'a Prepared<'a>,
    /// The requests.
    pub(crate) traffic: &'a Traffic,
    /// Where they came from.
    pub(crate) summary: &'a Summary,
    /// Whose they are.
    pub(crate) cohorts: &'a Cohorts<'a>,
    /// Whose clock is shown.
    pub(crate) zone: Zone,
    /// How keys are shown.
    pub(crate) names: &'a Names,
    /// What became of each request.
    pub(crate) timeline: &'a [(usize, Entry)],
}

/// The whole explanation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// `shadowcap/explanation/1`.
    pub(crate) schema: &'static str,
    /// The client.
    pub(crate) client: String,
    /// The policy.
    pub(crate) policy: String,
    /// The policy's file.
    pub(crate) file: String,
    /// The zone of the times of day in the text.
    pub(crate) timezone: String,
    /// Its requests.
    pub(crate) requests: u64,
    /// Of these, refused.
    pub(crate) refused: u64,
    /// Of these, held up.
    pub(crate) delayed: u64,
    /// `customer`, `attacker`, `unknown`: those that its requests belong to, in this order.
    pub(crate) cohorts: Vec<&'static str>,
    /// The limits that refused or held up requests, in the policy's order.
    pub(crate) limits: Vec<Blame>,
    /// Every request, by arrival.
    pub(crate) timeline: Vec<Request>,
}

/// A limit that refused or held up requests.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Blame {
    /// Its name.
    pub(crate) limit: String,
    /// Its line in the policy's file.
    pub(crate) line: usize,
    /// What it allows, in words.
    pub(crate) allows: String,
    /// What it tells clients apart by.
    pub(crate) key: String,
    /// Whether it is in shadow mode and would only have refused.
    pub(crate) shadow: bool,
    /// Requests it refused.
    pub(crate) refused: u64,
    /// Requests it held up.
    pub(crate) delayed: u64,
    /// The first refusal.
    pub(crate) first_refusal: Option<String>,
    /// The last refusal.
    pub(crate) last_refusal: Option<String>,
    /// When a request like the last refused one would have been admitted, if nothing else had come.
    pub(crate) admitted_again: Option<String>,
    /// The longest hold-up, microseconds.
    pub(crate) longest_delay_us: i64,
}

/// One request.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Request {
    /// When it arrived.
    pub(crate) time: String,
    /// Its route, or path template with its method.
    pub(crate) route: Option<String>,
    /// The log.
    pub(crate) file: String,
    /// The line in it, from 1.
    pub(crate) line: u32,
    /// Status in the log; `null` where it has none.
    pub(crate) status: Option<u16>,
    /// `pass`, `delay` or `refuse`.
    pub(crate) outcome: &'static str,
    /// How long it was held up before that, microseconds.
    pub(crate) delay_us: i64,
    /// The limit that refused it.
    pub(crate) refused_by: Option<String>,
    /// The limits asked, in order.
    pub(crate) asked: Vec<Step>,
}

/// One limit asked.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Step {
    /// The limit.
    pub(crate) limit: String,
    /// The key it was asked by.
    pub(crate) key: String,
    /// `pass`, `delay`, `refuse`, or `shadow`: would have refused.
    pub(crate) verdict: &'static str,
    /// Why, where it isn't the algorithm's own word: `banned`, `no-key`, `queue-full`, `too-heavy`,
    /// `store-away`.
    pub(crate) cause: Option<&'static str>,
    /// How long it held the request, microseconds.
    pub(crate) delay_us: i64,
    /// What was used before, requests.
    pub(crate) used_before: Thousandths,
    /// What was used after, requests.
    pub(crate) used_after: Thousandths,
    /// What may be used, requests.
    pub(crate) of: Thousandths,
    /// For a refusal: when the same request would have been admitted.
    pub(crate) admitted_again: Option<String>,
    /// Whether the response counted when it was there (`count_when`).
    pub(crate) response_counted: bool,
}

/// Builds the document.
pub(crate) fn build(story: &Story<'_>) -> Document {
    let timeline: Vec<Request> =
        story.timeline.iter().map(|(event, entry)| request(story, *event, entry)).collect();
    let count = |outcome: &str| {
        let matching = timeline.iter().filter(|request| request.outcome == outcome);
        u64::try_from(matching.count()).unwrap_or(u64::MAX)
    };
    let mut cohorts: Vec<_> =
        story.timeline.iter().map(|(event, _)| story.cohorts.of(*event)).collect();
    cohorts.sort_unstable();
    cohorts.dedup();
    let policy = story.prepared.policy;
    let limits = (0..policy.limits.len()).filter_map(|limit| blame(story, limit));
    Document {
        schema: "shadowcap/explanation/1",
        client: story.client.clone(),
        policy: text(&policy.name),
        file: text(&policy.file),
        timezone: story.zone.name().to_owned(),
        requests: u64::try_from(timeline.len()).unwrap_or(u64::MAX),
        refused: count("refuse"),
        delayed: count("delay"),
        cohorts: cohorts.into_iter().map(Cohort::name).collect(),
        limits: limits.collect(),
        timeline,
    }
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

/// What one limit did to the client; `None` if it let everything through at once.
fn blame(story: &Story<'_>, index: usize) -> Option<Blame> {
    let limit = story.prepared.policy.limits.get(index)?;
    let of_limit = || {
        let asked = story.timeline.iter().flat_map(|(_, entry)| &entry.asked);
        asked.filter(move |asked| asked.limit == index)
    };
    let refused: Vec<&Asked> =
        of_limit().filter(|asked| asked.verdict == Verdict::Refuse).collect();
    let delays = || {
        of_limit().filter_map(|asked| match asked.verdict {
            Verdict::Delay { us } => Some(us),
            _ => None,
        })
    };
    if refused.is_empty() && delays().next().is_none() {
        return None;
    }
    let last = refused.last();
    Some(Blame {
        limit: text(&limit.name),
        line: limit.place.line,
        allows: limit_words::of_limit(limit),
        key: text(&limit.key.name),
        shadow: of_limit().any(|asked| asked.shadow),
        refused: u64::try_from(refused.len()).unwrap_or(u64::MAX),
        delayed: u64::try_from(delays().count()).unwrap_or(u64::MAX),
        first_refusal: refused.first().map(|asked| format_rfc3339(asked.t_us)),
        last_refusal: last.map(|asked| format_rfc3339(asked.t_us)),
        admitted_again: last.and_then(|asked| again(asked)).map(format_rfc3339),
        longest_delay_us: delays().max().unwrap_or(0),
    })
}

fn again(asked: &Asked) -> Option<i64> {
    match asked.ready {
        Some(Ready::At(at_us)) => Some(at_us),
        _ => None,
    }
}

fn request(story: &Story<'_>, event: usize, entry: &Entry) -> Request {
    let events = &story.traffic.events;
    let origin = story.traffic.origin(event);
    let source = origin.and_then(|(source, _)| story.summary.source_name(source));
    let ended = entry.ended.as_ref();
    let refused_by = ended.and_then(|ended| ended.refused_by);
    let refused_by = refused_by.and_then(|limit| story.prepared.policy.limits.get(limit));
    let delay_us = ended.map_or(0, |ended| ended.delay_us);
    Request {
        time: format_rfc3339(events.times_us.get(event).copied().unwrap_or(0)),
        route: story.traffic.place_name(event).map(text),
        file: source.map_or_else(String::new, text),
        line: origin.map_or(0, |(_, line)| line),
        status: events.statuses.get(event).copied().filter(|status| *status > 0),
        outcome: match (refused_by, delay_us) {
            (Some(_), _) => "refuse",
            (None, 1..) => "delay",
            _ => "pass",
        },
        delay_us,
        refused_by: refused_by.map(|limit| text(&limit.name)),
        asked: entry.asked.iter().filter_map(|asked| step(story, entry, asked)).collect(),
    }
}

fn step(story: &Story<'_>, entry: &Entry, asked: &Asked) -> Option<Step> {
    let ready = story.prepared.limits.get(asked.limit)?;
    let (verdict, delay_us) = asked.outcome();
    let counted = entry.counted.iter().find(|counted| counted.limit == asked.limit);
    let after: Level = counted.map_or(asked.after, |counted| counted.after);
    Some(Step {
        limit: text(&ready.limit.name),
        key: story.names.show_key(&ready.limit.key, &ready.keys.text(asked.key)),
        verdict,
        cause: match asked.cause {
            Cause::Algorithm => None,
            Cause::Banned(_) => Some("banned"),
            Cause::NoKey => Some("no-key"),
            Cause::QueueFull => Some("queue-full"),
            Cause::TooHeavy => Some("too-heavy"),
            Cause::StoreAway => Some("store-away"),
        },
        delay_us,
        used_before: Thousandths(asked.before.used_milli),
        used_after: Thousandths(after.used_milli),
        of: Thousandths(asked.after.of_milli.max(asked.before.of_milli)),
        admitted_again: again(asked).map(format_rfc3339),
        response_counted: counted.is_some(),
    })
}
