//! Hexadecimal digits.

/// The value of a hexadecimal digit of either case, 0 to 15; 0 for any other byte.
pub fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}
