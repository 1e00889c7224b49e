//! The keys of a site file: types, defaults and meaning of each.

use crate::document::{Field, Kind, Shape};

/// Any count.
pub(crate) const COUNT: Kind = Kind::Whole(0, 1_000_000_000_000);
/// A count of something that is there.
pub(crate) const POSITIVE: Kind = Kind::Whole(1, 1_000_000_000_000);

const COUNTS: Kind = Kind::Map(&POSITIVE);
const TEXT_LISTS: Kind = Kind::Map(&Kind::Texts);

/// `match`: which requests are meant.
pub(crate) static MATCH: Shape = Shape {
    name: "match",
    doc: "Which requests are meant: every key given must fit, each list is \"any of\".",
    fields: &[
        Field::optional("route", Kind::Texts, "Names of routes."),
        Field::optional("method", Kind::Texts, "Methods, in capitals."),
        Field::optional("host", Kind::Texts, "Hosts without port; `*` or `regex:`."),
        Field::optional("path", Kind::Texts, "Path patterns, or `regex:`."),
        Field::optional("label", Kind::Texts, "The client's address is in one of these lists."),
        Field::optional("not_label", Kind::Texts, "The client's address is in none of these."),
        Field::optional("logged_in", Kind::Flag, "Whether the key `user` is present."),
        Field::optional("user_agent", Kind::Texts, "User agents; `*` or `regex:`."),
        Field::optional("key_prefix", TEXT_LISTS, "Key → its text begins with one of these."),
        Field::optional("key_country", TEXT_LISTS, "Key → the phone number's country."),
        Field::optional("field", TEXT_LISTS, "Field of the log → its whole text, or `regex:`."),
        Field::optional("not", Kind::Table(&MATCH), "None of what this matches."),
        Field::optional("status", Kind::Statuses, "Status of the response; never in a limit."),
    ],
};

const MATCHING: Kind = Kind::Table(&MATCH);

/// The whole site file.
pub static SITE: Shape = Shape {
    name: "site",
    doc: "Facts about a site: how logs read, who the clients are, what things cost, what must hold.",
    fields: &[
        Field::optional("name", Kind::Text, "The site's name."),
        Field::default(
            "timezone",
            Kind::Text,
            "UTC",
            "Of reports, calendar windows, times of day.",
        ),
        Field::default("identity", Kind::Text, "ip", "The key that tells people apart."),
        Field::optional("input", Kind::Table(&INPUT), "How the logs read."),
        Field::optional("keys", Kind::Map(&Kind::Table(&KEY)), "Keys beyond ip and global."),
        Field::optional("keys_available", COUNTS, "Key → how many an attacker can have."),
        Field::optional("max_in_flight", COUNTS, "Key → most requests of one in flight together."),
        Field::optional("tier", Kind::Tables(&TIER), "Rows of equal servers."),
        Field::optional("route", Kind::Tables(&ROUTE), "Routes; the first that matches wins."),
        Field::optional("labels", Kind::Map(&Kind::Table(&LABEL)), "Address lists."),
        Field::optional("cohort", Kind::Table(&COHORT), "Who is an attacker, who a customer."),
        Field::optional("client", Kind::Map(&Kind::Table(&CLIENT)), "How refused clients react."),
        Field::optional("duplicate", Kind::Tables(&DUPLICATE), "What is the same thing twice."),
        Field::optional("action", Kind::Tables(&ACTION), "What costs money."),
        Field::optional("outage", Kind::Tables(&OUTAGE), "What-ifs."),
        Field::optional("attack", Kind::Tables(&ATTACK), "Attacks to reckon with."),
        Field::optional("traffic", Kind::Table(&TRAFFIC), "The load, where no log tells."),
        Field::optional("infrastructure", Kind::Table(&INFRASTRUCTURE), "What limits run on."),
        Field::optional("require", Kind::Tables(&REQUIRE), "What must hold."),
        Field::optional("protect", Kind::Tables(&PROTECT), "What `recommend` sizes."),
    ],
};

static INPUT: Shape = Shape {
    name: "input",
    doc: "How the logs read; without it, that is detected.",
    fields: &[
        Field::optional("format", Kind::Word(super::input::FORMATS), "A format's name."),
        Field::optional(
            "log_format",
            Kind::Either(&[Kind::Text, Kind::Table(&LOG_FORMAT)]),
            "The server's format string, or where it stands.",
        ),
        Field::optional("client_ip", Kind::Table(&CLIENT_IP), "Which address is the client's."),
        Field::optional("fields", Kind::Map(&Kind::Text), "Name → column of JSON or CSV."),
    ],
};

static LOG_FORMAT: Shape = Shape {
    name: "log_format",
    doc: "A format string that stands in a server's configuration.",
    fields: &[
        Field::required("nginx_conf", Kind::Text, "The file, beside the site file."),
        Field::optional("name", Kind::Text, "The format's name; needed if there are several."),
    ],
};

