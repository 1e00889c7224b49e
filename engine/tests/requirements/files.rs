//! The example policies against their sites' requirements, as far as no log is needed.

use std::path::Path;

use shadowcap_engine::metric::{Evidence, evaluate};
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};

use crate::support::{came, now_us, repository};

const CASES: [&str; 3] = ["tiffin", "newsletter", "workers"];

fn site(case: &str) -> Site {
    let path = repository(&format!("policies/{case}/site.toml"));
    site::read::read(&std::fs::read(&path).unwrap(), "site.toml", &Folder::of(&path)).unwrap()
}

fn policy(path: &Path, site: &Site) -> Policy {
    policy::read::read(&std::fs::read(path).unwrap(), &path.to_string_lossy(), site).unwrap()
}

/// The requirements that need no log and aren't met, with the limit at fault: `NAME [LIMIT]`.
fn missed(site: &Site, policy: &Policy) -> Vec<String> {
    let evidence = Evidence { site, policy, log: None, now_us: Some(now_us()) };
    let outcomes = evaluate(&evidence).into_iter().filter(|outcome| !outcome.pass);
    let told = outcomes.map(|outcome| {
        let limit = came(&outcome, policy).limit;
        let limit = limit.map_or_else(String::new, |limit| format!(" [{limit}]"));
        format!("{}{limit}", outcome.requirement.name)
    });
    told.collect()
}

#[test]
fn without_a_log_what_needs_none_is_evaluated_and_nothing_else() {
    let site = site("tiffin");
    let proposed = policy(&repository("policies/tiffin/proposed.toml"), &site);
    let evidence = Evidence { site: &site, policy: &proposed, log: None, now_us: Some(now_us()) };
    let outcomes = evaluate(&evidence);
    let told: Vec<(&str, String, bool)> = outcomes
        .iter()
        .map(|of| (of.requirement.name.as_str(), came(of, &proposed).value, of.pass))
        .collect();
    let alarm = "the SMS alarm rings in half an hour";
    assert_eq!(
        told,
        [("a night of SMS pumping", "22500".to_owned(), true), (alarm, "1728".to_owned(), true)]
    );
}

#[test]
fn good_policies_meet_what_needs_no_log_and_todays_do_not() {
    for case in CASES {
        let site = site(case);
        for name in ["proposed", "improved"] {
            let policy = policy(&repository(&format!("policies/{case}/{name}.toml")), &site);
            assert_eq!(missed(&site, &policy), [""; 0], "{case}/{name}");
        }
        let today = policy(&repository(&format!("policies/{case}/today.toml")), &site);
        assert!(!missed(&site, &today).is_empty(), "{case}/today");
    }
}

#[test]
fn bad_policies_fail_what_they_say_and_nothing_else() {
    let mut told = 0;
    for case in CASES {
        let site = site(case);
        for entry in std::fs::read_dir(repository(&format!("policies/{case}/bad"))).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let fails = text.lines().map_while(|line| line.strip_prefix("# fails: "));
            // `REQUIREMENT [LIMIT]`; what is about a log is for another test
            let needs_none = |name: &str| {
                site.requirements.iter().any(|of| {
                    let last = of.metric.rsplit('.').next().unwrap();
                    of.name == name && ["bound", "bound_aligned", "time_to_alarm_s"].contains(&last)
                })
            };
            let expected: Vec<&str> =
                fails.filter(|line| needs_none(line.split(" [").next().unwrap())).collect();
            assert_eq!(missed(&site, &policy(&path, &site)), expected, "{}", path.display());
            told += expected.len();
        }
    }
    assert!(told >= 9, "{told} requirements");
}
