//! The engine against brute force on generated traffic, whatever the blocks, threads and files.

use proptest::prelude::*;
use shadowcap_engine::ingest::load::{LoadOptions, Watch, load};
use shadowcap_engine::ingest::projection::Projection;
use shadowcap_engine::ingest::source::discover::discover;
use shadowcap_engine::measure::peaks::Resolution;
use shadowcap_engine::measure::population::{Measure, Plan, measure};
use shadowcap_engine::site::key::KeySpec;
use shadowcap_engine::units::bracket::Bracket;

use crate::brute;
use crate::support::{Folder, line};

/// Nobody looks and nobody interrupts.
struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _: u64) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// A request: which client, and the second of a short day.
fn requests() -> impl Strategy<Value = Vec<(u8, u32)>> {
    proptest::collection::vec((0_u8..12, 0_u32..4_000), 1..200)
}

fn client(number: u8) -> String {
    match number {
        0..=5 => format!("198.51.100.{number}"),
        6 | 7 => format!("::ffff:198.51.100.{}", number - 6),
        8..=10 => format!("2001:db8::{number}"),
        _ => "crawler.example.net".to_owned(),
    }
}

fn log(requests: &[(u8, u32)]) -> String {
    requests
        .iter()
        .map(|(number, second)| {
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            let time = format!("01/Jun/2024:{hour:02}:{minute:02}:{second:02} +0000");
            line(&client(*number), &time, "GET / HTTP/1.1", 200)
        })
        .collect()
}

/// The engine's figures in the form of the brute force.
fn figures(measure: &Measure) -> serde_json::Value {
    let bracket = |b: Bracket<u32>| {
        if b.is_exact() {
            serde_json::json!(b.lo)
        } else {
            serde_json::json!({ "lo": b.lo, "hi": b.hi, "kind": b.kind.name() })
        }
    };
    let (peak, calendar) = (measure.peak, measure.calendar);
    serde_json::json!({
        "window_s": measure.window_us / 1_000_000,
        "keys": measure.keys,
        "peak": {
            "p50": bracket(peak.p50), "p90": bracket(peak.p90), "p99": bracket(peak.p99),
            "p999": bracket(peak.p999), "max": bracket(peak.max)
        },
        "calendar": {
            "p50": bracket(calendar.p50), "p90": bracket(calendar.p90), "p99": bracket(calendar.p99),
            "p999": bracket(calendar.p999), "max": bracket(calendar.max)
        },
        "histogram": measure.histogram,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn figures_equal_brute_force_however_the_log_is_cut(
        requests in requests(), block_bytes in 30_usize..4_000, threads in 1_usize..4, cut in 0_usize..200
    ) {
        let folder = Folder::new();
        let (first, second) = requests.split_at(cut.min(requests.len()));
        let text = log(&requests);
        folder.write("a.log", log(first));
        folder.write("b.log", log(second));
        let keys = vec![KeySpec::ip(64)];
        let options = LoadOptions {
            projection: Projection { keys: keys.clone(), ..Projection::default() },
            threads,
            block_bytes,
            ..LoadOptions::default()
        };
        let (traffic, summary) = load(discover(&[folder.path()]).unwrap(), &options, &Unwatched).unwrap();
        prop_assert_eq!(summary.sum(|counts| counts.requests), u64::try_from(requests.len()).unwrap());
        prop_assert!(traffic.events.times_us.is_sorted());
        let plan = Plan {
            windows_us: vec![1_000_000, 60_000_000, 600_000_000],
            resolution: Resolution::of(&traffic.events.times_us, 1_000_000),
            places: vec![],
        };
        let (totals, measures) = measure(&traffic, &keys, &plan);
        let arrivals = brute::read(text.as_bytes());
        let measures: Vec<_> = measures.iter().map(figures).collect();
        prop_assert_eq!(measures, brute::measure(&arrivals, &[1, 60, 600]));
        let missing = arrivals.iter().filter(|(address, _)| address.is_none()).count();
        prop_assert_eq!(totals[0].missing, u64::try_from(missing).unwrap());
    }
}
