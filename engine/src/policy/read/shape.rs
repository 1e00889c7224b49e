//! The keys of a policy file: types, defaults and meaning of each, and the algorithms it is for.

use crate::document::{Field, Kind, Shape};
use crate::limiter::Limiter;
use crate::site::read::shape::{COUNT, MATCH, POSITIVE};

/// The whole policy file.
pub static POLICY: Shape = Shape {
    name: "policy",
    doc: "Choices: the limits, in the order in which they are asked. Without limits: none.",
    fields: &[
        Field::required("name", Kind::Text, "The policy's name."),
        Field::optional("limit", Kind::Tables(&LIMIT), "The limits, edge to feature."),
    ],
};

/// Limiters that count requests of a window.
pub(super) const WINDOWED: &[&str] = &["fixed-window", "sliding-log", "sliding-counter", "aws-waf"];
const COUNTING: &[&str] = &["fixed-window", "sliding-log", "sliding-counter"];
const QUEUEING: &[&str] = &["fixed-window", "sliding-log", "concurrency", "spacing"];
const ANCHORED: &[&str] = &["fixed-window", "sliding-counter"];
const BUCKETS: &[&str] = &["nginx", "token-bucket", "gcra"];
const BUCKET: &[&str] = &["token-bucket"];
const NGINX: &[&str] = &["nginx"];
const SPACING: &[&str] = &["spacing"];
const WAF: &[&str] = &["aws-waf"];
const LIMITED: &[&str] =
    &["fixed-window", "sliding-log", "sliding-counter", "concurrency", "aws-waf"];

const RETRY: Kind = Kind::Either(&[Kind::Word(&["none", "window", "exact"]), Kind::Span]);
const WINDOW: Kind = Kind::Either(&[Kind::Span, Kind::Word(&["day", "month"])]);
const DELAY: Kind = Kind::Either(&[Kind::Word(&["all", "none"]), COUNT]);
const WEIGHT_KIND: Kind = Kind::Whole(1, 1_000_000);
const WEIGHT: Kind = Kind::Either(&[WEIGHT_KIND, Kind::Map(&WEIGHT_KIND)]);

