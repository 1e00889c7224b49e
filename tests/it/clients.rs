//! Who the client is: behind proxies, by other keys, by user; and who stands out.

use crate::support::{Folder, report, run, stderr, stdout};

/// nginx's own `main`: combined and the forwarded addresses.
fn main_log(rows: &[(&str, &str, &str)]) -> String {
    let line = |(peer, user, forwarded): &(&str, &str, &str)| {
        let request = "[01/Jun/2024:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5";
        [peer, " - ", user, " ", request, " \"-\" \"x\" \"", forwarded, "\"\n"].concat()
    };
    rows.iter().map(line).collect()
}

#[test]
fn clients_behind_trusted_proxies_are_told_apart() {
    let folder = Folder::new();
    let log = folder.write(
        "a.log",
        main_log(&[
            ("10.0.0.9", "-", "203.0.113.1, 192.0.2.7"),
            ("10.0.0.9", "-", "192.0.2.8, 10.1.1.1"),
            ("198.51.100.4", "-", "192.0.2.9"),
        ]),
    );
    let busiest = |arguments: &[&str]| {
        let mut all = vec![log.as_str(), "--reveal"];
        all.extend(arguments);
        let report = report(&all);
        (
            report["keys"][0]["distinct"].as_u64().unwrap(),
            report["measure"][0]["busiest"].to_string(),
        )
    };
    assert_eq!(busiest(&[]), (2, "\"ip:10.0.0.9\"".to_owned()));
    let proxied = ["--client-ip", "x_forwarded_for", "--trusted-proxy", "10.0.0.0/8"];
    assert_eq!(busiest(&proxied), (3, "\"ip:192.0.2.7\"".to_owned()));
    let hop = ["--client-ip", "x_forwarded_for", "--hop", "2"];
    assert_eq!(busiest(&hop), (3, "\"ip:192.0.2.8\"".to_owned()));
    for (arguments, word) in [
        (vec!["--client-ip", "x_forwarded_for"], "--trusted-proxy"),
        (vec!["--hop", "1"], "--client-ip"),
        (vec!["--client-ip", "x_forwarded_for", "--trusted-proxy", "ten"], "10.0.0.0/8"),
    ] {
        let mut all = vec!["analyze", log.as_str()];
        all.extend(&arguments);
        let output = run(&all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}

#[test]
fn another_field_may_name_the_client() {
    let folder = Folder::new();
    let line = |real: &str| {
        format!("10.0.0.9 [01/Jun/2024:12:00:00 +0000] \"GET / HTTP/1.1\" 200 {real}\n")
    };
    let log = folder.write("a.log", line("192.0.2.7") + &line("192.0.2.8"));
    let format = r#"$remote_addr [$time_local] "$request" $status $http_x_real_ip"#;
    let report = report(&[
        &log,
        "--log-format",
        format,
        "--client-ip",
        "http_x_real_ip",
        "--trusted-proxy",
        "10.0.0.9",
    ]);
    assert_eq!(report["keys"][0]["distinct"], 2);
    let wrong =
        run(&["analyze", &log, "--log-format", format, "--client-ip", "x_real_ip", "--hop", "1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("no log read has that field"), "{}", stderr(&wrong));
}

#[test]
fn users_behind_an_address_and_addresses_of_a_user_are_counted() {
    let folder = Folder::new();
    let log = folder.write(
        "a.log",
        main_log(&[
            ("192.0.2.1", "ann", "-"),
            ("192.0.2.1", "ben", "-"),
            ("192.0.2.2", "ann", "-"),
            ("192.0.2.3", "-", "-"),
        ]),
    );
    let keys = report(&[&log])["keys"].clone();
    assert_eq!(keys[0]["users_per_key"], serde_json::json!({ "p50": 1, "p99": 2, "max": 2 }));
    assert_eq!(keys[0]["addresses_per_key"], serde_json::Value::Null);
    assert_eq!(keys[1]["key"], "user");
    assert_eq!(keys[1]["addresses_per_key"]["max"], 2);
    assert_eq!(keys[1]["missing"], 1);
}

#[test]
fn who_stands_out_is_named_with_reasons_and_nobody_is_called_an_attacker() {
    let output = stdout(&run(&["analyze", "sample-logs/tiffin-evening.log.gz"]));
    let (_, out) = output.split_once("Who stands out").unwrap();
    assert_eq!(out.matches("50 requests in its busiest minute").count(), 6, "{out}");
    assert!(out.contains("a request every 30 s, like a clock"), "{out}");
    assert!(!output.to_lowercase().contains("attack"), "{output}");
}

#[test]
fn a_header_or_column_that_no_log_has_is_told() {
    let folder = Folder::new();
    let log = folder.write("a.log", main_log(&[("10.0.0.9", "-", "-")]));
    let behind = ["--client-ip", "x_forwarded_for", "--trusted-proxy", "10.0.0.0/8"];
    let told = |report: &serde_json::Value| {
        let list = report["input"]["warnings"].as_array().unwrap().clone();
        list.iter().find(|w| w["code"] == "SC115").map(|w| w["text"].as_str().unwrap().to_owned())
    };
    let text = told(&report(&[&[log.as_str()], &behind[..]].concat())).unwrap();
    assert!(text.contains("no request has it"), "{text}");
    let some = folder.write("b.log", main_log(&[("10.0.0.9", "-", "192.0.2.1")]));
    assert_eq!(told(&report(&[&[some.as_str()], &behind[..]].concat())), None);

    let json = folder.write("c.jsonl", "{\"ts\":\"2024-06-01T12:00:00Z\",\"ip\":\"192.0.2.1\"}\n");
    let text = told(&report(&[&json, "--field", "user=who"])).unwrap();
    assert!(text.contains("no log has the column who"), "{text}");
    let csv = folder.write("d.csv", "ts,ip,who\n2024-06-01T12:00:00Z,192.0.2.1,ann\n");
    assert_eq!(told(&report(&[&json, &csv, "--field", "user=who"])), None);

    let out = folder.path() + "/x.csv";
    for (flags, what) in [
        (["--columns", "time,client_pi"], "client_pi: no log read has that column"),
        (["--client-ip=real", "--hop=1"], "no log read has that field"),
    ] {
        let wrong = run(&[&["convert", json.as_str(), "--out", &out], &flags[..]].concat());
        assert_eq!(wrong.status.code(), Some(2));
        assert!(stderr(&wrong).contains(what), "{}", stderr(&wrong));
        assert!(!std::path::Path::new(&out).exists(), "nothing is written");
    }
}
