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
use super::stamp::clf_us;
use super::text::closing_quote;

/// Ends of fields that are tried for one line before it is given up.
const ATTEMPTS: u32 = 512;

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
        let mut attempts = ATTEMPTS;
        self.fill_from(0, b"", line, values, &mut attempts)
    }

    /// Takes the pieces from `piece` on out of `rest`. Where what follows doesn't fit, a field is tried
    /// longer: what a client wrote may look like the text behind it.
    fn fill_from<'a>(
        &self,
        piece: usize,
        before: &[u8],
        rest: &'a [u8],
        values: &mut Values<'a>,
        attempts: &mut u32,
    ) -> Option<()> {
        match self.pieces.get(piece) {
            None => Some(()), // what follows is ignored: formats grow at their end
            Some(Piece::Literal(text)) => {
                let after = rest.get(match_literal(rest, text)?..)?;
                self.fill_from(piece + 1, text, after, values, attempts)
            }
            Some(Piece::Field(index)) => {
                let after = match self.pieces.get(piece + 1) {
                    Some(Piece::Literal(text)) => Some(text.as_slice()),
                    _ => None,
                };
                let mut end = self.field_end(piece, *index, before, after, rest)?;
                loop {
                    *attempts = attempts.checked_sub(1)?;
                    let (value, behind) = rest.split_at_checked(end)?;
                    if self.fits(*index, value) {
                        values.set(*index, value);
                        let done = self.fill_from(piece + 1, before, behind, values, attempts);
                        if done.is_some() {
                            return done;
                        }
                    }
                    end += 1 + find_literal(rest.get(end + 1..)?, after?)?;
                }
            }
        }
    }

    /// Whether a value can be its field's: stamps and numbers are told from what clients write.
    fn fits(&self, index: usize, value: &[u8]) -> bool {
        match self.layout.fields.get(index).map(|field| field.role) {
            Some(Role::Logged(_)) => super::stamp::any(value).is_some(),
            Some(Role::Status | Role::Bytes(_)) => {
                value == b"-" || super::text::number(value).is_some()
            }
            _ => true,
        }
    }

    /// Where a field first may end.
    fn field_end(
        &self,
        piece: usize,
        index: usize,
        before: &[u8],
        after: Option<&[u8]>,
        rest: &[u8],
    ) -> Option<usize> {
        // a literal that only parts two colon-joined fields needs the one behind them
        if after == Some(b":") && self.is_address(index) {
            let beyond = match self.pieces.get(piece + 3) {
                Some(Piece::Literal(text)) => Some(text.as_slice()),
                _ => None,
            };
            let both = self.end(rest, index, before, beyond)?;
            return memchr::memrchr(b':', rest.get(..both)?);
        }
        self.end(rest, index, before, after)
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
        if field.role == Role::Logged(0)
            && rest.first_chunk::<26>().is_some_and(|text| clf_us(text).is_some())
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
        // an item follows, and no bracket or quote that the format has there
        let item = rest.get(end + 1..).and_then(<[u8]>::first);
        let comma = rest.get(..end)?.ends_with(b",") && !item.is_some_and(|b| b"[\"".contains(b));
        let goes_on = comma || rest.get(end..)?.starts_with(b" : ");
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
    memchr::memchr_iter(*first, rest).find(|at| {
        // of a run of blanks only the first is tried, or a line of blanks would take for ever
        let in_run = *first == b' ' && at.checked_sub(1).and_then(|at| rest.get(at)) == Some(&b' ');
        !in_run && rest.get(*at..).is_some_and(|text| match_literal(text, literal).is_some())
    })
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
