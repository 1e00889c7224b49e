//! Which server wrote a combined-family file: nginx and Apache write the same shape, but stamp it at
//! different moments, so the difference matters. Evidence is counted over the whole file.

use std::cmp::Ordering;

use super::record::Record;

/// Counts of lines that only one of the two servers would have written, or that one of them rarely
/// does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriterEvidence {
    /// `-` for zero bytes (Apache's `%b`).
    pub apache_bytes_dash: u64,
    /// `\"` or `\\`, or lower-case `\xhh` (Apache).
    pub apache_escape: u64,
    /// A size for a 304 or a 408 without a request: Apache's `%O` counts headers, and it answers
    /// time-outs with a page; nginx sends no bytes for either.
    pub apache_header_bytes: u64,
    /// A zero size for a 304 or a HEAD (nginx's `$body_bytes_sent`).
    pub nginx_zero_body: u64,
    /// Upper-case `\xHH` (nginx).
    pub nginx_escape: u64,
    /// A status that only nginx logs: 444, 494 to 497, 499.
    pub nginx_status: u64,
    /// An RFC 1413 identity or a size for a HEAD: rare with nginx, so it speaks for Apache if
    /// nothing else does.
    pub apache_likely: u64,
}

/// Which server wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// nginx: stamps are taken when the response ends.
    Nginx,
    /// Apache: stamps are taken when the request arrives.
    Apache,
}

impl WriterEvidence {
    /// Adds what one line says.
    pub fn observe(&mut self, record: &Record<'_>, line: &[u8]) {
        let request = record.request.line().unwrap_or_default();
        let head = request.starts_with(b"HEAD ");
        let bodiless =
            record.status == Some(304) || (record.status == Some(408) && request == b"-");
        let zero = record.bytes == Some(0) && !record.form.bytes_dash;
        self.apache_bytes_dash += u64::from(record.form.bytes_dash);
        self.apache_header_bytes += u64::from(bodiless && record.bytes > Some(0));
        self.nginx_zero_body += u64::from((head || record.status == Some(304)) && zero);
        self.nginx_status +=
            u64::from(matches!(record.status, Some(444 | 494 | 495 | 496 | 497 | 499)));
        self.apache_likely += u64::from(record.ident.is_some() || (head && record.bytes > Some(0)));
        if memchr::memchr(b'\\', line).is_some() {
            self.observe_escapes(line);
        }
    }

    /// The letter digits of `\xHH` tell: nginx writes upper case, Apache lower.
    fn observe_escapes(&mut self, line: &[u8]) {
        let (mut apache, mut nginx) = (false, false);
        let mut rest = line;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            let after = rest.get(at + 1..).unwrap_or(b"");
            rest = match after {
                [b'"' | b'\\', rest @ ..] => {
                    apache = true;
                    rest
                }
                [b'x', high, low, rest @ ..]
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    apache |= high.is_ascii_lowercase() || low.is_ascii_lowercase();
                    nginx |= high.is_ascii_uppercase() || low.is_ascii_uppercase();
                    nginx |= (*high, *low) == (b'2', b'2');
                    rest
                }
                rest => rest,
            };
        }
        self.apache_escape += u64::from(apache);
        self.nginx_escape += u64::from(nginx);
    }

    /// Adds another part's counts.
    pub fn merge(&mut self, other: &Self) {
        self.apache_bytes_dash += other.apache_bytes_dash;
        self.apache_escape += other.apache_escape;
        self.apache_header_bytes += other.apache_header_bytes;
        self.nginx_zero_body += other.nginx_zero_body;
        self.nginx_escape += other.nginx_escape;
        self.nginx_status += other.nginx_status;
        self.apache_likely += other.apache_likely;
    }

    /// The writer that more lines prove, with the strongest reason in words; `None` on a tie.
    pub fn verdict(&self) -> Option<(Writer, String)> {
        let apache = [
            (self.apache_bytes_dash, "with - for zero bytes"),
            (self.apache_escape, "with escapes as Apache writes them"),
            (self.apache_header_bytes, "with a size for a response that has no body"),
        ];
        let nginx = [
            (self.nginx_zero_body, "with 0 bytes for a response that has no body"),
            (self.nginx_escape, "with escapes as nginx writes them"),
            (self.nginx_status, "with a status that only nginx logs"),
        ];
        let total = |side: &[(u64, &str)]| side.iter().map(|(count, _)| count).sum::<u64>();
        let (writer, side) = match total(&apache).cmp(&total(&nginx)) {
            Ordering::Greater => (Writer::Apache, &apache),
            Ordering::Less => (Writer::Nginx, &nginx),
            Ordering::Equal => return None,
        };
        let (count, what) = side.iter().rev().max_by_key(|(count, _)| count)?;
        let lines = if *count == 1 { "line" } else { "lines" };
        Some((writer, format!("{count} {lines} {what}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::combined::scan;

    fn verdict(lines: &[&str]) -> Option<Writer> {
        let mut evidence = WriterEvidence::default();
        for line in lines {
            evidence.observe(&scan(line.as_bytes()).unwrap(), line.as_bytes());
        }
        evidence.verdict().map(|(writer, _)| writer)
    }

    fn line(request: &str, end: &str) -> String {
        format!(r#"192.0.2.1 - - [01/Jun/2024:12:00:00 +0000] "{request}" {end}"#)
    }

    #[test]
    fn each_mark_names_its_writer() {
        for (request, end, writer) in [
            ("GET / HTTP/1.1", r#"304 - "-" "-""#, Writer::Apache),
            ("GET / HTTP/1.1", r#"304 180 "-" "-""#, Writer::Apache),
            ("-", r#"408 511 "-" "-""#, Writer::Apache),
            ("GET / HTTP/1.1", r#"200 5 "-" "\"x\"""#, Writer::Apache),
            (r"\x16\x03\xab", r#"400 5 "-" "-""#, Writer::Apache),
            (r"\x16\x03\xAB", r#"400 5 "-" "-""#, Writer::Nginx),
            ("HEAD / HTTP/1.1", r#"200 0 "-" "-""#, Writer::Nginx),
            ("GET / HTTP/1.1", r#"499 0 "-" "-""#, Writer::Nginx),
            ("GET / HTTP/1.1", r#"200 5 "-" "\x22x\x22""#, Writer::Nginx),
        ] {
            assert_eq!(verdict(&[&line(request, end)]), Some(writer), "{request} {end}");
        }
        assert_eq!(verdict(&[&line("GET / HTTP/1.1", r#"200 5 "-" "x""#)]), None);
    }
}
