//! What a replay needs besides, from lines to columns: across blocks, files and out of order.

use std::io::{self, Read};
use std::sync::Arc;

use regex::bytes::Regex;

use crate::format::detect::{Choice, Format};
use crate::format::nginx;
use crate::format::record::Escape;
use crate::site::key::{KeySpec, Normalise};
use crate::site::matching::{TextCondition, TextField, TextPattern};
use crate::site::pattern::Pattern;
use crate::site::route::{Route, RoutePath};
use crate::traffic::{NO_DURATION, NONE, Observed, Traffic};

use super::cells::{COLUMNS, Cell, Row};
use super::error::LoadError;
use super::load::{LoadOptions, Watch, load};
use super::projection::Projection;
use super::rows::{RowSink, rows};
use super::source::discover::{Found, Input, Opener};
use super::summary::Summary;

struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _: u64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// Inputs that hold these texts, named and in the order of their names.
fn found(files: &[(&str, &str)]) -> Found {
    let input = |(name, text): &(&str, &str)| {
        let bytes = text.as_bytes().to_vec();
        let open = move || -> io::Result<Box<dyn Read + Send>> {
            Ok(Box::new(io::Cursor::new(bytes.clone())))
        };
        Input {
            name: (*name).to_owned(),
            path: None,
            explicit: true,
            size: None,
            opener: Some(Opener(Arc::new(open))),
        }
    };
    Found { inputs: files.iter().map(input).collect(), ..Found::default() }
}

const LOG_FORMAT: &str = r#"$remote_addr "$host" [$time_iso8601] "$request" $status $request_time "$http_user_agent" $limit_req_status $limit_conn_status "$cookie_uid""#;

fn options(projection: Projection) -> LoadOptions {
    let compiled = nginx::compile(LOG_FORMAT, Escape::Backslash).unwrap();
    let choice = Choice {
        format: Some(Format::NginxCustom),
        log_format: Some(Arc::new(compiled)),
        ..Choice::default()
    };
    LoadOptions { projection, choice, block_bytes: 200, threads: 3, ..LoadOptions::default() }
}

fn read(files: &[(&str, &str)], projection: Projection) -> (Traffic, Summary) {
    load(found(files), &options(projection), &Unwatched).unwrap()
}

/// A line in [`LOG_FORMAT`] that was written so many seconds after noon.
fn line(second: u32, host: &str, request: &str, rest: &str) -> String {
    format!("192.0.2.1 \"{host}\" [2024-06-01T12:00:{second:02}+00:00] \"{request}\" {rest}\n")
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap()
}

fn condition(of: TextField, any: Vec<TextPattern>) -> TextCondition {
    TextCondition { of, any }
}

fn literal(text: &str) -> TextPattern {
    TextPattern::Literal(text.to_owned())
}

fn route(name: &str, hosts: &[&str], path: RoutePath) -> Route {
    let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
    Route::new(name.to_owned(), Vec::new(), hosts, path).unwrap()
}

#[test]
fn lines_and_sources_are_those_of_the_files() {
    let mut early = String::from("# a comment\n");
    let mut late = String::new();
    for second in (0..40).step_by(2) {
        early += &line(second, "-", "GET / HTTP/1.1", "200 0.000 \"-\" - - \"-\"");
        late += &line(second + 1, "-", "GET / HTTP/1.1", "201 0.000 \"-\" - - \"-\"");
        if second == 20 {
            early += "what is this\n";
            // written after what came later
            late += &line(5, "-", "GET / HTTP/1.1", "404 0.000 \"-\" - - \"-\"");
        }
    }
    // the first by name begins last
    let files = [("a.log", late.as_str()), ("b.log", early.as_str())];
    let (traffic, summary) = read(&files, Projection { replay: true, ..Projection::default() });
    assert_eq!(summary.sources[0].out_of_order, 1);
    let events = &traffic.events;
    assert!(events.times_us.is_sorted() && traffic.len() == 41);
    assert_eq!((events.lines.len(), events.sources.len()), (41, 41));
    for (at, time) in events.times_us.iter().enumerate() {
        let (_, text) = files[index(events.sources[at])];
        let written = text.lines().nth(index(events.lines[at]) - 1).unwrap();
        let second = time / 1_000_000 % 60;
        let status = events.statuses[at];
        assert!(written.contains(&format!("12:00:{second:02}+")), "{written}");
        assert!(written.contains(&format!("\" {status} ")), "{written}");
    }
    // at one instant the source that begins first, then the line
    let fifth: Vec<(u32, u16)> = (0..41)
        .filter(|at| events.times_us[*at] / 1_000_000 % 60 == 5)
        .map(|at| (events.lines[at], events.statuses[at]))
        .collect();
    assert_eq!(fifth, [(3, 201), (12, 404)]);
    assert!(events.path_hashes.is_empty());
}

