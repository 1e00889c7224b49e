//! Small cuts of byte strings that the scanners share. Nothing here knows a format.

use crate::units::hex;

/// What stands before and after the first `byte`.
pub fn cut(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(byte, text)?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.split_first()?.1))
}

/// Where the quoted field that begins `text` (after its opening quote) ends: the first quote that no
/// backslash escapes, at or after `from`.
pub fn closing_quote(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr::memchr(b'"', text.get(at..)?)?;
        let backslashes =
            text.get(from..quote)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(quote);
        }
        at = quote + 1;
    }
}

/// A field's value: `None` where the log has `-` or nothing.
pub fn present(field: &[u8]) -> Option<&[u8]> {
    (!field.is_empty() && field != b"-").then_some(field)
}

/// Digits as a number; `None` for anything else or for what doesn't fit 64 bits.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        byte.is_ascii_digit().then_some(())?;
        sum.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
    })
}

/// Undoes the escapes nginx (`\xHH`) and Apache (`\"`, `\\`, `\n`, `\t`, … and `\xhh`) write;
/// `None` where there is nothing to undo. A backslash that begins no escape stays.
pub fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'\\', text)?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, tail)) = cut(rest, b'\\') {
        out.extend_from_slice(plain);
        rest = unescape_one(tail, &mut out);
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Undoes the escape that stands at the start of `tail`, its backslash gone; gives what follows.
fn unescape_one<'a>(tail: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    match tail {
        [b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            out.push(hex::value(*high) << 4 | hex::value(*low));
            after
        }
        [known, after @ ..] if b"\"\\nrtbvf".contains(known) => {
            out.push(match known {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                other => *other,
            });
            after
        }
        unknown => {
            out.push(b'\\');
            unknown
        }
    }
}

/// As [`unescape`], and `\x000000HH`, which AWS load balancers write for a quote.
pub fn unescape_wide(text: &[u8]) -> Option<Vec<u8>> {
    const WIDE: &[u8] = b"\\x000000";
    memchr::memmem::find(text, WIDE)?;
    let mut narrow = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, WIDE) {
        narrow.extend_from_slice(rest.get(..at)?);
        narrow.extend_from_slice(b"\\x");
        rest = rest.get(at + WIDE.len()..)?;
    }
    narrow.extend_from_slice(rest);
    unescape(&narrow)
}

/// Undoes JSON's escapes, and nginx's `\xHH` where it stands in JSON; `None` where there is nothing
/// to undo. Halves of surrogate pairs that stand alone become U+FFFD.
pub fn unescape_json(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'\\', text)?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    while let Some((plain, tail)) = cut(rest, b'\\') {
        if !plain.is_empty() && high.take().is_some() {
            push_char(&mut out, u32::MAX);
        }
        out.extend_from_slice(plain);
        rest = match tail {
            [b'u', a, b, c, d, after @ ..]
                if [a, b, c, d].iter().all(|x| x.is_ascii_hexdigit()) =>
            {
                let unit =
                    [a, b, c, d].iter().fold(0, |sum, x| sum << 4 | u32::from(hex::value(**x)));
                match (high.take(), unit) {
                    (Some(first), 0xdc00..=0xdfff) => {
                        push_char(&mut out, 0x10000 + ((first - 0xd800) << 10) + (unit - 0xdc00));
                    }
                    (None, 0xd800..=0xdbff) => high = Some(unit),
                    (Some(_), 0xd800..=0xdbff) => {
                        push_char(&mut out, u32::MAX);
                        high = Some(unit);
                    }
                    (earlier, unit) => {
                        if earlier.is_some() {
                            push_char(&mut out, u32::MAX);
                        }
                        push_char(&mut out, unit);
                    }
                }
                after
            }
            [b'/', after @ ..] => {
                out.push(b'/');
                after
            }
            other => unescape_one(other, &mut out),
        };
    }
    if high.is_some() {
        push_char(&mut out, u32::MAX);
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Appends a character; what is none becomes U+FFFD.
fn push_char(out: &mut Vec<u8>, code: u32) {
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Undoes CSV's doubled quotes; `None` where there are none.
pub fn unescape_csv(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(text, b"\"\"")?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"\"\"") {
        out.extend_from_slice(rest.get(..=at)?);
        rest = rest.get(at + 2..)?;
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_behind_an_even_run_of_backslashes_closes() {
        assert_eq!(closing_quote(br#"a\"b" rest"#, 0), Some(4));
        assert_eq!(closing_quote(br#"a\\" rest"#, 0), Some(3));
        assert_eq!(closing_quote(br#"a\\\" rest"#, 0), None);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(b"plain"), None);
        assert_eq!(unescape(br"a\x5Cb\x22").unwrap(), br#"a\b""#);
        assert_eq!(unescape(br#"\"x\\\n\t\r"#).unwrap(), b"\"x\\\n\t\r");
        assert_eq!(unescape(br"\xZZ\q\").unwrap(), br"\xZZ\q\");
    }

    #[test]
    fn other_escapes_are_undone_too() {
        let wide = br"\x00000022Mozilla\x00000022 \x5C";
        assert_eq!(unescape_wide(wide).unwrap(), br#""Mozilla" \"#);
        assert_eq!(unescape_wide(br"\x5C"), None);
        assert_eq!(
            unescape_json(br#"a\u00e9\ud83d\ude00\/\"\n\x22"#).unwrap(),
            "a\u{e9}\u{1f600}/\"\n\"".as_bytes()
        );
        assert_eq!(unescape_json(br"\ud83dx\ude00").unwrap(), "\u{fffd}x\u{fffd}".as_bytes());
        assert_eq!(unescape_csv(br#"a ""b"" "#).unwrap(), br#"a "b" "#);
    }

    #[test]
    fn numbers_do_not_wrap() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"1x"), None);
    }
}
