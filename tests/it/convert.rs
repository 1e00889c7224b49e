//! `convert`: what it writes can be read back, and the report is the same.

use std::fs;

use serde_json::Value;

use crate::sample_log;
use crate::support::{Folder, report, run, shared, stderr, stdout, without_input};

/// Logs of different formats and resolutions.
fn logs(folder: &Folder) -> Vec<String> {
    let mut logs = vec![folder.write("sample.log", sample_log::content())];
    if let Some(corpus) = shared("corpus") {
        for name in [
            "apache-combined/elastic__examples__apache_logs.log",
            "nginx-combined/tah-chag__ApacheLogs__nginx_access.log",
            "alb/simnalamburt__elb-log-parser__alb.test-strings.log",
            "elb-classic/atombrenner__elb-lambda-analyse__elb.log",
            "apache-combined/tstack__lnav__playground_access_log.log.gz",
        ] {
            logs.push(corpus.join(name).to_string_lossy().into_owned());
        }
    }
    logs
}

#[test]
fn the_report_is_the_same_from_what_was_converted() {
    let folder = Folder::new();
    for log in logs(&folder) {
        let direct = report(&[&log, "--max-bad", "100%"]);
        for form in ["parquet", "jsonl", "csv"] {
            let out = format!("{}/out.{form}", folder.path());
            let converted = run(&["convert", &log, "--out", &out, "--max-bad", "100%"]);
            assert_eq!(converted.status.code(), Some(0), "{log}: {}", stderr(&converted));
            let back = report(&[&out, "--max-bad", "100%"]);
            for field in ["requests", "first", "last", "resolution_us"] {
                assert_eq!(
                    direct["input"][field], back["input"][field],
                    "{log} as {form}: {field}"
                );
            }
            assert_eq!(back["input"]["sources"][0]["format"], form, "{log}");
            let (direct, back) = (without_input(direct.clone()), without_input(back));
            for (field, value) in direct.as_object().unwrap() {
                assert_eq!(*value, back[field], "{log} as {form}: {field}");
            }
        }
    }
}

#[test]
fn rows_hold_what_the_line_says_and_say_that_nothing_is_masked() {
    let folder = Folder::new();
    let line = r#"192.0.2.7 - ann [01/Jun/2024:12:00:00 +0530] "GET /otp/%2B91?a=b HTTP/1.1" 200 5 "-" "x \"y\"""#;
    let log = folder.write("a.log", format!("{line}\n"));
    let output = run(&[
        "convert",
        &log,
        "--out",
        "-",
        "--route",
        "otp=* /otp/{phone}",
        "--define-key",
        "phone=path:phone",
    ]);
    let row: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(stderr(&output).contains("addresses and users as they are"));
    for (name, value) in [
        ("time", Value::from("2024-06-01T06:30:00.000000Z")),
        ("client_ip", Value::from("192.0.2.7")),
        ("path", Value::from("/otp/%2B91")),
        ("query", Value::from("a=b")),
        ("user_agent", Value::from("x \"y\"")),
        ("user", Value::from("ann")),
        ("phone", Value::from("+91")),
        ("route", Value::from("otp")),
        ("malformed", Value::from(false)),
        ("line", Value::from(1)),
        ("instance", Value::Null),
    ] {
        assert_eq!(row[name], value, "{name}");
    }
    let named =
        run(&["convert", &log, "--out", "-", "--columns", "status, remote_user,none", "-q"]);
    assert_eq!(stdout(&named), "{\"status\":200,\"remote_user\":\"ann\",\"none\":null}\n");
}

#[test]
fn outputs_are_checked_before_reading() {
    let folder = Folder::new();
    let log = folder.write("a.csv", "time,client_ip\n2024-06-01T12:00:00Z,192.0.2.1\n");
    for (out, word) in [
        ("x.txt", "parquet, .csv or .jsonl"),
        ("/nowhere/x.csv", "/nowhere"),
        (&log, "one of the logs"),
    ] {
        let output = run(&["convert", &log, "--out", out]);
        assert_eq!(output.status.code(), Some(2), "{out}");
        assert!(stderr(&output).contains(word), "{out}: {}", stderr(&output));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_empty_log_gives_a_file_with_columns() {
    let folder = Folder::new();
    let log = folder.write("a.log", "");
    for form in ["parquet", "csv", "jsonl"] {
        let out = format!("{}/out.{form}", folder.path());
        assert_eq!(run(&["convert", &log, "--out", &out]).status.code(), Some(0), "{form}");
        let back = run(&["analyze", &out]);
        assert_eq!(back.status.code(), Some(0), "{form}: {}", stderr(&back));
    }
}
