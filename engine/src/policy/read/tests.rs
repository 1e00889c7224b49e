//! The good policy, value by value; every way to be wrong; files that are anything.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::document::{Code, Place, reference, schema};
use crate::limiter::{Boundary, Limiter, fixed_window, nginx};
use crate::policy::{
    Counters, GroupCharge, KeyPart, Limit, MissingKey, Mode, OnStoreError, RetryAfter, Strategy,
};
use crate::site;
use crate::site::key::Source;
use crate::site::read::tests::{assert_schema, good_site, root};
use crate::site::read::{Folder, SITE};
use crate::units::span::{HOUR_US, SECOND_US};
use crate::units::time::parse_rfc3339;

fn good() -> Vec<u8> {
    std::fs::read(root().join("tests/data/files-good/policy.toml")).unwrap()
}

fn told(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads a policy about the good site.
fn policy(text: &str) -> Policy {
    read(text.as_bytes(), "p.toml", &good_site()).unwrap_or_else(|p| panic!("{}", told(&p)))
}

/// One limit with a name, a key and these lines.
fn limit(lines: &str) -> Limit {
    policy(&format!("name = \"p\"\n[[limit]]\nname = \"l\"\nkey = \"ip\"\n{lines}\n"))
        .limits
        .remove(0)
}

#[test]
fn the_schema_is_the_committed_one() {
    assert_schema("policy.schema.json", &schema(&POLICY, "shadowcap policy file"));
}

/// `SHADOWCAP_BLESS=1` writes the reference anew.
#[test]
fn the_reference_of_all_keys_is_the_committed_one() {
    let head = "# The two files you write\n\nA *site* file says facts: how logs read, who the clients are, what things cost, what must hold. A *policy* file says choices: the limits. A pull request changes a policy; what it must\nmeet sits in the site file. Both are TOML. Unknown keys are errors, and all that is wrong is told at once.\n\nLengths of time are a whole number and a unit (`us`, `ms`, `s`, `m`, `h`, `d`). This page comes from the tables that the reader uses; so do the schemas for editors, `schemas/site.schema.json` and\n`schemas/policy.schema.json`. Worked examples: [policies](../policies).\n\n";
    let site = reference(&SITE, "The site file");
    let policy = reference(&POLICY, "The policy file");
    let made = format!("{head}{policy}\n{site}");
    let path = root().join("docs/files.md");
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "docs/files.md: run with SHADOWCAP_BLESS=1");
}

#[test]
fn the_good_policy_is_read() {
    let policy =
        read(&good(), "policy.toml", &good_site()).unwrap_or_else(|p| panic!("{}", told(&p)));
    let [seatbelt, coupons, stop] = policy.limits.as_slice() else { panic!() };
    assert_eq!((policy.name.as_str(), policy.file.as_str()), ("tiffin 2026-12", "policy.toml"));
    let Limiter::Nginx(meter) = &seatbelt.limiter else { panic!() };
    assert_eq!((meter.rate_milli, meter.burst, meter.delay), (133, 7, nginx::Delay::None));
    assert_eq!((seatbelt.tick_us, seatbelt.counters), (1_000, Counters::Local));
    let group = seatbelt.group.as_ref().unwrap();
    assert_eq!((group.name.as_str(), group.charge), ("nginx", GroupCharge::None));
    assert_eq!((&seatbelt.matching.route, &seatbelt.matching.label), (&vec![1], &vec![0]));
    assert_eq!(coupons.count_when.as_ref().unwrap().len(), 2);
    let store = coupons.store.as_ref().unwrap();
    assert_eq!((store.name.as_str(), store.on_error), ("redis", OnStoreError::Refuse));
    assert_eq!(
        (coupons.tick_us, coupons.missing_key, coupons.mode),
        (1_000, MissingKey::Skip, Mode::Enforce)
    );
    assert!(stop.key.parts.is_empty() && stop.key.name == "global");
    let Limiter::FixedWindow(window) = &stop.limiter else { panic!() };
    assert!(
        matches!(window.window, fixed_window::Window::Clock { us: HOUR_US, zone } if zone.name() == "Asia/Kolkata")
    );
    assert_eq!((window.limit, stop.alarm), (10_000, Some(6_000)));
    assert_eq!(stop.expires_us, parse_rfc3339("2027-05-31T18:30:00Z"));
    assert_eq!(stop.allow[0].lint, "SC014");
    let text = String::from_utf8(good()).unwrap();
    assert!(text.lines().nth(stop.place.line - 1).unwrap().starts_with("[[limit]]"));
}

