//! What holds of every algorithm, over generated traffic that likes ticks, ties and the ends of windows.
//!
//! That asking changes nothing, and that keys don't touch each other, needs no test: `ask` borrows the
//! state of one key and has nothing else to write to.

mod bounds;
mod exhaustive;
mod monotone;
pub(crate) mod subjects;

use proptest::prelude::*;

use super::aws_waf::AwsWaf;
use super::gcra::Gcra;
use super::token_bucket::{Refill, TokenBucket};
use super::{Algorithm, Limiter, Ready, State};
use crate::units::rate::Rate;
use subjects::{Subject, any_subject, any_traffic};

/// Midnight of a day in 2026, UTC: where generated traffic begins, microseconds since the epoch.
pub(crate) const START_US: i64 = 1_795_392_000_000_000;

/// One request of generated traffic, in terms of the limiter's own window and tick.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Quarters of the window since the request before.
    quarters: i64,
    /// Ticks more, or fewer.
    ticks: i64,
    /// What it weighs.
    weight: u64,
    /// For how long it is in flight, ticks, at least 1.
    duration: i64,
}

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decision {
    at_us: i64,
    weight: u64,
    admitted: bool,
}

/// A key's state while traffic is replayed, with what is in flight.
#[derive(Debug, Clone)]
struct Replay<'a> {
    subject: &'a Subject,
    state: State,
    in_flight: Vec<(i64, u64)>,
    now_us: i64,
}

impl<'a> Replay<'a> {
    fn new(subject: &'a Subject, start_us: i64) -> Self {
        let state = subject.limiter.fresh();
        Self { subject, state, in_flight: Vec::new(), now_us: start_us }
    }

    /// Completes what has ended by an instant, then asks and charges.
    fn request(&mut self, at_us: i64, weight: u64, duration: i64) -> bool {
        let limiter = &self.subject.limiter;
        self.now_us = at_us;
        let state = &mut self.state;
        self.in_flight.retain(|(end_us, held)| {
            if *end_us <= at_us {
                limiter.complete(state, *end_us, *held);
            }
            *end_us > at_us
        });
        let admitted = limiter.ask(state, at_us, weight).admits();
        if admitted {
            limiter.charge(state, at_us, weight);
            self.in_flight.push((at_us + duration * self.subject.tick_us, weight));
        } else {
            limiter.charge_refused(state, at_us, weight);
        }
        admitted
    }

    fn step(&mut self, step: Step) -> Decision {
        let tick_us = self.subject.tick_us;
        let gap = step.quarters * self.subject.window_us / 4 / tick_us + step.ticks;
        let at_us = self.now_us + gap.max(0) * tick_us;
        let weight = if self.subject.unit_weights { 1 } else { step.weight };
        Decision { at_us, weight, admitted: self.request(at_us, weight, step.duration) }
    }
}

