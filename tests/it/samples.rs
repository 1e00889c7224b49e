//! The bundled samples are what their scenarios make, what the program finds in them is what is true, and bad
//! policies are found out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::support::{Folder, root, run, stderr, stdout};

/// A bundled sample: its name, and how it is made.
struct Sample {
    name: &'static str,
    case: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
}

const SAMPLES: [Sample; 6] = [
    Sample {
        name: "tiffin-dinner",
        case: "tiffin",
        file: "tiffin.log.gz",
        arguments: &[
            "--scale=0.001",
            "--from=2026-11-24T20:05:00+05:30",
            "--to=2026-11-24T20:42:00+05:30",
        ],
    },
    Sample {
        name: "tiffin-loop",
        case: "tiffin",
        file: "tiffin.log.gz",
        arguments: &[
            "--scale=0.002",
            "--from=2026-11-25T20:25:00+05:30",
            "--to=2026-11-25T21:02:00+05:30",
        ],
    },
    Sample {
        name: "tiffin-coupons",
        case: "tiffin",
        file: "tiffin.log.gz",
        arguments: &[
            "--scale=0.001",
            "--from=2026-11-26T21:50:00+05:30",
            "--to=2026-11-27T06:10:00+05:30",
        ],
    },
    Sample {
        name: "tiffin-sms",
        case: "tiffin",
        file: "tiffin.log.gz",
        arguments: &[
            "--scale=0.01",
            "--from=2026-11-28T02:00:00+05:30",
            "--to=2026-11-28T06:00:00+05:30",
        ],
    },
    Sample {
        name: "newsletter-flood",
        case: "newsletter",
        file: "newsletter.jsonl.gz",
        arguments: &["--scale=0.005"],
    },
    Sample { name: "workers-hour", case: "workers", file: "workers.jsonl.gz", arguments: &[] },
];

pub(crate) fn log(name: &str) -> String {
    format!("sample-logs/{name}.log.gz")
}

pub(crate) fn site(case: &str) -> String {
    format!("policies/{case}/site.toml")
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    MultiGzDecoder::new(file).read_to_end(&mut text).unwrap();
    text
}

