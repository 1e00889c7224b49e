//! What a limit's counters take at their fullest: an estimate of bytes, from how long keys and entries
//! live.

use crate::limiter::Limiter;
use crate::limiter::fixed_window::Window;
use crate::limiter::sliding_log::SlidingLog;
use crate::policy::Limit;
use crate::traffic::Traffic;
use crate::units::span::MINUTE_US;

/// Bytes that a state takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bytes {
    /// A key, whatever it remembers.
    key: i64,
    /// Each entry of a log beside.
    entry: i64,
}

/// A state of nginx's `limit_req` zone on 64-bit systems. Source:
/// <https://nginx.org/en/docs/http/ngx_http_limit_req_module.html#limit_req_zone>.
const LIMIT_REQ: i64 = 128;
/// The same of `limit_conn`. Source:
/// <https://nginx.org/en/docs/http/ngx_http_limit_conn_module.html#limit_conn_zone>.
const LIMIT_CONN: i64 = 64;
/// A string with an expiry in Redis 7.0, key names of 25 bytes: measured 117 (`used_memory` ÷ keys, 200,000
/// keys).
const REDIS_STRING: i64 = 120;
/// A hash of two numbers with an expiry, measured alike: 182.
const REDIS_HASH: i64 = 184;
/// A sorted set with an expiry and no entries yet: 181 with one.
const REDIS_SET: i64 = 144;
/// An entry of a short sorted set: 330 with 5, 5,265 with 128.
const REDIS_SHORT_ENTRY: i64 = 40;
/// An entry of a long one: 128.
const REDIS_LONG_ENTRY: i64 = 128;
/// The most entries of a short one (`zset-max-listpack-entries`).
const REDIS_SHORT: u64 = 128;
/// How long nginx keeps an idle state at least, microseconds.
const NGINX_IDLE_US: i64 = MINUTE_US;

/// What a state of a limit takes in a store or a zone of nginx; `None` elsewhere: what a process takes for
/// it, nobody can tell.
fn bytes(limit: &Limit) -> Option<Bytes> {
    let key = |key| Some(Bytes { key, entry: 0 });
    match (&limit.limiter, limit.store.is_some()) {
        (Limiter::Nginx(_), _) => key(LIMIT_REQ),
        (Limiter::Concurrency(_), false) => key(LIMIT_CONN),
        (Limiter::Block(_) | Limiter::AwsWaf(_), _) | (_, false) => None,
        (Limiter::SlidingLog(log), true) => {
            let short = log.limit <= REDIS_SHORT;
            let entry = if short { REDIS_SHORT_ENTRY } else { REDIS_LONG_ENTRY };
            Some(Bytes { key: REDIS_SET, entry })
        }
        (Limiter::SlidingCounter(_), true) => key(2 * REDIS_STRING),
        (Limiter::TokenBucket(_) | Limiter::Spacing(_), true) => key(REDIS_HASH),
        (Limiter::FixedWindow(_) | Limiter::Gcra(_) | Limiter::Concurrency(_), true) => {
            key(REDIS_STRING)
        }
    }
}

/// Follows how much a limit's states take, to whole slots of time. Keys may be followed apart and put
/// together: only the order of one key's requests matters.
#[derive(Debug, Clone)]
pub(super) struct Memory<'p> {
    limit: &'p Limit,
    bytes: Bytes,
    /// How long a state lives after a request that it remembers, where that is always as long,
    /// microseconds.
    lives_us: i64,
    changes: Changes,
}

/// From when until when a key's state is another than a new one, microseconds: the last time that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    from_us: i64,
    until_us: i64,
}

impl Default for Life {
    fn default() -> Self {
        Self { from_us: i64::MIN, until_us: i64::MIN }
    }
}

/// A request as memory sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remembered {
    /// When the limit took it into account, as its clock shows it, microseconds.
    pub(super) t_us: i64,
    /// Whether the limit refused it.
    pub(super) refused: bool,
    /// What it weighs.
    pub(super) weight: u64,
    /// How long it took, microseconds.
    pub(super) lasted_us: i64,
}

