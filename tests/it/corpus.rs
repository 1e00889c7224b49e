//! Real logs: every line is a request or counted as skipped, the format is right, and the figures
//! equal those computed by brute force.

use std::fs;
use std::path::{Path, PathBuf};

use crate::brute;
use crate::support::{Folder, report, shared};

/// Windows of the default report, seconds.
const WINDOWS_S: [i64; 6] = [1, 10, 60, 600, 3_600, 86_400];

/// Fixtures whose lines are of another shape than the folder they lie in, with what they really are.
const OTHER_SHAPE: [(&str, &str); 6] = [
    ("crowdsecurity__hub__apache-cve-2021-41773", "apache-common"),
    ("crowdsecurity__hub__apache-http-probing", "apache-common"),
    ("crowdsecurity__hub__apache2-http-sensitive-files", "apache-common"),
    ("panther-labs__panther__apache_tests", "apache-common"),
    ("fail2ban__fail2ban__apache-fakegooglebot", "apache-vhost-combined"),
    ("tstack__lnav__logfile_regexp_access_log", "apache-vhost-combined"),
];

/// Logs in which no line tells nginx from Apache: their names alone do.
const AMBIGUOUS: [&str; 18] = [
    "cphstud__DALE22-W45__access.log.0.log",
    "cphstud__DALE22-W45__access.log.5.log",
    "crowdsecurity__hub__apache2-logs.log",
    "crowdsecurity__hub__apache2-malformed.log",
    "crowdsecurity__hub__apache_log4j2_cve-2021-44228.log",
    "fail2ban__fail2ban__apache-badbots.log",
    "jadijadi__titap_mystry__access.log.1.log",
    "logstash-plugins__patterns-core__httpd_spec.test-strings.log",
    "lovecoding1987__sample_logs__apache_access_synthetic.log",
    "luqmansen__log-analytics__access.log.1.log",
    "tstack__lnav__logfile_access_log.0.log",
    "tstack__lnav__logfile_access_log.1.log",
    "tstack__lnav__logfile_bad_access_log.0.log",
    "tstack__lnav__playground_access_log.log.gz",
    "Poufy__nginx-clients-map__access.log",
    "elastic__beats__nginx_access_test.log",
    "fail2ban__fail2ban__nginx-botsearch.log",
    "fantasticmao__nginx-log-analyzer__access.log",
];

/// A fixture without a single stamp in brackets: syslog lines around something else.
const NO_RECORDS: &str = "tstack__lnav__logfile_syslog_with_access_log";

fn logs(corpus: &Path) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for folder in ["apache-combined", "apache-vhost-combined", "nginx-combined"] {
        for entry in fs::read_dir(corpus.join(folder)).unwrap() {
            all.push((folder.to_owned(), entry.unwrap().path()));
        }
    }
    all.sort();
    all
}

fn text_of(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes.as_slice()), &mut text)
        .unwrap();
    text
}

fn physical_lines(text: &[u8]) -> u64 {
    let ends = text.split(|byte| *byte == b'\n').count() - 1;
    u64::try_from(ends + usize::from(!text.is_empty() && !text.ends_with(b"\n"))).unwrap()
}

#[test]
fn lines_are_requests_or_counted_and_figures_equal_brute_force() {
    let Some(corpus) = shared("corpus") else { return };
    let mut checked = 0;
    for (_, path) in logs(&corpus) {
        let name = path.to_string_lossy().into_owned();
        if name.contains(NO_RECORDS) {
            continue;
        }
        let text = text_of(&path);
        let report = report(&[&name]);
        let input = &report["input"];
        let skipped: u64 =
            input["skipped"].as_array().unwrap().iter().map(|s| s["count"].as_u64().unwrap()).sum();
        let requests = input["requests"].as_u64().unwrap();
        assert_eq!(input["lines"].as_u64().unwrap(), physical_lines(&text), "{name}");
        assert_eq!(requests + skipped, physical_lines(&text), "{name}");
        let arrivals = brute::read(&text);
        assert_eq!(requests, u64::try_from(arrivals.len()).unwrap(), "{name}");
        assert_eq!(brute::rows_of(&report), brute::measure(&arrivals, &WINDOWS_S), "{name}");
        checked += 1;
    }
    assert!(checked >= 60, "only {checked} logs");
}

#[test]
fn formats_are_told_by_content_and_by_name_only_where_no_line_tells() {
    let Some(corpus) = shared("corpus") else { return };
    let folder = Folder::new();
    for (expected, path) in logs(&corpus) {
        let name = path.to_string_lossy().into_owned();
        if name.contains(NO_RECORDS) {
            continue;
        }
        let other = OTHER_SHAPE.iter().find(|(part, _)| name.contains(part));
        let expected = other.map_or(expected.as_str(), |(_, format)| format);
        let told = |name: &str| {
            let source = report(&[name])["input"]["sources"][0].clone();
            (source["format"].as_str().unwrap().to_owned(), source["format_reason"].to_string())
        };
        let (format, reason) = told(&name);
        assert_eq!(format, expected, "{name}: {reason}");
        let (format, reason) = told(&folder.write("x.log", fs::read(&path).unwrap()));
        if AMBIGUOUS.iter().any(|file| name.ends_with(&format!("/{file}"))) {
            assert!(reason.contains("nothing tells"), "{name}: {format}: {reason}");
        } else {
            assert_eq!(format, expected, "{name}: {reason}");
        }
    }
}
