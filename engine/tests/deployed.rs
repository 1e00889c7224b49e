//! Policies as deployed, from files to figures: a store that goes, and which instance got a request.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shadowcap_engine::format::detect::{Choice, Format};
use shadowcap_engine::format::nginx;
use shadowcap_engine::format::record::Escape;
use shadowcap_engine::ingest::cells::{COLUMNS, Cell, Row};
use shadowcap_engine::ingest::error::LoadError;
use shadowcap_engine::ingest::load::{LoadOptions, Watch, load};
use shadowcap_engine::ingest::projection::Projection;
use shadowcap_engine::ingest::rows::{RowSink, rows};
use shadowcap_engine::ingest::source::discover::{Found, discover};
use shadowcap_engine::policy::{self, OnStoreError, Policy};
use shadowcap_engine::replay::OutageTally;
use shadowcap_engine::replay::plan::EngineChoice;
use shadowcap_engine::replay::run::{Scene, replay, replay_outage};
use shadowcap_engine::replay::tally::Tally;
use shadowcap_engine::site::facts::Balance;
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::site::labels::LabelIndex;
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::traffic::Traffic;

struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _: u64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// Files of these names and texts, read for a replay that looks at instances.
fn read(folder: &str, files: &[(String, String)], site: &Site) -> Traffic {
    load(files_in(folder, files), &options(site, Choice::default()), &Unwatched).unwrap().0
}

/// Files of these names and texts.
fn files_in(folder: &str, files: &[(String, String)]) -> Found {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let paths = files.iter().map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    discover(&paths.collect::<Vec<_>>()).unwrap()
}

fn options(site: &Site, choice: Choice) -> LoadOptions {
    let mut keys = vec![KeySpec::ip(64)];
    keys.extend(site.keys.iter().cloned());
    let projection = Projection {
        keys,
        routes: site.routes.clone(),
        replay: true,
        instances: true,
        ..Projection::default()
    };
    LoadOptions { projection, choice, block_bytes: 4_096, threads: 2, ..LoadOptions::default() }
}

fn scene<'a>(site: &'a Site, traffic: &'a Traffic, labels: &'a LabelIndex) -> Scene<'a> {
    Scene {
        site,
        traffic,
        conditions: &[],
        labels,
        steps_us: &[1, 1, 1],
        drop_already_refused: false,
        closed_loop: false,
        horizon_us: shadowcap_engine::units::span::DAY_US,
        engine: EngineChoice::Auto,
    }
}

fn replayed(site: &Site, policy: &Policy, traffic: &Traffic) -> Tally {
    let labels = LabelIndex::new(&[]);
    replay(&scene(site, traffic, &labels), policy, &|| false).unwrap().base
}

fn policies(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/workers").join(name)
}

#[test]
fn workers_without_their_store_stand_still_flood_the_vendor_or_count_each_for_itself() {
    let path = policies("site.toml");
    let bytes = std::fs::read(&path).unwrap();
    let site = site::read::read(&bytes, "site.toml", &Folder::of(&path)).unwrap();
    let bytes = std::fs::read(policies("proposed.toml")).unwrap();
    let proposed = policy::read::read(&bytes, "proposed.toml", &site).unwrap();
    // thirty calls a second that take 100 ms, for the five minutes, and one when all is over
    let mut log = String::new();
    let mut line = |minute: usize, ms: usize| {
        let (second, milli) = (ms / 1_000, ms % 1_000);
        writeln!(
            log,
            r#"{{"ts":"2026-11-24T12:{minute:02}:{second:02}.{milli:03}Z","client_ip":"10.0.0.1","method":"POST","path":"/v1/convert","status":200,"duration_ms":100,"tenant":"a"}}"#
        )
        .unwrap();
    };
    for number in 0..9_000 {
        // stamped when they end
        let ms = number * 100 / 3 + 100;
        line(ms / 60_000, ms % 60_000);
    }
    line(5, 30_000);
    let traffic = read("workers", &[("workers.jsonl".to_owned(), log)], &site);
    assert_eq!(traffic.len(), 9_001);
    let labels = LabelIndex::new(&[]);
    let with = |on_error| -> (Tally, OutageTally) {
        let mut policy = proposed.clone();
        policy.limits[0].store.as_mut().unwrap().on_error = on_error;
        replay_outage(&scene(&site, &traffic, &labels), &policy, 0, &|| false).unwrap()
    };
    let starts = |tally: &Tally| tally.limits[0].most_admitted_in_a_second;

    let (tally, during) = with(OnStoreError::Refuse);
    assert_eq!((during.admitted, during.refused, tally.refused), (0, 9_000, 9_000));
    assert_eq!(starts(&tally), 1);
    let (tally, during) = with(OnStoreError::Allow);
    assert_eq!((during.admitted, tally.delayed, starts(&tally)), (9_000, 0, 30));
    // six times two a second
    let (tally, during) = with(OnStoreError::Local);
    assert_eq!((during.admitted, starts(&tally)), (9_000, 12));
    // and two a second with the store
    let today = replayed(&site, &proposed, &traffic);
    assert_eq!(starts(&today), 2);
    assert!(today.refused > 6_000, "{}", today.refused);
}

const TIER: &str = r#"
[[tier]]
name = "app"
instances = 3
balance = "observed"
"#;

const LOCAL: &str = r#"
name = "local"
[[limit]]
name = "five in ten seconds"
at = "app"
key = "ip"
algorithm = "sliding-log"
limit = 5
window = "10s"
count_refused = false
counters = "local"
"#;

