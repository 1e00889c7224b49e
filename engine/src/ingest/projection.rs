//! What a job needs of each line: nothing else is kept.

use crate::format::record::{Client, Record};
use crate::format::text::present;
use crate::site::key::KeySpec;
use crate::site::route::Route;

use super::client::ClientRule;

/// The keys and routes a job asks for.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// Keys, `ip` first; those made of the address alone cost no column.
    pub keys: Vec<KeySpec>,
    /// Routes, first match wins; without any, paths are folded into templates.
    pub routes: Vec<Route>,
    /// Arrivals before this are left out, microseconds since the epoch.
    pub from_us: Option<i64>,
    /// Arrivals at or after this are left out, microseconds since the epoch.
    pub to_us: Option<i64>,
    /// How the client is found behind proxies; else as the log has it.
    pub client: Option<ClientRule>,
}

impl Projection {
    /// Whether an arrival is inside the period asked for.
    pub fn covers(&self, arrival_us: i64) -> bool {
        self.from_us.is_none_or(|from| arrival_us >= from)
            && self.to_us.is_none_or(|to| arrival_us < to)
    }

    /// The fields that only some formats have and that this job needs.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let client = self.client.as_ref().and_then(|rule| rule.field.as_deref());
        self.keys.iter().flat_map(KeySpec::fields).chain(client)
    }

    /// Who counts as the client of a record, and whether the field that says it (without a rule, `X-Forwarded-For`) has a value; `extras`
    /// are the values of [`Self::fields`].
    pub(super) fn client_of<'a>(
        &self,
        record: &Record<'a>,
        extras: &[(&str, Option<&'a [u8]>)],
    ) -> (Client<'a>, bool) {
        let Some(rule) = &self.client else {
            return (record.client, record.forwarded.is_some());
        };
        let field = rule.field.as_deref().and_then(|wanted| {
            extras.iter().find(|(name, _)| *name == wanted).and_then(|(_, value)| *value)
        });
        let header = rule.header(record, field.and_then(present));
        (rule.client(record, header), header.is_some())
    }

    /// Whether a request was refused or held up by a limiter, as far as its line tells for sure.
    pub fn is_limited(&self, record: &Record<'_>) -> bool {
        let told = record.limited.is_some_and(|said| said == b"REJECTED" || said == b"DELAYED");
        told || record.status == Some(429)
    }

    /// The keys that need a column of their own, in order.
    pub fn column_keys(&self) -> impl Iterator<Item = &KeySpec> {
        self.keys.iter().filter(|key| key.address_prefix().is_none())
    }
}