#[test]
fn a_policy_with_only_a_name_is_one() {
    assert!(policy("name = \"today\"").limits.is_empty());
    assert!(
        is_policy("name = 'x'") && is_policy("[[limit]]\n") && is_policy("name='x'\n[[limit]]")
    );
    assert!(
        !is_policy("") && !is_policy("name = 'x'\ntimezone = 'UTC'") && !is_policy("[[route]]")
    );
}

#[test]
fn defaults_are_those_of_the_contract() {
    let bare = limit("algorithm = \"gcra\"\nrate = \"10/s\"\nburst = 5\nburst_is = \"extra\"");
    let Limiter::Gcra(gcra) = &bare.limiter else { panic!() };
    assert_eq!((gcra.burst_total, bare.tick_us, bare.weight.of(Some(1))), (6, 1, 1));
    assert_eq!((bare.counters, bare.retry_after), (Counters::Shared, RetryAfter::None));
    assert!(bare.group.is_none() && bare.queue.is_none() && bare.ban.is_none());
    let meter = limit("algorithm = \"nginx\"\nrate = \"10r/s\"\nburst = 0");
    let Limiter::Nginx(nginx) = &meter.limiter else { panic!() };
    assert_eq!(
        (nginx.rate_milli, nginx.delay, nginx.reclaim),
        (10_000, nginx::Delay::All, nginx::Reclaim::Busy)
    );
    let log =
        limit("algorithm = \"sliding-log\"\nlimit = 1\nwindow = \"1m\"\ncount_refused = true");
    let Limiter::SlidingLog(log) = &log.limiter else { panic!() };
    assert_eq!(log.boundary, Boundary::Open);
    let waf = limit("algorithm = \"aws-waf\"\nlimit = 10\nwindow = \"5m\"\nlag_detect = \"0s\"");
    let Limiter::AwsWaf(rule) = &waf.limiter else { panic!() };
    assert_eq!((rule.detect_us, rule.release_us, waf.tick_us), (0, 60 * SECOND_US, 1_000));
    let jobs = limit("algorithm = \"spacing\"\nmin_time = \"500ms\"");
    assert_eq!(jobs.queue.unwrap().strategy, Strategy::Leak);
    assert_eq!(jobs.queue.unwrap().high_water, None);
}

#[test]
fn nginx_truncates_rates() {
    for (rate, milli) in
        [("1r/m", 16), ("5r/m", 83), ("7r/m", 116), ("100r/m", 1_666), ("1r/s", 1_000)]
    {
        let limit = limit(&format!("algorithm = \"nginx\"\nrate = \"{rate}\"\nburst = 0"));
        let Limiter::Nginx(nginx) = &limit.limiter else { panic!() };
        assert_eq!(nginx.rate_milli, milli, "{rate}");
    }
}

#[test]
fn keys_are_addresses_names_and_several() {
    let key = |key: &str, more: &str| {
        let text = format!(
            "name = \"p\"\n[[limit]]\nname = \"l\"\nkey = {key}\nalgorithm = \"block\"\n{more}"
        );
        policy(&text).limits.remove(0).key
    };
    let address = |name: &str, more: &str| match &key(&format!("\"{name}\""), more).parts[..] {
        [KeyPart::Key(spec)] => (spec.name.clone(), spec.address_prefix().unwrap()),
        parts => panic!("{parts:?}"),
    };
    assert_eq!(address("ip", ""), ("ip".into(), (32, 64)));
    assert_eq!(address("ip/24", ""), ("ip/24".into(), (24, 64)));
    assert_eq!(address("ip/128", ""), ("ip/128".into(), (32, 128)));
    assert_eq!(address("ip", "ipv6_prefix = 128"), ("ip/128".into(), (32, 128)));
    assert_eq!(address("ip/24", "ipv6_prefix = 48"), ("ip/24,48".into(), (24, 48)));
    let both = key("[\"user\", \"route\"]", "");
    assert_eq!((both.name.as_str(), both.parts.len()), ("user+route", 2));
    assert_eq!(both.parts[1], KeyPart::Route);
    // the site's own `user`, not the implied one
    let KeyPart::Key(user) = &both.parts[0] else { panic!() };
    assert_eq!(user.parts[0][0], Source::Field("cookie_uid".into()));
}