static CLIENT_IP: Shape = Shape {
    name: "client_ip",
    doc: "Which address of a field is the client's, as nginx's real_ip finds it.",
    fields: &[
        Field::required("from", Kind::Text, "The field, such as x_forwarded_for."),
        Field::optional("trusted", Kind::Texts, "Proxies to believe, as addresses or ranges."),
        Field::default("recursive", Kind::Flag, "false", "Look past more than one proxy."),
        Field::optional("hop", Kind::Whole(1, 255), "Instead: which one, from the right."),
    ],
};

static KEY: Shape = Shape {
    name: "key",
    doc: "What a client is told apart by.",
    fields: &[
        Field::required("from", Kind::Texts, "Fields; the first that is present counts."),
        Field::optional("normalise", Kind::Word(&["phone"]), "Write every form alike."),
        Field::optional("region", Kind::Text, "Country of numbers without one, such as IN."),
    ],
};

static TIER: Shape = Shape {
    name: "tier",
    doc: "A row of equal servers.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::default("instances", Kind::Whole(1, 100_000), "1", "How many there are."),
        Field::optional("instances_max", Kind::Whole(1, 100_000), "How many there can be."),
        Field::optional(
            "balance",
            Kind::Word(&["round-robin", "random", "by-client", "observed"]),
            "How requests are spread; needed above one instance.",
        ),
    ],
};

static ROUTE: Shape = Shape {
    name: "route",
    doc: "A named set of requests.",
    fields: &[
        Field::required("name", Kind::Text, "Its name: letters, digits, - and _."),
        Field::optional("method", Kind::Texts, "Methods, in capitals."),
        Field::optional("host", Kind::Texts, "Hosts without port."),
        Field::optional("path", Kind::Text, "Literals, {name}, * (not /), **."),
        Field::optional("regex", Kind::Text, "Instead: found somewhere in the path."),
    ],
};

static LABEL: Shape = Shape {
    name: "label",
    doc: "Address lists under one name; of several labels the longest prefix wins.",
    fields: &[Field::required("files", Kind::Texts, "Lists as published, or a range a line.")],
};

static COHORT: Shape = Shape {
    name: "cohort",
    doc: "Who is an attacker, who a customer.",
    fields: &[
        Field::optional("attacker", Kind::Tables(&ATTACKER), "Requests that are an attacker's."),
        Field::optional("customer", Kind::Tables(&CUSTOMER), "Evidence that makes a customer."),
        Field::optional("link", Kind::Table(&LINK), "How requests without identity find theirs."),
    ],
};

static ATTACKER: Shape = Shape {
    name: "cohort.attacker",
    doc: "A rule that makes a request an attacker's.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::optional("match", MATCHING, "Which requests."),
        Field::optional("from", Kind::Instant, "Arrivals from then on."),
        Field::optional("to", Kind::Instant, "Arrivals before then."),
        Field::optional("list", Kind::Table(&LIST), "Keys that are attackers."),
    ],
};

static LIST: Shape = Shape {
    name: "list",
    doc: "A list of a key's values.",
    fields: &[
        Field::required("key", Kind::Text, "The key."),
        Field::required("file", Kind::Text, "CSV; the first column holds the values."),
    ],
};

static CUSTOMER: Shape = Shape {
    name: "cohort.customer",
    doc: "Evidence anywhere in the log that makes an identity a customer.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::optional("match", MATCHING, "Which requests are evidence."),
        Field::default("at_least", POSITIVE, "1", "How many of them it takes."),
        Field::optional("list", Kind::Table(&LIST), "Identities that are customers."),
    ],
};

static LINK: Shape = Shape {
    name: "cohort.link",
    doc: "How requests without identity find theirs.",
    fields: &[
        Field::required("keys", Kind::Texts, "Keys to look for, the first first."),
        Field::required("within", Kind::Span, "How near in time."),
    ],
};

static CLIENT: Shape = Shape {
    name: "client",
    doc: "Clients that react to refusals; only with --clients.",
    fields: &[
        Field::required("match", MATCHING, "Whose requests."),
        Field::required(
            "kind",
            Kind::Word(&["gives-up", "retries", "honours-retry-after"]),
            "What they do.",
        ),
        Field::default("attempts", Kind::Whole(1, 1_000), "3", "Most attempts, with the first."),
        Field::default("backoff", Kind::Span, "1s", "First pause."),
        Field::default("cap", Kind::Span, "60s", "Longest pause."),
    ],
};

static DUPLICATE: Shape = Shape {
    name: "duplicate",
    doc: "What counts as the same thing twice.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("match", MATCHING, "Which requests."),
        Field::required("key", Kind::Text, "Whose."),
        Field::required("within", Kind::Span, "How near in time."),
    ],
};