impl<'p> Memory<'p> {
    /// For a limit whose counters take the user's memory: a store's, or a zone of nginx.
    pub(super) fn new(limit: &'p Limit, traffic: &Traffic) -> Option<Self> {
        let bytes = bytes(limit)?;
        let times = &traffic.events.times_us;
        let span = (times.first().copied()?, times.last().copied()?);
        Some(Self { limit, bytes, lives_us: lives_us(&limit.limiter), changes: Changes::new(span) })
    }

    /// A key's limit was asked about a request.
    #[inline]
    pub(super) fn asked(&mut self, life: &mut Life, request: &Remembered) {
        let Remembered { t_us, refused, weight, .. } = *request;
        let mut until_us = self.until_us(life.until_us, request).unwrap_or(life.until_us);
        if let (true, Some(ban)) = (refused, self.limit.ban) {
            until_us = until_us.max(t_us.saturating_add(ban.us));
        }
        if until_us > t_us && until_us > life.until_us {
            if self.changes.is_past(life.until_us, t_us) {
                self.ended(life);
                life.from_us = t_us;
            }
            life.until_us = until_us;
        }
        if let Limiter::SlidingLog(log) = &self.limit.limiter
            && counts(log, refused)
        {
            let weight = i64::try_from(weight).unwrap_or(i64::MAX);
            let until_us = t_us.saturating_add(log.window_us);
            self.changes.alive((t_us, until_us), self.bytes.entry.saturating_mul(weight));
        }
    }

    /// All requests of a key, where each keeps the state for as long, whatever is decided: nginx's zones,
    /// unless it bans. `false` if that isn't so.
    pub(super) fn looked_at(&mut self, at_us: impl Iterator<Item = i64>) -> bool {
        if !matches!(self.limit.limiter, Limiter::Nginx(_)) || self.limit.ban.is_some() {
            return false;
        }
        // each request's arrival adds the key, and takes it away where its life before ended: at the latest
        // then, which comes to nothing if it hadn't
        let mut gone = None;
        for t_us in at_us {
            let slot = self.changes.slot(t_us);
            if let Some(gone) = gone {
                self.changes.change(slot.min(gone), self.bytes.key.saturating_neg());
            }
            self.changes.change(slot, self.bytes.key);
            gone = Some(self.changes.gone(t_us.saturating_add(self.lives_us)));
        }
        if let Some(gone) = gone {
            self.changes.change(gone, self.bytes.key.saturating_neg());
        }
        true
    }

    /// A key's life is over, or its last one is known.
    pub(super) fn ended(&mut self, life: &Life) {
        if life.from_us < life.until_us {
            self.changes.alive((life.from_us, life.until_us), self.bytes.key);
        }
    }

    /// Until when the state lives after a request, if it is one that it remembers, microseconds.
    fn until_us(&self, before_us: i64, request: &Remembered) -> Option<i64> {
        let Remembered { t_us, refused, lasted_us, .. } = *request;
        let on = |us: i64| t_us.saturating_add(us);
        match &self.limit.limiter {
            // a window that is open stays as long as it is
            Limiter::FixedWindow(_) if t_us < before_us => Some(before_us),
            Limiter::FixedWindow(fixed) => match fixed.window {
                Window::FirstRequest { us, .. } => Some(on(us)),
                Window::Clock { .. } | Window::Calendar { .. } => {
                    fixed.window_us(t_us).map(|(_, end_us)| end_us)
                }
            },
            Limiter::SlidingLog(log) => counts(log, refused).then(|| on(self.lives_us)),
            Limiter::SlidingCounter(counter) => {
                (counter.count_refused || !refused).then(|| on(self.lives_us))
            }
            Limiter::Concurrency(_) | Limiter::Spacing(_) => {
                let least_us = self.lives_us.max(self.limit.tick_us);
                (!refused).then(|| on(lasted_us.max(least_us)))
            }
            Limiter::TokenBucket(_) | Limiter::Gcra(_) => (!refused).then(|| on(self.lives_us)),
            // each look keeps it
            Limiter::Nginx(_) => Some(on(self.lives_us)),
            Limiter::AwsWaf(_) | Limiter::Block(_) => None,
        }
    }

