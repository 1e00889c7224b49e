//! Lines of the combined family as real servers, exporters and attackers write them.

use proptest::prelude::*;

use super::*;
use crate::units::time::format_rfc3339;

fn scan_text(line: &str) -> Result<Record<'_>, SkipReason> {
    scan(line.as_bytes())
}

fn text(field: Option<&[u8]>) -> Option<&str> {
    field.map(|bytes| std::str::from_utf8(bytes).unwrap())
}

#[test]
fn further_fields_are_noticed() {
    let line = r#"192.0.2.1 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#;
    let goes_on = |more: &str| {
        let line = [line, more].concat();
        scan(line.as_bytes()).unwrap().form.goes_on
    };
    assert!(!goes_on("") && !goes_on(" \"203.0.113.1\"") && !goes_on("\"") && !goes_on(" "));
    assert!(goes_on(" 0.390") && goes_on(" \"-\" \"id\" 0.390"));
}

#[test]
fn a_dash_behind_further_fields_is_nobody() {
    for (names, user) in [
        ("-  -", None),
        ("3b81f -  -", None),
        ("- 95386da81aa13b6a -", None),
        ("- John Doe", Some("John Doe")),
        ("- bob-", Some("bob-")),
    ] {
        let line = format!(
            r#"192.0.2.1 {names} [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#
        );
        assert_eq!(scan(line.as_bytes()).unwrap().user, user.map(str::as_bytes), "{names}");
    }
}

#[test]
fn a_combined_line_is_taken_apart() {
    let record = scan_text(
        r#"192.0.2.40 - frank [01/Jun/2024:12:00:00 -0230] "GET /a HTTP/1.1" 200 612 "https://example.com/" "curl/8.0.0""#,
    )
    .unwrap();
    assert_eq!(record.client, Client::Address(Address::parse(b"192.0.2.40").unwrap()));
    assert_eq!(format_rfc3339(record.logged_us), "2024-06-01T14:30:00.000000Z");
    assert_eq!(record.request.line(), Some(b"GET /a HTTP/1.1".as_slice()));
    assert_eq!((record.status, record.bytes), (Some(200), Some(612)));
    assert_eq!(text(record.user), Some("frank"));
    assert_eq!(text(record.referer), Some("https://example.com/"));
    assert_eq!(text(record.user_agent), Some("curl/8.0.0"));
    assert!(record.form.agent && !record.form.vhost && !record.form.bytes_dash);
}

