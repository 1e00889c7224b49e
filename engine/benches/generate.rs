//! How fast traffic is generated: minutes of Tiffin's dinner with the scraper in it, at full rate, into memory;
//! beside it what copying the same bytes takes.
//!
//! `cargo bench -p shadowcap-engine --bench generate`.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::io;
use std::path::Path;
use std::time::Instant;

use shadowcap_engine::generate::{Generated, Scenario, generate, read};
use shadowcap_engine::units::span::MINUTE_US;

/// Each is run so often, and the fastest counts.
const RUNS: usize = 3;

fn seconds(mut work: impl FnMut()) -> f64 {
    let times = (0..RUNS).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-logs/scenarios/tiffin.toml");
    let text = std::fs::read(&file).unwrap();
    let whole = read(&text, "tiffin.toml").unwrap();
    // Tuesday at 20:00 in India
    let from_us = whole.from_us + (24 + 20) * 60 * MINUTE_US;
    let mut scenario = Scenario { from_us, to_us: from_us + 10 * MINUTE_US, ..whole };
    for output in &mut scenario.outputs {
        "tiffin.log".clone_into(&mut output.file);
    }
    let (mut lines, mut bytes) = (0, Vec::new());
    let made = seconds(|| {
        bytes.clear();
        let mut write = |_: usize, text: &[u8]| -> io::Result<()> {
            bytes.extend_from_slice(text);
            Ok(())
        };
        let made = generate(&scenario, &mut write, &|| false, &mut |so_far| lines = so_far);
        assert!(matches!(made.unwrap(), Generated::Whole(_)));
    });
    let mut copy: Vec<u8> = Vec::with_capacity(bytes.len());
    let copied = seconds(|| {
        copy.clear();
        bytes.chunks(1 << 16).for_each(|chunk| copy.extend_from_slice(chunk));
    });
    let per_s = u32::try_from(lines).map_or(f64::INFINITY, f64::from) / made;
    println!("{lines} lines, {} MB", bytes.len() / 1_000_000);
    println!("generated: {:.2} M lines/s", per_s / 1e6);
    println!("bench generate-vs-copy {:.1}", made / copied);
}
