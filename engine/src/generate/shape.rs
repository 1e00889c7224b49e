//! The keys of a scenario file: types, defaults and meaning of each.

use crate::document::{Field, Kind, Shape};

/// The most of anything that is counted.
const MOST: u64 = 4_000_000_000;
const COUNT: Kind = Kind::Whole(1, MOST);
/// A share, in millionths.
const SHARE: Kind = Kind::Number(6);
const SHARES: Kind = Kind::Map(&SHARE);
const TEXTS: Kind = Kind::Map(&Kind::Text);
/// `3`, or `"1-3"`.
const RANGE: Kind = Kind::Either(&[Kind::Whole(0, MOST), Kind::Text]);

/// The whole scenario file.
pub static SCENARIO: Shape = Shape {
    name: "scenario",
    doc: "Traffic to be generated: who there is, what they do, when attacks come, how lines look.",
    fields: &[
        Field::required("name", Kind::Text, "The scenario's name."),
        Field::default("timezone", Kind::Text, "UTC", "Whose clock curves and stamps follow."),
        Field::default("seed", Kind::Whole(0, MOST), "1", "What all randomness comes from."),
        Field::required("from", Kind::Instant, "The first instant at which a response may end."),
        Field::required("to", Kind::Instant, "The first at which none may any more."),
        Field::required("pool", Kind::Map(&Kind::Table(&POOL)), "Addresses, by name."),
        Field::optional("curve", Kind::Map(&Kind::Table(&CURVE)), "Days and weeks, by name."),
        Field::required("request", Kind::Map(&Kind::Table(&REQUEST)), "Requests, by name."),
        Field::optional("crowd", Kind::Tables(&CROWD), "Those who come in sessions."),
        Field::optional("schedule", Kind::Tables(&SCHEDULE), "Requests by a schedule."),
        Field::required("output", Kind::Tables(&OUTPUT), "How lines are written, and where to."),
    ],
};

static POOL: Shape = Shape {
    name: "pool",
    doc: "Addresses that a group may have.",
    fields: &[
        Field::required(
            "networks",
            Kind::Texts,
            "Where they are; taken in turn. IPv6: a /64 each.",
        ),
        Field::optional("shared", COUNT, "How many all share; left out: one each."),
        Field::optional("busy", Kind::Tables(&BUSY), "Of the shared ones, those of many people."),
        Field::default("roams", Kind::Flag, "false", "Another host of the /64 for each request."),
    ],
};

static BUSY: Shape = Shape {
    name: "busy",
    doc: "Addresses of many people.",
    fields: &[
        Field::required("addresses", COUNT, "How many."),
        Field::required("share", SHARE, "Their share of the people, together."),
    ],
};

static CURVE: Shape = Shape {
    name: "curve",
    doc: "When sessions begin.",
    fields: &[
        Field::required("hours", Kind::Text, "24 whole numbers: hours from 0 on, in proportion."),
        Field::optional(
            "days",
            Kind::Text,
            "7 numbers from Monday on, in hundredths of a usual day.",
        ),
    ],
};

static REQUEST: Shape = Shape {
    name: "request",
    doc: "A kind of request, and how it is answered.",
    fields: &[
        Field::default("method", Kind::Text, "GET", "The method."),
        Field::required(
            "path",
            Kind::Text,
            "The path, with places such as {n}, {1-4000}, {phone}.",
        ),
        Field::optional("status", SHARES, "Statuses, in proportion; left out: 200."),
        Field::default("takes", Kind::Span, "40ms", "How long it takes, the median."),
        Field::default("spread", Kind::Number(3), "0.5", "Standard deviation of its logarithm."),
        Field::default("bytes", RANGE, "200-5000", "Bytes of the response, as \"200-5000\"."),
        Field::default("proves", Kind::Flag, "false", "Whether a 2xx proves a customer."),
    ],
};

/// What crowds and schedules have in common.
macro_rules! group {
    ($($own:expr),* $(,)?) => {
        &[
            Field::required("name", Kind::Text, "Its name, unique in the scenario."),
            Field::default("kind", Kind::Word(&["customer", "attacker"]), "customer", "What the truth says."),
            Field::optional("rule", Kind::Text, "The site's attack rule that is to match."),
            Field::optional("identities", COUNT, "How many people, machines, bots."),
            Field::default("first", Kind::Whole(0, MOST), "0", "The number of the first."),
            Field::optional("like", Kind::Text, "A crowd whose users, phones and addresses these are."),
            Field::optional("user", Kind::Text, "The user's name, as u{n}; left out: never logged in."),
            Field::optional("phone", Kind::Text, "The phone number, as +91{n+9000000000}."),
            Field::optional("pools", SHARES, "Pools of addresses, in proportion."),
            Field::optional("agents", SHARES, "What their clients call themselves, in proportion."),
            Field::optional("fields", TEXTS, "Fields of their own, for {field:NAME}."),
            Field::default("forges", Kind::Flag, "false", "Whether they send X-Forwarded-For."),
            Field::default("logged_in", Kind::Flag, "false", "Whether they are from the beginning."),
            $($own),*
        ]
    };
}

