//! Logs that were written to harm: damaged archives, escape sequences, endless lines, padding.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{Folder, line, report, run, stdout};

const TIME: &str = "01/Jun/2024:12:00:00 +0000";

fn good(count: usize) -> String {
    line("192.0.2.1", TIME, "GET / HTTP/1.1", 200).repeat(count)
}

fn skipped(report: &Value) -> Vec<(String, u64)> {
    let list = report["input"]["skipped"].as_array().unwrap();
    list.iter()
        .map(|s| (s["reason"].as_str().unwrap().to_owned(), s["count"].as_u64().unwrap()))
        .collect()
}

#[test]
fn nothing_from_a_log_reaches_the_terminal_unescaped() {
    let folder = Folder::new();
    let escape = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}";
    let mut log = good(100);
    log.push_str(&line("192.0.2.2", TIME, &format!("GET /{escape} HTTP/1.1"), 200).repeat(200));
    log.push_str(&line("192.0.2.3", TIME, &format!("{escape} /x"), 200));
    log.push_str(escape);
    log.push('\n');
    let path = folder.write(&format!("{escape}.log"), &log);
    for arguments in
        [vec!["analyze", &path], vec!["analyze", &path, "--reveal", "--define-key", "p=path"]]
    {
        let output = run(&arguments);
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let odd: Vec<char> = text
                .chars()
                .filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}')
                .collect();
            assert!(odd.is_empty(), "{name}: {odd:?}");
        }
        assert!(!output.stdout.is_empty());
    }
}

#[test]
fn an_archive_that_breaks_off_gives_all_lines_before_the_break() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(good(1000).as_bytes()).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() / 2);
    let report = report(&[&folder.write("cut.gz", &bytes), "--max-bad", "100%"]);
    let requests = report["input"]["requests"].as_u64().unwrap();
    assert!((300..700).contains(&requests), "{requests}");
    assert_eq!(skipped(&report), [("archive-damaged".to_owned(), 1)]);
    let warnings = report["input"]["warnings"].to_string();
    assert!(warnings.contains("breaks off after"), "{warnings}");
    assert_eq!(report["input"]["lines"], requests + 1);
}

#[test]
fn endless_lines_padding_and_blank_lines_are_counted() {
    let folder = Folder::new();
    let mut log = "\u{feff}".as_bytes().to_vec();
    log.extend(good(2).bytes());
    log.extend(vec![b'x'; 70_000]);
    log.extend(b"\n\n  \n# comment\n");
    log.extend([0; 40]);
    log.extend(b"\n");
    log.extend([0; 5000]);
    log.extend(good(1).replace('\n', "\r\n").bytes());
    log.extend(good(1).trim_end().bytes());
    let report = report(&[&folder.write("odd.log", &log), "--max-line", "64KiB"]);
    assert_eq!(report["input"]["requests"], 4);
    let expected = [("blank", 2), ("comment", 1), ("too-long", 1), ("nul-padding", 1)];
    assert_eq!(skipped(&report), expected.map(|(reason, count)| (reason.to_owned(), count)));
    assert_eq!(report["input"]["lines"], 9);
}

#[test]
fn padding_in_the_middle_of_a_file_hides_no_line() {
    let folder = Folder::new();
    let log = [good(100).into_bytes(), vec![0; 2 << 20], good(1).into_bytes()].concat();
    let report = report(&[&folder.write("a.log", &log)]);
    assert_eq!(report["input"]["requests"], 101);
    assert_eq!(skipped(&report), []);
}

#[test]
fn memory_is_bounded_whatever_a_client_sends() {
    let folder = Folder::new();
    let mut log = String::new();
    for number in 0..20_000 {
        let agent = format!("{number}-{}", "x".repeat(3_000));
        log.push_str(&line("192.0.2.1", TIME, "GET / HTTP/1.1", 200).replace("curl/8.0.0", &agent));
    }
    let path = folder.write("a.log", log);
    let keyed = report(&[&path, "--define-key", "agent=user_agent", "--reveal"]);
    assert_eq!(keyed["keys"][1]["distinct"], 20_000);
    let busiest = keyed["measure"].as_array().unwrap().last().unwrap()["busiest"].as_str().unwrap();
    assert!(busiest.len() < 300, "{busiest}");
    let refused = run(&["analyze", &path, "--define-key", "agent=user_agent", "--memory", "48MB"]);
    assert_eq!(refused.status.code(), Some(3));
}