/// `SHADOWCAP_BLESS=1` writes the samples anew.
#[test]
fn the_bundled_samples_are_what_their_scenarios_make() {
    let mut bytes = 0;
    for sample in SAMPLES {
        let folder = Folder::new();
        let scenario = format!("sample-logs/scenarios/{}.toml", sample.case);
        let out = folder.path();
        let mut arguments = vec!["generate", &scenario, "--out", &out];
        arguments.extend(sample.arguments);
        let output = run(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let made = [sample.file, "truth.jsonl"].map(|file| Path::new(&out).join(file));
        let truth = root().join(format!("sample-logs/scenarios/{}.truth.jsonl", sample.name));
        let bundled = [root().join(log(sample.name)), truth];
        if std::env::var_os("SHADOWCAP_BLESS").is_some() {
            for (from, to) in made.iter().zip(&bundled) {
                fs::copy(from, to).unwrap();
            }
        }
        let advice = "run with SHADOWCAP_BLESS=1";
        assert!(unpacked(&made[0]) == unpacked(&bundled[0]), "{}: {advice}", sample.name);
        assert!(fs::read(&made[1]).unwrap() == fs::read(&bundled[1]).unwrap(), "{}", sample.name);
        bytes += fs::metadata(&bundled[0]).unwrap().len();
    }
    assert!(bytes < 5_000_000, "{bytes} bytes of samples");
}

/// The report of `replay`.
pub(crate) fn replayed(log: &str, case: &str, policies: &[&str], more: &[&str]) -> Value {
    let (site, policies): (String, Vec<String>) =
        (site(case), policies.iter().map(|name| format!("policies/{case}/{name}.toml")).collect());
    let mut arguments = vec!["replay", log, "--site", &site, "--json", "-"];
    for policy in &policies {
        arguments.extend(["--policy", policy]);
    }
    arguments.extend(more);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a policy's limit of this name counted.
pub(crate) fn limit<'v>(report: &'v Value, policy: usize, name: &str) -> &'v Value {
    let limits = report["policies"][policy]["limits"].as_array().unwrap();
    limits.iter().find(|limit| limit["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

pub(crate) fn rule<'v>(report: &'v Value, policy: usize, name: &str) -> &'v Value {
    &report["policies"][policy]["total"]["rules"][name]
}

/// Names of requirements that policies miss, those that can be evaluated alone, each with the limit at fault.
pub(crate) fn missed(report: &Value) -> Vec<(String, String)> {
    let missed = report["requirements"].as_array().unwrap().iter();
    let missed = missed.filter(|of| of["pass"] == false && !of["value"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    missed.map(|of| (text(&of["name"]), text(&of["limit"]))).collect()
}

/// What is true of the identities of a sample.
fn truth(sample: &str) -> Vec<Value> {
    let path = root().join(format!("sample-logs/scenarios/{sample}.truth.jsonl"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whom the program takes for a customer is one, and all that prove it are found; requests that attack rules
/// match are the attacks'.
#[test]
fn cohorts_are_the_truth() {
    for (sample, case) in [
        ("tiffin-dinner", "tiffin"),
        ("tiffin-loop", "tiffin"),
        ("tiffin-coupons", "tiffin"),
        ("tiffin-sms", "tiffin"),
        ("newsletter-flood", "newsletter"),
        ("workers-hour", "workers"),
    ] {
        let report = replayed(&log(sample), case, &["today"], &[]);
        let total = &report["policies"][0]["total"];
        let truth = truth(sample);
        // an app's loop is an attack rule whose users are customers; its orders are the rule's, not evidence
        let own = |line: &&Value| line["rule"].is_null();
        let who = |line: &Value| {
            let user = if line["user"].is_null() { &line["ip"] } else { &line["user"] };
            user.as_str().unwrap().to_owned()
        };
        let proven: BTreeSet<String> =
            truth.iter().filter(own).filter(|line| line["proven"] == true).map(who).collect();
        let found = total["cohorts"]["customer"]["identities"].as_u64().unwrap();
        let proven = proven.len() as u64;
        if case == "workers" {
            assert_eq!(found, 3, "{sample}");
        } else {
            // a 2xx may be of a request that arrived before the span
            assert!(found.abs_diff(proven) <= 1, "{sample}: {found} found, {proven} true");
        }
        let mut rules: BTreeMap<&str, u64> = BTreeMap::new();
        for line in truth.iter().filter(|line| !line["rule"].is_null()) {
            *rules.entry(line["rule"].as_str().unwrap()).or_default() +=
                line["requests"].as_u64().unwrap();
        }
        for (name, requests) in rules {
            let found = total["rules"][name]["requests"].as_u64().unwrap();
            assert_eq!(found, requests, "{sample}: {name}");
        }
    }
}

/// The first line of a bad policy: the requirement that it fails, and the limit.
fn fails(text: &str) -> (String, Option<String>) {
    let line = text.lines().next().unwrap().strip_prefix("# fails: ").unwrap();
    match line.split_once(" [") {
        Some((name, limit)) => (name.to_owned(), Some(limit.trim_end_matches(']').to_owned())),
        None => (line.to_owned(), None),
    }
}

#[test]
fn what_is_wrong_with_each_bad_policy_stands_in_the_first_lines() {
    let mut count = 0;
    for (case, sample) in [
        ("tiffin", "tiffin-dinner"),
        ("newsletter", "newsletter-flood"),
        ("workers", "workers-hour"),
    ] {
        let folder = root().join(format!("policies/{case}/bad"));
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        for path in files {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let (requirement, at) = fails(&fs::read_to_string(&path).unwrap());
            // the clock of UTC only shows in a whole night: `the_night_we_had_costs_what_the_brief_says`
            if name == "hard-stop-utc" {
                continue;
            }
            let report = replayed(&log(sample), case, &[&format!("bad/{name}")], &[]);
            let found = missed(&report);
            let fits = |(missed, limit): &(String, String)| {
                *missed == requirement && at.as_ref().is_none_or(|at| at == limit)
            };
            assert!(found.iter().any(fits), "{case}/{name}: {requirement} {at:?}: {found:?}");
            let policy = path.to_str().unwrap();
            let (log, site) = (log(sample), site(case));
            let output = run(&["replay", &log, "--site", &site, "--policy", policy]);
            let head: Vec<String> = stdout(&output).lines().take(6).map(str::to_owned).collect();
            let told = head.join(" ").replace("     ", " ");
            let words = format!("MISSES \u{201c}{requirement}\u{201d}");
            assert!(told.contains(&words), "{case}/{name}: {told}");
            count += 1;
        }
    }
    assert!(count >= 14, "{count}");
}