static CROWD: Shape = Shape {
    name: "crowd",
    doc: "A group that comes in sessions, each one at a time.",
    fields: group![
        Field::required("per_day", Kind::Number(3), "Sessions of one of them on a usual day."),
        Field::optional("curve", Kind::Text, "When; left out: all day alike."),
        Field::required("habit", Kind::Tables(&HABIT), "What they do; the first that fits."),
    ],
};

static HABIT: Shape = Shape {
    name: "habit",
    doc: "What happens in a session.",
    fields: &[
        Field::optional("identities", COUNT, "So many have it, the first that have none yet."),
        Field::optional("one_in", COUNT, "One in so many has it. Without both: all others."),
        Field::optional("hour", Kind::Whole(0, 23), "They come in this hour of the day alone."),
        Field::optional("logged_in", Kind::Flag, "Whether it begins logged in; else as the crowd."),
        Field::required("step", Kind::Tables(&STEP), "One after the other."),
    ],
};

static STEP: Shape = Shape {
    name: "step",
    doc: "Requests of one kind.",
    fields: &[
        Field::required("request", Kind::Text, "Which."),
        Field::default("times", RANGE, "1", "How many, as 3 or \"1-3\"."),
        Field::default("chance", SHARE, "1", "In which share of the sessions."),
        Field::default("think", Kind::Span, "5s", "What lies between them, the median."),
        Field::default("spread", Kind::Number(3), "0.6", "Standard deviation of its logarithm."),
        Field::default("least", Kind::SpanOrZero, "0s", "Never less."),
        Field::optional("every", Kind::Span, "Always so long between them, instead."),
        Field::optional("pause", Kind::Span, "What lies before the first."),
        Field::default("logs_in", Kind::Flag, "false", "Whether its response logs in."),
    ],
};

static SCHEDULE: Shape = Shape {
    name: "schedule",
    doc: "A group that comes by a schedule.",
    fields: group![
        Field::required("request", Kind::Text, "What they ask for."),
        Field::required("from", Kind::Instant, "When it begins."),
        Field::required("for", Kind::Span, "How long it goes on."),
        Field::optional("requests", COUNT, "So many, evenly, of one identity after the other."),
        Field::optional("burst", Kind::Text, "Or each comes once, with so many, as \"3-4\"."),
        Field::default("within", Kind::Span, "10s", "With burst: how long that takes."),
        Field::default("logs_in", Kind::Flag, "false", "Whether each response logs in."),
    ],
};

static OUTPUT: Shape = Shape {
    name: "output",
    doc: "How lines look.",
    fields: &[
        Field::required("file", Kind::Text, "Its name; compressed, if it ends in .gz."),
        Field::required(
            "format",
            Kind::Word(&["nginx", "combined", "alb", "jsonl", "csv"]),
            "Which format.",
        ),
        Field::optional("log_format", Kind::Text, "With nginx: its format string."),
        Field::optional("fields", TEXTS, "JSON and CSV: names and texts. nginx: variables beyond."),
        Field::optional(
            "peer",
            Kind::Text,
            "The load balancer's address; left out: there is none.",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{reference, schema};
    use crate::site::read::tests::{assert_schema, root};

    #[test]
    fn the_schema_is_the_committed_one() {
        assert_schema("scenario.schema.json", &schema(&SCENARIO, "shadowcap scenario file"));
    }

    /// `SHADOWCAP_BLESS=1` writes the reference anew.
    #[test]
    fn the_reference_of_all_keys_is_the_committed_one() {
        let path = root().join("docs/generating.md");
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        let made = reference(&SCENARIO, "The scenario file");
        let head = made.lines().next().unwrap();
        let own = page.split(head).next().unwrap_or_default();
        let made = format!("{own}{made}");
        if std::env::var_os("SHADOWCAP_BLESS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert!(page == made, "docs/generating.md: run with SHADOWCAP_BLESS=1");
    }
}