#[test]
fn common_vhost_and_wrapped_lines_are_the_same_family() {
    let common =
        scan_text(r#"192.0.2.40 - frank [01/Jun/2024:12:00:00 +0000] "GET /a HTTP/1.0" 304 -"#)
            .unwrap();
    assert_eq!((common.bytes, common.form.bytes_dash, common.form.agent), (Some(0), true, false));
    let vhost = scan_text(
        r#"www.example.com:443 192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#,
    )
    .unwrap();
    assert_eq!(text(vhost.host), Some("www.example.com:443"));
    let by_address = scan_text(
        r#"192.0.2.10 203.0.113.5 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5"#,
    )
    .unwrap();
    assert_eq!(by_address.client, Client::Address(Address::parse(b"203.0.113.5").unwrap()));
    let odd_host =
        scan_text(r#"a!b 203.0.113.5 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5"#)
            .unwrap();
    assert_eq!(odd_host.client, by_address.client);
    let ident =
        scan_text(r#"203.0.113.5 6.6.6.6 - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5"#)
            .unwrap();
    assert_eq!((ident.client, text(ident.ident)), (by_address.client, Some("6.6.6.6")));
    let with_port =
        scan_text(r#"192.0.2.10:5678 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5"#);
    let address = Address::parse(b"192.0.2.10").unwrap();
    assert_eq!(with_port.unwrap().client, Client::Address(address));
    let named = scan_text(
        r#"www.example.com:443 host-1.example.net - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#,
    )
    .unwrap();
    assert_eq!(named.client, Client::Named(b"host-1.example.net"));
    let wrapped = scan_text(
        r#""192.0.2.40 - - [22/Dec/2016:15:19:05 +0300] "GET /d/ HTTP/1.1" 200 2020 "-" "Mozilla/5.0"""#,
    )
    .unwrap();
    assert_eq!(text(wrapped.user_agent), Some("Mozilla/5.0"));
    let wrapped_common =
        scan_text(r#""192.0.2.40 - - [22/Dec/2016:15:19:05 +0300] "GET /d/ HTTP/1.1" 200 2020""#);
    assert_eq!(wrapped_common.unwrap().bytes, Some(2020));
}

#[test]
fn clients_without_an_address_are_requests_all_the_same() {
    for client in ["host-1.example.net", "unix:", "-"] {
        let line = format!(r#"{client} - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.0" 200 1"#);
        assert_eq!(scan_text(&line).unwrap().client, Client::Named(client.as_bytes()));
    }
    let short = r#"192.0.2.1 - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.0" 200 1"#;
    assert!(scan_text(short).is_ok());
    let list =
        r#"10.0.0.1, 192.0.2.1 192.0.2.2 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.0" 200 1"#;
    assert_eq!(scan_text(list).unwrap_err(), SkipReason::BadAddress);
    for client in ["999.1.1.1", "1.2.3.4,", "<script>", "a=b"] {
        let line = format!(r#"{client} - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.0" 200 1"#);
        assert_eq!(scan_text(&line).unwrap_err(), SkipReason::BadAddress, "{client}");
    }
}

#[test]
fn fields_that_an_attacker_writes_forge_nothing() {
    let agent = scan_text(
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "Demo\" 200 1 \"-\" \"Demo""#,
    )
    .unwrap();
    assert_eq!((agent.status, agent.bytes), (Some(200), Some(612)));
    assert_eq!(text(agent.user_agent), Some(r#"Demo\" 200 1 \"-\" \"Demo"#));
    let request = scan_text(
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "]&\xDF [GET] HTTP/9 \x22 200 5" 400 150 "-" "-""#,
    )
    .unwrap();
    assert_eq!((request.status, request.bytes), (Some(400), Some(150)));
    let stamp_in_agent = scan_text(
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "x [01/Jun/2024:12:00:00 +0000] y""#,
    );
    assert!(stamp_in_agent.is_ok(), "a client could hide its requests");
    for (user, extra) in [
        ("x [01/Jan/2020:00:00:00 +0000] y", r#""-""#),
        ("[", r#""-""#),
        ("- [x", r#""-""#),
        ("- [01/Jan/2020:00:00:00 +0000] x", r#""-""#),
        ("-", r#""a [01/Jan/2020:00:00:00 +0000] b""#),
        ("-", r#""a [01/Jan/2020:00:00:00 +0000] " "b""#),
        ("-", r"- [01/Jan/2020:00:00:00 +0000] x"),
    ] {
        let line = format!(
            r#"192.0.2.40 - {user} [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "x" {extra}"#
        );
        let record = scan_text(&line).unwrap();
        assert_eq!(format_rfc3339(record.logged_us), "2024-06-01T12:00:00.000000Z", "{line}");
    }
    let user = scan_text(
        r#"192.0.2.40 - a [b] [c [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "-""#,
    )
    .unwrap();
    assert_eq!(text(user.user), Some("a [b] [c"));
}

#[test]
fn quotes_that_were_not_escaped_cost_only_their_own_field() {
    let raw = scan_text(
        r#"1.2.3.4 - - [25/Apr/2021:06:15:33 +0000] "GET /a?t=<script>alert("text")</script> HTTP/1.0" 404 1164"#,
    )
    .unwrap();
    assert_eq!(raw.status, Some(404));
    assert!(raw.request.line().unwrap().ends_with(b"HTTP/1.0"));
    let cut_off = scan_text(
        r#"46.118.127.106 - - [20/May/2015:12:05:17 +0000] "GET /a HTTP/1.1" 200 235 "-" "Mozilla/5.0 (compatible"#,
    )
    .unwrap();
    assert_eq!(cut_off.bytes, Some(235));
    let bare = scan_text(
        r#"2001:db8::9 - - [01/Jun/2024:12:00:00 +0000] "GET /boot.iso HTTP/1.1" - 195933084 - "Wget/1.14""#,
    )
    .unwrap();
    assert_eq!((bare.status, text(bare.user_agent)), (None, Some("Wget/1.14")));
}

#[test]
fn two_records_on_a_line_are_never_given_to_the_first_client() {
    for line in [
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET /a HT192.0.2.41 - - [01/Jun/2024:12:00:00 +0000] "GET /b HTTP/1.1" 200 612 "-" "curl/8.0.0""#,
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET /a HTTP/1.1" 200 612 "-" "x"192.0.2.41 - - [01/Jun/2024:12:00:00 +0000] "GET /b HTTP/1.1" 200 612 "-" "x""#,
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET /a HTTP/1.1" 200 612 "-" "xx192.0.2.41 - - [01/Jun/2024:12:00:00 +0000] "GET /b HTTP/1.1" 200 612 "-" "x""#,
        r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET /a HTTP/1.1" 200 612 "http://e192.0.2.41 - - [01/Jun/2024:12:00:00 +0000] "GET /b HTTP/1.1" 200 612 "-" "x""#,
    ] {
        assert_eq!(scan_text(line).unwrap_err(), SkipReason::TwoRecords, "{line}");
    }
}

#[test]
fn wrong_times_are_named() {
    for stamp in [
        "Jun/01/2024:12:00:00 +0000",
        "31/Feb/2024:00:00:00 +0000",
        "01/Jun/2024:12:00:00",
        "01/Jun/2024:12:00:00 +9999",
        "01/Jun/2024:12:00:00 +0060",
        "01/Jan/0001:00:00:00 +0100",
    ] {
        let line = format!(r#"192.0.2.40 - - [{stamp}] "GET / HTTP/1.1" 200 612 "-" "-""#);
        assert_eq!(scan_text(&line).unwrap_err(), SkipReason::BadTime, "{stamp}");
    }
    let leap = r#"192.0.2.40 - - [31/Dec/2016:23:59:60 +0000] "GET / HTTP/1.1" 200 612 "-" "-""#;
    assert_eq!(format_rfc3339(scan_text(leap).unwrap().logged_us), "2017-01-01T00:00:00.000000Z");
}

proptest! {
    #[test]
    fn a_written_line_reads_back(
        bits in any::<u32>(), status in 100_u16..600, bytes in any::<u64>(),
        request in "[A-Z]{1,8} /[a-z0-9/?&=%.-]{0,40} HTTP/1.[01]",
        agent in proptest::option::of("[A-Za-z0-9/.;() ]{2,40}"),
        host in proptest::option::of("[a-z]{1,10}\\.example:80"),
        user in proptest::option::of("[a-z]{2,10}"),
    ) {
        let record = Record {
            client: Client::Address(std::net::IpAddr::V4(bits.into()).into()),
            client_port: None,
            peer: None,
            logged_us: 1_717_243_200_000_000,
            arrival_us: 1_717_243_200_000_000,
            decimals: 0,
            request: RequestText::Line(request.as_bytes()),
            scheme: None,
            port: None,
            status: Some(status),
            bytes: Some(bytes),
            duration_us: None,
            host: host.as_deref().map(str::as_bytes),
            ident: None,
            user: user.as_deref().map(str::as_bytes),
            referer: None,
            user_agent: agent.as_deref().map(str::as_bytes),
            forwarded: None,
            limited: None,
            escape: Escape::Backslash,
            form: Form { vhost: host.is_some(), agent: true, bytes_dash: false, goes_on: false },
        };
        let mut line = Vec::new();
        write(&mut line, &record, "01/Jun/2024:12:00:00 +0000").unwrap();
        let back = scan(&line).unwrap();
        prop_assert_eq!(format!("{:?}", back), format!("{:?}", record));
    }

    #[test]
    fn no_bytes_make_the_scanner_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = scan(&line);
    }

    #[test]
    fn no_damage_to_a_line_makes_the_scanner_panic(at in 0_usize..110, byte in any::<u8>(), cut_at in 0_usize..120) {
        let mut line = br#"www.a.b:80 192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "Mozilla/5.0 \"x\" y""#.to_vec();
        if let Some(slot) = line.get_mut(at) { *slot = byte; }
        line.truncate(cut_at);
        let _ = scan(&line);
    }
}
