//! Texts with places to fill: paths, names, fields of lines.

use super::random::{below, mixed};

/// What fills a place of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Literal(Vec<u8>),
    /// The identity's number plus so much.
    Number(u64),
    /// A number of a range, both ends included, drawn for each request.
    Range(u64, u64),
    /// 16 hexadecimal digits of the identity.
    Hex,
    /// 16 hexadecimal digits of the request.
    Random,
    /// The user, while logged in.
    User,
    /// The user, in the response that logs in.
    Login,
    /// The phone number.
    Phone,
    /// The client's address.
    Client,
    /// The client's port.
    Port,
    /// The load balancer's address.
    Peer,
    /// `X-Forwarded-For` as it arrives at the server.
    Forwarded,
    /// Arrival, RFC 3339 in UTC with microseconds.
    Time,
    /// When the response ended, likewise.
    End,
    /// When the response ended, as `[24/Nov/2026:19:00:00 +0530]` without its brackets.
    TimeLocal,
    /// When the response ended, in seconds since the epoch with milliseconds.
    Msec,
    /// Seconds that the request took, with milliseconds.
    Seconds,
    /// The method.
    Method,
    /// The path.
    Path,
    /// The status.
    Status,
    /// Bytes of the response.
    Bytes,
    /// What the client calls itself.
    Agent,
    /// A field of the group.
    Field(String),
}

/// Names of places, and what they are; `{n+K}`, `{A-B}` and `{field:NAME}` besides.
pub const PLACES: [(&str, Part); 19] = [
    ("n", Part::Number(0)),
    ("hex", Part::Hex),
    ("random", Part::Random),
    ("user", Part::User),
    ("login", Part::Login),
    ("phone", Part::Phone),
    ("client", Part::Client),
    ("port", Part::Port),
    ("peer", Part::Peer),
    ("forwarded", Part::Forwarded),
    ("time", Part::Time),
    ("end", Part::End),
    ("time_local", Part::TimeLocal),
    ("msec", Part::Msec),
    ("seconds", Part::Seconds),
    ("method", Part::Method),
    ("path", Part::Path),
    ("status", Part::Status),
    ("bytes", Part::Bytes),
];

/// A text with places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Part>);

impl Text {
    /// Reads `menu/{1-4000}?u={n}`.
    ///
    /// # Errors
    /// What stands between braces and is no place; an open brace.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Literal(before.as_bytes().to_vec()));
            }
            let (name, after) = after.split_once('}').ok_or_else(|| format!("{{{after}"))?;
            parts.push(place(name).ok_or_else(|| format!("{{{name}}}"))?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.as_bytes().to_vec()));
        }
        Ok(Self(parts))
    }
}

/// What a name between braces stands for.
pub fn place(name: &str) -> Option<Part> {
    if let Some((_, part)) = PLACES.iter().find(|(known, _)| *known == name) {
        return Some(part.clone());
    }
    if name == "agent" {
        return Some(Part::Agent);
    }
    if let Some(field) = name.strip_prefix("field:") {
        return Some(Part::Field(field.to_owned()));
    }
    if let Some(plus) = name.strip_prefix("n+") {
        return plus.parse().ok().map(Part::Number);
    }
    let (from, to) = name.split_once('-')?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to && to < u64::MAX).then_some(Part::Range(from, to))
}

/// Writes what a text says of an identity alone and of random bits; places for anything else stay empty.
pub fn write_own(out: &mut Vec<u8>, text: &Text, number: u64, bits: u64) {
    for (salt, part) in (1..).zip(&text.0) {
        write_part(out, part, salt, number, bits);
    }
}

/// The same of a part; `salt` tells several ranges of one text apart.
pub fn write_part(out: &mut Vec<u8>, part: &Part, salt: u64, number: u64, bits: u64) {
    match part {
        Part::Literal(text) => out.extend_from_slice(text),
        Part::Number(plus) => push_number(out, number.saturating_add(*plus)),
        Part::Range(from, to) => push_number(out, from + below(mixed(bits, salt), to - from + 1)),
        Part::Hex => push_hex(out, mixed(number, 21)),
        Part::Random => push_hex(out, mixed(bits, 22)),
        _ => {}
    }
}

/// Decimal digits.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    push_padded(out, number, 1);
}

/// Decimal digits, at least so many.
pub fn push_padded(out: &mut Vec<u8>, number: u64, least: usize) {
    let mut digits = [0_u8; 20];
    let (mut left, mut many) = (number, 0);
    for place in digits.iter_mut().rev() {
        if left == 0 && many >= least {
            break;
        }
        *place = b'0' + u8::try_from(left % 10).unwrap_or(0);
        (left, many) = (left / 10, many + 1);
    }
    out.extend_from_slice(digits.get(digits.len() - many..).unwrap_or_default());
}

fn push_hex(out: &mut Vec<u8>, bits: u64) {
    for at in (0..16).rev() {
        let digit = u8::try_from((bits >> (at * 4)) & 15).unwrap_or(0);
        out.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str, number: u64, bits: u64) -> String {
        let mut out = Vec::new();
        write_own(&mut out, &Text::parse(text).unwrap(), number, bits);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(own("u{n}", 7, 0), "u7");
        assert_eq!(own("+91{n+9000000000}", 7, 0), "+919000000007");
        assert_eq!(own("/menu/{5-5}/x", 0, 3), "/menu/5/x");
        assert_eq!(own("{hex}", 1, 2), own("{hex}", 1, 3));
        assert_ne!(own("{random}", 1, 2), own("{random}", 1, 3));
        assert_eq!(own("{hex}", 1, 2).len(), 16);
        for bits in 0..100 {
            let number: u64 = own("{10-12}", 0, bits).parse().unwrap();
            assert!((10..=12).contains(&number));
        }
    }

    #[test]
    fn what_is_no_place_is_named() {
        assert_eq!(Text::parse("a{b}c"), Err("{b}".to_owned()));
        assert_eq!(Text::parse("a{b"), Err("{b".to_owned()));
        assert_eq!(Text::parse("{9-3}"), Err("{9-3}".to_owned()));
    }

    #[test]
    fn numbers_are_written_like_the_standard_library_does() {
        for number in [0, 1, 9, 10, 999, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
        let mut out = Vec::new();
        push_padded(&mut out, 42, 6);
        assert_eq!(out, b"000042");
    }
}
