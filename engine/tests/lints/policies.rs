//! The policies of the three cases: what is proposed has no error, what is bad is found.

use std::collections::BTreeSet;
use std::path::PathBuf;

use shadowcap_engine::policy::lint::{Code, Finding, Severity, lint};
use shadowcap_engine::site::Site;

use crate::support::{now_us, policy_file, repository, site_file};

const CASES: [&str; 3] = ["tiffin", "newsletter", "workers"];

fn case_site(case: &str) -> Site {
    site_file(&repository(&format!("policies/{case}/site.toml")))
}

fn findings(case: &str, file: &str) -> Vec<Finding> {
    let site = case_site(case);
    let policy = policy_file(&repository(&format!("policies/{case}/{file}")), &site);
    lint(&policy, Some(&site), Some(now_us()))
}

fn bad_files(case: &str) -> Vec<PathBuf> {
    let folder = repository(&format!("policies/{case}/bad"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_is_proposed_has_no_error() {
    for case in CASES {
        for file in ["proposed.toml", "improved.toml"] {
            for finding in findings(case, file) {
                assert!(finding.severity < Severity::Error, "{case}/{file}: {finding:?}");
            }
        }
    }
    for file in ["small/proposed.toml", "small/improved.toml"] {
        assert!(findings("tiffin", file).iter().all(|f| f.severity < Severity::Error), "{file}");
    }
}

#[test]
fn the_proposed_design_of_tiffin_is_warned_of_its_rate_and_its_window() {
    let warned = |file: &str| -> Vec<(Code, Option<String>)> {
        let found = findings("tiffin", file).into_iter();
        let warned = found.filter(|finding| finding.severity > Severity::Note);
        warned.map(|finding| (finding.code, finding.limit)).collect()
    };
    let expected = [
        (Code::TruncatedRate, Some("cloud seatbelt".to_owned())),
        (Code::FixedWindow, Some("sms hard stop".to_owned())),
    ];
    assert_eq!(warned("proposed.toml"), expected);
    assert_eq!(warned("improved.toml"), []);
    let found = findings("tiffin", "proposed.toml");
    let text = |code| found.iter().find(|finding| finding.code == code).unwrap().text.clone();
    assert_eq!(
        text(Code::TruncatedRate),
        "nginx stores 8r/m as 7.98/min (0.133 r/s), 63.84/min over 8 instances"
    );
    assert!(text(Code::FixedWindow).contains("90000 in 8 h"), "{}", text(Code::FixedWindow));
    assert!(found.iter().all(|finding| finding.requirement.is_none()), "{found:?}");
}

#[test]
fn todays_policies_are_read_and_leave_what_is_paid_without_a_bound() {
    for (case, action) in [("tiffin", "sms"), ("newsletter", "email")] {
        let found = findings(case, "today.toml");
        let [only] = found.as_slice() else { panic!("{case}: {found:?}") };
        assert_eq!((only.code, only.severity), (Code::NoBound, Severity::Error));
        assert!(only.text.contains(&format!("`{action}`: no limit stands before it")));
    }
    let codes: Vec<Code> = findings("workers", "today.toml").iter().map(|f| f.code).collect();
    assert_eq!(codes, [Code::LocalCounters, Code::EndlessQueue]);
}

/// `# fails: REQUIREMENT [LIMIT]`.
fn expectation(text: &str) -> (String, Option<String>) {
    let first = text.lines().next().unwrap_or_default();
    let rest =
        first.strip_prefix("# fails: ").unwrap_or_else(|| panic!("no `# fails:` in {first}"));
    match rest.split_once(" [") {
        Some((requirement, limit)) => {
            (requirement.to_owned(), Some(limit.trim_end_matches(']').to_owned()))
        }
        None => (rest.to_owned(), None),
    }
}

#[test]
fn what_is_bad_is_found_at_its_limit_and_with_its_requirement() {
    let mut seen = 0;
    for case in CASES {
        let site = case_site(case);
        let proposed: BTreeSet<(Code, String)> =
            findings(case, "proposed.toml").into_iter().map(|f| (f.code, f.text)).collect();
        for path in bad_files(case) {
            let text = std::fs::read_to_string(&path).unwrap();
            let (requirement, limit) = expectation(&text);
            let known = site.requirements.iter().any(|known| known.name == requirement);
            assert!(known, "{}: no requirement `{requirement}`", path.display());
            let found = lint(&policy_file(&path, &site), Some(&site), Some(now_us()));
            let new: Vec<&Finding> = found
                .iter()
                .filter(|finding| !proposed.contains(&(finding.code, finding.text.clone())))
                .filter(|finding| finding.severity >= Severity::Warning)
                .collect();
            let met = new.iter().any(|finding| match &limit {
                Some(limit) => finding.limit.as_ref() == Some(limit),
                None => finding.requirement.as_ref() == Some(&requirement),
            });
            assert!(met, "{}: {new:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen} bad policies");
}

#[test]
fn bad_policies_are_found_for_the_right_reason() {
    let code = |case: &str, file: &str| -> Vec<(Code, Option<String>)> {
        let found = findings(case, &format!("bad/{file}.toml")).into_iter();
        found.filter(|f| f.requirement.is_some()).map(|f| (f.code, f.requirement)).collect()
    };
    let night = Some("a night of SMS pumping".to_owned());
    let hungry = Some("nobody hungry".to_owned());
    let expected = |codes: &[Code], requirement: &Option<String>| -> Vec<(Code, Option<String>)> {
        codes.iter().map(|code| (*code, requirement.clone())).collect()
    };
    assert_eq!(
        code("tiffin", "hard-stop-in-shadow"),
        expected(&[Code::NoBound, Code::InShadow], &night)
    );
    assert_eq!(
        code("tiffin", "hard-stop-fails-open"),
        expected(&[Code::NoBound, Code::FailsOpen], &night)
    );
    assert_eq!(code("tiffin", "hard-stop-dropped"), expected(&[Code::NoBound], &night));
    assert_eq!(code("tiffin", "cloud-burst-zero"), expected(&[Code::NoBurst], &hungry));
    assert_eq!(code("tiffin", "swapped-values"), expected(&[Code::SwappedValues], &hungry));
    let had = Some("the night we had".to_owned());
    assert_eq!(code("tiffin", "hard-stop-utc"), expected(&[Code::FixedWindow], &had));
    let bots = Some("a day of bots".to_owned());
    assert_eq!(code("newsletter", "cap-missing"), expected(&[Code::NoBound], &bots));
    assert_eq!(code("newsletter", "cap-fails-open"), expected(&[Code::FailsOpen], &bots));
    let calls = Some("two calls a second".to_owned());
    assert_eq!(code("workers", "local-counters"), expected(&[Code::LocalCounters], &calls));
    assert_eq!(code("workers", "window-of-a-second"), expected(&[Code::FixedWindow], &calls));
}
