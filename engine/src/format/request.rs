//! The request line `METHOD target PROTOCOL`, taken apart without copying.

use super::text::cut;

/// A well-formed request line. Texts are as written, escapes not undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Method: capital letters, `-` and `_`, at most 24.
    pub method: &'a [u8],
    /// Host of an absolute-form target (`GET http://example.com/p`).
    pub host: Option<&'a [u8]>,
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
        if method.is_empty() || method.len() > 24 || !method.iter().all(|b| is_method_byte(*b)) {
            return None;
        }
        let (target, protocol) = split_protocol(rest);
        if target.is_empty() {
            return None;
        }
        let (host, origin) = split_absolute(target);
        let fragmentless = cut(origin, b'#').map_or(origin, |(before, _)| before);
        let (path, query) = match cut(fragmentless, b'?') {
            Some((path, query)) => (path, Some(query)),
            None => (fragmentless, None),
        };
        let path = if path.is_empty() { b"/" } else { path };
        Some(Self { method, host, path, query: query.filter(|q| !q.is_empty()), protocol })
    }
}

fn is_method_byte(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte == b'-' || byte == b'_'
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

/// Splits `scheme://host/path` into host and the rest from its `/` on.
fn split_absolute(target: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if target.first() == Some(&b'/') {
        return (None, target);
    }
    let after_scheme = target
        .strip_prefix(b"http://")
        .or_else(|| target.strip_prefix(b"https://"))
        .or_else(|| target.strip_prefix(b"HTTP://"));
    let Some(after_scheme) = after_scheme else { return (None, target) };
    let end = after_scheme
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
        .unwrap_or(after_scheme.len());
    match after_scheme.split_at_checked(end) {
        Some((host, rest)) => (Some(host), rest),
        None => (None, target),
    }
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
            parts("CONNECT 203.0.113.9:443 HTTP/1.1"),
            row("CONNECT", "203.0.113.9:443", None, some("HTTP/1.1"))
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
