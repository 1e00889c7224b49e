//! The rate-based rule at its checks, and against the rule written out in the longest way.

use proptest::prelude::*;

use super::*;

const S: i64 = SECOND_US;

fn waf(limit: u64, detect_us: i64, release_us: i64) -> AwsWaf {
    AwsWaf { limit, window_us: 60 * S, detect_us, release_us, phase_us: 0 }
}

fn passes(waf: &AwsWaf, state: &AwsWafState, t_us: i64) -> bool {
    waf.ask(state, t_us, 1).admits()
}

#[test]
fn a_key_is_blocked_from_the_check_that_finds_it_over() {
    let waf = waf(10, 0, 0);
    let mut state = waf.fresh();
    waf.charge(&mut state, S, 11);
    assert!(passes(&waf, &state, 10 * S - 1));
    assert!(!passes(&waf, &state, 10 * S));
    // asked at 1 s: the check at 61 s would still count it, that at 70 s doesn't
    assert!(!passes(&waf, &state, 70 * S - 1));
    assert!(passes(&waf, &state, 70 * S));
    assert_eq!(waf.ready(&state, 20 * S, 1), Ready::At(70 * S));
}

#[test]
fn the_limit_itself_is_not_over_and_arrivals_at_a_check_come_after_it() {
    let waf = waf(10, 0, 0);
    let mut state = waf.fresh();
    waf.charge(&mut state, 9 * S, 10);
    waf.charge(&mut state, 10 * S, 1);
    assert!(passes(&waf, &state, 20 * S - 1));
    assert!(!passes(&waf, &state, 20 * S));
}

#[test]
fn detection_and_release_come_late() {
    let slow = waf(10, 60 * S, 0);
    let mut state = slow.fresh();
    slow.charge(&mut state, 5 * S, 11);
    // over from 10 s to 70 s: blocked from 70 s until 70 s, never
    assert!((0..30).all(|ten| passes(&slow, &state, (ten * 10 + 5) * S)));
    slow.charge_refused(&mut state, 15 * S, 11);
    assert!(!passes(&slow, &state, 70 * S));
    assert!(passes(&slow, &state, 80 * S));
    let sticky = waf(10, 0, 60 * S);
    assert_eq!(sticky.ready(&state, 70 * S, 1), Ready::At(140 * S));
}

#[test]
fn refused_requests_keep_a_key_over() {
    let waf = waf(10, 0, 0);
    let mut state = waf.fresh();
    for second in 0..600 {
        if passes(&waf, &state, second * S) {
            waf.charge(&mut state, second * S, 1);
        } else {
            waf.charge_refused(&mut state, second * S, 1);
        }
        assert_eq!(passes(&waf, &state, second * S), second < 20, "{second}");
    }
    assert_eq!(waf.level(&state, 600 * S), Level { used_milli: 60_000, of_milli: 10_000 });
    // entries before the last check's window are let go
    assert!(state.entries.len() <= 70);
}

#[test]
fn a_flood_is_bounded_by_what_passes_before_a_check_acts() {
    let flood = Rate::parse("10/s").unwrap();
    assert_eq!(waf(100, 0, 0).bound_under(flood), 200);
    assert_eq!(waf(100, 30 * S, 0).bound_under(flood), 500);
    assert_eq!(waf(100, 60 * S, 0).bound_under(flood), 600);
    assert_eq!(waf(100, 0, 0).bound(60 * S, 1_000), Bound::Unbounded);
}

/// The rule as it reads: all checks since the first request, each counted anew.
fn blocked_by_definition(waf: &AwsWaf, asked: &[(i64, u64)], t_us: i64) -> bool {
    let Some((first_us, _)) = asked.first() else { return false };
    let counted = |check_us: i64| -> u64 {
        let inside = |at_us: i64| check_us - waf.window_us <= at_us && at_us < check_us;
        asked.iter().filter(|(at_us, _)| inside(*at_us)).map(|(_, weight)| weight).sum()
    };
    let start = (first_us - waf.phase_us).div_euclid(CHECK_US) * CHECK_US + waf.phase_us;
    let checks: Vec<i64> = (0..=(t_us - start) / CHECK_US).map(|n| start + n * CHECK_US).collect();
    checks.iter().enumerate().any(|(index, check_us)| {
        let later = checks[index..].iter().find(|c| counted(**c) <= waf.limit);
        counted(*check_us) > waf.limit
            && check_us + waf.detect_us <= t_us
            && later.is_none_or(|under_us| t_us < under_us + waf.release_us)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn checks_kept_up_as_requests_come_decide_as_all_checks_made_anew(
        gaps in prop::collection::vec((0_i64..40, 1_u64..4), 1..60),
        limit in 1_u64..12,
        detect in 0_i64..40,
        release in 0_i64..40,
        phase in 0_i64..10,
        later in 0_i64..200,
    ) {
        let waf = AwsWaf { phase_us: phase * S, ..waf(limit, detect * S, release * S) };
        let (mut state, mut asked, mut t_us) = (waf.fresh(), Vec::new(), 0);
        for (gap, weight) in gaps {
            t_us += gap * S / 2;
            let admits = passes(&waf, &state, t_us);
            prop_assert_eq!(admits, !blocked_by_definition(&waf, &asked, t_us));
            if admits {
                waf.charge(&mut state, t_us, weight);
            } else {
                waf.charge_refused(&mut state, t_us, weight);
            }
            asked.push((t_us, weight));
        }
        t_us += later * S;
        prop_assert_eq!(passes(&waf, &state, t_us), !blocked_by_definition(&waf, &asked, t_us));
    }
}
