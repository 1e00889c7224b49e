//! Shows the form of a skipped line without what it says: words and numbers are replaced, since
//! addresses, users and tokens may stand anywhere in a line that could not be read.

/// Longest example shown, characters.
const SHOWN: usize = 160;

/// Words that tell about a format and never about a person.
const KEPT: [&str; 26] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "HTTP", "Jan",
    "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "error", "warn",
    "notice", "info",
];

/// The line with letters of unknown words as `x` and digits as `9`; anything that isn't ASCII as `?`.
pub(super) fn mask(text: &[u8]) -> String {
    let mut out = String::new();
    for run in text.chunk_by(|a, b| a.is_ascii_alphabetic() && b.is_ascii_alphabetic()) {
        let known = std::str::from_utf8(run).is_ok_and(|word| KEPT.contains(&word));
        for byte in run {
            out.push(match byte {
                letter if letter.is_ascii_alphabetic() && !known => 'x',
                digit if digit.is_ascii_digit() => '9',
                0x80.. => '?',
                other => char::from(*other),
            });
        }
    }
    shorten(&out)
}

/// The beginning of a text, with `…` where something was cut off.
pub(super) fn shorten(text: &str) -> String {
    if text.chars().nth(SHOWN).is_none() {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_form_is_left() {
        assert_eq!(
            mask(b"192.0.2.7 - ann [01/Jun/2024] \"GET /u/ann?t=5e HTTP/1.1\" 200"),
            "999.9.9.9 - xxx [99/Jun/9999] \"GET /x/xxx?x=9x HTTP/9.9\" 999"
        );
        assert_eq!(mask("caf\u{e9}".as_bytes()), "xxx??");
        assert_eq!(shorten(&"a".repeat(161)).chars().count(), 161);
        assert_eq!(shorten(&"a".repeat(160)).chars().count(), 160);
    }
}
