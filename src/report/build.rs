//! Builds the report from what the engine found. Nothing is counted or rounded anew here.

use shadowcap_engine::format::skip::SkipReason;
use shadowcap_engine::ingest::summary::{SourceSummary, Summary};
use shadowcap_engine::measure::percentile::Percentiles;
use shadowcap_engine::measure::population::{self, KeyTotals};
use shadowcap_engine::measure::proxies::Proxies;
use shadowcap_engine::measure::suspects;
use shadowcap_engine::metric::Outcome;
use shadowcap_engine::policy::Policy;
use shadowcap_engine::site::route::Route;
use shadowcap_engine::traffic::{NONE, Traffic};
use shadowcap_engine::units::time::format_rfc3339;

use super::costs::{self, CostMaterial};
use super::curves::{self, CurveMaterial};
use super::mask::{mask, shorten};
use super::model::{
    self, Companions, Example, Generator, Input, Key, Measure, Report, Seconds, Skipped, Source,
    Suspect, Understated,
};
use super::number::{Bracketed, Thousandths};
use super::policies::{self, PolicyMaterial};
use super::policy_warnings::about_policies;
use super::pseudonym::Names;
use super::recommendations::{self, ToSet};
use super::requirement_model::Requirement;
use super::requirements;
use super::terminal_policies;
use super::warning::Warning;
use shadowcap_engine::units::escape;

/// A policy with what came of the site's requirements.
pub(crate) type Required<'a> = (&'a Policy, Vec<Outcome<'a>>);

/// What a report is made of.
pub(crate) struct Material<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) summary: &'a Summary,
    pub(crate) totals: &'a [KeyTotals],
    pub(crate) measures: &'a [population::Measure],
    pub(crate) windows_us: &'a [i64],
    pub(crate) routes: &'a [Route],
    pub(crate) proxies: Option<&'a Proxies>,
    pub(crate) suspects: &'a [suspects::Suspect],
    pub(crate) policies: &'a [PolicyMaterial<'a>],
    /// What things cost; only with policies.
    pub(crate) costs: Option<&'a CostMaterial<'a>>,
    /// What is recommended, if that was asked for.
    pub(crate) to_set: Option<&'a ToSet<'a>>,
    pub(crate) curves: &'a [CurveMaterial],
    /// Each policy with what came of the site's requirements.
    pub(crate) requirements: &'a [Required<'a>],
    pub(crate) max_bad_per_million: u64,
    pub(crate) names: &'a Names,
    pub(crate) arguments: &'a [String],
    pub(crate) asked: Asked<'a>,
}

/// What the user named that logs may lack.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// `--client-ip`.
    pub(crate) client_ip: Option<&'a str>,
    /// `--field`, each `NAME=COLUMN`.
    pub(crate) fields: &'a [String],
}

/// A report, and whether more lines were unreadable than allowed.
pub(crate) struct Built {
    pub(crate) document: Report,
    pub(crate) too_many_bad: bool,
}

/// Builds the report.
pub(crate) fn build(material: &Material<'_>) -> Built {
    let too_many_bad = too_many_bad(material);
    let policies: Vec<_> = material.policies.iter().map(policies::policy).collect();
    let verdicts = policies
        .iter()
        .map(|policy| policies::verdict(policy, terminal_policies::knows_cohorts(policy)));
    let document = Report {
        schema: "shadowcap/report/1",
        generator: Generator { name: "shadowcap", version: env!("CARGO_PKG_VERSION") },
        input: input(material),
        keys: material.totals.iter().map(key).collect(),
        measure: material.measures.iter().map(|measure| row(measure, material.names)).collect(),
        suspects: material.suspects.iter().map(|s| suspect(s, material.names)).collect(),
        verdicts: verdicts.collect(),
        policies,
        series: vec![],
        curves: material.curves.iter().flat_map(curves::curves).collect(),
        recommendations: material
            .to_set
            .map(|to_set| recommendations::all(to_set, material.names))
            .unwrap_or_default(),
        costs: material.costs.map_or_else(Vec::new, costs::costs),
        attacks: material.costs.map_or_else(Vec::new, costs::attacks),
        infrastructure: material.costs.map_or_else(Vec::new, costs::infrastructure),
        requirements: material.requirements.iter().flat_map(requirements_of).collect(),
        gate: None,
        arguments: material.arguments.to_vec(),
    };
    Built { document, too_many_bad }
}

