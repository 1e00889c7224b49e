//! What is recommended, and why: the result that reports and policy files are written from.

use rust_decimal::Decimal;

use crate::limiter::Limiter;
use crate::policy::{Limit, LimitKey, Policy};
use crate::replay::run::Replayed;
use crate::site::matching::Match;
use crate::units::bracket::Bracket;

use super::confidence::Confidence;
use super::holdout::Holdout;

/// Whom the limits are sized for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Real {
    /// Identities with customer evidence.
    Customers,
    /// The site names evidence, but no identity in this log has it: all that no attacker rule matches.
    NoCustomerFound,
    /// Nobody says who is a customer: all that no attacker rule matches.
    AllButAttackers,
    /// Nothing tells anyone apart.
    Everyone,
}

impl Real {
    /// What several are called.
    pub fn words(self) -> &'static str {
        if self == Self::Customers { "customers" } else { "identities" }
    }
}

/// Everything that is recommended.
#[derive(Debug)]
pub struct Recommended {
    /// Whom the limits are sized for.
    pub real: Real,
    /// One for each target, in the targets' order.
    pub recommendations: Vec<Recommendation>,
    /// The limits of those that have one: limits of single servers first, else in the targets' order.
    pub policy: Policy,
    /// That policy's replay; `None` where it has no limits.
    pub replayed: Option<Replayed>,
    /// Requests that limits were sized from.
    pub requests: u64,
    /// The first and the last of them, microseconds.
    pub period_us: Option<(i64, i64)>,
    /// Step of the stamps, microseconds.
    pub step_us: i64,
    /// Requests that a limiter had refused already, which makes peaks too low.
    pub already_refused: u64,
    /// Keys of the site that no request has.
    pub keys_without_evidence: Vec<String>,
    /// What `check` finds wrong with the policy: one sentence each.
    pub findings: Vec<String>,
    /// What is known of the site's requirements.
    pub requirements: Vec<super::requirements::Told>,
}

/// What is recommended for one target.
#[derive(Debug, Clone)]
pub struct Recommendation {
    /// The target's name.
    pub target: String,
    /// Which requests.
    pub matching: Match,
    /// Their routes, as reports name them.
    pub route: String,
    /// By what key.
    pub key: LimitKey,
    /// The algorithm's name.
    pub algorithm: String,
    /// The window looked at, microseconds; of several the one chosen, else the first.
    pub window_us: Option<i64>,
    /// The limit; `None` where there is no single answer.
    pub limit: Option<Limit>,
    /// What it rests on; `None` where there is no evidence.
    pub basis: Option<Basis>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
    /// The choice that is left, by limit ascending: where there is no single answer, or it was made by its
    /// cost.
    pub tradeoff: Vec<Point>,
    /// What tells customers from attackers where the limit doesn't.
    pub split: Option<Split>,
    /// What the recommended policy does by this limit.
    pub expected: Option<Expected>,
    /// What it did on days it never saw.
    pub holdout: Option<Holdout>,
    /// Why this limit, or why none: a few sentences. Nothing of a key's text is in it.
    pub why: String,
    /// Further facts worth a line each.
    pub notes: Vec<String>,
    /// Servers that count apart; 1 for shared counters.
    pub instances: u64,
}

/// What a limit rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// Keys of those it is sized for.
    pub keys: u64,
    /// Their requests.
    pub requests: u64,
    /// What the busiest of them needs: its critical limit.
    pub busiest: Bracket<u64>,
    /// What all but one in a thousand of them need.
    pub p999: Bracket<u64>,
    /// Headroom, thousandths.
    pub headroom_milli: u64,
    /// The text of the busiest key.
    pub busiest_key: Vec<u8>,
    /// Requests of the window on which a bucket's rate rests: the busiest key's most in any window.
    pub pace: Option<Bracket<u64>>,
    /// Users seen with the busiest key, if it is made of addresses and users are known.
    pub users_of_busiest: Option<u64>,
}

/// A limit that could be set, with what it costs either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What would decide.
    pub limiter: Limiter,
    /// Identities of those it is sized for that it would refuse at least once.
    pub real_refused: u64,
    /// Identities of which nobody knows whose they are, likewise; 0 where it is sized for them.
    pub unknown_refused: u64,
    /// Requests of attacks that it is asked about.
    pub attack_requests: u64,
    /// Of these, refused.
    pub attack_refused: u64,
    /// What it costs altogether, if the site prices both.
    pub cost: Option<Decimal>,
}

/// Another key, or part of the requests, by which a limit tells customers from attackers.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// In words.
    pub what: String,
    /// The limit.
    pub limit: Limit,
    /// Identities that it would refuse, of those that are real.
    pub real_refused: u64,
    /// Requests of the attack, in all.
    pub attack_requests: u64,
    /// Of these, refused.
    pub attack_refused: u64,
}

/// What the recommended policy does by one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Identities that it would refuse, of those that are real.
    pub real_refused: Bracket<u64>,
    /// Identities of which nobody knows whose they are; 0 where it is sized for them.
    pub unknown_refused: Bracket<u64>,
    /// Requests of attacks that it is asked about.
    pub attack_requests: u64,
    /// Of these, refused.
    pub attack_refused: Bracket<u64>,
    /// Whether it refused nothing at all.
    pub never_binds: bool,
}

impl Recommendation {
    /// Its limit or a bucket's burst; `None` without one.
    pub fn size(&self) -> Option<u64> {
        self.limit
            .as_ref()
            .and_then(|limit| crate::limiter::critical::Sizing::size_of(&limit.limiter))
    }

    /// Whether the size is a bucket's burst, which has a rate beside it.
    pub fn is_bucket(&self) -> bool {
        let limiter = self.limit.as_ref().map(|limit| &limit.limiter);
        matches!(limiter, Some(Limiter::Nginx(_) | Limiter::TokenBucket(_) | Limiter::Gcra(_)))
    }
}
