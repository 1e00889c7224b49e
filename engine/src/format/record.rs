//! One log line taken apart: borrowed fields, nothing interpreted beyond what every job needs.

use std::borrow::Cow;

use crate::units::address::Address;

use super::skip::SkipReason;
use super::text;

/// Who sent a request, as far as the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client<'a> {
    /// An address.
    Address(Address),
    /// A host name (Apache's `HostnameLookups On`), `unix:` or `-`: a request without the key `ip`.
    Named(&'a [u8]),
}

impl<'a> Client<'a> {
    /// Reads a client that stands alone in its field.
    ///
    /// # Errors
    /// `bad-address` for what is neither an address nor a name.
    pub fn parse(text: &'a [u8]) -> Result<Self, SkipReason> {
        Address::parse(text).map_or_else(|| Self::named(text), |address| Ok(Self::Address(address)))
    }

    /// `-`, `unix:…` and names of hosts are clients without an address.
    ///
    /// # Errors
    /// `bad-address` for anything else.
    pub fn named(text: &'a [u8]) -> Result<Self, SkipReason> {
        let hostname = text.iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b))
            && text.iter().any(u8::is_ascii_alphabetic);
        let known = hostname || text == b"-" || text.starts_with(b"unix:");
        known.then_some(Self::Named(text)).ok_or(SkipReason::BadAddress)
    }
}

/// How a writer escapes texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escape {
    /// Not at all.
    None,
    /// `\xHH`, `\"`, `\\` and the like: nginx by default, Apache, load balancers.
    #[default]
    Backslash,
    /// As `Backslash`, and `\x000000HH`: AWS load balancers.
    Balancer,
    /// As in JSON strings.
    Json,
    /// Doubled quotes: CSV.
    Csv,
    /// As in JSON strings, and inside as `convert` writes texts: `\\` and `\xHH`.
    Converted,
    /// Doubled quotes, and inside as `convert` writes texts.
    ConvertedCsv,
}

impl Escape {
    /// A text with its escapes undone.
    pub fn undo(self, raw: &[u8]) -> Cow<'_, [u8]> {
        let undone = match self {
            Self::None => None,
            Self::Backslash => text::unescape(raw),
            Self::Balancer => text::unescape_wide(raw).or_else(|| text::unescape(raw)),
            Self::Json => text::unescape_json(raw),
            Self::Csv => text::unescape_csv(raw),
            Self::ConvertedCsv => match text::unescape_csv(raw) {
                Some(plain) => Some(text::unescape(&plain).unwrap_or(plain)),
                None => text::unescape(raw),
            },
            Self::Converted => {
                text::unescape_json(raw).map(|plain| text::unescape(&plain).unwrap_or(plain))
            }
        };
        undone.map_or(Cow::Borrowed(raw), Cow::Owned)
    }
}

/// The request, whole or in parts, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestText<'a> {
    /// `METHOD target PROTOCOL`.
    Line(&'a [u8]),
    /// Fields of their own.
    Parts {
        /// Method.
        method: Option<&'a [u8]>,
        /// Path, perhaps with a query.
        target: Option<&'a [u8]>,
        /// Query without `?`.
        query: Option<&'a [u8]>,
        /// Protocol.
        protocol: Option<&'a [u8]>,
    },
}

impl<'a> RequestText<'a> {
    /// The request line, if the log has it whole.
    pub fn line(&self) -> Option<&'a [u8]> {
        match self {
            Self::Line(line) => Some(line),
            Self::Parts { .. } => None,
        }
    }
}

/// The fields of one line. Texts are as written, escapes not undone; `None` stands for `-`.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Who sent it.
    pub client: Client<'a>,
    /// The client's port.
    pub client_port: Option<u16>,
    /// The address the connection came from, where `client` was taken from elsewhere.
    pub peer: Option<Client<'a>>,
    /// The log's own stamp, microseconds since the epoch.
    pub logged_us: i64,
    /// When the request arrived, as far as the log tells, microseconds since the epoch.
    pub arrival_us: i64,
    /// Decimals of a second that the arrival was written with.
    pub decimals: u8,
    /// The request.
    pub request: RequestText<'a>,
    /// Scheme, where the log has it apart from the request.
    pub scheme: Option<&'a [u8]>,
    /// The server's port.
    pub port: Option<u16>,
    /// Status of the response.
    pub status: Option<u16>,
    /// Bytes of the body or the response, as the format counts them; `-` is 0.
    pub bytes: Option<u64>,
    /// How long the request took, microseconds.
    pub duration_us: Option<i64>,
    /// Virtual host, with its port where the log has one.
    pub host: Option<&'a [u8]>,
    /// RFC 1413 identity.
    pub ident: Option<&'a [u8]>,
    /// Authenticated user.
    pub user: Option<&'a [u8]>,
    /// Referer header.
    pub referer: Option<&'a [u8]>,
    /// User-Agent header.
    pub user_agent: Option<&'a [u8]>,
    /// `X-Forwarded-For` header.
    pub forwarded: Option<&'a [u8]>,
    /// What a limiter decided (`$limit_req_status`).
    pub limited: Option<&'a [u8]>,
    /// How the texts are escaped.
    pub escape: Escape,
    /// What the line's form says about its writer.
    pub form: Form,
}

/// The outward form of a combined-family line: what names its format.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "marks of one line that don't depend on each other"
)]
pub struct Form {
    /// Begins with a virtual host.
    pub vhost: bool,
    /// Has referer and user agent.
    pub agent: bool,
    /// The byte count is `-`, as Apache's `%b` writes zero.
    pub bytes_dash: bool,
    /// Goes on after the fields of its format.
    pub goes_on: bool,
}
