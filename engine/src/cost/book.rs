//! A price book: what a cloud asks for what limits run on, with the date at which that was so.

use rust_decimal::Decimal;

use crate::document::{Document, Field, Kind, Problem, Shape, Table};
use crate::site::read::{unique, utf8};
use crate::units::zone::Zone;

/// The book that is compiled in, for sites that name none: its name for messages, and its text.
pub const BUILT_IN: (&str, &str) =
    ("prices/2026-12.toml", include_str!("../../../prices/2026-12.toml"));

/// The most that a count of a book may be.
const MOST: u64 = 1_000_000_000;
const COUNT: Kind = Kind::Whole(1, MOST);

/// A price book.
pub static BOOK: Shape = Shape {
    name: "price book",
    doc: "Prices of one cloud at one date.",
    fields: &[
        Field::required("name", Kind::Text, "Whose prices, and where."),
        Field::required("date", Kind::Instant, "When they were so."),
        Field::required("currency", Kind::Text, "Three letters of ISO 4217."),
        Field::default("month_seconds", COUNT, "2600000", "Seconds of a month of requests."),
        Field::default("node_hours", COUNT, "730", "Hours of a month that nodes run."),
        Field::optional("waf", Kind::Table(&WAF), "The firewall: items `waf`."),
        Field::optional("cdn", Kind::Table(&CDN), "The delivery network: items `cdn`."),
        Field::optional("node", Kind::Tables(&NODE), "Nodes of a store: items `redis-nodes`."),
        Field::optional(
            "redis-serverless",
            Kind::Table(&SERVERLESS),
            "A store paid by the call: items `redis-serverless`.",
        ),
    ],
};

static WAF: Shape = Shape {
    name: "waf",
    doc: "A firewall with rate-based rules.",
    fields: &[
        Field::required("requests_per_million", Kind::Money, "A million requests."),
        Field::required("web_acl_month", Kind::Money, "A web ACL, a month."),
        Field::required("rule_month", Kind::Money, "A rule, a month."),
    ],
};

static CDN: Shape = Shape {
    name: "cdn",
    doc: "A content delivery network.",
    fields: &[Field::required("requests_per_10_000", Kind::Money, "Ten thousand requests.")],
};

static NODE: Shape = Shape {
    name: "node",
    doc: "A kind of node.",
    fields: &[
        Field::required("name", Kind::Text, "Its name."),
        Field::required("hour", Kind::Money, "An hour of one."),
    ],
};

static SERVERLESS: Shape = Shape {
    name: "redis-serverless",
    doc: "A store that is paid by the call.",
    fields: &[
        Field::required("ecpu_per_million", Kind::Money, "A million processing units."),
        Field::required("ecpu_per_call", COUNT, "Processing units of a limiter's call."),
        Field::required("storage_gb_hour", Kind::Money, "A gigabyte for an hour."),
        Field::required("storage_least_mb", Kind::Whole(0, MOST), "Megabytes paid at least."),
    ],
};

/// A checked price book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    /// Whose prices.
    pub name: String,
    /// When they were so, microseconds since the epoch.
    pub date_us: i64,
    /// ISO 4217.
    pub currency: String,
    /// Seconds of a month of requests.
    pub month_seconds: u64,
    /// Hours of a month that nodes run.
    pub node_hours: u64,
    /// The firewall.
    pub waf: Option<Waf>,
    /// Ten thousand requests of a delivery network.
    pub cdn_per_10_000: Option<Decimal>,
    /// Kinds of nodes: name, and price of an hour.
    pub nodes: Vec<(String, Decimal)>,
    /// A store paid by the call.
    pub serverless: Option<Serverless>,
}

/// Prices of a firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waf {
    /// A million requests.
    pub per_million: Decimal,
    /// A web ACL, a month.
    pub web_acl: Decimal,
    /// A rule, a month.
    pub rule: Decimal,
}

/// Prices of a store paid by the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serverless {
    /// A million processing units.
    pub ecpu_per_million: Decimal,
    /// Processing units of a call.
    pub ecpu_per_call: u64,
    /// A gigabyte for an hour.
    pub gb_hour: Decimal,
    /// Megabytes paid at least.
    pub least_mb: u64,
}

/// Reads a price book. `file` is its name for messages.
///
/// # Errors
/// All problems of the file, by place.
pub fn read(bytes: &[u8], file: &str) -> Result<Book, Vec<Problem>> {
    let text = utf8(bytes, file)?;
    let document = Document::parse(file, text);
    let book = book(&document.root(&BOOK));
    let problems = document.into_problems();
    if problems.is_empty() { Ok(book) } else { Err(problems) }
}

fn book(root: &Table<'_>) -> Book {
    let money = |table: &Table<'_>, key| table.money(key).unwrap_or_default();
    let nodes = root.tables("node");
    unique(&nodes, str::to_owned);
    let node = |table: &Table<'_>| {
        (table.text("name").unwrap_or_default().to_owned(), money(table, "hour"))
    };
    Book {
        name: root.text("name").unwrap_or_default().to_owned(),
        date_us: root.instant_us("date", Zone::UTC).unwrap_or_default(),
        currency: root.get("currency").map(|item| item.currency()).unwrap_or_default(),
        month_seconds: root.whole("month_seconds").unwrap_or_default(),
        node_hours: root.whole("node_hours").unwrap_or_default(),
        waf: root.table("waf").map(|table| Waf {
            per_million: money(&table, "requests_per_million"),
            web_acl: money(&table, "web_acl_month"),
            rule: money(&table, "rule_month"),
        }),
        cdn_per_10_000: root.table("cdn").map(|table| money(&table, "requests_per_10_000")),
        nodes: nodes.iter().map(node).collect(),
        serverless: root.table("redis-serverless").map(|table| Serverless {
            ecpu_per_million: money(&table, "ecpu_per_million"),
            ecpu_per_call: table.whole("ecpu_per_call").unwrap_or_default(),
            gb_hour: money(&table, "storage_gb_hour"),
            least_mb: table.whole("storage_least_mb").unwrap_or_default(),
        }),
    }
}
