//! A log format compiled to a scanner: fields between literal texts. `nginx` and `apache` compile
//! their format strings to this; nothing here knows their variables.
//!
//! A field ends where the literal after it begins. A literal's blanks match any run of blanks, since
//! writers pad. Where a field may hold what looks like its end, its kind tells: a quoted text ends at
//! the first quote that isn't escaped, a list runs on after `, ` and ` : `, a stamp has its length, and
//! of `address:port` the last colon counts.

use memchr::memmem;

use super::fields::{Kind, Layout, Role, Values};
use super::record::{Escape, Record};
use super::skip::SkipReason;
use super::text::closing_quote;

/// A piece of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stands in every line.
    Literal(Vec<u8>),
    /// A field, as an index of the layout's fields.
    Field(usize),
}

/// A compiled format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFormat {
    /// What its fields mean.
    pub layout: Layout,
    pieces: Vec<Piece>,
}

impl LogFormat {
    /// Puts a format together; literals that follow each other are joined.
    pub fn new(layout: Layout, pieces: Vec<Piece>) -> Self {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Literal(before)), Piece::Literal(text)) => before.extend(text),
                (_, piece) => joined.push(piece),
            }
        }
        Self { layout, pieces: joined }
    }

    /// Takes a line apart.
    ///
    /// # Errors
    /// The reason why it is no record of this format.
    pub fn scan<'a>(
        &self,
        line: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Record<'a>, SkipReason> {
        self.fill(line, values).ok_or(SkipReason::BadShape)?;
        self.layout.record(values)
    }

    fn fill<'a>(&self, line: &'a [u8], values: &mut Values<'a>) -> Option<()> {
        let mut rest = line;
        let mut pieces = self.pieces.iter().peekable();
        let mut before: &[u8] = b"";
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Literal(text) => {
                    rest = rest.get(match_literal(rest, text)?..)?;
                    before = text;
                }
                Piece::Field(index) => {
                    let after = match pieces.peek() {
                        Some(Piece::Literal(text)) => Some(text.as_slice()),
                        Some(Piece::Field(_)) => return None, // refused when compiled
                        None => None,
                    };
                    // a literal that only parts two colon-joined fields needs the one behind them
                    let joint = after == Some(b":") && self.is_address(*index);
                    let end = if joint {
                        let mut ahead = pieces.clone();
                        ahead.next();
                        ahead.next();
                        let beyond = match ahead.next() {
                            Some(Piece::Literal(text)) => Some(text.as_slice()),
                            _ => None,
                        };
                        let both = self.end(rest, *index, before, beyond)?;
                        memchr::memrchr(b':', rest.get(..both)?)?
                    } else {
                        self.end(rest, *index, before, after)?
                    };
                    values.set(*index, rest.get(..end)?);
                    rest = rest.get(end..)?;
                }
            }
        }
        Some(()) // what follows is ignored: formats grow at their end
    }

    fn is_address(&self, index: usize) -> bool {
        self.layout.fields.get(index).is_some_and(|field| {
            matches!(field.role, Role::Client | Role::Peer | Role::Host)
                || field.name.ends_with("addr")
        })
    }

    /// Where a field ends in `rest`.
    fn end(&self, rest: &[u8], index: usize, before: &[u8], after: Option<&[u8]>) -> Option<usize> {
        let field = self.layout.fields.get(index)?;
        let Some(after) = after else { return Some(rest.len()) };
        if before.ends_with(b"\"") && after.starts_with(b"\"") && self.layout.escape != Escape::None
        {
            return quoted_end(rest, after);
        }
        if matches!(field.role, Role::Logged(_))
            && rest.get(26..).is_some_and(|r| match_literal(r, after).is_some())
        {
            return Some(26); // a common log stamp holds a blank
        }
        if matches!(field.kind, Kind::Texts | Kind::Decimals | Kind::Integers)
            && after.starts_with(b" ")
        {
            return list_end(rest, after);
        }
        find_literal(rest, after)
    }
}

/// The quote that closes a field: not escaped, and followed by the rest of the literal; a writer that
/// doesn't escape is met by looking on.
fn quoted_end(rest: &[u8], after: &[u8]) -> Option<usize> {
    let mut from = 0;
    let mut first = None;
    while let Some(quote) = closing_quote(rest, from) {
        if match_literal(rest.get(quote..)?, after).is_some() {
            return Some(quote);
        }
        first = first.or(Some(quote));
        from = quote + 1;
    }
    first
}

/// The end of a list: blanks after `,` and around ` : ` belong to it.
fn list_end(rest: &[u8], after: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + find_literal(rest.get(from..)?, after)?;
        let goes_on = rest.get(..end)?.ends_with(b",") || rest.get(end..)?.starts_with(b" : ");
        if !goes_on {
            return Some(end);
        }
        let colon = rest.get(end..)?.starts_with(b" : ");
        from = end + if colon { 3 } else { 1 };
    }
}

/// Where a literal begins in `rest`; blanks in it match any run of blanks.
fn find_literal(rest: &[u8], literal: &[u8]) -> Option<usize> {
    if !literal.contains(&b' ') {
        return memmem::find(rest, literal);
    }
    let (first, _) = literal.split_first()?;
    memchr::memchr_iter(*first, rest)
        .find(|at| rest.get(*at..).is_some_and(|text| match_literal(text, literal).is_some()))
}

/// How many bytes at the start of `text` a literal takes; `None` if it doesn't stand there.
fn match_literal(text: &[u8], literal: &[u8]) -> Option<usize> {
    if text.starts_with(literal) && literal.last() != Some(&b' ') {
        return Some(literal.len());
    }
    let mut at = 0;
    let mut wanted = literal.iter().peekable();
    while let Some(byte) = wanted.next() {
        if text.get(at) != Some(byte) {
            return None;
        }
        at += 1;
        if *byte == b' ' {
            while wanted.next_if_eq(&&b' ').is_some() {}
            at += text.get(at..)?.iter().take_while(|byte| **byte == b' ').count();
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_match_any_run_of_blanks() {
        assert_eq!(match_literal(b" -  - [", b" - - ["), Some(7));
        assert_eq!(match_literal(b" - x", b"  - "), Some(3));
        assert_eq!(match_literal(b" -x", b" - "), None);
        assert_eq!(find_literal(b"ann [b] [01", b" ["), Some(3));
    }

    #[test]
    fn lists_run_on_after_commas_and_colons() {
        assert_eq!(list_end(b"0.001, 0.002 : 0.003 . host", b" "), Some(20));
        assert_eq!(list_end(b"- . host", b" "), Some(1));
        assert_eq!(list_end(b"0.5, -, 0.1 x", b" "), Some(11));
    }
}
