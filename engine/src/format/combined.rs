//! The combined family: nginx `combined`, Apache `common`, `combined`, `vhost_combined`.
//!
//! One scanner reads all four, since real files mix them (a server's own access log beside its
//! virtual hosts', a format changed without rotating). A line is
//! `[vhost[:port] ]client ident user [dd/Mon/yyyy:hh:mm:ss ±zzzz] "request" status bytes`
//! and, except in `common`, ` "referer" "user agent"`; then perhaps `X-Forwarded-For` in quotes, as in
//! `main` of nginx's own configuration. What follows is ignored.
//! Sources: nginx `ngx_http_log_module` (its built-in `combined`), Apache `mod_log_config`.

use std::io::{self, Write};

use memchr::memmem;

use super::record::{Client, Escape, Form, Record, RequestText};
use super::skip::SkipReason;
use super::stamp::clf_us;
use super::text::{closing_quote, cut, number, present};
use crate::units::address::Address;

/// Takes one line apart (without its line end).
///
/// # Errors
/// The reason why the line is not a request.
pub fn scan(line: &[u8]) -> Result<Record<'_>, SkipReason> {
    let line = line.strip_prefix(b"\"").unwrap_or(line); // a CSV export wraps the whole line
    let Opening { host, client, rest } = opening(line)?;
    let (ident, user, stamp_us, rest) = identity_and_time(rest)?;
    let rest = rest.strip_prefix(b"\"").ok_or(SkipReason::BadShape)?;
    let (request, rest) = request_field(rest)?;
    let (status, rest) = cut(rest, b' ').ok_or(SkipReason::BadShape)?;
    let (bytes, rest) = cut(rest, b' ').unwrap_or((rest, b""));
    let bytes = bytes.strip_suffix(b"\"").unwrap_or(bytes);
    let agent = !rest.is_empty();
    let (referer, rest) = header_field(rest)?;
    let (user_agent, rest) = header_field(rest)?;
    let (forwarded, rest) =
        if rest.starts_with(b"\"") { header_field(rest)? } else { (None, rest) };
    no_record_behind(rest)?;
    Ok(Record {
        client,
        client_port: None,
        peer: None,
        logged_us: stamp_us,
        arrival_us: stamp_us,
        decimals: 0,
        request: RequestText::Line(request),
        scheme: None,
        port: None,
        status: number(status).and_then(|code| u16::try_from(code).ok()),
        bytes: Some(number(bytes).unwrap_or(0)),
        duration_us: None,
        host,
        ident: present(ident),
        user: present(user).filter(|user| !ends_in_dash(user)),
        referer: referer.and_then(present),
        user_agent: user_agent.and_then(present),
        forwarded: forwarded.and_then(present),
        limited: None,
        escape: Escape::Backslash,
        form: Form {
            vhost: host.is_some(),
            agent,
            bytes_dash: bytes == b"-",
            goes_on: rest.iter().any(|byte| !b"\" \t\r".contains(byte)),
        },
    })
}

/// Writes a record as this family does, its fields as they are; `stamp` goes between the brackets.
///
/// # Errors
/// What the sink reports.
pub fn write(out: &mut impl Write, record: &Record<'_>, stamp: &str) -> io::Result<()> {
    let or_dash = |field: Option<&'_ [u8]>| field.unwrap_or(b"-").to_vec();
    if let Some(host) = record.host {
        out.write_all(host)?;
        out.write_all(b" ")?;
    }
    match record.client {
        Client::Address(address) => write!(out, "{address}")?,
        Client::Named(name) => out.write_all(name)?,
    }
    for field in [or_dash(record.ident), or_dash(record.user)] {
        out.write_all(b" ")?;
        out.write_all(&field)?;
    }
    write!(out, " [{stamp}] \"")?;
    out.write_all(record.request.line().unwrap_or(b"-"))?;
    let status = record.status.map_or_else(|| "-".to_owned(), |code| code.to_string());
    if record.form.bytes_dash {
        write!(out, "\" {status} -")?;
    } else {
        write!(out, "\" {status} {}", record.bytes.unwrap_or(0))?;
    }
    if record.form.agent {
        for field in [or_dash(record.referer), or_dash(record.user_agent)] {
            out.write_all(b" \"")?;
            out.write_all(&field)?;
            out.write_all(b"\"")?;
        }
    }
    Ok(())
}

