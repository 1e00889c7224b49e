//! What a replay tells whoever listens: each limit asked, each response counted, each request ended.

use crate::limiter::{Level, Ready, Verdict};
use crate::policy::Limit;

/// Listens to a replay.
pub trait Observer {
    /// Whether it looks at [`Asked::before`] and [`Asked::ready`]: without, they aren't worked out.
    fn wants_detail(&self) -> bool {
        false
    }

    /// A limit was asked about a request, and what came of it is known.
    fn asked(&mut self, _asked: &Asked) {}

    /// A request without the limit's key wasn't asked.
    fn missing(&mut self, _event: usize, _limit: usize) {}

    /// A response was counted when it completed (`count_when`).
    fn counted(&mut self, _counted: &Counted) {}

    /// A request came to its end: admitted by all, or refused.
    fn ended(&mut self, _ended: &Ended) {}

    /// A request never came: its client had given up.
    fn given_up(&mut self, _event: usize) {}

    /// An idle key was freed by another's arrival (nginx).
    fn reclaimed(&mut self, _limit: usize, _key: u32, _t_us: i64) {}
}

/// Why a limit decided as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its algorithm says so.
    Algorithm,
    /// The key is banned until this instant, microseconds.
    Banned(i64),
    /// The request has no key, and such are refused.
    NoKey,
    /// It waited, and another took its place or the queue was full.
    QueueFull,
    /// It weighs more than the limit can ever admit.
    TooHeavy,
    /// The store couldn't be asked, and `on_store_error` decided.
    StoreAway,
}

/// A limit was asked about a request.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The request.
    pub event: usize,
    /// The limit, as an index of the policy's.
    pub limit: usize,
    /// The limit's key.
    pub key: u32,
    /// The instance of the limit's tier, where each counts for itself; else 0.
    pub instance: u32,
    /// Which attempt of its client this is, from 1.
    pub attempt: u32,
    /// When the request reached the limit, microseconds.
    pub t_us: i64,
    /// What it weighs.
    pub weight: u64,
    /// What the limit says. In shadow, a refusal ends nothing.
    pub verdict: Verdict,
    /// Whether the limit is in shadow mode.
    pub shadow: bool,
    /// Why.
    pub cause: Cause,
    /// How full the state was before.
    pub before: Level,
    /// How full it is after.
    pub after: Level,
    /// For a refusal: when the same request would be admitted.
    pub ready: Option<Ready>,
}

impl Asked {
    /// When the limit takes the request into account, microseconds: where requests wait, when it starts.
    pub(super) fn charged_us(&self, limit: &Limit) -> i64 {
        match self.verdict {
            Verdict::Delay { us } if limit.queue.is_some() => self.t_us.saturating_add(us),
            _ => self.t_us,
        }
    }

    /// The word for the verdict, and how long it holds the request, microseconds: `pass`, `delay`,
    /// `refuse`, or `shadow`, which would refuse.
    pub fn outcome(&self) -> (&'static str, i64) {
        match self.verdict {
            Verdict::Pass => ("pass", 0),
            Verdict::Delay { us } => ("delay", us),
            Verdict::Refuse if self.shadow => ("shadow", 0),
            Verdict::Refuse => ("refuse", 0),
        }
    }
}

/// A response was counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The request.
    pub event: usize,
    /// Which attempt of its client it was, from 1.
    pub attempt: u32,
    /// The limit.
    pub limit: usize,
    /// The limit's key.
    pub key: u32,
    /// When it completed, microseconds.
    pub t_us: i64,
    /// How full the state is after.
    pub after: Level,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The request.
    pub event: usize,
    /// Which attempt of its client this is, from 1.
    pub attempt: u32,
    /// When it was decided: the attempt's arrival and what it was delayed, microseconds.
    pub t_us: i64,
    /// What it was delayed before, microseconds.
    pub delay_us: i64,
    /// The limit that refused it.
    pub refused_by: Option<usize>,
}

impl Ended {
    /// How it was answered in the end.
    pub fn verdict(&self) -> Verdict {
        match (self.refused_by, self.delay_us) {
            (Some(_), _) => Verdict::Refuse,
            (None, us @ 1..) => Verdict::Delay { us },
            (None, _) => Verdict::Pass,
        }
    }
}

/// Tells two listeners.
#[derive(Debug)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Observer, B: Observer> Observer for Both<A, B> {
    fn wants_detail(&self) -> bool {
        self.0.wants_detail() || self.1.wants_detail()
    }

    fn asked(&mut self, asked: &Asked) {
        self.0.asked(asked);
        self.1.asked(asked);
    }

    fn missing(&mut self, event: usize, limit: usize) {
        self.0.missing(event, limit);
        self.1.missing(event, limit);
    }

    fn counted(&mut self, counted: &Counted) {
        self.0.counted(counted);
        self.1.counted(counted);
    }

    fn ended(&mut self, ended: &Ended) {
        self.0.ended(ended);
        self.1.ended(ended);
    }

    fn given_up(&mut self, event: usize) {
        self.0.given_up(event);
        self.1.given_up(event);
    }

    fn reclaimed(&mut self, limit: usize, key: u32, t_us: i64) {
        self.0.reclaimed(limit, key, t_us);
        self.1.reclaimed(limit, key, t_us);
    }
}
