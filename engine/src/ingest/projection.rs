//! What a job needs of each line: nothing else is kept.

use std::borrow::Cow;

use crate::format::record::{Client, Record};
use crate::format::text::present;
use crate::site::key::{KeySpec, Source};
use crate::site::matching::{TextCondition, TextField};
use crate::site::route::Route;

use super::client::ClientRule;
use super::conditions::source_of;
use super::extract::Extras;

/// What a limiter of connections decided: nginx's `$limit_conn_status`.
pub(super) const LIMIT_CONN_STATUS: &str = "limit_conn_status";
/// Bytes that an event takes whatever is asked for: arrival, address, place, status.
const COLUMN_BYTES: u64 = 8 + 4 + 4 + 2;
/// Bytes of what a replay needs besides: duration, two decisions, source, line.
const REPLAY_BYTES: u64 = 8 + 1 + 1 + 4 + 4;
/// Bytes that an event takes for a while, when columns are joined and put in order.
const ORDER_BYTES: u64 = 8 + 4;

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
    /// Conditions on texts, answered for every request.
    pub conditions: Vec<TextCondition>,
    /// Whether events are to be replayed, and have what that needs; their paths aren't told apart then.
    pub replay: bool,
    /// Whether it is kept for a replay which instance got each request: from a field of its line, or its file
    /// if no line of any names one and there are several files.
    pub instances: bool,
}

impl Projection {
    /// Whether an arrival is inside the period asked for.
    pub fn covers(&self, arrival_us: i64) -> bool {
        self.from_us.is_none_or(|from| arrival_us >= from)
            && self.to_us.is_none_or(|to| arrival_us < to)
    }

    /// Of these, those that a JSON object may lack though another has them: of keys and conditions.
    pub(super) fn late_fields(&self) -> Vec<String> {
        let keys = self.keys.iter().flat_map(KeySpec::fields).map(str::to_owned);
        keys.chain(self.of_conditions().map(Cow::into_owned)).collect()
    }

    fn of_conditions(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.conditions.iter().filter_map(|condition| match &condition.of {
            TextField::Field(name) => match source_of(name) {
                Source::Field(field) => Some(Cow::Owned(field)),
                _ => None,
            },
            _ => None,
        })
    }

    /// The fields that only some formats have and that this job needs.
    pub fn fields(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let client = self.client.as_ref().and_then(|rule| rule.field.as_deref());
        let conditions = self.of_conditions();
        let keys = self.keys.iter().flat_map(KeySpec::fields);
        let replay = self.replay.then_some(LIMIT_CONN_STATUS);
        keys.chain(client).chain(replay).map(Cow::Borrowed).chain(conditions)
    }

    /// Bytes of memory that one event takes at most while it is read, besides the texts of its keys.
    pub fn event_bytes(&self) -> u64 {
        let count = |many: usize| u64::try_from(many).unwrap_or(u64::MAX);
        let keys = count(self.column_keys().count()).saturating_mul(4);
        let conditions = count(self.conditions.len().div_ceil(64)).saturating_mul(8);
        let rest = if self.replay { REPLAY_BYTES } else { 8 };
        let rest = if self.instances { rest + 4 } else { rest };
        keys.saturating_add(conditions).saturating_add(COLUMN_BYTES + rest + ORDER_BYTES)
    }

    /// Who counts as the client of a record, and whether the field that says it (without a rule,
    /// `X-Forwarded-For`) has a value; `extras` are the values of [`Self::fields`].
    pub(super) fn client_of<'a>(
        &self,
        record: &Record<'a>,
        extras: Extras<'a>,
    ) -> (Client<'a>, bool) {
        let Some(rule) = &self.client else {
            return (record.client, record.forwarded.is_some());
        };
        let field = rule.field.as_deref().and_then(|wanted| extras.get(wanted));
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
