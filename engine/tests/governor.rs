//! The cell rate algorithm and the continuous bucket decide as the governor crate does, on its own fake
//! clock: a million decisions, most of them at the first instant that admits or a microsecond off it.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use shadowcap_engine::limiter::gcra::Gcra;
use shadowcap_engine::limiter::token_bucket::{Refill, TokenBucket};
use shadowcap_engine::limiter::{Algorithm, Ready};
use shadowcap_engine::units::rate::Rate;

/// Decisions that one limiter makes.
const DECISIONS: usize = 2_500;
/// Limiters.
const LIMITERS: u64 = 400;

/// Random numbers that are the same each time (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn non_zero(number: u64) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(number).unwrap()).unwrap()
}

/// A rate, governor's quota for it, and whether its emission interval is whole microseconds.
fn any_rate(random: &mut Random) -> (Rate, Quota, bool) {
    let count = match random.below(3) {
        0 => [1, 2, 4, 5, 8, 10, 20, 50, 100, 1_000][usize::try_from(random.below(10)).unwrap()],
        1 => 1 + random.below(60),
        _ => 1 + random.below(2_000_000),
    };
    let n = non_zero(count);
    let (per_us, quota) = match random.below(3) {
        0 => (1_000_000_u64, Quota::per_second(n)),
        1 => (60_000_000, Quota::per_minute(n)),
        _ => (3_600_000_000, Quota::per_hour(n)),
    };
    let rate = Rate { count, per_us: i64::try_from(per_us).unwrap() };
    (rate, quota, per_us.is_multiple_of(count))
}

#[test]
fn a_million_decisions_are_those_of_governor() {
    let mut random = Random(7);
    let (mut compared, mut by_bucket, mut admitted) = (0, 0, 0);
    for _ in 0..LIMITERS {
        let (rate, quota, whole) = any_rate(&mut random);
        let burst_total = 1 + random.below(20);
        let clock = FakeRelativeClock::default();
        let quota = quota.allow_burst(non_zero(burst_total));
        let real = RateLimiter::direct_with_clock(quota, clock.clone());
        let gcra = Gcra { rate, burst_total };
        let bucket = TokenBucket { burst: burst_total, refill: Refill::Continuous(rate) };
        let (mut cells, mut tokens) = (gcra.fresh(), bucket.fresh());
        let mut now_us = 0;
        for _ in 0..DECISIONS {
            let weight = if random.below(4) == 0 { 1 + random.below(burst_total + 1) } else { 1 };
            let at_us = match (random.below(8), gcra.ready(&cells, now_us, weight)) {
                (0..4, _) | (_, Ready::Never | Ready::AfterCompletion) => now_us,
                (4, Ready::At(ready_us)) => ready_us,
                (5, Ready::At(ready_us)) => (ready_us - 1).max(now_us),
                (6, Ready::At(ready_us)) => ready_us + i64::try_from(random.below(3)).unwrap(),
                _ => now_us + i64::try_from(random.below(3_000_000)).unwrap(),
            };
            clock.advance(Duration::from_micros(u64::try_from(at_us - now_us).unwrap()));
            now_us = at_us;
            let expected = real.check_n(non_zero(weight)).is_ok_and(|fits| fits.is_ok());
            let context = || format!("{rate:?} burst {burst_total} weight {weight} at {now_us}");
            let passes = gcra.ask(&cells, now_us, weight).admits();
            assert_eq!(passes, expected, "gcra, {}", context());
            if whole {
                let held = bucket.ask(&tokens, now_us, weight).admits();
                assert_eq!(held, expected, "bucket, {}", context());
                by_bucket += 1;
            }
            if expected {
                gcra.charge(&mut cells, now_us, weight);
                bucket.charge(&mut tokens, now_us, weight);
                admitted += 1;
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 1_000_000);
    // the test would say little if one answer or the bucket were rare
    assert!((200_000..800_000).contains(&admitted), "{admitted} admitted");
    assert!(by_bucket > 200_000, "{by_bucket} by the bucket");
}