/// What a line begins with, up to its client.
struct Opening<'a> {
    host: Option<&'a [u8]>,
    client: Client<'a>,
    rest: &'a [u8],
}

/// A line whose second word is an address begins with a virtual host, whatever that holds; where the
/// first word is an address too, only if an ident and a user still follow. So does one whose first word
/// ends in a port.
fn opening(line: &[u8]) -> Result<Opening<'_>, SkipReason> {
    let (first, rest) = cut(line, b' ').ok_or(SkipReason::BadShape)?;
    let address = Address::parse(first);
    if let Some((second, after)) = cut(rest, b' ').filter(|(second, _)| *second != b"-") {
        let is_list = first.strip_suffix(b",").is_some_and(|item| Address::parse(item).is_some());
        let client = Address::parse(second).filter(|_| !is_list).map(Client::Address);
        if let Some(client) = client
            && (address.is_none() || names_two_words(after))
        {
            return Ok(Opening { host: Some(first), client, rest: after });
        }
        if address.is_none() && without_port(first).is_some() && is_host(first) && is_host(second) {
            return Ok(Opening { host: Some(first), client: Client::named(second)?, rest: after });
        }
    }
    let address = address.or_else(|| without_port(first).and_then(Address::parse));
    let client =
        address.map_or_else(|| Client::named(first), |address| Ok(Client::Address(address)))?;
    Ok(Opening { host: None, client, rest })
}

/// Whether two words stand before the stamp: an ident and a user.
fn names_two_words(text: &[u8]) -> bool {
    let stamp = memmem::find(text, b" [").and_then(|at| text.get(..at)).unwrap_or(text);
    memchr::memchr(b' ', stamp).is_some()
}

/// A name or an address, with or without a port; not a list, as `X-Forwarded-For` is.
fn is_host(text: &[u8]) -> bool {
    text.iter().all(|b| b.is_ascii_alphanumeric() || b"._-:[]*".contains(b))
}

/// What stands before the last colon, if a number stands after it.
fn without_port(text: &[u8]) -> Option<&[u8]> {
    let (host, port) = text.split_at_checked(memchr::memrchr(b':', text)?)?;
    number(port.get(1..)?).map(|_| host)
}

/// Whether a user with blanks ends in a bare dash: then further fields stand before a user who isn't
/// named, as an id of the request does in some formats.
fn ends_in_dash(user: &[u8]) -> bool {
    user.trim_ascii_end().strip_suffix(b"-").is_some_and(|before| before.ends_with(b" "))
}

/// Ident, user (which may hold blanks and brackets), the stamp, and what follows `] `.
type Identity<'a> = (&'a [u8], &'a [u8], i64, &'a [u8]);

fn identity_and_time(rest: &[u8]) -> Result<Identity<'_>, SkipReason> {
    // mostly nobody is named, and some writers leave ident, user or both out
    for start in [b"- - [".as_slice(), b"- [", b"["] {
        let opened = rest.strip_prefix(start).and_then(request_stamp);
        if let Some((stamp_us, rest)) = opened {
            return Ok((b"-", b"-", stamp_us, rest));
        }
    }
    let (ident, rest) = cut(rest, b' ').ok_or(SkipReason::BadShape)?;
    // A user name is the client's word and may hold ` [`; it can't hold `] "`, which is escaped.
    let mut reason = SkipReason::BadShape;
    for at in memmem::find_iter(rest, b" [") {
        let Some((user, after)) = rest.split_at_checked(at) else { break };
        match after.get(2..).and_then(request_stamp) {
            Some((stamp_us, rest)) => return Ok((ident, user, stamp_us, rest)),
            None => reason = SkipReason::BadTime,
        }
    }
    Err(if rest.starts_with(b"[") { SkipReason::BadTime } else { reason })
}

/// A stamp that a request in quotes follows.
fn request_stamp(text: &[u8]) -> Option<(i64, &[u8])> {
    stamp(text).filter(|(_, rest)| rest.starts_with(b"\""))
}

