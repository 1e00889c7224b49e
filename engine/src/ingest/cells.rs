//! The cells of a row: which columns there are, and how a record fills them.

use std::borrow::Cow;

use crate::format::fields::{Field, Kind, Layout, MAX_FIELDS, Role, Values};
use crate::format::parts::split_port;
use crate::format::record::{Client, Record};
use crate::format::request::Request;
use crate::format::text::{number, present};

/// The value of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Missing.
    Null,
    /// Bytes, escapes undone; perhaps no UTF-8.
    Text(Cow<'a, [u8]>),
    /// A whole number.
    Integer(i64),
    /// A decimal number, as written.
    Decimal(&'a [u8]),
    /// An instant, microseconds since the epoch.
    Time(i64),
    /// Yes or no.
    Bool(bool),
    /// Several values.
    List(Vec<Self>),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Instants.
    Time,
    /// Yes or no.
    Bool,
}

/// The columns that every format has, in order.
pub const COLUMNS: [(&str, ColumnKind); 24] = [
    ("time", ColumnKind::Time),
    ("logged", ColumnKind::Time),
    ("client_ip", ColumnKind::Text),
    ("client_port", ColumnKind::Integer),
    ("peer_ip", ColumnKind::Text),
    ("method", ColumnKind::Text),
    ("scheme", ColumnKind::Text),
    ("host", ColumnKind::Text),
    ("path", ColumnKind::Text),
    ("query", ColumnKind::Text),
    ("protocol", ColumnKind::Text),
    ("status", ColumnKind::Integer),
    ("bytes", ColumnKind::Integer),
    ("duration_us", ColumnKind::Integer),
    ("referer", ColumnKind::Text),
    ("user_agent", ColumnKind::Text),
    ("user", ColumnKind::Text),
    ("phone", ColumnKind::Text),
    ("route", ColumnKind::Text),
    ("instance", ColumnKind::Text),
    ("limited", ColumnKind::Text),
    ("malformed", ColumnKind::Bool),
    ("file", ColumnKind::Text),
    ("line", ColumnKind::Integer),
];

/// Columns with `--columns all` before those of the format.
pub const MORE_COLUMNS: [&str; 6] =
    ["remote_user", "ident", "port", "client_raw", "request_raw", "x_forwarded_for"];

/// One request.
#[derive(Debug)]
pub struct Row<'a> {
    /// Cells of [`COLUMNS`].
    pub cells: Vec<Cell<'a>>,
    /// With `--columns all`: cells of [`MORE_COLUMNS`], then of the format's own fields, by name.
    pub more: Vec<(Cow<'a, str>, Cell<'a>)>,
}

/// Everything a row is made of.
pub(super) struct Context<'a> {
    pub(super) record: &'a Record<'a>,
    pub(super) client: Client<'a>,
    pub(super) request: Option<Request<'a>>,
    pub(super) user: Option<Vec<u8>>,
    pub(super) phone: Option<Vec<u8>>,
    pub(super) route: Option<&'a str>,
    pub(super) instance: Option<Cow<'a, [u8]>>,
    pub(super) file: &'a str,
    pub(super) line: u64,
}