#[test]
fn nginx_limits_of_a_place_are_a_group() {
    let nginx = |name: &str, more: &str| {
        format!(
            "[[limit]]\nname = \"{name}\"\nkey = \"ip\"\nalgorithm = \"nginx\"\nrate = \"1r/s\"\nburst = 1\n{more}\n"
        )
    };
    let text = [
        "name = \"p\"".to_owned(),
        nginx("a", "at = \"x\""),
        nginx("b", "at = \"x\""),
        nginx("c", "at = \"x\"\ngroup = \"own\"\ncharge = \"all\""),
        nginx("d", ""),
    ];
    let policy = policy(&text.join("\n"));
    let groups: Vec<_> = policy.limits.iter().map(|limit| limit.group.clone().unwrap()).collect();
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["x", "x", "own", ""]);
    assert_eq!((groups[0].charge, groups[2].charge), (GroupCharge::None, GroupCharge::All));
}

#[test]
fn what_the_site_does_not_define_is_assumed_where_that_is_asked() {
    let text = "name = \"p\"\n[[limit]]\nname = \"l\"\nat = \"edge\"\ncounters = \"local\"\nkey = \"tenant\"\nalgorithm = \"sliding-log\"\nlimit = 1\nwindow = \"1m\"\ncount_refused = false\nmatch = { route = [\"b\", \"a\", \"b\"], label = \"cloud\", key_prefix = { phone = \"+91\" } }\nweight = { b = 2 }\n";
    let strict = read(text.as_bytes(), "p.toml", &Site::default()).unwrap_err();
    let codes: Vec<Code> = strict.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::UnknownName; 8], "{}", told(&strict));
    let lenient = read_lenient(text.as_bytes(), "p.toml", &Site::default()).unwrap();
    let (site, limit) = (&lenient.site, &lenient.policy.limits[0]);
    let mut named: Vec<&str> =
        limit.matching.route.iter().map(|route| site.routes[*route].name.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["a", "b"]);
    assert_eq!(site.routes[limit.weight.by_route[0].0].name, "b");
    assert_eq!(site.labels[limit.matching.label[0]].name, "cloud");
    assert_eq!((site.tiers[0].name.as_str(), site.tiers[0].instances), ("edge", 1));
    let keys: BTreeSet<&str> = site.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(keys, BTreeSet::from(["phone", "tenant"]));
    // each name once, at each place that uses it first
    assert_eq!(lenient.notes.len(), 6, "{}", told(&lenient.notes));
    let again = read(text.as_bytes(), "p.toml", site);
    assert!(again.is_ok(), "{}", told(&again.unwrap_err()));
}

/// What a fixture of `folder` is told: problems of the file as a site, or as a policy of the good site.
fn problems_of(folder: &str, path: &Path) -> Vec<Problem> {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    match folder {
        "site" => site::read::read(&bytes, &name, &Folder::of(path)).err().unwrap_or_default(),
        _ => read(&bytes, &name, &good_site()).err().unwrap_or_default(),
    }
}

/// With `SHADOWCAP_BLESS=1` the head of a fixture becomes what it is told.
fn bless(folder: &str, path: &Path) {
    let text = std::fs::read(path).unwrap();
    let body: Vec<&[u8]> = text
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b"# expect:"))
        .collect();
    let body = body.concat();
    let mut count = problems_of(folder, path).len();
    for _ in 0..2 {
        std::fs::write(path, [b"# expect:\n".repeat(count), body.clone()].concat()).unwrap();
        count = problems_of(folder, path).len();
    }
    let line = |problem: &Problem| {
        let Place { line, column, .. } = problem.place;
        format!("# expect: {} {line}:{column} {}\n", problem.code, problem.message)
    };
    let head = problems_of(folder, path).iter().map(line).collect::<Vec<_>>().concat();
    std::fs::write(path, [head.as_bytes(), &body].concat()).unwrap();
}