/// Reads `dd/Mon/yyyy:hh:mm:ss ±zzzz] ` and gives what follows.
fn stamp(text: &[u8]) -> Option<(i64, &[u8])> {
    let (chunk, rest) = text.split_first_chunk::<26>()?;
    let instant_us = clf_us(chunk)?;
    let rest = rest.strip_prefix(b"] ")?;
    Some((instant_us, rest))
}

/// The request and what follows its `" `. Writers that don't escape quotes (`escape=none`, old
/// Traefik) leave some inside: then the field ends at the first quote before a status and a size.
fn request_field(text: &[u8]) -> Result<(&[u8], &[u8]), SkipReason> {
    let mut from = 0;
    while let Some(quote) = closing_quote(text, from) {
        let (Some(request), Some(rest)) = (text.get(..quote), text.get(quote + 1..)) else { break };
        if let Some(rest) = rest.strip_prefix(b" ")
            && starts_with_status(rest)
        {
            // only a quote left inside can hide a whole other record
            let suspicious = from > 0 && opens_record(request);
            return if suspicious { Err(SkipReason::TwoRecords) } else { Ok((request, rest)) };
        }
        from = quote + 1;
    }
    Err(if opens_record(text) { SkipReason::TwoRecords } else { SkipReason::BadShape })
}

/// `ddd ` or `- ` and then a size: digits or `-`.
fn starts_with_status(rest: &[u8]) -> bool {
    let size = match rest {
        [a, b, c, b' ', size @ ..] if [a, b, c].iter().all(|d| d.is_ascii_digit()) => size,
        [b'-', b' ', size @ ..] => size,
        _ => return false,
    };
    size.first().is_some_and(|first| first.is_ascii_digit() || *first == b'-')
}

/// A header's value, and what follows it.
type Header<'a> = (Option<&'a [u8]>, &'a [u8]);

/// A quoted header (or a bare `-`) at the start of `text`. Quotes that weren't escaped or closed
/// make the field best effort, never the line unreadable. A stamp inside is the client's business,
/// unless the closing quote turns out to be the one that opens another record's request.
fn header_field(text: &[u8]) -> Result<Header<'_>, SkipReason> {
    match text {
        [b'"', inner @ ..] => {
            let end = closing_quote(inner, 0).unwrap_or(inner.len());
            let (value, rest) = (inner.get(..end), inner.get(end + 1..).unwrap_or(b""));
            let ends_well = matches!(rest, [] | [b' ' | b'"', ..]);
            if !ends_well && value.is_some_and(ends_in_stamp) {
                return Err(SkipReason::TwoRecords);
            }
            Ok((value, rest.strip_prefix(b" ").unwrap_or(rest)))
        }
        [b'-', rest @ ..] => Ok((None, rest.strip_prefix(b" ").unwrap_or(rest))),
        _ => Ok((None, text)),
    }
}

/// Further quoted fields may follow (`main` of nginx's own configuration has `X-Forwarded-For`), and
/// what they hold is the client's business. Outside them, no other record may begin.
fn no_record_behind(mut rest: &[u8]) -> Result<(), SkipReason> {
    while !rest.is_empty() {
        if rest.starts_with(b"\"") {
            rest = header_field(rest)?.1;
            continue;
        }
        let quote = memchr::memchr(b'"', rest).unwrap_or(rest.len());
        let Some((plain, tail)) = rest.split_at_checked(quote) else { break };
        if !tail.is_empty() && ends_in_stamp(plain) {
            return Err(SkipReason::TwoRecords);
        }
        rest = tail;
    }
    Ok(())
}

/// Whether `[stamp] "` stands inside, which begins the request of another record. No client can
/// write it where quotes are escaped.
fn opens_record(text: &[u8]) -> bool {
    text.len() > 30
        && memmem::find_iter(text, b" [").any(|at| {
            let behind = text.get(at + 2..).and_then(stamp);
            behind.is_some_and(|(_, rest)| rest.starts_with(b"\""))
        })
}

/// Whether the text is `… [stamp] `: what stands before the request of another record.
fn ends_in_stamp(text: &[u8]) -> bool {
    let start = text.len().checked_sub(30); // ` [`, 26 characters, `] `
    let end = start.and_then(|start| text.get(start..));
    end.and_then(|end| end.strip_prefix(b" [")).and_then(stamp).is_some()
}

#[cfg(test)]
#[path = "combined_tests.rs"]
mod tests;