impl<'a> Context<'a> {
    fn text(&self, raw: Option<&'a [u8]>) -> Cell<'a> {
        raw.map_or(Cell::Null, |raw| Cell::Text(self.record.escape.undo(raw)))
    }

    /// The cells of [`COLUMNS`].
    pub(super) fn cells(&self) -> Vec<Cell<'a>> {
        let Self { record, request, .. } = self;
        let of_request =
            |pick: fn(&Request<'a>) -> Option<&'a [u8]>| plain(request.as_ref().and_then(pick));
        let scheme = match request.as_ref().and_then(|request| request.scheme) {
            Some(scheme) => plain(Some(scheme)),
            None => self.text(record.scheme),
        };
        let host = match request.as_ref().and_then(|request| request.host) {
            Some(host) => plain(Some(host)),
            None => match record.host {
                Some(host) => self.text(Some(split_port(host).0)),
                None => plain(record.request.line().and_then(Request::host_of_malformed)),
            },
        };
        vec![
            Cell::Time(record.arrival_us),
            Cell::Time(record.logged_us),
            address(Some(self.client)),
            integer(record.client_port),
            address(record.peer.or((self.client != record.client).then_some(record.client))),
            of_request(|request| Some(request.method)),
            scheme,
            host,
            of_request(|request| Some(request.path)),
            of_request(|request| request.query),
            of_request(|request| request.protocol),
            integer(record.status),
            integer(record.bytes.and_then(|bytes| i64::try_from(bytes).ok())),
            integer(record.duration_us),
            self.text(record.referer),
            self.text(record.user_agent),
            owned(self.user.clone()),
            owned(self.phone.clone()),
            plain(self.route.map(str::as_bytes)),
            self.instance.clone().map_or(Cell::Null, Cell::Text),
            self.text(record.limited),
            Cell::Bool(request.is_none()),
            plain(Some(self.file.as_bytes())),
            integer(i64::try_from(self.line).ok()),
        ]
    }

    /// The cells of [`MORE_COLUMNS`] and of the format's own fields.
    pub(super) fn more(
        &self,
        request_line: Option<&[u8]>,
        layout: Option<&Layout>,
        values: &Values<'a>,
    ) -> Vec<(Cow<'a, str>, Cell<'a>)> {
        let record = self.record;
        let raw = match record.client {
            Client::Named(name) => self.text(present(name)),
            Client::Address(_) => Cell::Null,
        };
        let port = record.port.or(self.request.and_then(|request| request.port));
        // a request line that could not be taken apart is shown as written
        let line = request_line.and(record.request.line()).filter(|_| self.request.is_none());
        let cells = [
            self.text(record.user),
            self.text(record.ident),
            integer(port),
            raw,
            plain(line),
            record.forwarded.map_or(Cell::Null, |list| self.list(list, Kind::Texts)),
        ];
        let mut more: Vec<(Cow<'a, str>, Cell<'a>)> =
            MORE_COLUMNS.iter().map(|name| Cow::Borrowed(*name)).zip(cells).collect();
        let fixed = more.len();
        let extra = layout.into_iter().flat_map(|layout| layout.fields.iter().enumerate());
        for (index, field) in extra.filter(|(_, field)| field.role == Role::Extra) {
            // a column in every row, so that the first tells them all
            self.extra(field, values.get(index).unwrap_or(b"-"), &mut more);
        }
        for at in fixed..more.len() {
            let (before, rest) = more.split_at_mut(at);
            let taken = |name: &str| {
                COLUMNS.iter().any(|(known, _)| *known == name)
                    || before.iter().any(|(known, _)| known == name)
            };
            if let Some((name, _)) = rest.first_mut()
                && taken(name)
            {
                let free =
                    (2..=MAX_FIELDS).map(|n| format!("{name}_{n}")).find(|name| !taken(name));
                *name = Cow::Owned(free.unwrap_or_default());
            }
        }
        more
    }

    fn extra(&self, field: &Field, raw: &'a [u8], more: &mut Vec<(Cow<'a, str>, Cell<'a>)>) {
        let name = field.name.clone();
        if field.kind == Kind::Endpoint {
            let (host, port) = split_port(raw);
            more.push((Cow::Owned(format!("{name}_port")), integer(port)));
            more.push((Cow::Owned(name), self.text(present(host))));
            return;
        }
        let cell = match (present(raw), field.kind) {
            (None, _) => Cell::Null,
            (Some(raw), Kind::Texts | Kind::Decimals | Kind::Integers) => {
                self.list(raw, field.kind)
            }
            (Some(raw), kind) => self.single(raw, kind),
        };
        more.push((Cow::Owned(name), cell));
    }

    fn single(&self, raw: &'a [u8], kind: Kind) -> Cell<'a> {
        match kind {
            Kind::Integer | Kind::Integers => {
                integer(number(raw).and_then(|value| i64::try_from(value).ok()))
            }
            Kind::Decimal | Kind::Decimals => {
                let digits = raw.iter().all(|b| b.is_ascii_digit() || *b == b'.');
                let whole =
                    raw.first().zip(raw.last()).is_some_and(|(a, b)| *a != b'.' && *b != b'.');
                if digits && whole { Cell::Decimal(raw) } else { Cell::Null }
            }
            Kind::Text | Kind::Texts | Kind::Endpoint => self.text(present(raw)),
        }
    }

    /// Items parted by `,` and ` : `, blanks around them taken off.
    fn list(&self, raw: &'a [u8], kind: Kind) -> Cell<'a> {
        let mut items = Vec::new();
        for group in raw.split(|byte| *byte == b',') {
            let mut rest = group;
            while let Some(at) = memchr::memmem::find(rest, b" : ") {
                items.push(rest.get(..at).unwrap_or_default());
                rest = rest.get(at + 3..).unwrap_or_default();
            }
            items.push(rest);
        }
        let cells = items.into_iter().map(<[u8]>::trim_ascii);
        let cells: Vec<Cell<'a>> = cells
            .map(|item| present(item).map_or(Cell::Null, |item| self.single(item, kind)))
            .collect();
        Cell::List(cells)
    }
}

fn plain(text: Option<&[u8]>) -> Cell<'_> {
    text.map_or(Cell::Null, |text| Cell::Text(Cow::Borrowed(text)))
}

fn owned<'a>(text: Option<Vec<u8>>) -> Cell<'a> {
    text.map_or(Cell::Null, |text| Cell::Text(Cow::Owned(text)))
}

fn integer<'a>(value: Option<impl Into<i64>>) -> Cell<'a> {
    value.map_or(Cell::Null, |value| Cell::Integer(value.into()))
}

fn address<'a>(client: Option<Client<'_>>) -> Cell<'a> {
    match client {
        Some(Client::Address(address)) => Cell::Text(Cow::Owned(address.to_string().into_bytes())),
        _ => Cell::Null,
    }
}
