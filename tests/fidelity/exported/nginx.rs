//! An exported policy in a real nginx: its log, read by the format that the file suggests, must hold the
//! verdicts of a replay.
//!
//! Who is asked at all, and who is refused at once, doesn't depend on time: there, every request must agree.
//! Elsewhere nginx counts milliseconds of another clock than it logs: see `../nginx/mod.rs`.

#[path = "../nginx/backend.rs"]
mod backend;
#[path = "../nginx/drive.rs"]
mod drive;
#[path = "schedule.rs"]
mod schedule;
#[path = "../nginx/server.rs"]
mod server;

pub(crate) use server::Nginx;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use shadowcap_engine::calibrate::{RouteAgreement, calibrate};
use shadowcap_engine::export::Target;
use shadowcap_engine::format::detect::{Choice, Format};
use shadowcap_engine::format::nginx;
use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::policy::{MissingKey, Policy};
use shadowcap_engine::traffic::Observed;

use crate::folder::Folder;
use crate::local::find;
use crate::replayed::{Decided, Read, exported, here, policy, read, replayed, site};

/// A verdict that a route is there to show must occur so often.
const SHOWN: u64 = 20;

/// What is asked of a route: decisions that agree, per thousand, running free and set right after each; by how
/// much a disagreement may be missed, microseconds; and how far the count of refused requests may be off, per
/// thousand. The margin is what a wrong number can't pass; the shares only say that few decisions are at an edge,
/// and a busy machine puts more of them there.
struct Expected {
    route: &'static str,
    delays: bool,
    agreed_permille: u64,
    synced_permille: u64,
    margin_us: Option<i64>,
    refused_permille: u64,
}

/// A count of refused requests may differ by so many where its share allows less.
const FEW: u64 = 3;

/// A route whose limits count by key, the slowest by so many thousandths of a request per second: as in
/// `../nginx/judge.rs`.
const fn each(route: &'static str, thousandths: i64) -> Expected {
    let margin_us = 2_000_000 / thousandths;
    Expected {
        route,
        delays: false,
        agreed_permille: 980,
        synced_permille: 990,
        margin_us: Some(if margin_us > 2_000 { margin_us } else { 2_000 }),
        refused_permille: 5,
    }
}

const EXPECTED: [Expected; 8] = [
    each("menu", 10_000),
    Expected { delays: true, ..each("cart", 5_000) },
    // one millisecond decides which client is refused, but hardly how many are
    Expected { agreed_permille: 850, synced_permille: 970, ..each("login", 60_000) },
    each("search", 3_000),
    each("net", 500),
    each("shared", 4_000),
    each("strict", 4_000),
    // of an end and an arrival in one millisecond the log doesn't tell which came first, and who gets a place
    // keeps it for long: the margin tells nothing of the clock
    Expected {
        agreed_permille: 970,
        synced_permille: 980,
        margin_us: None,
        refused_permille: 30,
        ..each("slow", 1_000)
    },
];

