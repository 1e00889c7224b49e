//! Cells as text: bytes that aren't UTF-8 as `\xHH`, a backslash as `\\`, so that every byte can be
//! had back and every file is UTF-8.

use std::fmt::Write;

use shadowcap_engine::ingest::cells::Cell;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::time::format_rfc3339;

/// A text cell's text.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for part in chunk.valid().split_inclusive('\\') {
            out.push_str(part);
            if part.ends_with('\\') {
                out.push('\\');
            }
        }
        for byte in chunk.invalid() {
            // writing to a string can't fail
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

/// A cell as JSON.
pub(super) fn json(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Text(bytes) => quoted(&text(bytes), out),
        Cell::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Cell::Decimal(digits) => out.extend_from_slice(without_leading_zeros(digits)),
        Cell::Time(us) => quoted(&format_rfc3339(*us), out),
        Cell::Bool(yes) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
        Cell::List(cells) => {
            out.push(b'[');
            for (index, cell) in cells.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json(cell, out);
            }
            out.push(b']');
        }
    }
}

/// JSON forbids `007.5`.
fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    let keep = match digits.get(zeros) {
        Some(byte) if byte.is_ascii_digit() => zeros,
        _ => zeros.saturating_sub(1),
    };
    &digits[keep..]
}

/// A JSON string. What a terminal would obey or hide is written as an escape of JSON, so it loses
/// nothing and moves nothing.
pub(super) fn quoted(text: &str, out: &mut Vec<u8>) {
    if !text.chars().any(escape::is_invisible) {
        // a vector takes every byte, and every text is a JSON string
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.push(b'"');
    for character in text.chars() {
        if escape::is_invisible(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
            continue;
        }
        let mut one = Vec::new();
        let _ = serde_json::to_writer(&mut one, &character);
        out.extend_from_slice(&one[1..one.len() - 1]);
    }
    out.push(b'"');
}

/// A text for CSV: controls and what hides are written as `\xHH` too, and so is a first character that a
/// spreadsheet would take for a formula.
pub(super) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, character) in text.chars().enumerate() {
        let formula = index == 0 && "=+-@".contains(character);
        if formula || character.is_control() || escape::is_invisible(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "\\x{byte:02X}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// A cell as plain text; `None` where it is missing.
pub(super) fn plain(cell: &Cell<'_>) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Text(bytes) => Some(text(bytes)),
        Cell::Time(us) => Some(format_rfc3339(*us)),
        other => {
            let mut out = Vec::new();
            json(other, &mut out);
            String::from_utf8(out).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_can_be_had_back() {
        assert_eq!(text(b"a\\b caf\xe9 \xc3\xa9"), "a\\\\b caf\\xE9 \u{e9}");
        let mut out = Vec::new();
        let list =
            vec![Cell::Decimal(b"0.500"), Cell::Null, Cell::Decimal(b"007"), Cell::Decimal(b"0")];
        json(&Cell::List(list), &mut out);
        assert_eq!(out, b"[0.500,null,7,0]");
        assert_eq!(plain(&Cell::Bool(true)).unwrap(), "true");
        let mut out = Vec::new();
        quoted("a\u{202e}\u{9b}\"", &mut out);
        assert_eq!(out, br#""a\u202e\u009b\"""#);
        assert_eq!(harmless("=1+1\n\u{202e}"), r"\x3D1+1\x0A\xE2\x80\xAE");
    }
}
