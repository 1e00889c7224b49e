//! What requirements may be about: the one list of names, units and meanings.

/// What stands before the dot of a metric's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// `customer`, `attacker` or `unknown`.
    Cohort,
    /// An attacker rule.
    Rule,
    /// A paid action.
    Action,
    /// A limit.
    Limit,
    /// A kind of duplicate.
    Duplicate,
}

/// The unit of metrics that are money.
pub const MONEY: &str = "money";
/// Names of the cohorts.
pub const COHORTS: [&str; 3] = ["customer", "attacker", "unknown"];

/// Every form: owner, what stands after the dot, unit, meaning.
pub const NAMED: [(Owner, &str, &str, &str); 13] = [
    (Owner::Cohort, "identities_refused", "identities", "people with a request refused"),
    (Owner::Cohort, "requests_refused", "requests", "requests refused"),
    (Owner::Cohort, "delayed", "requests", "requests admitted later than they came"),
    (
        Owner::Rule,
        "refused_share",
        "share, 0 to 1",
        "of the requests that the rule matches, refused",
    ),
    (Owner::Rule, "admitted_per_s", "requests/s", "admitted over the time of the attack"),
    (Owner::Rule, "keys_to_defeat", "keys", "how many keys make the limits useless"),
    (Owner::Action, "bound", MONEY, "the most that any interval as long as the horizon can cost"),
    (
        Owner::Action,
        "bound_aligned",
        MONEY,
        "the same for intervals aligned to the limits' windows",
    ),
    (
        Owner::Action,
        "replayed_worst",
        MONEY,
        "the dearest interval as long as the horizon, replayed",
    ),
    (
        Owner::Action,
        "time_to_alarm_s",
        "seconds",
        "from the beginning of the attack to an alarm, at worst",
    ),
    (Owner::Limit, "fill_max", "share, 0 to 1", "how full its fullest state was"),
    (Owner::Limit, "identities_refused", "identities", "people with a request it refused"),
    (Owner::Duplicate, "admitted", "requests", "duplicates that were still admitted"),
];

/// Metrics that stand alone.
pub const ALONE: [(&str, &str, &str); 2] = [
    (
        "growth_to_first_refusal",
        "factor",
        "how much the traffic can grow until a customer is refused",
    ),
    ("input.bad_share", "share, 0 to 1", "of the lines meant to be requests, unreadable"),
];
