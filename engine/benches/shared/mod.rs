//! What benches of replays have in common: the requests, the policies, the clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shadowcap_engine::policy::Policy;
use shadowcap_engine::policy::read::read;
use shadowcap_engine::site::Site;
use shadowcap_engine::traffic::{Events, NONE, Observed, Traffic};
use shadowcap_engine::units::address::Address;

/// How many clients.
pub(crate) const CLIENTS: u32 = 200_000;
/// The first client's address.
pub(crate) const FIRST_ADDRESS: u32 = 0x0a00_0000;
/// 2026-11-24, UTC, microseconds since the epoch.
pub(crate) const BEGIN_US: i64 = 1_795_478_400_000_000;
/// How long they last: two hours, microseconds.
const LASTED_US: u64 = 7_200_000_000;
/// A stream of numbers that is the same in every run (splitmix64).
pub(crate) struct Stream(pub(crate) u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(end)) >> 64).unwrap()
    }
}

/// Two hours of requests: most clients send a few dozen, some send thousands.
pub(crate) fn traffic(events: usize) -> Traffic {
    let mut stream = Stream(7);
    let mut times_us: Vec<i64> =
        (0..events).map(|_| BEGIN_US + i64::try_from(stream.below(LASTED_US)).unwrap()).collect();
    times_us.sort_unstable();
    let addresses = (0..events).map(|_| {
        let clients = u64::from(CLIENTS);
        // a tenth of the requests come from a thousandth of the clients, who go too fast
        let client = if stream.below(10) == 0 {
            stream.below(clients / 1_000)
        } else {
            stream.below(clients)
        };
        u32::try_from(client).unwrap()
    });
    let events = Events {
        addresses: addresses.collect(),
        places: vec![NONE; events],
        statuses: vec![200; events],
        durations_us: vec![-1; events],
        observed: vec![Observed::Unknown; events],
        observed_conn: vec![Observed::Unknown; events],
        sources: vec![0; events],
        lines: vec![1; events],
        times_us,
        ..Events::default()
    };
    let addresses = (0..CLIENTS).map(|n| Address::from_v4_bits(FIRST_ADDRESS + n)).collect();
    Traffic { events, addresses, ..Traffic::default() }
}

/// Ten policies of a limit each, all of different algorithms or kinds of them: those of `policies/`.
pub(crate) fn policies() -> Vec<Policy> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/policies");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let policy = |file: &PathBuf| {
        read(&fs::read(file).unwrap(), &file.to_string_lossy(), &Site::default()).unwrap()
    };
    files.iter().map(policy).collect()
}

/// What something gives, and how long it takes.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let result = run();
    (begun.elapsed(), result)
}
