//! Places in a file: bytes, and the line and column that an editor shows.

use std::ops::Range;

/// A place in a file: bytes, and line and column from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Place {
    /// First byte.
    pub from: usize,
    /// Byte after the last.
    pub to: usize,
    /// Line of the first byte, from 1.
    pub line: usize,
    /// Column of the first byte in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The whole of a line of a file that is read line by line.
    pub fn of_line(line: usize) -> Self {
        Self { from: 0, to: 0, line, column: 1 }
    }
}

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    text: &'t str,
    begins: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Finds the lines of a text.
    pub fn new(text: &'t str) -> Self {
        let begins = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
            .collect();
        Self { text, begins }
    }

    /// The place of a range of bytes; what lies past the end is the end.
    pub fn place(&self, range: Range<usize>) -> Place {
        let mut from = range.start.min(self.text.len());
        while !self.text.is_char_boundary(from) {
            from -= 1;
        }
        let line = self.begins.partition_point(|begin| *begin <= from);
        let begin = self.begins.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(begin..from).unwrap_or_default();
        Place { from, to: range.end.max(from), line, column: before.chars().count() + 1 }
    }

    /// The table a byte belongs to, by number: lines that open with `[` begin one.
    pub fn region(&self, byte: usize) -> usize {
        let opens = self.begins.iter().filter(|begin| {
            let line = self.text.get(**begin..).unwrap_or_default();
            **begin <= byte && line.trim_start_matches([' ', '\t']).starts_with('[')
        });
        opens.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a = 1\nä = \"ü\" # x\n\n[t]\nb = 2";
        let lines = Lines::new(text);
        let at = |needle: &str| {
            let from = text.find(needle).unwrap();
            let place = lines.place(from..from + 1);
            (place.line, place.column)
        };
        assert_eq!(at("a"), (1, 1));
        assert_eq!(at("#"), (2, 9));
        assert_eq!(at("b"), (5, 1));
        assert_eq!(lines.place(999..1000).line, 5);
        assert_eq!((lines.region(0), lines.region(text.len() - 1)), (0, 1));
        // in the middle of a character
        assert_eq!(lines.place(7..8).column, 1);
    }
}
