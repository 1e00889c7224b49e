//! What a replay counts of each key of a limit: refusals, lock-outs, how full its state was.

use crate::limiter::Level;
use crate::measure::percentile::nearest_rank;

use super::tally::LimitTally;

/// Keys whose share of all refusals is told.
const TOP_KEYS: usize = 10;

/// How full a limit's states were, in thousandths of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FillTally {
    /// 99 % of all keys were never fuller.
    pub p99_milli: u64,
    /// The fullest.
    pub max_milli: u64,
    /// What may be used.
    pub of_milli: u64,
    /// When the fullest was, microseconds since the epoch.
    pub at_us: Option<i64>,
}

/// What is counted of one key.
#[derive(Debug, Clone, Copy, Default)]
struct KeyTally {
    asked: u64,
    refused: u64,
    /// When the refusals began that nothing has interrupted.
    refused_since_us: Option<i64>,
    fullest_milli: u64,
}

/// What is counted of all keys of a limit.
#[derive(Debug)]
pub(super) struct KeyTallies {
    /// By the key's number; the last is for requests without the key.
    keys: Vec<KeyTally>,
    longest_lockout_us: i64,
    fill: FillTally,
}

impl KeyTallies {
    pub(super) fn new(distinct: usize) -> Self {
        Self {
            keys: vec![KeyTally::default(); distinct + 1],
            longest_lockout_us: 0,
            fill: FillTally::default(),
        }
    }

    /// A key was asked about.
    pub(super) fn asked(&mut self, key: u32, t_us: i64, refused: bool) {
        let mut lockout_us = 0;
        if let Some(tally) = self.tally(key) {
            tally.asked += 1;
            tally.refused += u64::from(refused);
            if refused {
                let since = *tally.refused_since_us.get_or_insert(t_us);
                lockout_us = t_us - since;
            } else {
                tally.refused_since_us = None;
            }
        }
        self.longest_lockout_us = self.longest_lockout_us.max(lockout_us);
    }

    /// How full a key's state became.
    pub(super) fn filled(&mut self, key: u32, level: Level, t_us: i64) {
        if let Some(tally) = self.tally(key) {
            tally.fullest_milli = tally.fullest_milli.max(level.used_milli);
        }
        self.fill.of_milli = self.fill.of_milli.max(level.of_milli);
        if level.used_milli > self.fill.max_milli {
            self.fill.max_milli = level.used_milli;
            self.fill.at_us = Some(t_us);
        }
    }

    /// Writes the sums.
    pub(super) fn finish(self, into: &mut LimitTally) {
        let asked = || self.keys.iter().filter(|key| key.asked > 0);
        into.keys = count(asked().count());
        into.keys_refused = count(asked().filter(|key| key.refused > 0).count());
        let mut refused: Vec<u64> = asked().map(|key| key.refused).collect();
        refused.sort_unstable_by(|a, b| b.cmp(a));
        into.top_keys_refused = refused.iter().take(TOP_KEYS).sum();
        into.longest_lockout_us = self.longest_lockout_us;
        let mut fullest: Vec<u64> = asked().map(|key| key.fullest_milli).collect();
        fullest.sort_unstable();
        into.fill = self.fill;
        into.fill.p99_milli = nearest_rank(&fullest, 99, 100).unwrap_or(0);
    }

    fn tally(&mut self, key: u32) -> Option<&mut KeyTally> {
        let last = self.keys.len().checked_sub(1)?;
        let at = usize::try_from(key).unwrap_or(last).min(last);
        self.keys.get_mut(at)
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