#[test]
fn nothing_more_is_kept_than_was_asked_for() {
    let log = line(1, "a.example", "GET / HTTP/1.1", "200 0.250 \"-\" PASSED - \"-\"");
    let (traffic, _) = read(&[("a.log", &log)], Projection::default());
    let events = &traffic.events;
    assert!(events.conditions.is_empty() && events.durations_us.is_empty());
    assert!(events.observed.is_empty() && events.observed_conn.is_empty());
    assert!(events.sources.is_empty() && events.lines.is_empty());
    assert!(!traffic.places_are_routes && !traffic.fits(0, 0));
    assert_eq!(events.path_hashes.len(), 1);
}

#[test]
fn durations_and_decisions_of_the_limiters_in_service_are_kept() {
    use Observed::{Delay, Pass, Refuse, RefuseDryRun, Unknown};
    let mut log = String::new();
    for (second, rest) in [
        (10, "200 0.250 \"-\" PASSED PASSED \"-\""),
        (11, "503 - \"-\" REJECTED REJECTED_DRY_RUN \"-\""),
        (12, "429 1.000 \"-\" - REJECTED \"-\""),
        (13, "200 3.500 \"-\" DELAYED - \"-\""),
        (14, "200 0.000 \"-\" REJECTED_DRY_RUN - \"-\""),
    ] {
        log += &line(second, "-", "GET / HTTP/1.1", rest);
    }
    let (traffic, _) =
        read(&[("a.log", &log)], Projection { replay: true, ..Projection::default() });
    // in the order of arrival, which is the stamp without the duration
    let statuses = [200, 200, 503, 429, 200];
    assert_eq!(traffic.events.statuses, statuses);
    assert_eq!(traffic.events.durations_us, [3_500_000, 250_000, NO_DURATION, 1_000_000, 0]);
    assert_eq!(traffic.events.observed, [Delay, Pass, Refuse, Refuse, RefuseDryRun]);
    assert_eq!(traffic.events.observed_conn, [Unknown, Pass, RefuseDryRun, Refuse, Unknown]);
    assert_eq!(traffic.events.lines, [4, 1, 2, 3, 5]);
}

