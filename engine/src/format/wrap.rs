//! What collectors put around a line: syslog's header, Docker's JSON, Kubernetes' CRI prefix.

use std::borrow::Cow;

use super::text::{cut, unescape_json};

/// Months as syslog abbreviates them.
const MONTHS: [&[u8]; 12] = [
    b"Jan ", b"Feb ", b"Mar ", b"Apr ", b"May ", b"Jun ", b"Jul ", b"Aug ", b"Sep ", b"Oct ",
    b"Nov ", b"Dec ",
];

/// The line inside, if something is around it.
pub fn unwrap(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    docker(line).or_else(|| cri(line).or_else(|| syslog(line)).map(Cow::Borrowed))
}

/// `{"log":"…\n","stream":…}`
fn docker(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = line.strip_prefix(b"{\"log\":\"")?;
    let end = super::text::closing_quote(inner, 0)?;
    let text = inner.get(..end)?;
    let plain = unescape_json(text).map_or(Cow::Borrowed(text), Cow::Owned);
    Some(match plain {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_ascii_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_ascii_end().to_vec()),
    })
}

/// `2024-06-01T14:00:00.193Z stdout F …`
fn cri(line: &[u8]) -> Option<&[u8]> {
    let (stamp, rest) = cut(line, b' ')?;
    super::stamp::iso(stamp)?;
    let rest = rest.strip_prefix(b"stdout ").or_else(|| rest.strip_prefix(b"stderr "))?;
    rest.strip_prefix(b"F ").or_else(|| rest.strip_prefix(b"P "))
}

/// `<190>Jun  1 12:00:00 host tag: …`, or with an RFC 3339 stamp.
fn syslog(line: &[u8]) -> Option<&[u8]> {
    if !looks_like_syslog(line) {
        return None;
    }
    let at = memchr::memmem::find(line, b": ")?;
    line.get(at + 2..)
}

/// Whether a line begins as syslog's do.
pub fn looks_like_syslog(line: &[u8]) -> bool {
    // every line of every log comes by here: most begin with an address
    let dated = line.get(4) == Some(&b'-');
    if !dated && !line.first().is_some_and(|b| *b == b'<' || b.is_ascii_uppercase()) {
        return false;
    }
    let body = match line.strip_prefix(b"<").and_then(|rest| cut(rest, b'>')) {
        Some((priority, body)) if priority.len() <= 3 => body,
        _ => line,
    };
    let month = MONTHS.iter().any(|month| body.starts_with(month));
    let stamped = || cut(body, b' ').is_some_and(|(first, _)| super::stamp::iso(first).is_some());
    (month && body.get(6..).is_some_and(|rest| rest.starts_with(b" "))) || stamped()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_taken_off() {
        for (line, inner) in [
            ("<190>Jun  1 12:00:00 web1 nginx: 192.0.2.1 - -", "192.0.2.1 - -"),
            ("Mar 24 14:02:50 web1 nginx[7]: 192.0.2.1 - -", "192.0.2.1 - -"),
            ("2024-06-01T14:00:00.19327046+02:00 stdout F {\"a\":1}", "{\"a\":1}"),
            (r#"{"log":"1.2.3.4 \"x\"\n","stream":"stdout"}"#, "1.2.3.4 \"x\""),
        ] {
            assert_eq!(unwrap(line.as_bytes()).as_deref(), Some(inner.as_bytes()), "{line}");
        }
        for line in ["192.0.2.1 - - [", "{\"a\":1}", "Mar", ""] {
            assert_eq!(unwrap(line.as_bytes()), None, "{line}");
        }
    }
}
