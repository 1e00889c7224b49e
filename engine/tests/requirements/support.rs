//! From texts of a site, a policy and a log to requirements evaluated.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use shadowcap_engine::ingest::load::{LoadOptions, Watch, load};
use shadowcap_engine::ingest::projection::Projection;
use shadowcap_engine::ingest::source::discover::discover;
use shadowcap_engine::metric::{End, Evidence, Log, Outcome, Value, evaluate, outages_required};
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::replay::plan::EngineChoice;
use shadowcap_engine::replay::run::{Scene, replay, replay_outage};
use shadowcap_engine::replay::tally::Tally;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::time::parse_rfc3339;

struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _: u64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

pub(crate) fn read_site(text: &str) -> Site {
    site::read::read(text.as_bytes(), "site.toml", &Folder::of(Path::new("site.toml"))).unwrap()
}

pub(crate) fn read_policy(text: &str, site: &Site) -> Policy {
    policy::read::read(text.as_bytes(), "policy.toml", site).unwrap()
}

/// The instant of `--now`.
pub(crate) fn now_us() -> i64 {
    parse_rfc3339("2026-12-01T12:00:00Z").unwrap()
}

/// Lines of JSON: (time, address, user or none, method and path, status).
pub(crate) type Line<'a> = (&'a str, &'a str, &'a str, &'a str, u16);

/// A log of such lines; one without a time is unreadable.
pub(crate) struct Recorded {
    traffic: Traffic,
    unreadable: (u64, u64),
}

pub(crate) fn record(name: &str, site: &Site, lines: &[Line<'_>]) -> Recorded {
    let mut text = String::new();
    for (time, address, user, request, status) in lines {
        if time.is_empty() {
            text += "{\"ts\":\n";
            continue;
        }
        let (method, path) = request.split_once(' ').unwrap();
        let user = if user.is_empty() { String::new() } else { format!(",\"user\":\"{user}\"") };
        writeln!(
            text,
            r#"{{"ts":"{time}","client_ip":"{address}","method":"{method}","path":"{path}","status":{status}{user}}}"#
        )
        .unwrap();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requirements");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.jsonl"));
    std::fs::write(&path, text).unwrap();
    let mut keys = vec![KeySpec::ip(64)];
    keys.extend(site.keys.iter().cloned());
    let projection =
        Projection { keys, routes: site.routes.clone(), replay: true, ..Projection::default() };
    let options = LoadOptions { projection, threads: 1, ..LoadOptions::default() };
    let found = discover(&[path.to_str().unwrap().to_owned()]).unwrap();
    let (traffic, summary) = load(found, &options, &Unwatched).unwrap();
    Recorded { traffic, unreadable: summary.unreadable() }
}

/// What came of one requirement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) value: String,
    pub(crate) pass: bool,
    pub(crate) limit: Option<String>,
}

/// `5`, `3..5 sampled`, `unbounded`, `unknown: why`.
pub(crate) fn text(value: &Value) -> String {
    let end = |end: End| match end {
        End::At(number) => number.normalize().to_string(),
        End::Unbounded => "unbounded".to_owned(),
    };
    match value {
        Value::Known(of) if of.is_exact() => end(of.lo),
        Value::Known(of) => format!("{}..{} {}", end(of.lo), end(of.hi), of.kind.name()),
        Value::Unknown(why) => format!("unknown: {why}"),
    }
}

pub(crate) fn came(outcome: &Outcome<'_>, policy: &Policy) -> Came {
    let limit = outcome.fault.map(|index| policy.limits[index].name.clone());
    Came { value: text(&outcome.value), pass: outcome.pass, limit }
}

/// Every requirement of a site by both engines, with stamps of such a step; they must agree.
pub(crate) fn evaluated(site: &Site, policy: &Policy, log: &Recorded, step_us: i64) -> Vec<Came> {
    let labels = LabelIndex::new(&site.labels);
    let steps_us = [step_us];
    let run = |engine| {
        let scene = Scene {
            site,
            traffic: &log.traffic,
            conditions: &[],
            labels: &labels,
            steps_us: &steps_us,
            drop_already_refused: false,
            closed_loop: false,
            horizon_us: 3_600_000_000,
            engine,
        };
        let replayed = replay(&scene, policy, &|| false).unwrap();
        let outages = outages_required(site)
            .into_iter()
            .map(|outage| (outage, replay_outage(&scene, policy, outage, &|| false).unwrap().0));
        let outages: Vec<(usize, Tally)> = outages.collect();
        let log = Log { replayed: &replayed, outages: &outages, unreadable: log.unreadable };
        let evidence = Evidence { site, policy, log: Some(log), now_us: Some(now_us()) };
        let outcomes = evaluate(&evidence);
        assert_eq!(outcomes.len(), site.requirements.len());
        outcomes.iter().map(|outcome| came(outcome, policy)).collect::<Vec<_>>()
    };
    let came = run(EngineChoice::Auto);
    assert_eq!(came, run(EngineChoice::Reference));
    came
}
