//! The same log gives the same report: with any number of threads, in any compression, in any number
//! of files named in any order.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::sample_log;
use crate::support::{Folder, report, root, shared, without_input};

/// The sample, and where there are any, real logs: one in order, one out of order, one very busy.
fn logs() -> Vec<Vec<u8>> {
    let mut logs = vec![sample_log::content().into_bytes()];
    if let Some(corpus) = shared("corpus") {
        for name in [
            "apache-combined/elastic__examples__apache_logs.log",
            "apache-combined/ocatak__apache-http-logs__acunetix.wrapped-quotes.log",
            "nginx-combined/Poufy__nginx-clients-map__access.log.1.log",
        ] {
            logs.push(fs::read(corpus.join(name)).unwrap());
        }
    }
    logs
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn shown(arguments: &[&str]) -> Value {
    without_input(report(arguments))
}

#[test]
fn threads_and_compression_change_nothing() {
    for text in logs() {
        let folder = Folder::new();
        let plain = folder.write("a.log", &text);
        let one = shown(&[&plain, "--threads", "1"]);
        assert_eq!(one, shown(&[&plain, "--threads", "2"]));
        assert_eq!(one, shown(&[&folder.write("b", gzip(&text))]));
        assert_eq!(
            one,
            shown(&[&folder.write("c", zstd::encode_all(text.as_slice(), 1).unwrap())])
        );
        let (start, end) = text.split_at(text.len() / 3);
        let members = [gzip(start), gzip(end)].concat();
        assert_eq!(one, shown(&[&folder.write("d", members)]));
    }
}

#[test]
fn ten_parts_in_any_order_are_the_whole() {
    for text in logs() {
        let folder = Folder::new();
        let whole = shown(&[&folder.write("whole.log", &text)]);
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let parts: Vec<String> = lines
            .chunks(lines.len().div_ceil(10))
            .enumerate()
            .map(|(index, part)| folder.write(&format!("part{index}.log"), part.concat()))
            .collect();
        assert_eq!(parts.len(), 10);
        for order in [
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            [3, 1, 4, 0, 5, 9, 2, 6, 8, 7],
        ] {
            let named: Vec<&str> =
                order.iter().map(|index: &usize| parts[*index].as_str()).collect();
            assert_eq!(whole, shown(&named));
        }
        // names that sort against time, found in a folder
        let reversed = Folder::new();
        for (index, part) in lines.chunks(lines.len().div_ceil(10)).enumerate() {
            reversed.write(&format!("deep/{}.log", 9 - index), part.concat());
        }
        assert_eq!(whole, shown(&[&reversed.path()]));
    }
}

#[test]
fn every_report_fits_the_published_schema() {
    let path: PathBuf = root().join("schemas/report.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folder = Folder::new();
    let sample = folder.write("sample.log", sample_log::content());
    let empty = folder.write("empty.log", "");
    for arguments in [
        vec![sample.as_str()],
        vec![&sample, "--reveal", "--define-key", "agent=user_agent", "--window", "1500ms"],
        vec![&sample, "--route", "menu=GET /v1/menu/{id}", "--route", "none=GET /none"],
        vec![&empty],
    ] {
        let report = report(&arguments);
        let errors: Vec<String> = validator
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:?}");
    }
    let broken = serde_json::json!({ "schema": "shadowcap/report/1" });
    assert!(!validator.is_valid(&broken), "the schema must refuse a report without its fields");
}