#[test]
fn conditions_are_answered_on_every_text() {
    let mut log = String::new();
    for (second, (host, request, agent, uid)) in [
        ("Shop.Example:8443", "GET /a/%62?q=1 HTTP/1.1", r"Tiffin/5.4 \x22x\x22", "-"),
        ("shop.example", "POST http://api.example:80/a/b HTTP/1.1", "-", r"u\x207"),
        ("-", "nonsense", "curl/8", "u7"),
    ]
    .iter()
    .enumerate()
    {
        let rest = format!("200 0.000 \"{agent}\" - - \"{uid}\"");
        log += &line(u32::try_from(second).unwrap(), host, request, &rest);
    }
    let regex = |text: &str| TextPattern::Regex {
        written: text.to_owned(),
        compiled: Regex::new(text).unwrap(),
    };
    let pattern = |text: &str| TextPattern::Path {
        written: text.to_owned(),
        compiled: Pattern::parse(text).unwrap(),
    };
    let field = |name: &str| TextField::Field(name.to_owned());
    let asked = [
        (condition(TextField::Host, vec![literal("shop.example")]), [true, false, false]),
        (condition(TextField::Host, vec![literal("api.example")]), [false, true, false]),
        (condition(TextField::Host, vec![regex("")]), [true, true, false]),
        (condition(TextField::Path, vec![pattern("/a/{x}")]), [true, true, false]),
        (condition(TextField::Path, vec![literal("/x"), literal("/a/b")]), [true, true, false]),
        (condition(TextField::Path, vec![regex("")]), [true, true, false]),
        (condition(TextField::Method, vec![literal("POST")]), [false, true, false]),
        (condition(TextField::UserAgent, vec![literal("Tiffin/5.4 \"x\"")]), [true, false, false]),
        (condition(TextField::UserAgent, vec![regex("^$")]), [false, true, false]),
        (condition(field("cookie_uid"), vec![literal("u 7")]), [false, true, false]),
        (condition(field("cookie:uid"), vec![literal("u7")]), [false, false, true]),
        (condition(field("cookie_uid"), vec![regex("")]), [false, true, true]),
        (condition(field("query:q"), vec![literal("1")]), [true, false, false]),
        (condition(field("no_such_field"), vec![regex("")]), [false, false, false]),
    ];
    // so many that they take two columns, and the same ones stand in both
    let conditions: Vec<TextCondition> = asked
        .iter()
        .cycle()
        .take(5 * asked.len())
        .map(|(condition, _)| condition.clone())
        .collect();
    let (traffic, _) = read(&[("a.log", &log)], Projection { conditions, ..Projection::default() });
    assert_eq!(traffic.events.conditions.len(), 2);
    for (index, (condition, expected)) in asked.iter().cycle().take(5 * asked.len()).enumerate() {
        let found = [0, 1, 2].map(|event| traffic.fits(index, event));
        assert_eq!(found, *expected, "{condition:?}");
        assert!(!traffic.condition(index)(3));
    }
    assert!(!traffic.fits(5 * asked.len(), 0) && !traffic.fits(1_000, 0));
}

#[test]
fn conditions_keep_to_their_events_in_every_order() {
    let mut files = [String::new(), String::new()];
    for second in 0..50_u32 {
        let at = second * 7 % 50;
        let path = if at % 3 == 0 { "/fizz" } else { "/" };
        let rest = format!("{} 0.000 \"-\" - - \"-\"", 200 + at);
        files[index(at) % 2] += &line(at, "-", &format!("GET {path} HTTP/1.1"), &rest);
    }
    let conditions = vec![condition(TextField::Path, vec![literal("/fizz")])];
    let [even, odd] = &files;
    let projection = Projection { conditions, ..Projection::default() };
    let (traffic, _) = read(&[("a.log", even), ("b.log", odd)], projection);
    let fizz = traffic.condition(0);
    for event in 0..50 {
        assert_eq!(usize::from(traffic.events.statuses[event]), 200 + event);
        assert_eq!(fizz(event), event % 3 == 0);
    }
}

#[test]
fn routes_take_hosts_and_regular_expressions() {
    let mut log = String::new();
    for (second, (host, request)) in [
        ("API.example:443", "GET /otp/17 HTTP/1.1"),
        ("shop.example", "GET /otp/18 HTTP/1.1"),
        ("shop.example", "GET http://api.example/otp/19 HTTP/1.1"),
        ("shop.example", "GET /v3/otp/%2B20 HTTP/1.1"),
        ("shop.example", "GET /other HTTP/1.1"),
    ]
    .iter()
    .enumerate()
    {
        let second = u32::try_from(second).unwrap();
        log += &line(second, host, request, "200 0.000 \"-\" - - \"-\"");
    }
    let regex = Regex::new("^/v[0-9]+/otp/(?P<phone>[^/]+)$").unwrap();
    let projection = Projection {
        keys: vec![KeySpec::new("phone", &["path:phone".to_owned()], None, 64).unwrap()],
        routes: vec![
            route(
                "api",
                &["api.example"],
                RoutePath::Pattern(Pattern::parse("/otp/{phone}").unwrap()),
            ),
            route("any_version", &[], RoutePath::Regex(regex)),
            route("shop", &["shop.example"], RoutePath::Any),
        ],
        ..Projection::default()
    };
    let (traffic, _) = read(&[("a.log", &log)], projection);
    assert!(traffic.places_are_routes);
    assert_eq!(traffic.events.places, [0, 2, 0, 1, 2]);
    let texts: Vec<&[u8]> = traffic.key_texts[0].1.iter().map(AsRef::as_ref).collect();
    assert_eq!(texts, [b"+20".as_slice(), b"17", b"19"]);
    assert_eq!(traffic.events.keys[0], [1, NONE, 2, 0, NONE]);
}