/// A limit.
pub(super) static LIMIT: Shape = Shape {
    name: "limit",
    doc: "A limit: which requests it is asked about, by what key, and what decides.",
    fields: &[
        Field::required("name", Kind::Text, "Its name, unique in the policy."),
        Field::optional("at", Kind::Text, "A tier, or a free word for one shared place."),
        Field::optional("match", Kind::Table(&MATCH), "Which requests; all, if left out."),
        Field::required("key", Kind::Texts, "ip, ip/24, global, route or named keys; all of them."),
        Field::required("algorithm", Kind::Word(Limiter::NAMES), "What decides."),
        Field::default(
            "mode",
            Kind::Word(&["enforce", "shadow"]),
            "enforce",
            "Whether it refuses.",
        ),
        Field::required("limit", POSITIVE, "The most in a window, or in flight.").of(LIMITED),
        Field::required("window", WINDOW, "Its length; day and month of the calendar.")
            .of(WINDOWED),
        Field::required("rate", Kind::Rate, "Sustained rate; nginx: r/s or r/m.").of(BUCKETS),
        Field::required("burst", COUNT, "nginx: beyond the rate. Bucket: all tokens.").of(BUCKETS),
        Field::required("burst_is", Kind::Word(&["total", "extra"]), "What `burst` counts.")
            .of(&["gcra"]),
        Field::default("delay", DELAY, "all", "What waits: all, none, or what is over.").of(NGINX),
        Field::optional("zone", Kind::Text, "Limits of one zone share one state.").of(NGINX),
        Field::default("reclaim", Kind::Word(&["busy", "none"]), "busy", "Idle keys are freed.")
            .of(NGINX),
        Field::default(
            "refill",
            Kind::Word(&["continuous", "interval"]),
            "continuous",
            "How it fills.",
        )
        .of(BUCKET),
        Field::optional("interval", Kind::Span, "With refill = \"interval\": how often.")
            .of(BUCKET),
        Field::optional("fill", POSITIVE, "With refill = \"interval\": tokens each.").of(BUCKET),
        Field::required(
            "anchor",
            Kind::Word(&["clock", "first-request", "calendar", "stepped"]),
            "Where windows begin; stepped: sliding-counter, others but clock: fixed-window.",
        )
        .of(ANCHORED),
        Field::default("timezone", Kind::Text, "UTC", "Whose clock or calendar.").of(ANCHORED),
        Field::optional(
            "boundary",
            Kind::Word(&["open", "closed", "until-full"]),
            "Whether exactly a window later is inside; until-full: fixed-window.",
        )
        .of(&["fixed-window", "sliding-log"]),
        Field::required(
            "estimate",
            Kind::Word(&["interpolated", "floored"]),
            "How the last window counts.",
        )
        .of(&["sliding-counter"]),
        Field::required("count_refused", Kind::Flag, "Whether refused requests count.")
            .of(COUNTING),
        Field::optional("count_when", Kind::Table(&COUNT_WHEN), "Only such responses count.")
            .of(COUNTING),
        Field::optional("min_time", Kind::Span, "Least time between starts.").of(SPACING),
        Field::optional("max_concurrent", POSITIVE, "Most in flight.").of(SPACING),
        Field::optional(
            "on_limit",
            Kind::Word(&["refuse", "queue"]),
            "Whether what isn't admitted waits.",
        )
        .of(QUEUEING),
        Field::optional("high_water", COUNT, "Most that wait.").of(QUEUEING),
        Field::default(
            "strategy",
            Kind::Word(&["leak", "overflow", "block"]),
            "leak",
            "What happens above it.",
        )
        .of(QUEUEING),
        Field::default("lag_detect", Kind::SpanOrZero, "60s", "How late it may block.").of(WAF),
        Field::default("lag_release", Kind::SpanOrZero, "60s", "How late it may release.").of(WAF),
        Field::optional("alarm", POSITIVE, "Raised when requests of a window first exceed it.")
            .of(WINDOWED),
        Field::optional("group", Kind::Text, "Adjacent limits asked together."),
        Field::optional(
            "charge",
            Kind::Word(&["none", "all"]),
            "Of a group: what a refusal means for others.",
        ),
        Field::optional("expires", Kind::Instant, "In force for arrivals before."),
        Field::default("retry_after", RETRY, "none", "What refused clients are told."),
        Field::default(
            "missing_key",
            Kind::Word(&["skip", "shared", "refuse"]),
            "skip",
            "What becomes of requests without the key.",
        ),
        Field::default("ipv6_prefix", Kind::Whole(0, 128), "64", "How `ip` groups IPv6."),
        Field::default("weight", WEIGHT, "1", "What a request weighs, or by route."),
        Field::optional("tick", Kind::Span, "The limiter's clock; by algorithm and store."),
        Field::optional("ban", Kind::Span, "After a refusal the key is refused for so long."),
        Field::default("ban_extends", Kind::Flag, "false", "Each attempt restarts the ban."),
        Field::default("ban_clears", Kind::Flag, "false", "A ban empties the state."),
        Field::optional(
            "counters",
            Kind::Word(&["local", "shared"]),
            "Above one instance: who counts.",
        ),
        Field::optional("store", Kind::Text, "Where shared counters are, such as redis."),
        Field::optional(
            "on_store_error",
            Kind::Word(&["allow", "refuse", "local"]),
            "What happens when the store can't be asked; required with one.",
        ),
        Field::optional("allow", Kind::Tables(&ALLOW), "Lints that are silenced."),
    ],
};

static COUNT_WHEN: Shape = Shape {
    name: "count_when",
    doc: "Only responses with one of these count, when they complete.",
    fields: &[Field::required("status", Kind::Statuses, "Statuses that count.")],
};

static ALLOW: Shape = Shape {
    name: "allow",
    doc: "A lint that is silenced, and why.",
    fields: &[
        Field::required("lint", Kind::Text, "Its code, such as SC014."),
        Field::required("why", Kind::Text, "The reason."),
    ],
};

/// The keys that a limit of an algorithm may have.
pub(super) fn keys_of(algorithm: &str) -> Vec<&'static str> {
    let own = |field: &&Field| field.algorithms.contains(&algorithm);
    let common = |field: &&Field| field.algorithms.is_empty();
    let fields = || LIMIT.fields.iter();
    // what is its own first: that is what one looks for
    fields().filter(own).chain(fields().filter(common)).map(|field| field.key).collect()
}
