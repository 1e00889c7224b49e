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
fn odd_requests_and_names_survive_the_way_there_and_back() {
    let folder = Folder::new();
    let odd =
        ["GET - HTTP/1.1", "GET /?- HTTP/1.1", "-", r"GET /\x5Cx\xFF HTTP/1.1", "GET /=1 HTTP/1.1"];
    let text: String = odd
        .iter()
        .map(|request| {
            crate::support::line("192.0.2.7", "01/Jun/2024:12:00:00 +0000", request, 200)
        })
        .collect();
    let log = folder.write("a.log", text);
    let json = r#"{"time":"2024-06-01T12:00:00Z","ip":"192.0.2.7","line":7,"file":"x","request":"GET / HTTP/1.1"}"#;
    let names = folder.write("b.log", format!("{json}\n"));
    for log in [&log, &names] {
        let direct = without_input(report(&[log]));
        for form in ["parquet", "jsonl", "csv"] {
            let out = format!("{}/odd.{form}", folder.path());
            let done = run(&["convert", log, "--out", &out, "--columns", "all"]);
            assert_eq!(done.status.code(), Some(0), "{log} as {form}: {}", stderr(&done));
            assert_eq!(direct, without_input(report(&[&out])), "{log} as {form}");
        }
    }
    let rows =
        stdout(&run(&["convert", &names, "--out", "-", "--columns", "line,line_2,file_2", "-q"]));
    assert_eq!(rows, "{\"line\":1,\"line_2\":\"7\",\"file_2\":\"x\"}\n");
}

#[test]
fn clients_behind_proxies_are_found_in_what_was_converted_too() {
    let folder = Folder::new();
    let line = r#"10.0.0.9 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x" "203.0.113.1, 192.0.2.7""#;
    let log = folder.write("a.log", format!("{line}\n"));
    for form in ["parquet", "jsonl", "csv"] {
        let out = format!("{}/out.{form}", folder.path());
        run(&["convert", &log, "--out", &out, "--columns", "all"]);
        let back = report(&[
            &out,
            "--client-ip",
            "x_forwarded_for",
            "--trusted-proxy",
            "10.0.0.0/8",
            "--reveal",
        ]);
        assert_eq!(back["measure"][0]["busiest"], "ip:192.0.2.7", "{form}");
    }
}

#[test]
fn damage_and_skipped_lines_are_told_with_their_place() {
    let folder = Folder::new();
    let good =
        crate::support::line("192.0.2.7", "01/Jun/2024:12:00:00 +0000", "GET / HTTP/1.1", 200);
    let log = folder.write("a.log", good.clone() + "junk\n" + &good);
    let said = stderr(&run(&["convert", &log, "--out", "-", "--max-bad", "100%"]));
    assert!(said.contains("1 lines skipped as bad-shape") && said.contains("a.log:2"), "{said}");
    let cut = folder.write("b.gz", b"\x1f\x8bgarbage");
    assert_eq!(run(&["convert", &cut, "--out", "-"]).status.code(), Some(3));
    let zstd = zstd::encode_all(good.repeat(20_000).as_bytes(), 1).unwrap();
    let half = folder.write("c.zst", &zstd[..zstd.len() / 2]);
    let said = stderr(&run(&["convert", &half, "--out", "-", "--max-bad", "100%"]));
    assert!(said.contains("breaks off after"), "{said}");
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
    let twice = run(&["convert", &log, "--out", "-", "--columns", "time,time"]);
    assert_eq!(twice.status.code(), Some(2));
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