/// A report of what is known without any log.
pub(crate) fn without_log(
    material: &CostMaterial<'_>,
    required: &[Required<'_>],
    arguments: &[String],
) -> Report {
    Report {
        schema: "shadowcap/report/1",
        generator: Generator { name: "shadowcap", version: env!("CARGO_PKG_VERSION") },
        input: Input {
            sources: vec![],
            lines: 0,
            requests: 0,
            first: None,
            last: None,
            resolution_us: None,
            out_of_order: 0,
            already_limited: 0,
            skipped: vec![],
            warnings: vec![],
        },
        keys: vec![],
        measure: vec![],
        suspects: vec![],
        policies: vec![],
        verdicts: vec![],
        series: vec![],
        curves: vec![],
        recommendations: vec![],
        costs: costs::costs(material),
        attacks: costs::attacks(material),
        infrastructure: costs::infrastructure(material),
        requirements: required.iter().flat_map(requirements_of).collect(),
        gate: None,
        arguments: arguments.to_vec(),
    }
}

fn requirements_of((policy, outcomes): &Required<'_>) -> Vec<Requirement> {
    requirements::requirements(policy, outcomes)
}

fn too_many_bad(material: &Material<'_>) -> bool {
    let (unreadable, meant) = material.summary.unreadable();
    let allowed = u128::from(material.max_bad_per_million) * u128::from(meant);
    u128::from(unreadable) * 1_000_000 > allowed
}

fn input(material: &Material<'_>) -> Input {
    let Material { traffic, summary, .. } = material;
    let times = &traffic.events.times_us;
    Input {
        sources: summary.sources.iter().map(source).collect(),
        lines: summary.sum(|counts| counts.lines),
        requests: summary.sum(|counts| counts.requests),
        first: times.first().copied().map(format_rfc3339),
        last: times.last().copied().map(format_rfc3339),
        resolution_us: summary.resolution_us(),
        out_of_order: summary.sources.iter().map(|source| source.out_of_order).sum(),
        already_limited: summary.sum(|counts| counts.limited),
        skipped: SkipReason::ALL
            .iter()
            .filter_map(|reason| skipped(summary, *reason, material.names))
            .collect(),
        warnings: warnings(material),
    }
}

fn source(source: &SourceSummary) -> Source {
    let detected = source.detected.as_ref();
    Source {
        file: escape::terminal(source.name.as_bytes()),
        format: detected.map(|detected| detected.format.name()),
        format_reason: detected.map(|detected| detected.reason.clone()),
        foreign: source.foreign.map(shadowcap_engine::format::foreign::Foreign::name),
        compression: source.compression.name(),
        bytes: source.bytes,
        lines: source.counts.lines,
        requests: source.counts.requests,
        resolution_us: detected.map(|detected| detected.resolution_us),
        digest: source.digest.clone(),
    }
}

fn skipped(summary: &Summary, reason: SkipReason, names: &Names) -> Option<Skipped> {
    let count = summary.sum(|counts| counts.skips.of(reason).count);
    let example = summary.sources.iter().find_map(|source| {
        let example = source.counts.skips.of(reason).example.as_ref()?;
        let text = if names.revealed() {
            shorten(&escape::terminal(&example.text))
        } else {
            escape::terminal(mask(&example.text).as_bytes())
        };
        Some(Example { file: escape::terminal(source.name.as_bytes()), line: example.line, text })
    });
    (count > 0).then_some(Skipped { reason: reason.name(), count, example })
}

fn key(totals: &KeyTotals) -> Key {
    Key {
        key: totals.key.clone(),
        distinct: totals.distinct,
        missing: totals.missing,
        users_per_key: totals.users.as_ref().map(companions),
        addresses_per_key: totals.addresses.as_ref().map(companions),
    }
}

fn companions(from: &Percentiles<u64>) -> Companions {
    Companions { p50: from.p50, p99: from.p99, max: from.max }
}

fn suspect(from: &suspects::Suspect, names: &Names) -> Suspect {
    Suspect {
        key: names.show("ip", &from.key),
        requests: from.requests,
        reasons: from.reasons.clone(),
    }
}

fn row(measure: &population::Measure, names: &Names) -> Measure {
    Measure {
        key: measure.key.clone(),
        route: measure.place.clone().unwrap_or_else(|| "*".to_owned()),
        cohort: "*",
        window_s: Seconds { us: measure.window_us },
        requests: measure.requests,
        keys: measure.keys,
        peak: percentiles(&measure.peak, |bracket| Bracketed::new(bracket, |count| count)),
        calendar: percentiles(&measure.calendar, |bracket| Bracketed::new(bracket, |count| count)),
        understated: Understated {
            p50: Bracketed::new(measure.understated_p50, Thousandths),
            max: Bracketed::new(measure.understated_max, Thousandths),
            of_max: Bracketed::new(measure.understated_of_max, Thousandths),
        },
        histogram: measure.histogram.clone(),
        busiest: Some(names.show(&measure.key, &measure.busiest)),
    }
}

fn percentiles<S: Copy, T>(
    from: &Percentiles<S>,
    convert: impl Fn(S) -> T,
) -> model::Percentiles<T> {
    model::Percentiles {
        p50: convert(from.p50),
        p90: convert(from.p90),
        p99: convert(from.p99),
        p999: convert(from.p999),
        max: convert(from.max),
    }
}

fn warnings(material: &Material<'_>) -> Vec<model::Warning> {
    let mut list = about_input(material);
    list.extend(about_requests(material));
    list.extend(about_policies(material));
    let mut entries: Vec<model::Warning> = list.iter().map(Warning::entry).collect();
    entries.sort_by(|a, b| (a.code, &a.text).cmp(&(b.code, &b.text)));
    entries
}

fn about_input<'a>(material: &Material<'a>) -> Vec<Warning<'a>> {
    let summary = material.summary;
    let mut list = Vec::new();
    if summary.sum(|counts| counts.requests) == 0 {
        list.push(nothing(summary));
    }
    let (count, of) = summary.unreadable();
    let by_reason = |reason: &&SkipReason| summary.sum(|counts| counts.skips.of(**reason).count);
    let worst = SkipReason::ALL.iter().filter(|r| r.is_unreadable()).rev().max_by_key(by_reason);
    if let (1.., Some(worst)) = (count, worst) {
        let too_many = too_many_bad(material);
        list.push(Warning::Unreadable { count, of, worst: *worst, too_many });
    }
    for source in &summary.sources {
        let file = source.name.as_str();
        if let Some(damage) = &source.damage {
            list.push(Warning::Damaged { file, at_byte: damage.at_byte, why: &damage.why });
        }
        if let Some(what) = source.foreign {
            let unpack = source.compression.unread_hint();
            list.push(Warning::Foreign { file, what, unpack });
        }
        if source.detected.as_ref().is_some_and(|detected| detected.ambiguous) {
            list.push(Warning::Ambiguous { file });
        }
        let tally = &source.counts.tally;
        if tally.going_on * 2 > tally.records {
            list.push(Warning::GoesOn { file, count: tally.going_on, of: tally.records });
        }
    }
    list.extend(summary.unusable.iter().map(|(file, why)| Warning::Unusable { file, why }));
    for field in material.asked.fields {
        let column = field.split_once('=').map_or("", |(_, column)| column);
        let read = || summary.sources.iter().filter(|source| source.detected.is_some());
        if read().next().is_some() && !read().any(|source| source.scanner.has_column(column)) {
            list.push(Warning::NoColumn { field, column });
        }
    }
    list.extend(summary.repeated.iter().map(|file| Warning::Repeated { file }));
    let formats = || summary.sources.iter().filter_map(|source| source.detected.as_ref());
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let sources = count(formats().filter(|detected| !detected.knows_arrival).count());
    if sources > 0 {
        list.push(Warning::StampedAtEnd { sources, of: count(formats().count()) });
    }
    list
}

