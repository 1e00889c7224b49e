//! What the fields of a format mean: for every format but the combined family's fast scanner.

use super::record::Escape;
use super::text::present;

/// Fields that one line may have; more are ignored.
pub const MAX_FIELDS: usize = 64;

/// What a field means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client's address or name.
    Client,
    /// `address:port` of the client.
    ClientAndPort,
    /// The client's port.
    ClientPort,
    /// The address the connection came from, where another field names the client.
    Peer,
    /// RFC 1413 identity.
    Ident,
    /// Authenticated user.
    User,
    /// The log's stamp in any form; `1` where it is finer than others of the line.
    Logged(u8),
    /// A stamp of the end, while a format is compiled and may have one of the beginning too.
    LoggedEnd,
    /// The log's stamp as `convert` wrote it, always with 6 decimals.
    LoggedBack,
    /// The instant of arrival.
    Arrival,
    /// The request line.
    Request,
    /// Method.
    Method,
    /// Path, perhaps with a query.
    Target,
    /// Query without `?`.
    Query,
    /// Protocol.
    Protocol,
    /// Scheme.
    Scheme,
    /// Host, perhaps with a port.
    Host,
    /// The server's port.
    Port,
    /// Status of the response.
    Status,
    /// Bytes sent; the higher number wins if there are several.
    Bytes(u8),
    /// Duration in units of so many microseconds.
    Duration(u32),
    /// Duration in seconds, if it is written with decimals: else its unit is unknown.
    Seconds,
    /// Referer header.
    Referer,
    /// User-Agent header.
    UserAgent,
    /// `X-Forwarded-For` header.
    Forwarded,
    /// What a limiter decided.
    Limited,
    /// Which instance got the request.
    Instance,
    /// Nothing that analysis needs.
    Extra,
}

/// How a field's value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As text.
    Text,
    /// As a whole number.
    Integer,
    /// As a decimal number; `-1` is missing.
    Decimal,
    /// As `address:port`, in two columns.
    Endpoint,
    /// As a list of texts, split at `,` and ` : `.
    Texts,
    /// As a list of decimal numbers.
    Decimals,
    /// As a list of whole numbers.
    Integers,
}

/// One field of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name of its column.
    pub name: String,
    /// What it means.
    pub role: Role,
    /// How it is shown.
    pub kind: Kind,
}

impl Field {
    /// A field.
    pub fn new(name: &str, role: Role, kind: Kind) -> Self {
        Self { name: name.to_owned(), role, kind }
    }
}

/// The fields of a format, in the order of its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The fields, at most [`MAX_FIELDS`].
    pub fields: Vec<Field>,
    /// How texts are escaped.
    pub escape: Escape,
    /// Whether stamps are the end of the response.
    pub stamps_end: bool,
}

/// The values of one line, by field; `None` where the line has none.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a>([Option<&'a [u8]>; MAX_FIELDS]);

impl Default for Values<'_> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'a> Values<'a> {
    /// No values.
    pub const NONE: Self = Self([None; MAX_FIELDS]);

    /// Sets a field's value.
    pub fn set(&mut self, field: usize, value: &'a [u8]) {
        if let Some(slot) = self.0.get_mut(field) {
            *slot = Some(value);
        }
    }

    /// A field's value as written, `-` and nothing too.
    pub fn get(&self, field: usize) -> Option<&'a [u8]> {
        self.0.get(field).copied().flatten()
    }
}

impl Layout {
    /// The layout of what `convert` wrote: `time` is the arrival, `logged` the log's own stamp, whose
    /// step is seen from its zeros.
    pub fn read_back(&mut self) {
        self.escape = Escape::Converted;
        self.stamps_end = false;
        for field in &mut self.fields {
            match field.name.as_str() {
                "time_iso8601" => field.role = Role::Arrival,
                "logged" => field.role = Role::LoggedBack,
                "limited" => field.role = Role::Limited,
                _ => {}
            }
        }
    }

    /// Whether this is the layout of what `convert` wrote.
    pub fn is_read_back(&self) -> bool {
        matches!(self.escape, Escape::Converted | Escape::ConvertedCsv)
    }

    /// A field's value; `None` for what its writer writes where there is none.
    pub(super) fn present<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        if self.is_read_back() { (!value.is_empty()).then_some(value) } else { present(value) }
    }

    /// Whether any field has such a role.
    pub fn has(&self, wanted: fn(Role) -> bool) -> bool {
        self.fields.iter().any(|field| wanted(field.role))
    }

    /// Whether a field tells when.
    pub fn has_time(&self) -> bool {
        self.has(|role| matches!(role, Role::Logged(_) | Role::LoggedBack))
    }

    /// Whether a field tells who.
    pub fn has_client(&self) -> bool {
        self.has(|role| matches!(role, Role::Client | Role::Forwarded))
    }

    /// The field that tells which instance got the request: one of that name, a load balancer's target, or
    /// nginx's `$upstream_addr`, whose last item is the one that answered.
    pub fn instance(&self) -> Option<usize> {
        let own = |field: &Field| field.role == Role::Instance;
        let target = |field: &Field| field.kind == Kind::Endpoint && field.name == "target";
        let upstream = |field: &Field| field.name == "upstream_addr";
        let mut ways: [&dyn Fn(&Field) -> bool; 3] = [&own, &target, &upstream];
        ways.iter_mut().find_map(|way| self.fields.iter().position(way))
    }

    /// The field of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}
