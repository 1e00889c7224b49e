//! Recognises inputs that are not access logs of a format read here, so that they can be named.

use super::text::cut;

/// What a file is instead of an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// nginx's error log.
    NginxError,
    /// Amazon `CloudFront`'s standard log.
    CloudFront,
    /// AWS WAF's JSON log.
    AwsWaf,
    /// IIS or another W3C extended log.
    IisW3c,
    /// Text in UTF-16.
    Utf16,
    /// Not text.
    Binary,
    /// AWS Network Load Balancer's TLS log.
    Nlb,
    /// ALB's connection log.
    AlbConnection,
    /// JSON or CSV whose names don't tell when and who.
    Unmapped,
    /// None of the formats known here.
    Unknown,
}

impl Foreign {
    /// The word used in `report.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NginxError => "nginx-error",
            Self::CloudFront => "cloudfront",
            Self::AwsWaf => "aws-waf",
            Self::IisW3c => "iis-w3c",
            Self::Utf16 => "utf-16",
            Self::Binary => "binary",
            Self::Nlb => "nlb",
            Self::AlbConnection => "alb-connection",
            Self::Unmapped | Self::Unknown => "unknown",
        }
    }

    /// What the file is, and what to do, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::NginxError => "an nginx error log; give the access log instead",
            Self::CloudFront => {
                "a CloudFront log, which is not read; give the log of the origin behind it"
            }
            Self::AwsWaf => {
                "an AWS WAF log, which is not read; give the load balancer's or server's access log"
            }
            Self::IisW3c => "a W3C extended log (IIS), which is not read",
            Self::Utf16 => {
                "text in UTF-16; convert it first: iconv -f utf-16 -t utf-8 FILE | shadowcap analyze -"
            }
            Self::Binary => "not text",
            Self::Nlb => "a Network Load Balancer log, which tells no requests",
            Self::AlbConnection => {
                "an ALB connection log, which tells no requests; give the access log instead"
            }
            Self::Unmapped => {
                "JSON or CSV whose names don't tell when and who; say so with --field time=NAME --field client=NAME"
            }
            Self::Unknown => {
                "not an access log in a format read here (nginx, Apache, AWS ALB and classic ELB, JSON Lines, CSV, Parquet); for a format of your own give --log-format"
            }
        }
    }
}

/// Judges the first bytes of a file (any number; 4 KiB are looked at).
pub fn recognise_bytes(head: &[u8]) -> Option<Foreign> {
    let head = head.get(..4096).unwrap_or(head);
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Some(Foreign::Utf16);
    }
    // NULs at the start are what copytruncate leaves
    let text = head.iter().position(|byte| *byte != 0).and_then(|from| head.get(from..))?;
    let nuls = memchr::memchr_iter(0, text).count();
    let every_second =
        text.chunks_exact(2).filter(|pair| memchr::memchr_iter(0, pair).count() == 1).count();
    if nuls > 8 && every_second * 10 >= text.len() / 2 * 9 {
        return Some(Foreign::Utf16);
    }
    let controls = text.iter().filter(|byte| is_odd_control(**byte)).count();
    (nuls > 0 && !holds_lines(text) || controls * 10 > text.len()).then_some(Foreign::Binary)
}

/// Control bytes that text doesn't hold.
fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, 0 | b'\t' | b'\n' | b'\r' | 0x1b)
}

fn holds_lines(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text)
        .is_some_and(|end| !text.iter().take(end).any(|b| *b == 0 || is_odd_control(*b)))
}

/// Judges one line.
pub fn recognise_line(line: &[u8]) -> Option<Foreign> {
    if line.starts_with(b"#Software:") || line.starts_with(b"#Fields: date time s-") {
        return Some(Foreign::IisW3c);
    }
    if line.starts_with(b"#Fields: ") {
        let iis = memchr::memmem::find(line, b"c-ip").is_some()
            && memchr::memmem::find(line, b"x-edge").is_none();
        return Some(if iis { Foreign::IisW3c } else { Foreign::CloudFront });
    }
    if is_cloudfront(line) {
        return Some(Foreign::CloudFront);
    }
    if memchr::memmem::find(line, b"\"webaclId\"").is_some() {
        return Some(Foreign::AwsWaf);
    }
    if line.starts_with(b"tls ") && memchr::memmem::find(line, b" net/").is_some() {
        return Some(Foreign::Nlb);
    }
    if is_alb_connection(line) {
        return Some(Foreign::AlbConnection);
    }
    if is_nginx_error(line) {
        return Some(Foreign::NginxError);
    }
    is_apache_error(line).then_some(Foreign::Unknown)
}

