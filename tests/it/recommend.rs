//! Limits to set: on real logs nobody is refused by what is printed, and what is printed is a policy that
//! the other commands take.

use serde_json::Value;

use crate::support::{Folder, hi, line, root, run, shared, stderr, stdout};

/// The report of `recommend`.
fn recommended(arguments: &[&str]) -> Value {
    let output = run(&[&["recommend"], arguments, &["--json", "-"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stderr(&output)))
}

/// The most that any key does within a window by `analyze`, upper end: what a sliding log needs.
fn peak(report: &Value, key: &Value, window: &Value) -> u64 {
    let rows = report["measure"].as_array().unwrap();
    let of = |row: &&Value| row["key"] == *key && row["route"] == "*" && row["window_s"] == *window;
    hi(&rows.iter().find(of).unwrap()["peak"]["max"])
}

/// Logs of which nobody says who is a customer, with what they are read with.
const LOGS: [(&str, &[&str], bool); 3] = [
    ("corpus/apache-combined/elastic__examples__apache_logs.log", &[], true),
    ("corpus/elb-classic/atombrenner__elb-lambda-analyse__elb.log", &[], true),
    (
        "corpus/nginx-custom/hanXen__honeypot_log__access.log",
        &[
            "--log-format",
            " $remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $server_port",
        ],
        // half of it is one address, and all of it are attackers
        false,
    ),
];

#[test]
fn real_logs_without_a_site_get_limits_that_refuse_nobody_or_none_with_the_reason() {
    let folder = Folder::new();
    for (log, options, answered) in LOGS {
        let Some(path) = shared(log) else { return };
        let path = path.to_string_lossy().into_owned();
        let arguments = [&[path.as_str()], options].concat();
        let report = recommended(&arguments);
        let list = report["recommendations"].as_array().unwrap();
        assert!(!list.is_empty(), "{log}");
        let measured = crate::support::report(&arguments);
        for one in list {
            assert!(!one["why"].as_str().unwrap().is_empty(), "{log}: {one}");
            let Some(limit) = one["limit"].as_u64() else { continue };
            // two ways to the same number: the window kernels, and the limiter itself
            let peak = peak(&measured, &one["key"], &one["window_s"]);
            assert_eq!(hi(&one["basis"]["busiest"]), peak, "{log}: {one}");
            assert!(limit * 10 >= peak * 15, "{log}: {one}");
            assert_eq!(hi(&one["expected"]["customer_identities_refused"]), 0, "{log}: {one}");
        }
        let any = list.iter().any(|one| !one["limit"].is_null());
        assert_eq!(any, answered, "{log}: {list:?}");
        let text = stdout(&run(&[&["recommend"], &arguments[..]].concat()));
        let policy = folder.write("recommended.toml", &text);
        let checked = run(&["check", &policy]);
        assert_eq!(checked.status.code(), Some(0), "{log}: {}{text}", stdout(&checked));
        let replayed =
            run(&[&["replay"], &arguments[..], &["--policy", &policy, "--json", "-"]].concat());
        let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        assert_eq!(hi(&replayed["policies"][0]["total"]["refused"]), 0, "{log}: {text}");
    }
}

#[test]
fn threads_change_nothing_and_keys_are_pseudonyms() {
    let site = root().join("policies/quickstart/site.toml");
    let site = site.to_string_lossy();
    let arguments = ["recommend", "sample-logs/tiffin-evening.log.gz", "--site", &site];
    let one = run(&[&arguments[..], &["--threads", "1"]].concat());
    let two = run(&[&arguments[..], &["--threads", "2"]].concat());
    let text = stdout(&one);
    assert_eq!((one.status.code(), &text), (Some(0), &stdout(&two)));
    assert!(text.contains("[[limit]]"), "{text}");
    let revealed = stdout(&run(&[&arguments[..], &["--reveal"]].concat()));
    let name = |text: &str| {
        let at = text.find("; ip:").unwrap();
        text[at + 5..].split(' ').next().unwrap().to_owned()
    };
    assert!(name(&text).len() == 12 && name(&revealed).contains('.'), "{text}");
    let folder = Folder::new();
    let policy = folder.write("recommended.toml", &text);
    let checked = run(&["check", "--site", &site, &policy]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
}

#[test]
fn a_log_too_short_to_hold_days_out_is_said_to_be() {
    let folder = Folder::new();
    let log = folder.write(
        "access.log",
        line("203.0.113.7", "01/Jun/2024:12:00:00 +0000", "GET / HTTP/1.1", 200),
    );
    let output = run(&["recommend", &log, "--holdout", "2d"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("at least twice as much"), "{}", stderr(&output));
    let short = run(&["recommend", &log]);
    assert_eq!(short.status.code(), Some(0));
    assert!(stdout(&short).contains("NO LIMIT"), "{}", stdout(&short));
}
