//! Lines a second of each format's scanner, and of reading and measuring a whole log.

use divan::Bencher;
use divan::counter::BytesCount;
use shadowcap_engine::format::detect::Format;
use shadowcap_engine::format::fields::Values;
use shadowcap_engine::format::json::{Mapping, names};
use shadowcap_engine::format::load_balancer::Balancer;
use shadowcap_engine::format::nginx;
use shadowcap_engine::format::record::Escape;
use shadowcap_engine::format::scanner::Scanner;
use shadowcap_engine::measure::peaks;

const COMBINED: &str = r#"192.0.2.40 - - [01/Jun/2024:12:00:00 +0000] "GET /v1/menu/17?city=pune HTTP/1.1" 200 612 "https://shop.example/" "Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36""#;
const ALB: &str = r#"https 2024-06-01T12:00:00.123456Z app/lb/0123456789abcdef 192.0.2.10:40001 10.0.0.5:8080 0.001 0.020 0.000 200 200 345 678 "GET https://www.example.com:443/a HTTP/1.1" "curl/8.0.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn "Root=1-66600000-0123456789abcdef01234567" "www.example.com" "arn" 1 2024-06-01T12:00:00.100000Z "forward" "-" "-" "10.0.0.5:8080" "200" "-" "-""#;
const JSON: &str = r#"{"time":"2024-06-01T12:00:00+00:00","remote_addr":"192.0.2.40","request":"GET / HTTP/1.1","status":200,"body_bytes_sent":612,"request_time":0.004,"http_user_agent":"curl/8.0.0"}"#;

fn main() {
    divan::main();
}

fn scan(bencher: Bencher<'_, '_>, scanner: &Scanner, line: &str) {
    bencher.counter(BytesCount::of_str(line)).bench(|| {
        let mut values = Values::default();
        scanner.scan(divan::black_box(line.as_bytes()), &mut values).map(|record| record.arrival_us)
    });
}

#[divan::bench]
fn combined(bencher: Bencher<'_, '_>) {
    scan(bencher, &Scanner::Combined, COMBINED);
}

#[divan::bench]
fn log_format(bencher: Bencher<'_, '_>) {
    let format = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let compiled = nginx::compile(format, Escape::Backslash).expect("the format is one");
    scan(bencher, &Scanner::LogFormat(Format::NginxCustom, compiled.into()), COMBINED);
}

#[divan::bench]
fn alb(bencher: Bencher<'_, '_>) {
    scan(bencher, &Scanner::balancer(Balancer::Alb), ALB);
}

#[divan::bench]
fn json(bencher: Bencher<'_, '_>) {
    let mapping = Mapping::new(&names(JSON.as_bytes()).unwrap_or_default(), &[]);
    scan(bencher, &Scanner::Json(Format::NginxJson, mapping), JSON);
}

#[divan::bench(args = [10, 100, 10_000])]
fn sliding_peak(bencher: Bencher<'_, '_>, arrivals: i64) {
    let times: Vec<i64> = (0..arrivals).map(|n| n * 700 + n * n % 997).collect();
    bencher
        .counter(arrivals.unsigned_abs())
        .bench(|| peaks::sliding(divan::black_box(&times).iter().copied(), 60_000));
}
