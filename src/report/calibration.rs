//! What `calibrate` found: one document, `shadowcap/calibration/1`, and its tables.

use std::fmt::Write;

use serde::Serialize;
use shadowcap_engine::calibrate::{Calibration, Disagreement, RouteAgreement};
use shadowcap_engine::ingest::summary::Summary;
use shadowcap_engine::replay::synced::Kind;
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::escape;

use super::number::{grouped, percent};
use super::terminal::{Look, wrapped};

/// Disagreements shown in the tables.
const SHOWN: usize = 5;

/// The whole result.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// `shadowcap/calibration/1`.
    pub(crate) schema: &'static str,
    /// Requests with an observed verdict that some limit was asked about.
    pub(crate) compared: u64,
    /// Of these, with the same verdict, running free.
    pub(crate) agreed: u64,
    /// Of these, with the same verdict, set right after each request by the observed one.
    pub(crate) agreed_synced: u64,
    /// Per route, in the order of the site, or of the path templates.
    pub(crate) routes: Vec<Route>,
}

/// One route.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the document's")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Route {
    /// Its name, or a path template with its method; `*` outside every route.
    pub(crate) route: String,
    /// As above.
    pub(crate) compared: u64,
    /// As above.
    pub(crate) agreed: u64,
    /// As above.
    pub(crate) agreed_synced: u64,
    /// `compared` less `agreed_synced`.
    pub(crate) synced_disagreements: u64,
    /// The farthest any disagreeing arrival would have to move to get the observed verdict,
    /// microseconds; at most 120 s, which also stands for no move that helps.
    pub(crate) synced_margin_max_us: i64,
    /// What the log says.
    pub(crate) observed: Verdicts,
    /// What the simulation says, running free.
    pub(crate) simulated: Verdicts,
    /// The first disagreements of the synchronised pass, at most 20, by arrival.
    pub(crate) first_disagreements: Vec<First>,
}

/// Counts of verdicts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Verdicts {
    /// Went on at once.
    pub(crate) pass: u64,
    /// Went on later.
    pub(crate) delay: u64,
    /// Were refused, or would have been in a dry run.
    pub(crate) refuse: u64,
}

/// One disagreement.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct First {
    /// The log.
    pub(crate) file: String,
    /// The line in it, from 1.
    pub(crate) line: u32,
    /// What the log says.
    pub(crate) observed: &'static str,
    /// What the simulation says.
    pub(crate) simulated: &'static str,
    /// By how much the arrival would have to move, microseconds.
    pub(crate) margin_us: i64,
}

/// Builds the document.
pub(crate) fn build(found: &Calibration, traffic: &Traffic, summary: &Summary) -> Document {
    Document {
        schema: "shadowcap/calibration/1",
        compared: found.compared(),
        agreed: found.agreed(),
        agreed_synced: found.agreed_synced(),
        routes: found.routes.iter().map(|of| route(of, traffic, summary)).collect(),
    }
}

fn route(of: &RouteAgreement, traffic: &Traffic, summary: &Summary) -> Route {
    let verdicts = |[pass, delay, refuse]: [u64; 3]| Verdicts { pass, delay, refuse };
    let first = |one: &Disagreement| {
        let origin = traffic.origin(one.event);
        let name = origin.and_then(|(source, _)| summary.source_name(source));
        First {
            file: escape::terminal(name.unwrap_or_default().as_bytes()),
            line: origin.map_or(0, |(_, line)| line),
            observed: word(one.observed),
            simulated: word(one.simulated),
            margin_us: one.margin_us,
        }
    };
    Route {
        route: escape::terminal(of.route.as_bytes()),
        compared: of.compared,
        agreed: of.agreed,
        agreed_synced: of.agreed_synced,
        synced_disagreements: of.compared - of.agreed_synced,
        synced_margin_max_us: of.synced_margin_max_us,
        observed: verdicts(of.observed),
        simulated: verdicts(of.simulated),
        first_disagreements: of.first_disagreements.iter().map(first).collect(),
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Pass => "pass",
        Kind::Delay => "delay",
        Kind::Refuse => "refuse",
    }
}

/// Writes the tables.
pub(crate) fn write(document: &Document, look: Look) -> String {
    let mut out = String::new();
    if document.compared == 0 {
        let text = "nothing to compare: no limit of the policy was asked about a request whose verdict is \
in the log; log $limit_req_status (nginx), or check the policy's matches";
        out.push_str(&wrapped(text, look.width, 0));
        return out;
    }
    let title = format!(
        "{} of {} verdicts agree ({})",
        grouped(document.agreed),
        grouped(document.compared),
        percent(document.agreed, document.compared)
    );
    let header = [
        "route",
        "compared",
        "agree",
        "share",
        "refused",
        "simulated",
        "set right",
        "farthest off",
    ];
    let mut table = look.table(&header);
    for route in &document.routes {
        table.add_row([
            route.route.clone(),
            grouped(route.compared),
            grouped(route.agreed),
            percent(route.agreed, route.compared),
            grouped(route.observed.refuse),
            grouped(route.simulated.refuse),
            percent(route.agreed_synced, route.compared),
            match route.synced_disagreements {
                0 => String::new(),
                _ => format!("{} ms", thousandth(route.synced_margin_max_us)),
            },
        ]);
    }
    let _ = writeln!(out, "{}\n{table}", look.heading(&title));
    let note = "refused: by the log, and by the simulation running free. set right: agreement if the state \
is put right by the observed verdict after each request; farthest off: by how much an arrival would \
have to move, at most, to explain what is left: a clock's step or two is the log's, more is the model's.";
    out.push_str(&wrapped(note, look.width, 0));
    let all = document.routes.iter().flat_map(|route| &route.first_disagreements);
    for first in all.take(SHOWN) {
        let _ = writeln!(
            out,
            "{}:{}: {} in the log, {} simulated, {} ms from the edge",
            first.file,
            first.line,
            first.observed,
            first.simulated,
            thousandth(first.margin_us)
        );
    }
    out
}

/// Microseconds as milliseconds with up to three decimals.
fn thousandth(us: i64) -> String {
    match us % 1000 {
        0 => grouped(u64::try_from(us / 1000).unwrap_or(0)),
        rest => format!("{}.{rest:03}", us / 1000),
    }
}