#[test]
fn every_way_to_be_wrong_is_told() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for folder in ["site", "policy"] {
        let mut paths: Vec<_> = std::fs::read_dir(root().join("tests/data/files-bad").join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        paths.sort();
        for path in paths {
            if std::env::var_os("SHADOWCAP_BLESS").is_some() {
                bless(folder, &path);
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let expected: Vec<&str> =
                text.lines().map_while(|line| line.strip_prefix("# expect: ")).collect();
            let problems = problems_of(folder, &path);
            let fits = |(expected, problem): (&&str, &Problem)| {
                let Place { line, column, .. } = problem.place;
                let begin = format!("{} {line}:{column} ", problem.code);
                let words = expected.strip_prefix(&begin);
                words.is_some_and(|words| !words.is_empty() && problem.to_string().contains(words))
            };
            let all = expected.len() == problems.len() && expected.iter().zip(&problems).all(fits);
            let named = problems.iter().any(|problem| name.starts_with(problem.code.text()));
            if !all || !named || expected.is_empty() {
                wrong.push(format!("{folder}/{name}:\n{}", told(&problems)));
            }
            seen.extend(problems.iter().map(|problem| problem.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unseen: Vec<_> = Code::ALL.iter().filter(|code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "no fixture has {unseen:?}");
}

#[test]
fn every_word_of_the_schema_is_read() {
    for algorithm in Limiter::NAMES {
        for field in shape::LIMIT.fields {
            let crate::document::Kind::Word(words) = field.kind else { continue };
            let of = field.algorithms;
            if field.key == "algorithm" || !(of.is_empty() || of.contains(algorithm)) {
                continue;
            }
            let refused = |word: &&&str| {
                let text = format!(
                    "name = \"p\"\n[[limit]]\nname = \"l\"\nkey = \"ip\"\nalgorithm = \"{algorithm}\"\n{} = \"{word}\"\n",
                    field.key
                );
                let problems = read(text.as_bytes(), "p.toml", &Site::default()).err();
                let problems = problems.unwrap_or_default();
                problems.iter().any(|problem| problem.code == Code::UnknownWord)
            };
            // they have words that only one of their algorithms knows
            let most = match field.key {
                "anchor" => 2,
                "boundary" => 1,
                _ => 0,
            };
            let count = words.iter().filter(refused).count();
            assert!(count <= most, "{algorithm}: {count} words of `{}`", field.key);
        }
    }
}

#[test]
fn every_policy_of_the_tree_is_read() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for case in std::fs::read_dir(root().join("policies")).into_iter().flatten() {
        let folder = case.unwrap().path();
        let path = folder.join("site.toml");
        let site = site::read::read(
            &std::fs::read(&path).unwrap(),
            &path.to_string_lossy(),
            &Folder::of(&path),
        );
        let site = match site {
            Ok(site) => site,
            Err(problems) => {
                wrong.push(told(&problems));
                continue;
            }
        };
        for inner in ["", "bad", "small"] {
            for entry in std::fs::read_dir(folder.join(inner)).into_iter().flatten() {
                let path = entry.unwrap().path();
                let toml = path.extension().is_some_and(|extension| extension == "toml");
                if !toml || path.ends_with("site.toml") {
                    continue;
                }
                let name = path.to_string_lossy().into_owned();
                let bytes = std::fs::read(&path).unwrap();
                assert!(is_policy(&String::from_utf8_lossy(&bytes)), "{name}");
                count += 1;
                wrong.extend(read(&bytes, &name, &site).err().map(|problems| told(&problems)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 20, "{count} policies");
}

/// A file with some bytes changed, cut out or put in.
fn mutated(mut bytes: Vec<u8>, changes: &[(u16, u8, u8)]) -> Vec<u8> {
    for (at, kind, byte) in changes {
        let at = usize::from(*at) % (bytes.len() + 1);
        match kind % 4 {
            0 if at < bytes.len() => bytes[at] = *byte,
            1 => bytes.insert(at, *byte),
            2 => drop(bytes.splice(at..(at + usize::from(*byte)).min(bytes.len()), [])),
            _ => bytes.truncate(at.max(bytes.len() / 2)),
        }
    }
    bytes
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        crate::fuzzing::policy(&bytes);
    }

    #[test]
    fn damaged_files_are_taken(
        site in any::<bool>(),
        changes in prop::collection::vec((any::<u16>(), any::<u8>(), any::<u8>()), 1..5),
    ) {
        let name = if site { "site.toml" } else { "policy.toml" };
        let bytes = std::fs::read(root().join("tests/data/files-good").join(name)).unwrap();
        crate::fuzzing::policy(&mutated(bytes, &changes));
    }
}