#[test]
fn bombs_and_endless_lines_stay_in_bounded_memory() {
    let folder = Folder::new();
    // 600 MB of one line, in an archive of under a megabyte
    let piece = vec![b'x'; 1 << 20];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..600 {
        encoder.write_all(&piece).unwrap();
    }
    encoder.write_all(format!("\n{}", good(2)).as_bytes()).unwrap();
    let gzip = folder.write("bomb.gz", encoder.finish().unwrap());
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..600 {
        encoder.write_all(&piece).unwrap();
    }
    encoder.write_all(format!("\n{}", good(2)).as_bytes()).unwrap();
    let zstd = folder.write("bomb.zst", encoder.finish().unwrap());
    let nuls = vec![0; 64 << 20];
    let padded = folder.write("nuls.log", [nuls.as_slice(), good(2).as_bytes()].concat());
    for (log, lines) in [(&gzip, 3), (&zstd, 3), (&padded, 2)] {
        // address space, stacks and code too: far less than what the archive holds
        let shell = format!(
            "ulimit -v 500000; exec {} analyze {log} --format nginx --json - --quiet --threads 2 --max-bad 100%",
            env!("CARGO_BIN_EXE_shadowcap")
        );
        let output = std::process::Command::new("bash").args(["-c", &shell]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{log}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(report["input"]["requests"], 2, "{log}");
        assert_eq!(report["input"]["lines"], lines, "{log}");
    }
}

#[test]
fn damage_in_the_middle_of_an_archive_keeps_what_came_before_and_says_where() {
    let folder = Folder::new();
    let text: String = (0..60_000)
        .map(|n| line(&format!("192.0.2.{}", n % 250), TIME, &format!("GET /{n} HTTP/1.1"), 200))
        .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let mut gzip = encoder.finish().unwrap();
    let middle = gzip.len() / 2;
    gzip[middle..middle + 64].fill(0xff);
    let mut zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let middle = zstd.len() / 2;
    zstd.truncate(middle);
    for archive in [folder.write("a.gz", &gzip), folder.write("a.zst", &zstd)] {
        let report = report(&[&archive, "--max-bad", "100%"]);
        let requests = report["input"]["requests"].as_u64().unwrap();
        assert!((1_000..59_000).contains(&requests), "{archive}: {requests}");
        let warnings = report["input"]["warnings"].to_string();
        assert!(warnings.contains("SC106") && warnings.contains("breaks off after"), "{warnings}");
    }
}

#[test]
fn refusals_with_503_alone_are_named_too() {
    let folder = Folder::new();
    let log = good(5) + &line("192.0.2.1", TIME, "GET / HTTP/1.1", 503).repeat(5);
    let warnings = report(&[&folder.write("a.log", log)])["input"]["warnings"].to_string();
    assert!(warnings.contains("5 requests (50.0 %) were answered 503"), "{warnings}");
}

#[test]
fn windows_finer_than_the_stamps_have_brackets_from_one_to_two() {
    let folder = Folder::new();
    let log = folder.write("a.log", good(4) + &good(2).replace(":00 +", ":01 +"));
    let report = report(&[&log, "--window", "500ms", "--window", "1500ms"]);
    for row in report["measure"].as_array().unwrap().iter().filter(|row| row["route"] == "*") {
        for figure in ["p50", "max", "of_max"] {
            let factor = &row["understated"][figure];
            let ends = [&factor["lo"], &factor["hi"], factor].map(Value::as_f64);
            assert!(ends.iter().flatten().all(|end| (1.0..=2.0).contains(end)), "{row}");
        }
    }
    assert_eq!(report["measure"][0]["calendar"]["max"]["lo"], 2);
    assert_eq!(report["measure"][0]["calendar"]["max"]["hi"], 4);
}

#[test]
fn a_period_can_be_cut_out() {
    let folder = Folder::new();
    let mut log = good(3);
    log.push_str(&line("192.0.2.1", "01/Jun/2024:12:00:01 +0000", "GET / HTTP/1.1", 200));
    log.push_str(&line("192.0.2.1", "01/Jun/2024:12:00:02 +0000", "GET / HTTP/1.1", 200));
    let path = folder.write("a.log", log);
    let period = ["--from", "2024-06-01T12:00:01Z", "--to", "2024-06-01T14:00:02+02:00"];
    let report = report(&[&[path.as_str()], period.as_slice()].concat());
    assert_eq!(report["input"]["requests"], 1);
    assert_eq!(skipped(&report), [("out-of-range".to_owned(), 4)]);
}

#[test]
fn pseudonyms_hide_addresses_and_stay_the_same_for_a_key() {
    let folder = Folder::new();
    let log = folder.write("a.log", good(3));
    let longer = folder.write("b.log", good(4));
    let key = folder.write("key", "0123456789abcdef");
    let busiest = |arguments: &[&str]| report(arguments)["measure"][0]["busiest"].to_string();
    assert!(!stdout(&run(&["analyze", &log])).contains("192.0.2.1"));
    assert_eq!(busiest(&[&log]), busiest(&[&log]));
    assert_ne!(busiest(&[&log]), busiest(&[&longer]));
    let keyed = |log: &str| busiest(&[log, "--pseudonym-key", &key]);
    assert_eq!(keyed(&log), keyed(&longer));
    assert_eq!(busiest(&[&log, "--reveal"]), "\"ip:192.0.2.1\"");
}

#[test]
fn proxies_are_named_as_such() {
    let folder = Folder::new();
    let told = |addresses: usize| {
        let of = |n| line(&format!("10.0.0.{}", n % addresses), TIME, "GET / HTTP/1.1", 200);
        let log = folder.write("a.log", (0..200).map(of).collect::<String>());
        report(&[&log])["input"]["warnings"].to_string()
    };
    let several = told(3);
    assert!(several.contains("3 addresses in private space carry 100.0 %"), "{several}");
    assert!(several.contains("look like proxies"), "{several}");
    let one = told(1);
    assert!(one.contains("1 address in private space carries 100.0 %"), "{one}");
    assert!(one.contains("looks like a proxy: the peaks are its own"), "{one}");
    assert!(one.contains("realip"), "{one}");
    let of = |n| {
        let line = line("10.0.0.1", TIME, "GET / HTTP/1.1", 200);
        format!("{} \"192.0.2.{n}\"\n", line.trim_end())
    };
    let log = folder.write("forwarded.log", (0..200).map(of).collect::<String>());
    let warnings = report(&[&log])["input"]["warnings"].to_string();
    assert!(warnings.contains("give --client-ip x_forwarded_for"), "{warnings}");
}
