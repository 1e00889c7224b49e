//! What wraps a limiter: weights, queues, bans, alarms, what refused clients are told.

use super::limit::Reading;
use super::shape::{LIMIT, WINDOWED};
use crate::document::{Code, Item, Table};
use crate::policy::{Ban, Queue, RetryAfter, Strategy, Weight};
use crate::site::matching::StatusRange;
use crate::site::read::matching::statuses;
use crate::site::read::names::Of;

const STRATEGIES: [(&str, Strategy); 3] =
    [("leak", Strategy::Leak), ("overflow", Strategy::Overflow), ("block", Strategy::Block)];
/// The most that a request may weigh.
const HEAVIEST: u64 = 1_000_000;

/// `weight`: a number, or one per route.
pub(super) fn weight(reading: &Reading<'_>, table: &Table<'_>) -> Weight {
    let mut weight = Weight { default: 1, by_route: Vec::new() };
    let Some(item) = table.get("weight") else { return weight };
    if item.is_whole() {
        weight.default = item.whole(1..=HEAVIEST).unwrap_or(1);
    } else if item.is_table() {
        for (name, item) in item.entries() {
            let route = reading.names.find(Of::Route, name.value, &item.blamed_at(name.place));
            weight.by_route.extend(route.zip(item.whole(1..=HEAVIEST)));
        }
        weight.by_route.sort_unstable();
    } else {
        item.wrong_type("a whole number from 1, or { ROUTE = n }");
    }
    weight
}

/// Whether a key is one of the algorithm's; if it isn't, that was reported.
fn own(key: &str, algorithm: Option<&str>) -> bool {
    let field = LIMIT.field(key);
    algorithm.is_none_or(|name| field.is_some_and(|field| field.algorithms.contains(&name)))
}

/// `zone` of nginx.
pub(super) fn zone(table: &Table<'_>, algorithm: Option<&str>) -> Option<String> {
    own("zone", algorithm).then(|| table.text("zone")).flatten().map(str::to_owned)
}

/// `alarm`.
pub(super) fn alarm(table: &Table<'_>, algorithm: Option<&str>) -> Option<u64> {
    own("alarm", algorithm).then(|| table.whole("alarm")).flatten()
}

/// `count_when`.
pub(super) fn count_when(table: &Table<'_>, algorithm: Option<&str>) -> Option<Vec<StatusRange>> {
    if !own("count_when", algorithm) {
        return None;
    }
    let inner = table.table("count_when")?;
    Some(inner.get("status").map(|item| statuses(&item)).unwrap_or_default())
}

/// `retry_after`: a word or a length of time.
pub(super) fn retry_after(table: &Table<'_>, algorithm: Option<&str>) -> RetryAfter {
    let Some(item) = table.get("retry_after").filter(Item::is_text) else {
        if let Some(item) = table.peek("retry_after") {
            item.wrong_type(RETRIES);
        }
        return RetryAfter::None;
    };
    match item.text() {
        Some("none") | None => RetryAfter::None,
        Some("exact") => RetryAfter::Exact,
        Some("window") => {
            if algorithm.is_some_and(|name| !WINDOWED.contains(&name)) {
                let problem = item.wrong(Code::Contradiction, "this algorithm has no window");
                item.report(problem.allowed("none, exact, or a length of time such as 30s"));
            }
            RetryAfter::Window
        }
        Some(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {
            RetryAfter::Fixed(item.span_us(false).unwrap_or_default())
        }
        Some(text) => {
            let problem = item.wrong(Code::UnknownWord, format!("`retry_after` can't be `{text}`"));
            item.report(problem.allowed(RETRIES));
            RetryAfter::None
        }
    }
}

/// What `retry_after` may be.
const RETRIES: &str = "none, window, exact, or a length of time such as 30s";

/// `on_limit`, `high_water`, `strategy`: whether and how requests wait.
pub(super) fn queue(table: &Table<'_>, algorithm: Option<&str>) -> Option<Queue> {
    if !own("on_limit", algorithm) {
        return None;
    }
    let spaces = algorithm == Some("spacing");
    let stated = table.word("on_limit", &[("refuse", false), ("queue", true)]);
    if spaces && stated == Some(false) {
        let help = "leave it out, and bound the queue with `high_water`";
        table.contradicts("on_limit", "spacing queues, it doesn't refuse", help);
    }
    let strategy = table.word("strategy", &STRATEGIES).unwrap_or(Strategy::Leak);
    let high_water = table.whole("high_water");
    if spaces || stated == Some(true) {
        if table.has("strategy") && !table.has("high_water") {
            let help = "it says what happens above it";
            table.contradicts("strategy", "`strategy` needs `high_water`", help);
        }
        return Some(Queue { high_water, strategy });
    }
    for key in ["high_water", "strategy"].iter().filter(|key| table.has(key)) {
        if algorithm.is_some() {
            let message = format!("`{key}` needs on_limit = \"queue\"");
            table.contradicts(key, &message, "what is refused at once waits in no queue");
        }
    }
    None
}

/// `ban`, `ban_extends`, `ban_clears`.
pub(super) fn ban(table: &Table<'_>) -> Option<Ban> {
    let extends = table.flag("ban_extends").unwrap_or_default();
    let clears = table.flag("ban_clears").unwrap_or_default();
    if !table.has("ban") {
        for key in ["ban_extends", "ban_clears"].iter().filter(|key| table.has(key)) {
            table.contradicts(
                key,
                &format!("`{key}` needs `ban`"),
                "say for how long, as in ban = \"10m\"",
            );
        }
        return None;
    }
    table.span_us("ban").map(|us| Ban { us, extends, clears })
}
