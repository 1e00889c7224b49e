//! What a new user tries: each attempt is answered in words that help, with the documented exit code.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::{Folder, line, program, report, run, stderr, stdout};

const TIME: &str = "01/Jun/2024:12:00:00 +0000";

fn good() -> String {
    line("192.0.2.1", TIME, "GET / HTTP/1.1", 200)
}

/// Runs, and checks the exit code and what stderr says.
fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no {word:?} in {said}");
    }
}

#[test]
fn no_arguments_and_wrong_ones_show_the_way() {
    refused(&[], 2, &["Usage:", "analyze"]);
    refused(&["analyze"], 2, &["<LOG>", "--help"]);
    refused(&["analyse", "x"], 2, &["analyze"]);
    refused(&["analyze", "x", "--treads", "2"], 2, &["--threads"]);
    refused(&["analyze", "x", "--threads", "0"], 2, &["1..="]);
    refused(&["analyze", "x", "--window", "5 minutes"], 2, &["500ms, 10s, 5m"]);
    refused(&["analyze", "x", "--from", "yesterday"], 2, &["2026-11-25T20:00:00+05:30"]);
    refused(&["analyze", "x", "--max-bad", "2"], 2, &["1% or 0.5%"]);
    refused(&["analyze", "x", "--format", "iis"], 2, &["nginx-combined", "apache-vhost-combined"]);
    refused(&["analyze", "x", "--route", "login"], 2, &["NAME=METHOD PATH"]);
    refused(&["analyze", "x", "--define-key", "who=a b"], 2, &["remote_user", "cookie:NAME"]);
    refused(&["analyze", "x", "--define-key", "p=path:phone"], 2, &["--route", "{phone}"]);
    refused(&["analyze", "x", "--json", "-", "--json", "-"], 2, &["--json", "once"]);
    refused(
        &["analyze", "x", "--from", "2024-01-02T00:00:00Z", "--to", "2024-01-01T00:00:00Z"],
        2,
        &["--from must be before --to"],
    );
    let help = run(&["analyze", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(stdout(&help).contains("Examples:"));
}

#[test]
fn inputs_that_are_missing_or_foreign_are_named() {
    let folder = Folder::new();
    refused(&["analyze", "none.log"], 3, &["none.log", "no such file", "glob"]);
    refused(&["analyze", "none*.log"], 3, &["no file matches"]);
    refused(&["analyze", &folder.path()], 3, &["holds no files"]);
    let binary =
        folder.write("a.bin", [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0]);
    refused(&["analyze", &binary], 3, &["a.bin", "not text"]);
    let prose = folder.write("b.txt", "dear diary\n");
    refused(&["analyze", &prose], 3, &["b.txt", "not an access log", "--log-format"]);
    let utf16 = folder
        .write("c.log", good().encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    refused(&["analyze", &utf16], 3, &["UTF-16", "iconv"]);
    let error = folder.write("d.log", "2024/06/01 12:00:00 [error] 7#7: *1 x\n");
    refused(&["analyze", &error], 3, &["nginx error log"]);
    let xz = folder.write("e.xz", [0xfd, b'7', b'z', b'X', b'Z', 0, 0, 0]);
    refused(&["analyze", &xz], 3, &["xz -dc"]);
    let cut = folder.write("f.gz", b"\x1f\x8bgarbage");
    refused(&["analyze", &cut], 3, &["damaged gzip from its beginning"]);
    refused(&["convert", &cut, "--out", "-"], 3, &["damaged gzip from its beginning"]);
    refused(&["analyze", &binary, "--json", "/nowhere/x.json"], 2, &["/nowhere/x.json"]);
}

#[test]
fn an_empty_file_is_fine_and_says_so() {
    let folder = Folder::new();
    let output = run(&["analyze", &folder.write("empty.log", "")]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("the input is empty"));
    let blank = run(&["analyze", &folder.write("blank.log", "\n\n# nothing\n")]);
    assert_eq!(blank.status.code(), Some(0));
    assert!(stdout(&blank).contains("none of 3 lines is a request"));
}

#[test]
fn a_folder_of_mixed_files_is_read_for_what_it_holds() {
    let folder = Folder::new();
    folder.write("access.log", good().repeat(3));
    folder.write("old/access.log.1", good());
    folder.write("error.log", "2024/06/01 12:00:00 [error] 7#7: *1 x\n");
    folder.write("core", [0, 1, 2, 3, 0, 0, 9]);
    folder.write(".hidden", "x");
    folder.write("old.xz", [0xfd, b'7', b'z', b'X', b'Z', 0, 0, 0]);
    std::os::unix::fs::symlink("nowhere", format!("{}/latest.log", folder.path())).unwrap();
    let output = run(&["analyze", &folder.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("4 requests from 1 client address"), "{said}");
    for word in ["error.log: left out", "core: left out", "latest.log: left out", "xz -dc"] {
        assert!(said.replace("\n       ", " ").contains(word), "{said}");
    }
    assert!(!said.contains(".hidden"));
}

#[test]
fn unreadable_lines_are_shown_and_too_many_are_an_error() {
    let folder = Folder::new();
    let log = folder.write("a.log", good().repeat(9) + "10.1.2.3 secret line\n");
    let output = run(&["analyze", &log]);
    assert_eq!(output.status.code(), Some(3));
    let (said, noted) = (stdout(&output), stderr(&output));
    assert!(said.starts_with("SC100  1 line (10.0 % of all"), "{said}");
    let quiet = run(&["analyze", &log, "--quiet", "--json", "-"]);
    assert!(stdout(&quiet).contains("SC100"));
    assert!(said.contains("a.log:10  99.9.9.9 xxxxxx xxxx"), "{said}");
    assert!(!said.contains("secret"));
    assert!(noted.contains("--max-bad"));
    assert_eq!(run(&["analyze", &log, "--max-bad", "10%"]).status.code(), Some(0));
    let revealed = stdout(&run(&["analyze", &log, "--reveal"]));
    assert!(revealed.contains("10.1.2.3 secret line"));
}

#[test]
fn json_goes_to_a_file_that_appears_whole_or_to_standard_output() {
    let folder = Folder::new();
    let log = folder.write("a.log", good());
    let file = format!("{}/report.json", folder.path());
    let output = run(&["analyze", &log, "--json", &file]);
    assert!(stdout(&output).contains("1 request from 1 client address"));
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written, report(&[&log]));
    let quiet = run(&["analyze", &log, "--json", &file, "--quiet"]);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    std::fs::write(&file, "old").unwrap();
    let failed = run(&["analyze", "none.log", "--json", &file]);
    assert_eq!(failed.status.code(), Some(3));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_report_never_takes_the_place_of_a_log() {
    let folder = Folder::new();
    let log = folder.write("a.log", good());
    for target in [log.clone(), format!("{}/./a.log", folder.path())] {
        refused(&["analyze", &log, "--json", &target], 2, &["one of the logs"]);
        refused(&["analyze", &folder.path(), "--json", &target], 2, &["one of the logs"]);
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), good());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_period_without_requests_says_what_the_log_covers() {
    let folder = Folder::new();
    let log = folder.write("a.log", good());
    let said = stdout(&run(&["analyze", &log, "--from", "2030-01-01T00:00:00Z"]))
        .replace("\n       ", " ");
    assert!(said.contains("none of 1 request lies between"), "{said}");
    assert!(said.contains("2024-06-01 12:00:00 to 2024-06-01 12:00:00 UTC"), "{said}");
    assert!(said.contains("nginx-combined"), "{said}");
}

#[test]
fn standard_input_and_pipes_are_read() {
    let folder = Folder::new();
    let log = folder.write("a.log", good());
    let mut child = program()
        .args(["analyze", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(good().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("1 request from"));
    let shell = format!("{} analyze <(cat {log})", env!("CARGO_BIN_EXE_shadowcap"));
    let output = Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert!(stdout(&output).contains("1 request from"), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = Folder::new();
    let mut log = String::new();
    for window in 1..2000 {
        log.push_str(&line(
            &format!("192.0.{}.{}", window / 250, window % 250),
            TIME,
            "GET / HTTP/1.1",
            200,
        ));
    }
    let path = folder.write("a.log", log);
    let mut child = program()
        .args(["analyze", &path, "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert_eq!(said, "");
}

#[test]
fn an_interrupt_ends_the_program_with_its_code_and_leaves_nothing() {
    for signals in [vec!["-INT"], vec!["-TERM"], vec!["-INT", "-INT"]] {
        let folder = Folder::new();
        let file = format!("{}/report.json", folder.path());
        let mut child = program()
            .args(["analyze", "-", "--json", &file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let keep_open = child.stdin.take();
        // the temporary file shows that the program has begun; signals are caught right after
        while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(200));
        for signal in signals {
            Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            sleep(Duration::from_millis(20));
        }
        assert_eq!(child.wait().unwrap().code(), Some(4));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(keep_open);
    }
}

#[test]
fn colours_come_only_when_asked_for() {
    let folder = Folder::new();
    let log = folder.write("a.log", good());
    assert!(!stdout(&run(&["analyze", &log])).contains('\u{1b}'));
    assert!(stdout(&run(&["analyze", &log, "--color", "always"])).contains('\u{1b}'));
    assert!(!stdout(&run(&["analyze", &log, "--color", "never"])).contains('\u{1b}'));
}

#[test]
fn memory_that_does_not_suffice_is_an_error_with_a_way_out() {
    let folder = Folder::new();
    let log = folder.write("a.log", good().repeat(1000));
    refused(&["analyze", &log, "--memory", "40MB"], 3, &["memory limit", "--from", "--memory"]);
}

#[test]
fn further_fields_are_told_and_durations_leave_only_what_is_proven() {
    let folder = Folder::new();
    let line = |second: u8, duration: &str| {
        format!(
            "192.0.2.1 - - [01/Jun/2024:12:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\" {duration}\n"
        )
    };
    let log = folder.write("access.log", line(1, "0.010") + &line(2, "0.020"));
    let code = |report: &serde_json::Value, code: &str| {
        report["input"]["warnings"].as_array().unwrap().iter().any(|w| w["code"] == code)
    };
    let short = report(&[&log]);
    assert!(code(&short, "SC116") && code(&short, "SC104"));

    let format = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;
    let whole = report(&[&log, "--log-format", format]);
    assert!(!code(&whole, "SC116") && !code(&whole, "SC104"));
    // the first arrived within [0.99 s, 1.99 s), the second within [1.98 s, 2.98 s)
    let second = &whole["measure"][0];
    let bracket = serde_json::json!({"lo": 1, "hi": 2, "kind": "proven"});
    assert_eq!((&second["peak"]["max"], &second["calendar"]["max"]), (&bracket, &bracket));
}

#[test]
fn a_days_log_is_as_long_as_a_day() {
    let folder = Folder::new();
    let line = |clock: &str| {
        format!("192.0.2.1 - - [01/Jun/2024:{clock} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"\n")
    };
    let short = |log: &str| {
        let report = report(&[log]);
        let list = report["input"]["warnings"].as_array().unwrap().clone();
        list.iter().any(|w| w["code"] == "SC111")
    };
    assert!(!short(&folder.write("day.log", line("00:00:31") + &line("23:58:02"))));
    assert!(short(&folder.write("half.log", line("00:00:31") + &line("12:00:00"))));
}