    /// Adds what was followed of other keys.
    pub(super) fn merge(&mut self, other: &Self) {
        self.changes.merge(&other.changes);
    }

    /// Bytes at the fullest.
    pub(super) fn most(&self) -> u64 {
        self.changes.most()
    }
}

/// How long a state lives after a request at least, microseconds: what implementations set as its expiry.
fn lives_us(limiter: &Limiter) -> i64 {
    // a bucket's is the time in which it fills
    let fills_us = |burst: u64| {
        let Some(rate) = limiter.long_run() else { return i64::MAX };
        let whole = u128::from(burst).saturating_mul(rate.per_us.unsigned_abs().into());
        i64::try_from(whole.div_ceil(u128::from(rate.count.max(1)))).unwrap_or(i64::MAX)
    };
    match limiter {
        Limiter::SlidingLog(log) => log.window_us,
        Limiter::SlidingCounter(counter) => counter.window_us.saturating_mul(2),
        Limiter::Spacing(spacing) => spacing.min_time_us,
        Limiter::TokenBucket(bucket) => fills_us(bucket.burst),
        Limiter::Gcra(gcra) => fills_us(gcra.burst_total),
        Limiter::Nginx(nginx) => fills_us(nginx.burst.saturating_add(1)).max(NGINX_IDLE_US),
        _ => 0,
    }
}

/// Slots that a log's time is cut into at most.
const MOST_SLOTS: i64 = 100_000;
/// The shortest slot is two to the power of this, microseconds: about a second.
const LEAST_BITS: u32 = 20;

/// What comes and goes, by slot of time.
#[derive(Debug, Clone)]
struct Changes {
    /// When the first slot begins, in slots since the epoch.
    first: i64,
    /// A slot is two to the power of this, microseconds: shifting is faster than dividing.
    bits: u32,
    slots: Vec<i64>,
}

impl Changes {
    /// For what happens between two instants, microseconds.
    fn new((first_us, last_us): (i64, i64)) -> Self {
        let span = |bits: u32| (last_us >> bits).saturating_sub(first_us >> bits);
        let bits = (LEAST_BITS..62).find(|bits| span(*bits) < MOST_SLOTS).unwrap_or(62);
        let count = usize::try_from(span(bits).saturating_add(2)).unwrap_or(1);
        Self { first: first_us >> bits, bits, slots: vec![0; count] }
    }

    /// So much is there from one instant to another.
    fn alive(&mut self, (from_us, until_us): (i64, i64), bytes: i64) {
        let (from, gone) = (self.slot(from_us), self.gone(until_us));
        self.change(from, bytes);
        self.change(gone, bytes.saturating_neg());
    }

    /// The slot of an instant.
    fn slot(&self, t_us: i64) -> i64 {
        (t_us >> self.bits).saturating_sub(self.first)
    }

    /// The first slot without what ends then: it is gone with the end of the last that it reaches into.
    fn gone(&self, until_us: i64) -> i64 {
        self.slot(until_us.saturating_sub(1)).saturating_add(1)
    }

    /// So much comes with a slot, or goes.
    #[inline]
    fn change(&mut self, slot: i64, bytes: i64) {
        let at = usize::try_from(slot.max(0)).unwrap_or(usize::MAX);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = slot.saturating_add(bytes);
        }
    }

    /// Whether what ended then is gone in the slot of an instant: a key is there once in a slot, however
    /// often it comes and goes in it.
    fn is_past(&self, until_us: i64, t_us: i64) -> bool {
        (until_us.saturating_sub(1) >> self.bits) < (t_us >> self.bits)
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    fn most(&self) -> u64 {
        let (_, most) = self.slots.iter().fold((0_i64, 0_i64), |(now, most), change| {
            let now = now.saturating_add(*change);
            (now, most.max(now))
        });
        most.unsigned_abs()
    }
}

/// Whether a log remembers a request.
fn counts(log: &SlidingLog, refused: bool) -> bool {
    log.count_refused || !refused
}
