//! The request line `METHOD target PROTOCOL`, taken apart without copying.

use std::borrow::Cow;

use super::parts::split_port;
use super::record::{Record, RequestText};
use super::text::cut;

/// A well-formed request. Texts have the writer's escapes undone, percent-encoding not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Scheme of an absolute-form target (`GET http://example.com/p`).
    pub scheme: Option<&'a [u8]>,
    /// Host of an absolute-form target, without port or brackets.
    pub host: Option<&'a [u8]>,
    /// Port of an absolute-form target.
    pub port: Option<u16>,
    /// Path, without the query; the whole target in authority form (`CONNECT host:443`) and `*`.
    pub path: &'a [u8],
    /// Query, after the `?`.
    pub query: Option<&'a [u8]>,
    /// Protocol; `None` for HTTP/0.9.
    pub protocol: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// Takes a request line apart; `None` if it is malformed (which is still a request of its
    /// client: limiters count those too).
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (method, rest) = cut(line, b' ')?;
        let (target, protocol) = split_protocol(rest.trim_ascii_end());
        Self::of(method, target, None, protocol)
    }

    /// A request of which the log has the parts; a query given apart wins over one in the target.
    pub fn of(
        method: &'a [u8],
        target: &'a [u8],
        query: Option<&'a [u8]>,
        protocol: Option<&'a [u8]>,
    ) -> Option<Self> {
        if target.is_empty() || !is_method(method, target) {
            return None;
        }
        let Absolute { scheme, host, port, rest } = split_absolute(target);
        let fragmentless = cut(rest, b'#').map_or(rest, |(before, _)| before);
        let (path, own_query) = match cut(fragmentless, b'?') {
            Some((path, query)) => (path, Some(query)),
            None => (fragmentless, None),
        };
        let path = if path.is_empty() { b"/" } else { path };
        let query = query.or(own_query).filter(|query| !query.is_empty());
        Some(Self { method, scheme, host, port, path, query, protocol })
    }

    /// The host of a request line that is malformed otherwise, as load balancers write for what they
    /// could not parse: `- http://example.com:80- `.
    pub fn host_of_malformed(line: &'a [u8]) -> Option<&'a [u8]> {
        let (_, rest) = cut(line, b' ')?;
        let target = rest.strip_prefix(b"http://").or_else(|| rest.strip_prefix(b"https://"))?;
        let end = target.iter().position(|b| matches!(b, b':' | b'/' | b' '));
        target.get(..end?).filter(|host| !host.is_empty())
    }
}

/// The texts of a request with the writer's escapes undone, of which [`Request`] borrows.
#[derive(Debug)]
pub struct RequestBuffer<'a> {
    parts: Parts<'a>,
}

#[derive(Debug)]
enum Parts<'a> {
    Line(Cow<'a, [u8]>),
    Fields([Option<Cow<'a, [u8]>>; 4]),
}

impl<'a> RequestBuffer<'a> {
    /// Undoes the escapes of a record's request.
    pub fn new(record: &Record<'a>) -> Self {
        let escape = record.escape;
        let parts = match record.request {
            RequestText::Line(line) => Parts::Line(escape.undo(line)),
            RequestText::Parts { method, target, query, protocol } => Parts::Fields(
                [method, target, query, protocol].map(|text| text.map(|text| escape.undo(text))),
            ),
        };
        Self { parts }
    }

    /// The request, unless it is malformed. Where the log has no method, any will do.
    pub fn request(&self) -> Option<Request<'_>> {
        match &self.parts {
            Parts::Line(line) => Request::parse(line),
            Parts::Fields([method, target, query, protocol]) => {
                let method = method.as_deref().unwrap_or(b"GET");
                let target = target.as_deref()?;
                Request::of(method, target, query.as_deref(), protocol.as_deref())
            }
        }
    }

    /// The request line, if the log has it whole.
    pub fn line(&self) -> Option<&[u8]> {
        match &self.parts {
            Parts::Line(line) => Some(line),
            Parts::Fields(_) => None,
        }
    }
}

/// Methods are capital letters, `-` and `_`; any token (RFC 9110, 5.6.2) before a target that can be
/// nothing else. At most 24 characters.
fn is_method(method: &[u8], target: &[u8]) -> bool {
    let strict = method.iter().all(|b| b.is_ascii_uppercase() || b"-_".contains(b));
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let certain = target.starts_with(b"/") || target.starts_with(b"http");
    (1..=24).contains(&method.len())
        && method.iter().any(u8::is_ascii_alphabetic)
        && (strict || (certain && method.iter().all(token)))
}

/// The last word is the protocol if it looks like one: a target may hold raw blanks.
fn split_protocol(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    let split = memchr::memrchr(b' ', rest).and_then(|at| rest.split_at_checked(at));
    if let Some((target, [b' ', protocol @ ..])) = split
        && protocol.starts_with(b"HTTP/")
    {
        return (target, Some(protocol));
    }
    (rest, None)
}

/// A target in absolute form, taken apart.
struct Absolute<'a> {
    scheme: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    port: Option<u16>,
    rest: &'a [u8],
}

