//! SC001 is a proof: whatever pair of limits it fires on, no traffic that passed the first is refused
//! by the second.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use shadowcap_engine::limiter::{Algorithm, Verdict};
use shadowcap_engine::policy::Limit;
use shadowcap_engine::policy::lint::{Code, lint};

use crate::support::{by, policy};

/// A limiter of some kind, small enough to be filled by a few requests; windows in seconds.
fn limiter() -> impl Strategy<Value = String> {
    let window = || prop::sample::select(vec!["1s", "2s", "5s", "10s"]);
    let tick = || prop::sample::select(vec!["", "\ntick = \"1ms\"", "\ntick = \"1s\""]);
    let log = (1..40_u64, window(), prop::sample::select(vec!["open", "closed"]), tick()).prop_map(
        |(limit, window, boundary, tick)| {
            format!(
                "algorithm = \"sliding-log\"\nlimit = {limit}\nwindow = \"{window}\"\nboundary = \
                 \"{boundary}\"\ncount_refused = false{tick}"
            )
        },
    );
    let anchor = prop::sample::select(vec![
        "\"clock\"",
        "\"first-request\"\nboundary = \"closed\"",
        "\"first-request\"\nboundary = \"open\"",
    ]);
    let fixed = (1..40_u64, window(), anchor, tick()).prop_map(|(limit, window, anchor, tick)| {
        format!(
            "algorithm = \"fixed-window\"\nlimit = {limit}\nwindow = \"{window}\"\nanchor = {anchor}{tick}"
        )
    });
    let estimate = prop::sample::select(vec!["interpolated", "floored"]);
    let counter_anchor = prop::sample::select(vec!["clock", "stepped"]);
    let counter = (1..60_u64, window(), estimate, counter_anchor).prop_map(
        |(limit, window, estimate, anchor)| {
            format!(
                "algorithm = \"sliding-counter\"\nlimit = {limit}\nwindow = \"{window}\"\nestimate = \
                 \"{estimate}\"\nanchor = \"{anchor}\"\ncount_refused = false"
            )
        },
    );
    let rate = || prop::sample::select(vec!["30/m", "1/s", "2/s", "5/s", "100/m"]);
    let bucket = (1..40_u64, rate(), tick()).prop_map(|(burst, rate, tick)| {
        format!("algorithm = \"token-bucket\"\nrate = \"{rate}\"\nburst = {burst}{tick}")
    });
    let gcra = (1..40_u64, rate(), tick()).prop_map(|(burst, rate, tick)| {
        format!(
            "algorithm = \"gcra\"\nrate = \"{rate}\"\nburst = {burst}\nburst_is = \"total\"{tick}"
        )
    });
    let delay = prop::sample::select(vec!["none", "none", "all"]);
    let nginx = (0..40_u64, rate(), delay, any::<bool>()).prop_map(|(burst, rate, delay, busy)| {
        let reclaim = if busy { "busy" } else { "none" };
        let rate = rate.replace('/', "r/");
        format!(
            "algorithm = \"nginx\"\nrate = \"{rate}\"\nburst = {burst}\ndelay = \"{delay}\"\nreclaim \
             = \"{reclaim}\""
        )
    });
    prop_oneof![log, fixed, counter, bucket, gcra, nginx]
}

/// Pauses between requests, microseconds: floods, steps of clocks, whole windows, odd ones.
fn pauses() -> impl Strategy<Value = Vec<i64>> {
    let pause = prop_oneof![
        6 => Just(0_i64),
        2 => 1..2_000_i64,
        2 => prop::sample::select(vec![999, 1_000, 100_000, 999_999, 1_000_000, 2_000_000]),
        1 => prop::sample::select(vec![4_999_999, 5_000_000, 9_999_999, 10_000_000, 60_000_000]),
    ];
    prop::collection::vec(pause, 300)
}

/// How many requests that passed the first limit the second refuses.
fn refused(first: &Limit, second: &Limit, pauses: &[i64]) -> usize {
    let on = |t: i64, limit: &Limit| t - t.rem_euclid(limit.tick_us);
    let (mut one, mut two) = (first.limiter.fresh(), second.limiter.fresh());
    let (mut now, mut refused) = (1_790_000_000_123_456_i64, 0);
    let mut last_exit = i64::MIN;
    for pause in pauses {
        now += pause;
        let at = on(now, first);
        let exit = match first.limiter.ask(&one, at, 1) {
            Verdict::Pass => now,
            Verdict::Delay { us } => now + us,
            Verdict::Refuse => continue,
        };
        first.limiter.charge(&mut one, at, 1);
        // limiters are fed in order; delays of one key end in the order in which they began
        last_exit = last_exit.max(exit);
        let exit = on(last_exit, second);
        if second.limiter.ask(&two, exit, 1).admits() {
            second.limiter.charge(&mut two, exit, 1);
        } else {
            refused += 1;
        }
    }
    refused
}

fn is_idle(first: &str, second: &str) -> Option<(Limit, Limit)> {
    let text = format!(
        "name = \"pair\"\n[[limit]]\nname = \"one\"\ngroup = \"a\"\ncharge = \"none\"\n{}\n\
         [[limit]]\nname = \"two\"\ngroup = \"b\"\ncharge = \"none\"\n{}\n",
        by("ip", first),
        by("ip", second)
    );
    let pair = policy(&text, None);
    let found = lint(&pair, None, None).iter().any(|finding| finding.code == Code::NeverBinds);
    let [one, two] = pair.limits.as_slice() else { panic!("two limits") };
    found.then(|| (one.clone(), two.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]
    #[test]
    fn a_limit_that_never_binds_never_refuses(
        first in limiter(),
        second in limiter(),
        pauses in pauses(),
    ) {
        if let Some((one, two)) = is_idle(&first, &second) {
            prop_assert_eq!(refused(&one, &two, &pauses), 0, "{}\nbefore\n{}", first, second);
        }
    }
}

#[test]
fn the_proof_is_of_something() {
    let mut runner = TestRunner::deterministic();
    let (mut idle, mut binding) = (0, 0);
    for _ in 0..2_000 {
        let value =
            |runner: &mut TestRunner| limiter().new_tree(runner).expect("a limiter").current();
        let (first, second) = (value(&mut runner), value(&mut runner));
        let flood = vec![0; 300];
        match is_idle(&first, &second) {
            Some((one, two)) => {
                idle += 1;
                assert_eq!(refused(&one, &two, &flood), 0, "{first}\nbefore\n{second}");
            }
            None => binding += 1,
        }
    }
    assert!(idle > 100 && binding > 100, "{idle} idle, {binding} binding");
}
