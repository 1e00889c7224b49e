//! Lines that others stumbled over (`tests/data/cases.jsonl`, each with its source), read through
//! `convert` and compared field by field.

use std::fs;

use chrono::DateTime;
use serde_json::{Map, Value, json};

use crate::support::{Folder, run, stderr, stdout};

/// Formats that aren't read, and the word by which they are refused.
const REFUSED: [(&str, &str); 3] =
    [("aws-waf", "AWS WAF"), ("cloudfront", "CloudFront"), ("iis-w3c", "W3C")];

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bits = bits << (6 * (4 - group.len()));
        out.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    out
}

/// Undoes what `convert` does to texts.
fn bytes_of(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => {
                out.push(b'\\');
                after
            }
            (b'\\', [b'x', high, low, after @ ..]) => {
                let hex = [*high, *low];
                out.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
                after
            }
            _ => {
                out.push(*first);
                tail
            }
        };
    }
    out
}

fn instant(value: &Value) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
    Some(time.timestamp_micros())
}

/// What the case calls by another name.
fn column(name: &str) -> &str {
    match name {
        "ts_iso" => "logged",
        "request_creation_iso" => "time",
        "request_time" => "duration_us",
        "malformed_request" => "malformed",
        "path_bytes_base64" => "path",
        "user_agent_bytes_base64" => "user_agent",
        other => other,
    }
}

/// Why a row isn't what is expected.
fn differs(name: &str, expected: &Value, row: &Map<String, Value>) -> Option<String> {
    let found = row.get(column(name)).cloned().unwrap_or(Value::Null);
    let same = match name {
        // where the log has none, the arrival is the stamp
        "request_creation_iso" if expected.is_null() => found == row["logged"],
        "ts_iso" | "request_creation_iso" => instant(&found) == instant(expected),
        "request_time" => {
            let us = expected.as_f64().map(|seconds| (seconds * 1e6).round());
            found.as_f64() == us
        }
        "path_bytes_base64" | "user_agent_bytes_base64" => {
            found.as_str().map(bytes_of) == expected.as_str().map(base64)
        }
        _ => match (&found, expected) {
            (Value::String(found), Value::String(expected)) => {
                bytes_of(found) == expected.as_bytes()
            }
            (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
            (Value::Array(found), Value::Array(expected)) => found == expected,
            (found, expected) => found == expected,
        },
    };
    (!same).then(|| format!("{name}: expected {expected}, found {found}"))
}

/// Fields of an expectation that say something about the case itself.
const ABOUT: [&str; 11] = [
    "optional",
    "reject",
    "why",
    "recovered",
    "degraded",
    "min_records",
    "warning",
    "records",
    "with_trusted_proxies",
    "response_code",
    "action",
];

fn mismatches(expected: &Value, row: &Map<String, Value>) -> Vec<String> {
    let degraded = expected["degraded"] == json!(true);
    let raw_agent = expected.get("user_agent_bytes_base64").is_some();
    expected
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, value)| !(ABOUT.contains(&name.as_str()) || degraded && value.is_null()))
        .filter(|(name, _)| !(raw_agent && *name == "user_agent"))
        .filter_map(|(name, value)| differs(name, value, row))
        .collect()
}

fn rows(arguments: &[&str]) -> (Vec<Map<String, Value>>, String, Option<i32>) {
    let output = run(arguments);
    let rows = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (rows, stderr(&output), output.status.code())
}

fn wrong_of(case: &Value) -> Vec<String> {
    let folder = Folder::new();
    let content = match (&case["line"], &case["bytes_base64"]) {
        (Value::String(line), _) => line.clone().into_bytes(),
        (_, Value::String(bytes)) => base64(bytes),
        _ => panic!("a case without content"),
    };
    let log = folder.write("case.log", content);
    let format = case["format"].as_str().unwrap();
    let expected = &case["expect"];
    let mut arguments =
        vec!["convert", &log, "--out", "-", "--columns", "all", "--max-bad", "100%"];
    match format.split_once(':') {
        Some(("nginx-custom", string)) => arguments.extend(["--log-format", string]),
        _ => arguments.extend(["--format", format]),
    }
    let proxies = expected["with_trusted_proxies"].as_array();
    if let Some(proxies) = proxies {
        arguments.extend(["--client-ip", "x_forwarded_for"]);
        for net in proxies {
            arguments.extend(["--trusted-proxy", net.as_str().unwrap()]);
        }
    }
    let (rows, said, code) = rows(&arguments);
    if expected["reject"] == json!(true) {
        let refused = rows.is_empty() && (code == Some(3) || said.contains("1 lines skipped"));
        return if refused { vec![] } else { vec![format!("is not rejected: {rows:?} {said}")] };
    }
    if let Some(least) = expected["min_records"].as_u64() {
        let enough = u64::try_from(rows.len()).unwrap() >= least && code == Some(0);
        return if enough {
            vec![]
        } else {
            vec![format!("{} rows, exit {code:?}: {said}", rows.len())]
        };
    }
    if let Some(records) = expected["records"].as_array() {
        if records.len() != rows.len() {
            return vec![format!("{} records, {} rows: {said}", records.len(), rows.len())];
        }
        return records
            .iter()
            .zip(&rows)
            .flat_map(|(record, row)| mismatches(record, row))
            .collect();
    }
    match rows.as_slice() {
        [row] => mismatches(expected, row),
        [] if expected["optional"] == json!(true) && said.contains("1 lines skipped") => vec![],
        _ => vec![format!("{} rows: {said}", rows.len())],
    }
}

#[test]
fn every_case_reads_as_expected_or_is_refused_by_name() {
    let text = fs::read_to_string(crate::support::root().join("tests/data/cases.jsonl")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        let format = case["format"].as_str().unwrap();
        count += 1;
        if let Some((_, word)) = REFUSED.iter().find(|(name, _)| *name == format) {
            let folder = Folder::new();
            let content = case["line"].as_str().map_or_else(
                || base64(case["bytes_base64"].as_str().unwrap()),
                |line| line.as_bytes().to_vec(),
            );
            let output = run(&["analyze", &folder.write("case.log", content)]);
            if output.status.code() != Some(3) || !stderr(&output).contains(word) {
                wrong.push(format!("{id}: not refused as {word}: {}", stderr(&output)));
            }
            continue;
        }
        wrong.extend(wrong_of(&case).into_iter().map(|what| format!("{id}: {what}")));
    }
    assert!(count >= 121, "only {count} cases");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
