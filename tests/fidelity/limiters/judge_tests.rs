//! The judge judged: what it asks for again, what it fails, what it leaves out.

use std::cell::Cell;

use shadowcap_engine::limiter::fixed_window::{FixedWindow, Window};
use shadowcap_engine::limiter::{Boundary, Limiter, Verdict};

use super::{Agreement, confirm_in_rounds};
use crate::decisions::Decision;

/// A tick of the limiter's clock, microseconds, and a window of it, ticks.
const TICK_US: i64 = 1_000;
const WINDOW: i64 = 10;
/// Windows that give decisions enough.
const WINDOWS: i64 = 60_000;

/// One request in a window that holds its last instant.
fn limiter() -> Limiter {
    let window = Window::FirstRequest { us: WINDOW * TICK_US, boundary: Boundary::Closed };
    Limiter::FixedWindow(FixedWindow { limit: 1, window, count_refused: true })
}

fn decision(tick: i64, key: &str, verdict: Option<Verdict>) -> Decision {
    let at_us = tick * TICK_US;
    let (from_us, to_us) = (at_us, at_us + 1);
    Decision { sequence: 0, from_us, to_us, key: key.to_owned(), weight: 1, verdict }
}

/// Two requests of each window: in its midst, or at its edges.
fn decisions(edges: bool) -> Vec<Decision> {
    let window = |number| {
        let opens = number * if edges { WINDOW + 1 } else { 3 * WINDOW };
        let again = opens + if edges { WINDOW } else { WINDOW / 2 };
        let second = decision(again, "a", Some(Verdict::Refuse));
        [decision(opens, "a", Some(Verdict::Pass)), second]
    };
    (0..WINDOWS).flat_map(window).collect()
}

/// In how many rounds it's confirmed if those from this one meet edges.
fn rounds(meets_edges_from: u64) -> u64 {
    let asked = Cell::new(0);
    confirm_in_rounds("judged", 1_000, |agreement, round| {
        assert_eq!(round, asked.get());
        asked.set(round + 1);
        agreement.judge(&limiter(), TICK_US, &decisions(round >= meets_edges_from));
    });
    asked.get()
}

#[test]
fn rounds_go_on_until_edges_were_met() {
    assert_eq!([rounds(0), rounds(1), rounds(9)], [1, 2, 10]);
}

#[test]
#[should_panic(expected = "in 10 rounds 0 of 1000 at the first instant")]
fn edges_that_are_never_met_fail() {
    rounds(10);
}

#[test]
#[should_panic(expected = "right: 239999")]
fn a_disagreement_fails_in_a_later_round_too() {
    confirm_in_rounds("judged", 1_000, |agreement, round| {
        let mut decisions = decisions(round > 0);
        if round == 1 {
            decisions[7].verdict = Some(Verdict::Pass);
        }
        agreement.judge(&limiter(), TICK_US, &decisions);
    });
}

#[test]
fn what_the_time_left_open_is_not_known() {
    let asked = Cell::new(0);
    confirm_in_rounds("judged", 0, |agreement, round| {
        asked.set(round + 1);
        // the second of each key may have come in its window or right after
        let two = |number: i64| {
            let key = number.to_string();
            let mut second = decision(WINDOW, &key, Some(Verdict::Refuse));
            second.to_us += TICK_US;
            [decision(0, &key, Some(Verdict::Pass)), second]
        };
        agreement.judge(&limiter(), TICK_US, &(0..WINDOWS).flat_map(two).collect::<Vec<_>>());
    });
    assert_eq!(asked.get(), 2);
}

#[test]
fn a_lost_key_is_followed_no_further() {
    let wrong = |key| {
        let mut second = decision(1, key, Some(Verdict::Pass));
        second.to_us += 60 * TICK_US;
        [decision(0, key, Some(Verdict::Pass)), second]
    };
    let mut agreement = Agreement::new("judged");
    let mut decisions = wrong("too open").to_vec();
    decisions.extend([decision(2, "told", None), decision(3, "told", Some(Verdict::Refuse))]);
    // would be a disagreement, as the last one is
    decisions.push(decision(4, "too open", Some(Verdict::Pass)));
    decisions.extend([0, 1].map(|tick| decision(tick, "known", Some(Verdict::Pass))));
    agreement.judge(&limiter(), TICK_US, &decisions);
    let Agreement { decisions, agreed, left_out, .. } = agreement;
    assert_eq!([decisions, agreed, left_out], [3, 2, 4]);
}
