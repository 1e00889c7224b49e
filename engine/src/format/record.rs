//! One log line taken apart: borrowed fields, nothing interpreted beyond what every job needs.

use crate::units::address::Address;

/// Who sent a request, as far as the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client<'a> {
    /// An address.
    Address(Address),
    /// A host name (Apache's `HostnameLookups On`), `unix:` or `-`: a request without the key `ip`.
    Named(&'a [u8]),
}

/// The fields of one line. Texts are as written, escapes not undone; `None` stands for `-`.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Who sent it.
    pub client: Client<'a>,
    /// The log's own stamp, microseconds since the epoch.
    pub stamp_us: i64,
    /// The request line, between its quotes.
    pub request: &'a [u8],
    /// Status of the response.
    pub status: Option<u16>,
    /// Bytes of the body or the response, as the format counts them; `-` is 0.
    pub bytes: u64,
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
    /// What the line's form says about its writer.
    pub form: Form,
}

/// The outward form of a combined-family line: what names its format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Form {
    /// Begins with a virtual host.
    pub vhost: bool,
    /// Has referer and user agent.
    pub agent: bool,
    /// The byte count is `-`, as Apache's `%b` writes zero.
    pub bytes_dash: bool,
}
