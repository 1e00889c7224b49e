//! The report as `report.json`: indented down to the entries of its lists, each entry on a line of its
//! own, so that the file reads, greps and diffs well and a histogram doesn't fill a screen.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Depth to which objects and lists are spread over lines.
const SPREAD: usize = 2;

/// The document, with a line end.
pub(crate) fn write<T: Serialize>(report: &T) -> Vec<u8> {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Spread::default());
    // the model has string keys only, and a vector takes every byte
    let written = report.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "{written:?}");
    out.push(b'\n');
    out
}

/// Line breaks near the root, none below.
#[derive(Default)]
struct Spread {
    depth: usize,
    filled: bool,
}

impl Spread {
    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled && self.depth < SPREAD {
            self.new_line(out)?;
        }
        self.filled = true;
        out.write_all(bracket)
    }

    fn item<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(if self.depth > SPREAD { b", " } else { b"," })?;
        }
        if self.depth <= SPREAD { self.new_line(out) } else { Ok(()) }
    }

    fn new_line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Spread {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn entries_of_lists_stand_on_lines_of_their_own() {
        let value = json!({ "a": 1, "b": [{ "c": [[1, 2], [3, 4]], "d": {} }, 5], "e": [], "f": { "g": [6] } });
        let mut out = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut out, Spread::default())).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": [[1, 2], [3, 4]], \"d\": {}},\n    5\n  ],\n  \"e\": [],\n  \"f\": {\n    \"g\": [6]\n  }\n}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