#[test]
fn a_live_nginx_decides_by_an_exported_policy_as_a_replay() {
    let Some(nginx) = find("nginx") else { return };
    let site = site(&here("nginx-site.toml"));
    let policy = policy(&here("nginx-policy.toml"), &site);
    let file = exported(&policy, &site, Target::Nginx).text;
    let folder = Folder::new();
    folder.write("shadowcap.conf", &file);
    let search = file.lines().find_map(|line| line.strip_prefix("#   limit_req zone=")).unwrap();
    let template = std::fs::read_to_string(here("nginx.conf")).unwrap();
    let template = template.replace("SEARCH", &format!("limit_req zone={search}"));
    let backend = backend::Backend::start();
    let live = Nginx::start(&nginx, folder.path().as_ref(), &template, backend.port());
    let sent = drive::drive(live.address(), schedule::hands());
    let log = live.finish();

    let read = read(&log, &site, &policy, choice(&file));
    assert_eq!(read.traffic.len(), sent, "a line for each request");
    let decided = replayed(&read, &site, &policy);
    asked_alike(&read, &policy, &decided);
    let scene = read.scene(&site);
    let calibration = calibrate(&scene, &policy, &|| false).unwrap();
    let mut wrong = Vec::new();
    for expected in &EXPECTED {
        let found = calibration.routes.iter().find(|found| found.route == expected.route);
        let found = found.unwrap_or_else(|| panic!("{} isn't compared", expected.route));
        wrong.extend(judge(expected, found));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// How the log reads, as the file says.
fn choice(file: &str) -> Choice {
    let format = nginx::from_conf(file, Some("shadowcap")).unwrap();
    let compiled = nginx::compile(&format.format, format.escape).unwrap();
    let log_format = Some(Arc::new(compiled));
    Choice { format: Some(Format::NginxCustom), log_format, ..Choice::default() }
}

/// Whom nginx asks, and whom it refuses at once, are those of the replay, one by one.
fn asked_alike(read: &Read, policy: &Policy, decided: &[Decided]) {
    let events = &read.traffic.events;
    let mut counts = [0_u64; 3];
    for (event, decided) in decided.iter().enumerate() {
        let at_once = decided.refused_by.is_some_and(|limit| {
            let limit = &policy.limits[limit];
            let refuses_nameless = limit.missing_key == MissingKey::Refuse;
            let ready = decided.said.iter().find(|said| !said.verdict.admits()).unwrap().ready;
            matches!(limit.limiter, Limiter::Block(_)) || (refuses_nameless && ready.is_none())
        });
        let refused = events.statuses[event] == 403;
        assert_eq!(refused, at_once, "line {}: {decided:?}", events.lines[event]);
        let kinds = decided.said.iter().map(|said| &policy.limits[said.limit].limiter);
        let asked = !at_once && kinds.clone().any(|kind| matches!(kind, Limiter::Nginx(_)));
        let said = events.observed[event] != Observed::Unknown;
        assert_eq!(said, asked, "line {}: {decided:?}", events.lines[event]);
        let asked = !at_once && kinds.clone().any(|kind| matches!(kind, Limiter::Concurrency(_)));
        let said = events.observed_conn[event] != Observed::Unknown;
        assert_eq!(said, asked, "line {}: {decided:?}", events.lines[event]);
        for (count, one) in
            counts.iter_mut().zip([refused, said, !refused && decided.said.is_empty()])
        {
            *count += u64::from(one);
        }
    }
    assert!(counts.iter().all(|count| *count >= SHOWN), "{counts:?}");
}

/// What is wrong with a route.
fn judge(expected: &Expected, found: &RouteAgreement) -> Vec<String> {
    let Expected { route, delays, agreed_permille, synced_permille, margin_us, refused_permille } =
        expected;
    let RouteAgreement { compared, agreed, agreed_synced, observed, simulated, .. } = found;
    let _ =
        writeln!(std::io::stdout(), "exported nginx {route} {compared} {agreed} {agreed_synced}");
    let mut wrong = Vec::new();
    let [passed, delayed, refused] = observed;
    if passed.min(refused) < &SHOWN || (*delays && *delayed < SHOWN) {
        wrong.push(format!("{route}: the server gave {observed:?}"));
    }
    let off = refused.abs_diff(simulated[2]);
    if off > (refused * refused_permille / 1_000).max(FEW) {
        wrong.push(format!(
            "{route}: refused {refused} by the server, {} by the replay",
            simulated[2]
        ));
    }
    if agreed * 1_000 < compared * agreed_permille {
        wrong.push(format!("{route}: {agreed} of {compared} agree: {found:?}"));
    }
    if agreed_synced * 1_000 < compared * synced_permille {
        wrong.push(format!("{route}: {agreed_synced} of {compared} agree one by one: {found:?}"));
    }
    if margin_us.is_some_and(|most| found.synced_margin_max_us > most) {
        wrong.push(format!("{route}: a disagreement is {} us off", found.synced_margin_max_us));
    }
    wrong
}

/// Starts a server with an exported file and no limits to wait for.
pub(crate) fn start(nginx: &Path, folder: &Folder, template: &str) -> Nginx {
    Nginx::start(nginx, folder.path().as_ref(), template, 9)
}
