//! Cuts a stream into blocks that end at line ends, in bounded memory whatever the stream holds.

use std::io::{self, Read};

/// Bytes of a block before it is cut. A constant: it must not depend on the number of threads.
pub const BLOCK_BYTES: usize = 1 << 19;

/// What one call of [`Blocks::next_block`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The block holds whole lines.
    Lines,
    /// The stream broke off: the last line, without a line end, is incomplete.
    BrokenTail,
    /// Nothing is left.
    End,
}

/// Reads a stream block by block.
pub struct Blocks<R> {
    reader: R,
    block_bytes: usize,
    max_line: usize,
    carry: Vec<u8>,
    ended: bool,
    damage: Option<io::Error>,
    last_end: LastEnd,
}

/// Finds where the last whole record of a block ends.
pub type LastEnd = Box<dyn Fn(&[u8]) -> Option<usize> + Send>;

impl<R> std::fmt::Debug for Blocks<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl<R: Read> Blocks<R> {
    /// Blocks of about `block_bytes`; a line longer than `max_line` is cut to `max_line + 1` bytes,
    /// so that it is still seen to be too long.
    pub fn new(reader: R, block_bytes: usize, max_line: usize) -> Self {
        Self {
            reader,
            block_bytes,
            max_line,
            carry: Vec::new(),
            ended: false,
            damage: None,
            last_end: Box::new(last_line_end),
        }
    }

    /// The beginning of the stream, about a block of it, before anything was taken.
    pub fn peek(&mut self) -> &[u8] {
        let mut block = std::mem::take(&mut self.carry);
        let mut target = self.block_bytes;
        loop {
            self.fill(&mut block, target);
            drop_leading_nuls(&mut block);
            let whole = memchr::memchr(b'\n', &block).is_some() || block.len() > self.max_line;
            if self.ended || (whole && block.len() >= target) {
                break;
            }
            if block.len() >= target {
                target += self.block_bytes;
            }
        }
        self.carry = block;
        &self.carry
    }

    /// Cuts at the ends of records that this finds, instead of at line ends.
    pub fn cut_at(&mut self, last_end: LastEnd) {
        self.last_end = last_end;
    }

    /// The error that ended the stream early, if one did.
    pub fn damage(&self) -> Option<&io::Error> {
        self.damage.as_ref()
    }

    /// Fills `block` (cleared first) with the next lines.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> Cut {
        block.clear();
        block.append(&mut self.carry);
        let mut target = self.block_bytes;
        loop {
            self.fill(block, target);
            drop_leading_nuls(block);
            if self.ended {
                return match (block.is_empty(), &self.damage) {
                    (true, _) => Cut::End,
                    (false, Some(_)) if block.last() != Some(&b'\n') => Cut::BrokenTail,
                    (false, _) => Cut::Lines,
                };
            }
            if block.len() < target {
                continue; // NULs were dropped
            }
            if let Some(end) = (self.last_end)(block) {
                self.carry.extend(block.drain(end + 1..));
                return Cut::Lines;
            }
            if block.len() > self.max_line {
                block.truncate(self.max_line + 1);
                self.pass_to_line_end();
                return Cut::Lines;
            }
            target += self.block_bytes;
        }
    }

    /// Reads until `block` has `target` bytes or the stream ends.
    fn fill(&mut self, block: &mut Vec<u8>, target: usize) {
        let wanted = target.saturating_sub(block.len());
        if self.ended || wanted == 0 {
            return;
        }
        let start = block.len();
        block.reserve(wanted);
        let limit = u64::try_from(wanted).unwrap_or(u64::MAX);
        if let Err(error) = self.reader.by_ref().take(limit).read_to_end(block) {
            self.damage = Some(error);
        }
        self.ended = self.damage.is_some() || block.len() - start < wanted;
    }

    /// Drops the rest of an over-long line and keeps what follows it for the next block.
    fn pass_to_line_end(&mut self) {
        // what is read beyond the line's end becomes a block of its own: no longer than others
        let mut piece = vec![0; self.block_bytes.min(1 << 16)];
        while !self.ended {
            let count = self.reader.read(&mut piece).unwrap_or_else(|error| {
                self.damage = Some(error);
                0
            });
            self.ended = count == 0;
            let read = piece.get(..count).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', read) {
                self.carry.extend_from_slice(read.get(end + 1..).unwrap_or_default());
                return;
            }
        }
    }
}

fn last_line_end(block: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', block)
}

/// `copytruncate` leaves as many NULs as the file was long, with no line end: they must not be taken
/// for an endless line. One NUL stays where nothing follows yet, so that the line is still counted.
fn drop_leading_nuls(block: &mut Vec<u8>) {
    let nuls = block.iter().take_while(|byte| **byte == 0).count();
    match block.get(nuls) {
        Some(b'\n') => {}
        Some(_) => drop(block.drain(..nuls)),
        None => block.truncate(nuls.min(1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks_of(text: &[u8], size: usize, max_line: usize) -> Vec<Vec<u8>> {
        let mut blocks = Blocks::new(text, size, max_line);
        let mut all = Vec::new();
        let mut block = Vec::new();
        while blocks.next_block(&mut block) != Cut::End {
            all.push(block.clone());
        }
        all
    }

    #[test]
    fn an_endless_line_is_cut_and_reading_goes_on() {
        let mut text = vec![b'x'; 300_000];
        text.extend_from_slice(b"\nnext\n");
        let blocks = blocks_of(&text, 100, 1000);
        assert_eq!(blocks[0], vec![b'x'; 1001]);
        assert_eq!(blocks[1..].concat(), b"next\n");
    }

    #[test]
    fn nuls_of_copytruncate_do_not_hide_the_line_behind_them() {
        let mut text = vec![0; 50_000];
        text.extend_from_slice(b"line\n");
        assert_eq!(blocks_of(&text, 100, 1000).concat(), b"line\n");
        assert_eq!(blocks_of(&vec![0; 50_000], 100, 1000).concat(), b"\0");
    }

    proptest! {
        #[test]
        fn blocks_joined_are_the_stream_and_end_at_line_ends(
            text in "([a-z]{0,30}\n){0,60}[a-z]{0,9}", size in 1_usize..90
        ) {
            let blocks = blocks_of(text.as_bytes(), size, 1 << 20);
            prop_assert_eq!(blocks.concat(), text.as_bytes());
            if let Some((_, whole)) = blocks.split_last() {
                prop_assert!(whole.iter().all(|block| block.ends_with(b"\n")));
            }
        }
    }
}
