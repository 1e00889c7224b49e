//! `[client.NAME]` and `[[duplicate]]`: what clients do when refused, and what they do twice.

use super::{Reading, name_or_empty, unique};
use crate::document::{At, Table};
use crate::site::facts::{Client, ClientKind, Duplicate};
use crate::units::slug::slug;

const KINDS: [(&str, ClientKind); 3] = [
    ("gives-up", ClientKind::GivesUp),
    ("retries", ClientKind::Retries),
    ("honours-retry-after", ClientKind::HonoursRetryAfter),
];

impl Reading<'_> {
    pub(super) fn clients(&self) -> Vec<Client> {
        self.root.named("client").iter().map(|(name, table)| self.client(name, table)).collect()
    }

    fn client(&self, name: &At<&str>, table: &Table<'_>) -> Client {
        let backoff_us = table.span_us("backoff").unwrap_or_default();
        let cap_us = table.span_us("cap").unwrap_or(i64::MAX);
        if backoff_us > cap_us {
            let help = "pauses grow from `backoff` to `cap`";
            table.contradicts("backoff", "`backoff` is longer than `cap`", help);
        }
        Client {
            name: name.value.to_owned(),
            matching: self.requests().under(table, "match"),
            kind: table.word("kind", &KINDS).unwrap_or(ClientKind::GivesUp),
            attempts: table.whole("attempts").unwrap_or_default(),
            backoff_us,
            cap_us,
        }
    }

    pub(super) fn duplicates(&self) -> Vec<Duplicate> {
        let tables = self.root.tables("duplicate");
        unique(&tables, slug);
        let read = |table: &Table<'_>| Duplicate {
            name: name_or_empty(table),
            matching: self.evidence().under(table, "match"),
            key: self.key(table, "key"),
            within_us: table.span_us("within").unwrap_or_default(),
        };
        tables.iter().map(read).collect()
    }
}
