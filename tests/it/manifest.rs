//! Every log of the shared corpus: lines are requests or counted, the format is right or the file is
//! named as something else. `tests/data/corpus.tsv` says for each what must come out, reviewed line by
//! line; what isn't a request there is a comment, another program's line, or broken on purpose.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{run, shared, stderr, stdout};

/// Words by which a file that is no access log is named.
const NAMED: [(&str, &str); 5] = [
    ("nginx-error", "an nginx error log"),
    ("cloudfront", "a CloudFront log"),
    ("iis-w3c", "a W3C extended log"),
    ("aws-waf", "an AWS WAF log"),
    ("unknown", "not an access log in a format read here"),
];

/// Path → (format string, format).
fn manifest(text: &str) -> BTreeMap<String, String> {
    let rows = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    rows.map(|row| (row[0].to_owned(), row[9].trim_matches('"').replace("\"\"", "\""))).collect()
}

fn outcome(log: &str, log_format: &str) -> String {
    let mut arguments = vec!["analyze", log, "--json", "-", "--max-bad", "100%"];
    let format = log_format.split(" (").next().unwrap();
    let format = format.strip_prefix("LTSV: ").unwrap_or(format).replace("\\t", "\t");
    if format.contains('$') {
        arguments.extend(["--log-format", &format]);
    }
    let output = run(&arguments);
    if output.status.code() == Some(3) {
        let said = stderr(&output);
        let named = NAMED.iter().find(|(_, words)| said.contains(words));
        return named
            .map_or_else(|| format!("unnamed: {said}"), |(name, _)| format!("{name}\t0\t0"));
    }
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let input = &report["input"];
    let skipped = input["skipped"].as_array().unwrap();
    let count = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        let counted = skipped.iter().filter(|s| wanted(s["reason"].as_str().unwrap()));
        counted.map(|s| s["count"].as_u64().unwrap()).sum()
    };
    let requests = input["requests"].as_u64().unwrap();
    assert_eq!(requests + count(&|_| true), input["lines"].as_u64().unwrap(), "{log}");
    let unreadable = count(&|reason| !["blank", "comment", "header"].contains(&reason));
    let format = input["sources"][0]["format"].as_str().unwrap_or("none").to_owned();
    format!("{format}\t{requests}\t{unreadable}")
}

#[test]
fn every_log_of_the_corpus_is_read_or_named() {
    let Some(corpus) = shared("corpus") else { return };
    let manifest = manifest(&fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap());
    let table = crate::support::root().join("tests/data/corpus.tsv");
    let mut current =
        String::from("# log\tformat, or what it is instead\trequests\tunreadable lines\n");
    for (path, log_format) in &manifest {
        let log = corpus.join(path).to_string_lossy().into_owned();
        current.extend([path, "\t", &outcome(&log, log_format), "\n"]);
    }
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        fs::write(&table, &current).unwrap();
    }
    let expected = fs::read_to_string(&table).unwrap_or_default();
    for (expected, found) in expected.lines().zip(current.lines()) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.lines().count(), current.lines().count());
    assert!(manifest.len() > 190, "only {} logs", manifest.len());
}
