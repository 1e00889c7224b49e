//! Limiters of every kind with small parameters, and traffic for them.

use proptest::prelude::*;
use proptest::sample::select;

use super::Step;
use crate::limiter::aws_waf::AwsWaf;
use crate::limiter::block::Block;
use crate::limiter::concurrency::Concurrency;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::spacing::Spacing;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::limiter::{Boundary, Limiter};
use crate::units::rate::Rate;
use crate::units::span::{DAY_US, SECOND_US};
use crate::units::zone::{CalendarUnit, Zone};

/// A limiter under test.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) limiter: Limiter,
    /// The length that its decisions turn on, microseconds.
    pub(crate) window_us: i64,
    /// The clock's step, microseconds.
    pub(crate) tick_us: i64,
    /// Moving all arrivals by multiples of this changes no decision; 0 if there is no such length.
    pub(super) shift_us: i64,
    /// Whether what it bounds is requests, not weight.
    pub(super) unit_weights: bool,
}

impl Subject {
    pub(super) fn of(limiter: Limiter, window_us: i64, tick_us: i64) -> Self {
        Self { limiter, window_us, tick_us, shift_us: tick_us, unit_weights: false }
    }

    pub(super) fn counts_refused(&self) -> bool {
        match &self.limiter {
            Limiter::FixedWindow(window) => window.count_refused,
            Limiter::SlidingLog(log) => log.count_refused,
            Limiter::SlidingCounter(counter) => counter.count_refused,
            _ => false,
        }
    }
}

fn zone(name: &str) -> Zone {
    Zone::parse(name).unwrap()
}