fn replay(subject: &Subject, traffic: &[Step], start_us: i64) -> Vec<Decision> {
    let mut replay = Replay::new(subject, start_us);
    traffic.iter().map(|step| replay.step(*step)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_request_is_ready_at_the_first_instant_that_admits_it(
        subject in any_subject(),
        traffic in any_traffic(0..40),
        weight in 1_u64..10,
        later in 0_i64..9,
    ) {
        let mut replay = Replay::new(&subject, START_US);
        for step in traffic {
            replay.step(step);
        }
        let (limiter, state) = (&subject.limiter, &replay.state);
        let t_us = replay.now_us + later * subject.window_us / 8;
        let admits = |at_us: i64| limiter.ask(state, at_us, weight).admits();
        match limiter.ready(state, t_us, weight) {
            Ready::At(at_us) => {
                prop_assert!(at_us >= t_us && admits(at_us), "{at_us} after {t_us}");
                let before = [t_us, t_us.midpoint(at_us), at_us - 1];
                let early = before.into_iter().filter(|b| (t_us..at_us).contains(b)).find(|b| admits(*b));
                prop_assert_eq!(early, None, "ready at {} though", at_us);
            }
            Ready::AfterCompletion => {
                let waited = (0..50).any(|k| admits(t_us + k * subject.window_us));
                prop_assert!(!waited, "admitted before anything completed");
                let mut idle = state.clone();
                for (end_us, held) in &replay.in_flight {
                    limiter.complete(&mut idle, *end_us, *held);
                }
                let long_after_us = t_us + 50 * subject.window_us;
                prop_assert!(limiter.ask(&idle, long_after_us, weight).admits());
            }
            Ready::Never => {
                let admitted = (0..200).any(|k| admits(t_us + k * subject.window_us / 3));
                prop_assert!(!admitted, "admitted though it never should be");
            }
        }
    }

    #[test]
    fn a_state_left_alone_for_long_enough_is_as_good_as_fresh(
        subject in any_subject(),
        traffic in any_traffic(0..40),
        later in 0_i64..9,
        after in any_traffic(1..20),
    ) {
        let limiter = &subject.limiter;
        let Some(forgets_us) = limiter.forgets_us() else { return Ok(()) };
        let mut old = Replay::new(&subject, START_US);
        for step in traffic {
            old.step(step);
        }
        let left_us = forgets_us + later * subject.window_us / 8;
        old.now_us += (left_us + subject.tick_us - 1) / subject.tick_us * subject.tick_us;
        let mut fresh = Replay::new(&subject, old.now_us);
        let mut charged = false;
        for (number, step) in after.into_iter().enumerate() {
            // the first comes at once
            let step = if number == 0 { Step { quarters: 0, ticks: 0, ..step } } else { step };
            let decision = fresh.step(step);
            prop_assert_eq!(old.step(step), decision);
            charged |= decision.admitted;
            if charged {
                let fullness = |of: &Replay<'_>| limiter.fullness(&of.state, decision.at_us);
                prop_assert_eq!(fullness(&old), fullness(&fresh));
            }
        }
    }

    #[test]
    fn shifting_all_arrivals_shifts_the_decisions(
        subject in any_subject(),
        traffic in any_traffic(1..40),
        steps in 1_i64..1_000,
    ) {
        if subject.shift_us == 0 {
            return Ok(());
        }
        let shift_us = steps * subject.shift_us;
        let moved = replay(&subject, &traffic, START_US + shift_us);
        let back = moved.iter().map(|d| Decision { at_us: d.at_us - shift_us, ..*d });
        prop_assert_eq!(back.collect::<Vec<_>>(), replay(&subject, &traffic, START_US));
    }

    #[test]
    fn a_state_is_never_fuller_right_after_a_charge_than_the_limiter_allows(
        subject in any_subject(),
        traffic in any_traffic(1..40),
    ) {
        // what counts refusals grows without end
        if matches!(&subject.limiter, Limiter::AwsWaf(_)) || subject.counts_refused() {
            return Ok(());
        }
        let mut replay = Replay::new(&subject, START_US);
        for step in traffic {
            let decision = replay.step(step);
            let level = subject.limiter.level(&replay.state, decision.at_us);
            prop_assert!(level.used_milli <= level.of_milli, "{level:?}");
            prop_assert!(!decision.admitted || level.used_milli > 0, "{level:?}");
        }
    }

    #[test]
    fn gcra_and_a_continuous_bucket_agree_where_the_emission_is_whole_microseconds(
        emission_us in 1_i64..300,
        count in 1_u64..50,
        burst in 1_u64..9,
        traffic in any_traffic(1..80),
    ) {
        let rate = Rate { count, per_us: emission_us * i64::try_from(count).unwrap() };
        let bucket = TokenBucket { burst, refill: Refill::Continuous(rate) };
        let subject = |limiter| Subject::of(limiter, emission_us * 4, 1);
        let bucket = subject(Limiter::TokenBucket(bucket));
        let gcra = subject(Limiter::Gcra(Gcra { rate, burst_total: burst }));
        prop_assert_eq!(
            replay(&bucket, &traffic, START_US),
            replay(&gcra, &traffic, START_US)
        );
    }

    #[test]
    fn the_rate_based_rule_admits_no_more_in_a_window_than_its_flood_allows(
        limit in 10_u64..60,
        per_second in 1_i64..20,
        detect_s in 0_i64..30,
        phase_s in 0_i64..10,
        pauses in prop::collection::vec((1_i64..100, 0_i64..90), 1..8),
    ) {
        let second_us = 1_000_000;
        let waf = AwsWaf {
            limit,
            window_us: 60 * second_us,
            detect_us: detect_s * second_us,
            release_us: 0,
            phase_us: phase_s * second_us,
        };
        let rate = Rate { count: u64::try_from(per_second).unwrap(), per_us: second_us };
        let subject = Subject::of(Limiter::AwsWaf(waf), waf.window_us, 1_000);
        let mut replay = Replay::new(&subject, START_US);
        let (mut passed, mut at_us) = (Vec::new(), START_US);
        for (flood_s, pause_s) in pauses {
            for _ in 0..flood_s * per_second {
                at_us += second_us / per_second;
                if replay.request(at_us, 1, 1) {
                    passed.push(at_us);
                }
            }
            at_us += pause_s * second_us;
        }
        let most = usize::try_from(waf.bound_under(rate)).unwrap();
        for (index, last_us) in passed.iter().enumerate() {
            let first = passed.partition_point(|t| *t <= last_us - waf.window_us);
            prop_assert!(index + 1 - first <= most + 1, "{} of {most}", index + 1 - first);
        }
    }
}
