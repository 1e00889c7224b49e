//! The bundled sample log, made here so that nobody's traffic is in it: an evening of a food-delivery
//! site behind nginx, with mobile carriers, offices, a health check, a scraper and some junk.
//! Run with `SHADOWCAP_BLESS=1` to write the file anew.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::support::root;

const FILE: &str = "sample-logs/tiffin-evening.log.gz";
/// 24 November 2026, 19:00 in India, as seconds since midnight there.
const START_S: u64 = 19 * 3600;
/// Two hours.
const LENGTH_S: u64 = 7200;

/// A counter-based stream of numbers (splitmix64), the same on every platform.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A request that is to be written: second, then the order in which it was made.
type Row = (u64, usize, String);

struct Log {
    rows: Vec<Row>,
}

impl Log {
    fn add(
        &mut self,
        second: u64,
        client: &str,
        request: &str,
        status: u16,
        bytes: u64,
        agent: &str,
    ) {
        let of_day = START_S + second;
        let mut text = String::new();
        let (hour, minute, second_of) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(text, "{client} - - [24/Nov/2026:{hour:02}:{minute:02}:{second_of:02} +0530] ")
            .unwrap();
        writeln!(text, "\"{request}\" {status} {bytes} \"-\" \"{agent}\"").unwrap();
        self.rows.push((second, self.rows.len(), text));
    }
}

/// The log's text.
pub(crate) fn content() -> String {
    let mut log = Log { rows: Vec::new() };
    customers(&mut log);
    scraper(&mut log);
    junk(&mut log);
    for second in (0..LENGTH_S).step_by(30) {
        log.add(second, "10.0.3.7", "GET /healthz HTTP/1.1", 200, 2, "kube-probe/1.31");
    }
    log.rows.retain(|(second, _, _)| *second < LENGTH_S);
    log.rows.sort();
    log.rows.into_iter().map(|(_, _, text)| text).collect()
}

/// 420 customers: 260 at home, 120 behind 5 carrier addresses, 40 on IPv6.
fn customers(log: &mut Log) {
    let mut numbers = Stream(20_261_124);
    for customer in 0..420_u64 {
        let client = match customer {
            0..260 => format!("203.0.113.{}", customer % 254 + 1),
            260..380 => format!("198.51.100.{}", customer % 5 + 10),
            _ => format!(
                "2001:db8:{:x}:{:x}::{:x}",
                customer / 3,
                customer % 7,
                numbers.below(65_536)
            ),
        };
        let agent = [
            "Tiffin/5.3 (Android 15)",
            "Tiffin/5.3 (iPhone)",
            "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
        ][usize::try_from(numbers.below(3)).unwrap()];
        // orders gather around eight o'clock
        let mut second = numbers.below(LENGTH_S / 2) + numbers.below(LENGTH_S / 2);
        for step in 0..4 + numbers.below(14) {
            let restaurant = numbers.below(90) + 100;
            let (request, bytes) = match step {
                0 => (
                    "GET /v1/restaurants?city=pune HTTP/1.1".to_owned(),
                    18_000 + numbers.below(900),
                ),
                1 => (format!("POST /v1/otp/+9198{:08} HTTP/1.1", numbers.below(100_000_000)), 31),
                _ => (format!("GET /v1/menu/{restaurant} HTTP/1.1"), 6_000 + numbers.below(4_000)),
            };
            log.add(second, &client, &request, 200, bytes, agent);
            second += 1 + numbers.below(40);
        }
        log.add(second, &client, "POST /v1/cart HTTP/1.1", 200, 210, agent);
        log.add(second + 8, &client, "POST /v1/orders HTTP/1.1", 201, 96, agent);
    }
}

/// 6 addresses of a hosting company read menus, each a page a second in bursts of a minute.
fn scraper(log: &mut Log) {
    let mut numbers = Stream(7);
    for address in 0..6_u64 {
        let client = format!("192.0.2.{}", 40 + address);
        for minute in 0..14_u64 {
            // bursts straddle the minute, where a count by the clock sees half of one
            let start = 1800 + minute * 180 + 35 + address;
            for page in 0..50_u64 {
                let request = format!("GET /v1/menu/{} HTTP/1.1", 100 + (minute * 50 + page) % 90);
                let status = if numbers.below(60) == 0 { 499 } else { 200 };
                log.add(
                    start + page,
                    &client,
                    &request,
                    status,
                    6_000 + numbers.below(4_000),
                    "python-requests/2.32",
                );
            }
        }
    }
}

/// What every server on the internet sees.
fn junk(log: &mut Log) {
    let mut numbers = Stream(99);
    for probe in 0..30_u64 {
        let client = format!("192.0.2.{}", 200 + probe % 9);
        let second = numbers.below(LENGTH_S);
        let (request, status) = match probe % 3 {
            0 => (r"\x16\x03\x01\x00\xEE\x01\x00\x00\xEA\x03\x03", 400),
            1 => ("GET /wp-login.php HTTP/1.1", 404),
            _ => ("GET /.env HTTP/1.1", 404),
        };
        log.add(second, &client, request, status, 150, "-");
    }
}

#[test]
fn the_bundled_sample_is_what_this_file_makes() {
    let path = root().join(FILE);
    let current = content();
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(current.as_bytes()).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
    }
    let mut bundled = String::new();
    MultiGzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut bundled).unwrap();
    assert!(bundled == current, "run SHADOWCAP_BLESS=1 cargo test --release sample");
}