pub(super) fn any_traffic(
    length: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Step>> + Clone {
    let quarters = prop_oneof![6 => Just(0_i64), 2 => Just(1), 3 => Just(4), 1 => 0_i64..14];
    let ticks = prop_oneof![4 => Just(0_i64), 3 => Just(1), 3 => -2_i64..5, 1 => 0_i64..40];
    let weight = prop_oneof![5 => Just(1_u64), 2 => 1_u64..4, 1 => 1_u64..9];
    let step = (quarters, ticks, weight, 1_i64..60)
        .prop_map(|(quarters, ticks, weight, duration)| Step { quarters, ticks, weight, duration });
    prop::collection::vec(step, length)
}

fn any_boundary() -> impl Strategy<Value = Boundary> {
    select(vec![Boundary::Open, Boundary::Closed])
}

fn any_window_boundary() -> impl Strategy<Value = Boundary> {
    prop_oneof![2 => any_boundary(), 1 => Just(Boundary::UntilFull)]
}

/// Ticks that divide lengths, that don't, and one longer than some.
fn any_tick() -> impl Strategy<Value = i64> {
    select(vec![1_i64, 1, 1, 7, 50])
}

pub(super) fn any_nginx() -> impl Strategy<Value = Subject> {
    let rate = select(vec![16_u64, 133, 333, 1_000, 1_666, 10_000, 100_000]);
    let delay = prop_oneof![Just(Delay::All), Just(Delay::None), (0_u64..5).prop_map(Delay::After)];
    (rate, 0_u64..8, delay, select(vec![1_000_i64, 1_000, 1, 5_000])).prop_map(
        |(rate_milli, burst, delay, tick_us)| {
            let nginx = Nginx { rate_milli, burst, delay, reclaim: Reclaim::None };
            let window_us = 1_000_000_000_i64 / i64::try_from(rate_milli).unwrap();
            let mut subject = Subject::of(Limiter::Nginx(nginx), window_us, tick_us);
            subject.shift_us = 5_000;
            subject
        },
    )
}

pub(super) fn any_fixed_window() -> impl Strategy<Value = Subject> {
    let length = || 1_i64..400;
    // window, its length, and what arrivals may be moved by
    let window = prop_oneof![
        (length(), select(vec!["UTC", "Asia/Kolkata"]))
            .prop_map(|(us, name)| { (Window::Clock { us, zone: zone(name) }, us, us * 350) }),
        (length(), any_window_boundary())
            .prop_map(|(us, boundary)| { (Window::FirstRequest { us, boundary }, us, 350) }),
        select(vec!["UTC", "Asia/Kolkata"]).prop_map(|name| {
            let window = Window::Calendar { unit: CalendarUnit::Day, zone: zone(name) };
            (window, DAY_US, DAY_US)
        }),
    ];
    (window, 1_u64..8, any::<bool>(), any_tick()).prop_map(
        |((window, window_us, shift_us), limit, count_refused, tick_us)| {
            let limiter = FixedWindow { limit, window, count_refused };
            let mut subject = Subject::of(Limiter::FixedWindow(limiter), window_us, tick_us);
            subject.shift_us = shift_us;
            subject
        },
    )
}

/// Windows of a zone whose offset changes, and months of every length: nothing to move arrivals by.
fn any_changing_window() -> impl Strategy<Value = Subject> {
    let unit = select(vec![(CalendarUnit::Day, 1), (CalendarUnit::Month, 30)]);
    let window = prop_oneof![
        unit.prop_map(|(unit, days)| {
            (Window::Calendar { unit, zone: zone("Europe/Berlin") }, days * DAY_US)
        }),
        select(vec![5 * DAY_US / 24, DAY_US])
            .prop_map(|us| { (Window::Clock { us, zone: zone("Europe/Berlin") }, us) }),
    ];
    (window, 1_u64..8, any::<bool>()).prop_map(|((window, window_us), limit, count_refused)| {
        let limiter = FixedWindow { limit, window, count_refused };
        let mut subject = Subject::of(Limiter::FixedWindow(limiter), window_us, 1);
        subject.shift_us = 0;
        subject
    })
}

pub(super) fn any_sliding_log() -> impl Strategy<Value = Subject> {
    (1_u64..8, 1_i64..400, any_boundary(), any::<bool>(), any_tick()).prop_map(
        |(limit, window_us, boundary, count_refused, tick_us)| {
            let log = SlidingLog { limit, window_us, boundary, count_refused };
            Subject::of(Limiter::SlidingLog(log), window_us, tick_us)
        },
    )
}

pub(super) fn any_sliding_counter() -> impl Strategy<Value = Subject> {
    let estimate = select(vec![Estimate::Interpolated, Estimate::Floored]);
    let anchor = select(vec![
        Anchor::Stepped,
        Anchor::Clock(Zone::UTC),
        Anchor::Clock(zone("Asia/Kolkata")),
    ]);
    (1_u64..8, 1_i64..400, estimate, anchor, any::<bool>(), any_tick()).prop_map(
        |(limit, window_us, estimate, anchor, count_refused, tick_us)| {
            let haproxy =
                estimate == Estimate::Floored && anchor == Anchor::Stepped && count_refused;
            // HAProxy knows milliseconds, and its windows begin at even ones
            let unit_us = if haproxy { 1_000 } else { 1 };
            let (window_us, tick_us) = (window_us * unit_us, tick_us * unit_us);
            let counter = SlidingCounter { limit, window_us, estimate, anchor, count_refused };
            let mut subject = Subject::of(Limiter::SlidingCounter(counter), window_us, tick_us);
            if anchor != Anchor::Stepped {
                subject.shift_us = window_us * 350;
            } else if haproxy {
                subject.shift_us = 2 * tick_us;
            }
            subject
        },
    )
}

pub(super) fn any_bucket() -> impl Strategy<Value = Subject> {
    let rate = (1_u64..6, 1_i64..400).prop_map(|(count, per_us)| Rate { count, per_us });
    let refill = prop_oneof![
        rate.clone().prop_map(|rate| (Some(Refill::Continuous(rate)), rate)),
        rate.clone().prop_map(|rate| {
            (Some(Refill::Interval { fill: rate.count, us: rate.per_us }), rate)
        }),
        rate.prop_map(|rate| (None, rate)),
    ];
    (refill, 1_u64..8, any_tick()).prop_map(|((refill, rate), burst, tick_us)| {
        let limiter = match refill {
            Some(refill) => Limiter::TokenBucket(TokenBucket { burst, refill }),
            None => Limiter::Gcra(Gcra { rate, burst_total: burst }),
        };
        Subject::of(limiter, rate.per_us, tick_us)
    })
}

pub(super) fn any_slots() -> impl Strategy<Value = Subject> {
    let spacing = (0_i64..200, prop::option::of(1_u64..5)).prop_map(|(min_time_us, most)| {
        // without slots there is a distance: a policy has at least one of them
        let min_time_us = if most.is_none() { min_time_us.max(1) } else { min_time_us };
        (Limiter::Spacing(Spacing { min_time_us, max_concurrent: most }), min_time_us.max(4))
    });
    let slots = (0_u64..6).prop_map(|limit| (Limiter::Concurrency(Concurrency { limit }), 40));
    (prop_oneof![spacing, slots], any_tick()).prop_map(|((limiter, window_us), tick_us)| {
        let mut subject = Subject::of(limiter, window_us, tick_us);
        subject.unit_weights = matches!(subject.limiter, Limiter::Spacing(_));
        subject
    })
}

pub(super) fn any_waf() -> impl Strategy<Value = Subject> {
    let lag = || select(vec![0_i64, 5, 10, 30, 60]);
    (1_u64..20, select(vec![60_i64, 120]), lag(), lag(), 0_i64..10).prop_map(
        |(limit, window_s, detect_s, release_s, phase_s)| {
            let waf = AwsWaf {
                limit,
                window_us: window_s * SECOND_US,
                detect_us: detect_s * SECOND_US,
                release_us: release_s * SECOND_US,
                phase_us: phase_s * SECOND_US,
            };
            let mut subject = Subject::of(Limiter::AwsWaf(waf), 20 * SECOND_US, 1_000);
            subject.shift_us = 10 * SECOND_US;
            subject
        },
    )
}

/// Limiters whose windows are always equally long.
pub(super) fn any_steady_subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        3 => any_nginx(),
        4 => any_fixed_window(),
        3 => any_sliding_log(),
        4 => any_sliding_counter(),
        4 => any_bucket(),
        2 => any_slots(),
        2 => any_waf(),
        1 => Just(Subject::of(Limiter::Block(Block), 100, 1)),
    ]
}

pub(crate) fn any_subject() -> impl Strategy<Value = Subject> {
    prop_oneof![12 => any_steady_subject(), 1 => any_changing_window()]
}

/// Limiters whose counts and windows don't depend on what they admitted, or whose windows are the
/// clock's.
pub(super) fn any_given_subject() -> impl Strategy<Value = Subject> {
    let any = prop_oneof![any_fixed_window(), any_sliding_log(), any_sliding_counter(), any_waf()];
    any.prop_map(|mut subject| {
        match &mut subject.limiter {
            Limiter::FixedWindow(window) => {
                window.count_refused |= matches!(window.window, Window::FirstRequest { .. });
            }
            Limiter::SlidingLog(log) => log.count_refused = true,
            Limiter::SlidingCounter(counter) => counter.count_refused = true,
            _ => {}
        }
        subject
    })
}
