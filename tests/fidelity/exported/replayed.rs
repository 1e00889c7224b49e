//! Reads files of a site, a policy and a log, and tells what a replay decides about each line.

use std::path::{Path, PathBuf};

use shadowcap_engine::export::{Exported, Target, export};
use shadowcap_engine::format::detect::Choice;
use shadowcap_engine::ingest::load::{LoadOptions, Watch, load};
use shadowcap_engine::ingest::projection::Projection;
use shadowcap_engine::ingest::source::discover::discover;
use shadowcap_engine::limiter::{Level, Ready, Verdict};
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::replay::arrangement::Arrangement;
use shadowcap_engine::replay::observer::{Asked, Ended, Observer};
use shadowcap_engine::replay::plan::EngineChoice;
use shadowcap_engine::replay::prepare::{Memo, Prepared};
use shadowcap_engine::replay::reference;
use shadowcap_engine::replay::run::Scene;
use shadowcap_engine::replay::variant::Variant;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::site::matching::TextCondition;
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::traffic::select::AlreadyRefused;
use shadowcap_engine::units::span::DAY_US;

/// A file of this test target.
pub(crate) fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fidelity/exported").join(name)
}

/// A site file.
pub(crate) fn site(path: &Path) -> Site {
    let bytes = std::fs::read(path).unwrap();
    let read = site::read::read(&bytes, &path.to_string_lossy(), &Folder::of(path));
    read.unwrap_or_else(|problems| panic!("{}: {problems:?}", path.display()))
}

/// A policy file.
pub(crate) fn policy(path: &Path, site: &Site) -> Policy {
    policy_of(&std::fs::read_to_string(path).unwrap(), site)
}

/// A policy's text.
pub(crate) fn policy_of(text: &str, site: &Site) -> Policy {
    let read = policy::read::read(text.as_bytes(), "policy.toml", site);
    read.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A policy as configuration.
pub(crate) fn exported(policy: &Policy, site: &Site, target: Target) -> Exported {
    export(policy, site, target, None).unwrap()
}

/// Requests that were read, with what a scene needs of them.
pub(crate) struct Read {
    pub(crate) traffic: Traffic,
    conditions: Vec<TextCondition>,
    labels: LabelIndex,
}

struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _: u64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// Reads a log for a replay of a policy.
pub(crate) fn read(log: &Path, site: &Site, policy: &Policy, choice: Choice) -> Read {
    let mut conditions: Vec<TextCondition> = Vec::new();
    let matches = policy.limits.iter().map(|limit| &limit.matching);
    for condition in matches.flat_map(|matching| matching.text_conditions()) {
        if !conditions.contains(condition) {
            conditions.push(condition.clone());
        }
    }
    let mut keys = vec![KeySpec::ip(64)];
    keys.extend(site.keys.iter().cloned());
    let projection = Projection {
        keys,
        routes: site.routes.clone(),
        conditions: conditions.clone(),
        replay: true,
        ..Projection::default()
    };
    let options = LoadOptions { projection, choice, ..LoadOptions::default() };
    let found = discover(&[log.to_string_lossy().into_owned()]).unwrap();
    let (traffic, _) = load(found, &options, &Unwatched).unwrap();
    Read { traffic, conditions, labels: LabelIndex::new(&site.labels) }
}

impl Read {
    /// What is replayed.
    pub(crate) fn scene<'a>(&'a self, site: &'a Site) -> Scene<'a> {
        Scene {
            site,
            traffic: &self.traffic,
            conditions: &self.conditions,
            labels: &self.labels,
            steps_us: &[1],
            drop_already_refused: false,
            closed_loop: false,
            horizon_us: DAY_US,
            engine: EngineChoice::Auto,
        }
    }
}

/// What one limit said about one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    pub(crate) limit: usize,
    pub(crate) verdict: Verdict,
    pub(crate) after: Level,
    pub(crate) ready: Option<Ready>,
}

/// What a replay decided about one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decided {
    /// The limit that refused it.
    pub(crate) refused_by: Option<usize>,
    /// What each limit asked said.
    pub(crate) said: Vec<Said>,
}

struct All(Vec<Decided>);

impl Observer for All {
    fn wants_detail(&self) -> bool {
        true
    }

    fn asked(&mut self, asked: &Asked) {
        let Asked { limit, verdict, after, ready, .. } = *asked;
        self.0[asked.event].said.push(Said { limit, verdict, after, ready });
    }

    fn ended(&mut self, ended: &Ended) {
        self.0[ended.event].refused_by = ended.refused_by;
    }
}

/// Replays a policy; what it decided about each event.
pub(crate) fn replayed(read: &Read, site: &Site, policy: &Policy) -> Vec<Decided> {
    let scene = read.scene(site);
    let traffic = &read.traffic;
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let prepared = Prepared::new(policy, site, traffic, &selector, &mut Memo::default());
    let mut all = All(vec![Decided::default(); traffic.len()]);
    let (arrangement, variant) = (Arrangement::bunched(traffic), Variant::default());
    assert!(reference::replay(
        &prepared,
        traffic,
        &selector,
        &arrangement,
        &variant,
        &|| false,
        &mut all
    ));
    all.0
}