/// Splits `scheme://host[:port]/path`; other targets are all rest.
fn split_absolute(target: &[u8]) -> Absolute<'_> {
    let relative = Absolute { scheme: None, host: None, port: None, rest: target };
    if target.first() == Some(&b'/') {
        return relative;
    }
    let Some(colon) = memchr::memmem::find(target, b"://").filter(|at| *at <= 5) else {
        return relative;
    };
    let (Some(scheme), Some(after)) = (target.get(..colon), target.get(colon + 3..)) else {
        return relative;
    };
    if ![b"http".as_slice(), b"https", b"ws", b"wss"].iter().any(|s| scheme.eq_ignore_ascii_case(s))
    {
        return relative;
    }
    let end = after.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(after.len());
    let Some((authority, rest)) = after.split_at_checked(end) else { return relative };
    let bracketed = authority.starts_with(b"[");
    let (host, port) = match split_port(authority) {
        (host, None) if bracketed => {
            (host.strip_prefix(b"[").and_then(|h| h.strip_suffix(b"]")).unwrap_or(host), None)
        }
        split => split,
    };
    Absolute { scheme: Some(scheme), host: Some(host).filter(|h| !h.is_empty()), port, rest }
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn parts(line: &str) -> Option<(String, String, Option<String>, Option<String>)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Request::parse(line.as_bytes())
            .map(|r| (text(r.method), text(r.path), r.query.map(text), r.protocol.map(text)))
    }

    #[test]
    fn targets_of_every_form_are_split() {
        let some = |text: &str| Some(text.to_owned());
        let row = |m: &str, p: &str, q, v| Some((m.to_owned(), p.to_owned(), q, v));
        assert_eq!(parts("GET /a?b=c HTTP/1.1"), row("GET", "/a", some("b=c"), some("HTTP/1.1")));
        assert_eq!(parts("GET /old.html"), row("GET", "/old.html", None, None));
        assert_eq!(parts("GET /a b HTTP/1.1"), row("GET", "/a b", None, some("HTTP/1.1")));
        assert_eq!(parts("PRI * HTTP/2.0"), row("PRI", "*", None, some("HTTP/2.0")));
        assert_eq!(
            parts("GET http://example.com/p?a=b HTTP/1.1"),
            row("GET", "/p", some("a=b"), some("HTTP/1.1"))
        );
        assert_eq!(
            parts("GET http://example.com HTTP/1.1"),
            row("GET", "/", None, some("HTTP/1.1"))
        );
        assert_eq!(
            parts("--location https://example.com/ HTTP/2.0"),
            row("--location", "/", None, some("HTTP/2.0"))
        );
        assert_eq!(
            parts("CONNECT 203.0.113.9:443 HTTP/1.1"),
            row("CONNECT", "203.0.113.9:443", None, some("HTTP/1.1"))
        );
    }

    #[test]
    fn authorities_are_split_into_host_and_port() {
        let authority = |line: &'static str| {
            let request = Request::parse(line.as_bytes()).unwrap();
            let host = request.host.map(|host| std::str::from_utf8(host).unwrap());
            (request.scheme.map(<[u8]>::len), host, request.port)
        };
        assert_eq!(
            authority("GET https://a.example:443/x HTTP/1.1"),
            (Some(5), Some("a.example"), Some(443))
        );
        assert_eq!(
            authority("GET http://[::ffff:192.0.2.254]:443/ HTTP/1.1"),
            (Some(4), Some("::ffff:192.0.2.254"), Some(443))
        );
        assert_eq!(
            authority("GET http://[2001:db8::1]/ HTTP/1.1"),
            (Some(4), Some("2001:db8::1"), None)
        );
        assert_eq!(authority("GET /http://x/ HTTP/1.1"), (None, None, None));
        assert_eq!(
            Request::host_of_malformed(b"- http://lb.example.com:80- "),
            Some(b"lb.example.com".as_slice())
        );
    }

    #[test]
    fn junk_is_malformed() {
        for line in [
            "",
            "-",
            "HELP",
            "t3 12.1.2",
            r"\x16\x03\x01",
            "] [GET] HTTP/9",
            "GET ",
            "GET  HTTP/1.1",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