/// `yyyy-mm-dd⇥hh:mm:ss⇥EDGE⇥bytes⇥address⇥…`
fn is_cloudfront(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b'\t');
    let mut next = || fields.next().unwrap_or_default();
    let (date, time, edge) = (next(), next(), next());
    let stamp = [date, b"T", time].concat();
    super::stamp::iso(&stamp).is_some() && edge.len() > 2 && fields.count() > 8
}

/// `stamp address port port TLS…`
fn is_alb_connection(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ');
    let mut next = || words.next().unwrap_or_default();
    let (stamp, address, port, listener) = (next(), next(), next(), next());
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    super::stamp::iso(stamp).is_some()
        && crate::units::address::Address::parse(address).is_some()
        && digits(port)
        && digits(listener)
}

/// `[Day Mon dd hh:mm:ss.uuuuuu yyyy] [module:level] `
fn is_apache_error(line: &[u8]) -> bool {
    let Some((stamp, rest)) = line.strip_prefix(b"[").and_then(|rest| cut(rest, b']')) else {
        return false;
    };
    let days: [&[u8]; 7] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    days.iter().any(|day| stamp.starts_with(day)) && rest.starts_with(b" [")
}

/// `yyyy/mm/dd hh:mm:ss [level] pid#tid: `
fn is_nginx_error(line: &[u8]) -> bool {
    let Some((date, rest)) = cut(line, b' ') else { return false };
    let Some((time, rest)) = cut(rest, b' ') else { return false };
    let digits = |text: &[u8], separator: u8, length: usize| {
        text.len() == length && text.iter().all(|b| b.is_ascii_digit() || *b == separator)
    };
    digits(date, b'/', 10) && digits(time, b':', 8) && rest.starts_with(b"[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_named() {
        assert_eq!(recognise_bytes(b"\xff\xfe1\x009\x002\x00"), Some(Foreign::Utf16));
        let bare: Vec<u8> = "192.0.2.40 - - [01/Jun/2024".bytes().flat_map(|b| [b, 0]).collect();
        assert_eq!(recognise_bytes(&bare), Some(Foreign::Utf16));
        assert_eq!(
            recognise_bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"),
            Some(Foreign::Binary)
        );
        assert_eq!(recognise_bytes(b"\0\0\x00\x00192.0.2.1 - - [x] \"GET\"\n"), None);
        assert_eq!(recognise_bytes(&[b"192.0.2.1 - - x\n".as_slice(), &[0; 3000]].concat()), None);
        assert_eq!(recognise_bytes(b""), None);
        assert_eq!(recognise_bytes(b"caf\xe9 \xff\n"), None);
    }

    #[test]
    fn foreign_lines_are_named() {
        assert_eq!(
            recognise_line(b"2024/06/01 12:00:00 [error] 7#7: *1 limiting requests"),
            Some(Foreign::NginxError)
        );
        assert_eq!(recognise_line(b"#Fields: date time s-ip"), Some(Foreign::IisW3c));
        assert_eq!(recognise_line(b"{\"webaclId\":\"x\"}"), Some(Foreign::AwsWaf));
        assert_eq!(
            recognise_line(b"2024-06-01T12:00:00.1Z 192.0.2.21 58206 443 TLSv1.2 x"),
            Some(Foreign::AlbConnection)
        );
        assert_eq!(recognise_line(b"tls 2.0 2024-06-01T12:00:00 net/lb/0 x"), Some(Foreign::Nlb));
        assert_eq!(
            recognise_line(
                b"2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.1\tGET\th\t/i\t200\t-\tx\t-\t-"
            ),
            Some(Foreign::CloudFront)
        );
        assert_eq!(
            recognise_line(b"[Fri Oct 08 12:00:00.123456 2021] [core:error] [pid 7] x"),
            Some(Foreign::Unknown)
        );
        assert_eq!(recognise_line(b"192.0.2.1 - - ["), None);
    }
}
