//! What a limiter of a given size refuses, for the keys that need more: each passes the limiter itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::limiter::{Algorithm, Verdict, Visitor};
use crate::replay::states::floor;
use crate::traffic::bitmap::Bitmap;

use super::critical::{AskedKeys, CriticalLimits, OpenLimit};

/// The requests that a limiter of that size refuses.
pub(super) fn refused(
    asked: &AskedKeys<'_>,
    open: &OpenLimit,
    critical: &CriticalLimits,
    size: u64,
) -> Bitmap {
    open.sizing.limiter(size).visit(Trial { asked, open, critical, size })
}

struct Trial<'a> {
    asked: &'a AskedKeys<'a>,
    open: &'a OpenLimit,
    critical: &'a CriticalLimits,
    size: u64,
}

impl Visitor for Trial<'_> {
    type Output = Bitmap;

    fn visit<A: Algorithm + Sync>(self, algorithm: &A) -> Bitmap
    where
        A::State: Send,
    {
        let Self { asked, open, critical, size } = self;
        let (tick_us, holds) = (open.tick_us.max(1), open.sizing.counts_in_flight());
        let mut refused = Bitmap::filled(asked.events(), false);
        let mut state = algorithm.fresh();
        let mut completions: BinaryHeap<Reverse<(i64, u64)>> = BinaryHeap::new();
        // all others are never refused
        let above = critical.limits.iter().enumerate().filter(|(_, limit)| **limit > size);
        for (key, _) in above {
            algorithm.reset(&mut state);
            completions.clear();
            for (event, t_us) in asked.of(key) {
                // at one instant completions come before arrivals
                while let Some(Reverse((end_us, weight))) = completions.peek().copied()
                    && end_us <= t_us
                {
                    completions.pop();
                    algorithm.complete(&mut state, floor(end_us, tick_us), weight);
                }
                let weight = asked.weight(event);
                let (verdict, _) = algorithm.step(&mut state, floor(t_us, tick_us), weight, true);
                if verdict == Verdict::Refuse {
                    refused.insert(usize::try_from(event).unwrap_or(usize::MAX));
                } else if holds {
                    completions.push(Reverse((asked.end_us(event, t_us, tick_us), weight)));
                }
            }
        }
        refused
    }
}