#[test]
fn targets_in_a_load_balancers_log_are_as_good_as_a_file_per_instance() {
    let folder = Folder::of(Path::new("site.toml"));
    let site = site::read::read(TIER.as_bytes(), "site.toml", &folder).unwrap();
    let policy = policy::read::read(LOCAL.as_bytes(), "policy.toml", &site).unwrap();
    let line = |number: usize, target: &str| {
        let (second, milli, client) = (number / 10, number % 10 * 100, number % 4);
        format!(
            "http 2024-06-01T12:00:{second:02}.{milli:03}000Z app/lb/0 192.0.2.{client}:4000 {target} \
0.000 0.000 0.000 200 200 34 56 \"GET http://shop.example:80/ HTTP/1.1\" \"-\" - - arn \"Root\" \"-\" \"-\" 0 \
2024-06-01T12:00:{second:02}.{milli:03}000Z \"forward\" \"-\" \"-\"\n"
        )
    };
    // some get more than others
    let number_of = |number: usize| [0, 0, 1, 0, 2, 0, 1][number % 7];
    let target = |instance: usize| format!("10.0.0.{}:80", instance + 1);
    let mut one = String::new();
    let mut three = vec![String::new(); 3];
    for number in 0..400 {
        let instance = number_of(number);
        one += &line(number, &target(instance));
        three[instance] += &line(number, "-");
    }
    let files = three.into_iter().enumerate();
    let files: Vec<(String, String)> =
        files.map(|(instance, text)| (format!("app-{instance}.log"), text)).collect();
    let told = read("targets", &[("alb.log".to_owned(), one)], &site);
    let by_file = read("files", &files, &site);
    assert_eq!(told.instances, ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]);
    assert_eq!((told.count_without_instance(), told.instances_are_sources), (0, false));
    assert_eq!((by_file.instances.len(), by_file.instances_are_sources), (3, true));
    assert_eq!(told.events.instances, by_file.events.instances);
    let observed = replayed(&site, &policy, &told);
    assert_eq!(observed, replayed(&site, &policy, &by_file));
    let asked: Vec<u64> = observed.limits[0].instances.iter().map(|one| one.asked).collect();
    assert_eq!(asked, [229, 114, 57]);
    // spread in turn, as many are asked everywhere, and others are refused
    let mut in_turn = site.clone();
    in_turn.tiers[0].balance = Some(Balance::RoundRobin);
    assert!(replayed(&in_turn, &policy, &told).refused != observed.refused);
    // one file without targets tells nothing
    let (_, alone) = files.into_iter().next().unwrap();
    let alone = read("alone", &[("app.log".to_owned(), alone)], &site);
    assert!(alone.instances.is_empty());
    assert_eq!(alone.count_without_instance(), alone.len());
}

/// Keeps the cells `instance`.
struct Instances;

impl RowSink for Instances {
    type Batch = Vec<String>;

    fn push(&self, batch: &mut Self::Batch, row: &Row<'_>) {
        let at = COLUMNS.iter().position(|(name, _)| *name == "instance").unwrap();
        batch.push(match &row.cells[at] {
            Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        });
    }
}

/// The instances of a log's lines: as a replay is told, and as rows show.
fn instances_of(folder: &str, log: &str, choice: Choice) -> Vec<String> {
    let options = options(&Site::default(), choice);
    let files = [("a.log".to_owned(), log.to_owned())];
    let traffic = load(files_in(folder, &files), &options, &Unwatched).unwrap().0;
    let name = |event: usize| {
        let number = traffic.instance_of(event)?;
        traffic.instances.get(usize::try_from(number).unwrap()).cloned()
    };
    let told: Vec<String> = (0..traffic.len()).map(|at| name(at).unwrap_or_default()).collect();
    let mut shown = Vec::new();
    let write = |batch: Vec<String>| -> Result<(), LoadError> {
        shown.extend(batch);
        Ok(())
    };
    rows(&files_in(folder, &files), &options, false, &Unwatched, &Instances, write).unwrap();
    assert_eq!(told, shown);
    told
}

#[test]
fn the_instance_is_a_field_of_the_line() {
    let compiled = r#"$remote_addr [$time_iso8601] "$request" $status "$upstream_addr""#;
    let compiled = nginx::compile(compiled, Escape::Backslash).unwrap();
    let choice = Choice {
        format: Some(Format::NginxCustom),
        log_format: Some(Arc::new(compiled)),
        ..Choice::default()
    };
    let line = |second: usize, upstream: &str| {
        format!(
            "192.0.2.1 [2024-06-01T12:00:{second:02}+00:00] \"GET / HTTP/1.1\" 200 \"{upstream}\"\n"
        )
    };
    let log = line(1, "10.0.0.2:80") + &line(2, "-") + &line(3, "10.0.0.2:80, 10.0.0.1:80");
    let servers = instances_of("upstream", &log, choice);
    assert_eq!(servers, ["10.0.0.2:80", "", "10.0.0.1:80"]);

    let given =
        Choice { fields: vec![("instance".to_owned(), "pod".to_owned())], ..Choice::default() };
    let line = |second: usize, name: &str, value: &str| {
        format!(
            "{{\"time\":\"2024-06-01T12:00:{second:02}Z\",\"client_ip\":\"192.0.2.1\",\"{name}\":\"{value}\"}}\n"
        )
    };
    let log = |name| line(1, name, "web-2") + &line(2, name, "web-1");
    assert_eq!(instances_of("pods", &log("pod"), given), ["web-2", "web-1"]);
    assert_eq!(instances_of("pods", &log("pod"), Choice::default()), ["", ""]);
    assert_eq!(instances_of("named", &log("instance"), Choice::default()), ["web-2", "web-1"]);
}
