//! Text from logs, made harmless for the place it goes to.

use std::fmt::Write;

/// For terminals, and for any line-based text: control and bidirectional characters, bytes that
/// aren't UTF-8 and backslashes are written out, so that no log can move a cursor or forge a line.
pub fn terminal(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                c if c.is_ascii_control() => hex(&mut out, &[u8::try_from(c).unwrap_or(b'?')]),
                c if is_invisible(c) => {
                    let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

fn hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // writing to a string can't fail
        let _ = write!(out, "\\x{byte:02X}");
    }
}

/// What a terminal obeys or hides without being a C0 control: C1 controls, line separators, zero-width and bidirectional marks.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_moves_or_hides_gets_through() {
        assert_eq!(terminal(b"\x1b[31mred\r\n\x07"), r"\x1B[31mred\x0D\x0A\x07");
        assert_eq!(terminal("a\u{202e}b\u{9b}".as_bytes()), r"a\u{202e}b\u{9b}");
        assert_eq!(terminal(b"caf\xe9 \\x41"), r"caf\xE9 \\x41");
        assert_eq!(terminal("\u{e9}\u{4e2d}".as_bytes()), "\u{e9}\u{4e2d}");
    }

    proptest! {
        #[test]
        fn any_bytes_become_printable(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(!terminal(&text).chars().any(char::is_control));
        }
    }
}