const PHONES: [&str; 7] = [
    "%2B919876543210",
    "09876543211",
    "9876543210",
    "me",
    "0091%2098765-43210",
    "12",
    "9876543211",
];

fn phone_projection() -> Projection {
    let normalise = Some(Normalise::Phone { region: Some("IN".to_owned()) });
    let phone = KeySpec::new("phone", &["path:phone".to_owned()], normalise, 64).unwrap();
    let user = KeySpec::new("user", &["path:phone".to_owned()], None, 64).unwrap();
    let pattern = RoutePath::Pattern(Pattern::parse("/otp/{phone}").unwrap());
    Projection {
        keys: vec![user, phone],
        routes: vec![route("otp", &[], pattern)],
        ..Projection::default()
    }
}

fn phone_log() -> String {
    let mut log = String::new();
    for (second, phone) in (0..).zip(PHONES) {
        let request = format!("POST /otp/{phone} HTTP/1.1");
        log += &line(second, "-", &request, "200 0.000 \"-\" - - \"-\"");
    }
    log + &line(59, "-", "GET / HTTP/1.1", "200 0.000 \"-\" - - \"-\"")
}

#[test]
fn spellings_of_one_phone_number_are_one_key() {
    let log = phone_log();
    let (traffic, _) = read(&[("a.log", &log), ("b.log", &log)], phone_projection());
    let (name, texts) = &traffic.key_texts[1];
    assert_eq!(name, "phone");
    let texts: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
    assert_eq!(texts, [b"+919876543210".as_slice(), b"+919876543211"]);
    let expected: Vec<u32> =
        [0, 1, 0, NONE, 0, NONE, 1, NONE].iter().flat_map(|id| [*id, *id]).collect();
    assert_eq!(traffic.events.keys[1], expected);
    // a request without any phone number isn't one whose number can't be read
    assert_eq!(traffic.unnormalised, [("phone".to_owned(), 4)]);
    // other keys keep their texts
    assert_eq!(traffic.key_texts[0].1.len(), PHONES.len());
}

/// Keeps the cells `user` and `phone`.
struct Phones;

impl RowSink for Phones {
    type Batch = Vec<(Cell<'static>, Cell<'static>)>;

    fn push(&self, batch: &mut Self::Batch, row: &Row<'_>) {
        let cell = |name: &str| {
            let at = COLUMNS.iter().position(|(known, _)| *known == name).unwrap();
            match &row.cells[at] {
                Cell::Text(text) => Cell::Text(text.to_vec().into()),
                Cell::Null => Cell::Null,
                other => panic!("{other:?}"),
            }
        };
        batch.push((cell("user"), cell("phone")));
    }
}

#[test]
fn rows_show_the_normal_phone_number() {
    let log = phone_log();
    let mut cells = Vec::new();
    rows::<_, LoadError>(
        &found(&[("a.log", &log)]),
        &options(phone_projection()),
        false,
        &Unwatched,
        &Phones,
        |batch| {
            cells.extend(batch);
            Ok(())
        },
    )
    .unwrap();
    let phones: Vec<String> = cells.iter().map(|(_, phone)| show(phone)).collect();
    let (one, other) = ("+919876543210", "+919876543211");
    assert_eq!(phones, [one, other, one, "", one, "", other, ""]);
    assert_eq!(show(&cells[1].0), "09876543211");
}

fn show(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}