/// Why there are no requests.
fn nothing(summary: &Summary) -> Warning<'static> {
    let left_out = summary.sum(|counts| counts.skips.of(SkipReason::OutOfRange).count);
    let periods = || summary.sources.iter().filter_map(|source| source.counts.stamps_us);
    let first = periods().map(|(first, _)| first).min();
    let last = periods().map(|(_, last)| last).max();
    match (left_out, first, last) {
        (1.., Some(first_us), Some(last_us)) => Warning::OutOfRange { left_out, first_us, last_us },
        _ => Warning::Empty { lines: summary.sum(|counts| counts.lines) },
    }
}

fn about_requests<'a>(material: &Material<'a>) -> Vec<Warning<'a>> {
    let Material { traffic, summary, .. } = material;
    let forwarded = summary.sum(|counts| counts.forwarded);
    let proxies = material.proxies.map(|proxies| Warning::Proxies {
        proxies,
        forwarded: forwarded > 0 && material.asked.client_ip.is_none(),
    });
    let mut list: Vec<Warning<'a>> = proxies.into_iter().collect();
    let of = summary.sum(|counts| counts.requests);
    let limited = summary.sum(|counts| counts.limited);
    let unavailable = summary.sum(|counts| counts.unavailable);
    if limited + unavailable > 0 {
        list.push(Warning::AlreadyLimited { limited, unavailable, of });
    }
    if let (Some(field), 0, 1..) = (material.asked.client_ip, forwarded, of) {
        list.push(Warning::NoHeader { field });
    }
    for totals in material.totals {
        match (totals.key.as_str(), totals.missing) {
            (_, 0) => {}
            ("ip", count) => list.push(Warning::NoAddress { count, of }),
            (key, count) if count == of => list.push(Warning::KeyMissing { key }),
            _ => {}
        }
    }
    let used: std::collections::BTreeSet<u32> = traffic.events.places.iter().copied().collect();
    for (place, route) in (0..NONE).zip(material.routes) {
        if of > 0 && !used.contains(&place) {
            list.push(Warning::RouteUnused { route: &route.name });
        }
    }
    let times = &traffic.events.times_us;
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        let period_us = last - first;
        // a day's log of 23 h 59 m is a day's log
        let too_long =
            material.windows_us.iter().find(|window| **window - **window / 10 > period_us);
        if let Some(window_us) = too_long {
            list.push(Warning::ShortLog { period_us, window_us: *window_us });
        }
    }
    list
}