static ACTION: Shape = Shape {
    name: "action",
    doc: "What costs money.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("match", MATCHING, "Which requests."),
        Field::optional("unit_cost", Kind::Money, "What one unit costs."),
        Field::optional("prices", Kind::Text, "Instead: CSV of prefix and price."),
        Field::optional("priced_key", Kind::Text, "The key whose prefix is priced."),
        Field::required("currency", Kind::Text, "ISO 4217, such as INR."),
        Field::default("units_max", Kind::Whole(1, 1_000_000), "1", "Attempts × segments."),
        Field::optional("dedupe", Kind::Table(&DEDUPE), "Charged once per key."),
        Field::optional("provider_quota", Kind::Table(&QUOTA), "Where the provider stops."),
        Field::optional("response", Kind::Span, "From an alarm to someone acting."),
    ],
};

static DEDUPE: Shape = Shape {
    name: "dedupe",
    doc: "Charged once per key.",
    fields: &[
        Field::required("key", Kind::Text, "The key."),
        Field::required(
            "within",
            Kind::Either(&[Kind::Span, Kind::Word(&["ever"])]),
            "For how long.",
        ),
    ],
};

static QUOTA: Shape = Shape {
    name: "provider_quota",
    doc: "Where the provider stops.",
    fields: &[
        Field::required("amount", Kind::Money, "Money per period."),
        Field::required("per", Kind::Word(&["day", "month"]), "The period."),
        Field::required("late", Kind::SpanOrZero, "How late the provider notices."),
    ],
};

static OUTAGE: Shape = Shape {
    name: "outage",
    doc: "A what-if: only with --outage, and for requirements that name it.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("store", Kind::Text, "The store."),
        Field::required("from", Kind::Instant, "From."),
        Field::required("to", Kind::Instant, "To."),
        Field::default("kind", Kind::Word(&["down", "flush", "slow"]), "down", "What happens."),
        Field::default("share", Kind::Number(6), "1", "Share of calls that fail, 0 to 1."),
        Field::default("after", Kind::Word(&["kept", "empty"]), "kept", "What it remembers."),
    ],
};

static ATTACK: Shape = Shape {
    name: "attack",
    doc: "An attack to reckon with, for figures that need no log.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("match", MATCHING, "What it asks for."),
        Field::optional("requests", POSITIVE, "How many requests."),
        Field::required("rate", Kind::Rate, "How fast."),
        Field::optional("keys", COUNTS, "Key → how many it has."),
    ],
};

static TRAFFIC: Shape = Shape {
    name: "traffic",
    doc: "The load, where no log tells.",
    fields: &[
        Field::required("requests_per_s", Kind::Number(3), "Requests per second."),
        Field::optional("store_calls_per_request", Kind::Number(3), "Calls to a store each."),
    ],
};

static INFRASTRUCTURE: Shape = Shape {
    name: "infrastructure",
    doc: "What the limits run on, and what of it is paid for.",
    fields: &[
        Field::optional("prices", Kind::Text, "The price book, beside the site file."),
        Field::required("items", Kind::Texts, "What is paid for, as the price book calls it."),
        Field::default("rules", COUNT, "0", "Rules of the firewall."),
        Field::default("nodes", COUNT, "0", "Nodes of the store."),
        Field::optional("node", Kind::Text, "Kind of node."),
    ],
};

static REQUIRE: Shape = Shape {
    name: "require",
    doc: "What must hold: what `gate` checks.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("metric", Kind::Text, "What is measured; see `shadowcap metrics`."),
        Field::optional("max", Kind::Number(9), "At most."),
        Field::optional("min", Kind::Number(9), "At least."),
        Field::optional(
            "between",
            Kind::TimesOfDay,
            "Times of day in the site's zone; over midnight, if it ends earlier.",
        ),
        Field::default("horizon", Kind::Span, "24h", "For bounds: in any so long."),
        Field::optional("outage", Kind::Text, "The what-if it is evaluated in."),
    ],
};

static PROTECT: Shape = Shape {
    name: "protect",
    doc: "What `recommend` sizes; without any, every route and key it finds.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::optional("match", MATCHING, "Which requests; all, if left out."),
        Field::required("key", Kind::Text, "By what key."),
        Field::optional(
            "algorithm",
            Kind::Word(crate::limiter::Limiter::NAMES),
            "With what algorithm.",
        ),
        Field::required("windows", Kind::Spans, "Windows to look at."),
        Field::default("headroom", Kind::Number(3), "1.5", "Times the busiest customer."),
        Field::optional(
            "refused_customer_cost",
            Kind::Money,
            "What refusing one customer costs, in the currency of the actions: weighs a choice.",
        ),
    ],
};
