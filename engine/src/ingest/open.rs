//! An input from its name to blocks and the scanner of its lines, and what is said where that fails:
//! the same for reading into the event table and for rows.

use std::io::Read;

use crate::format::detect::{Choice, choose};
use crate::format::foreign::Foreign;
use crate::format::scanner::Scanner;

use super::error::LoadError;
use super::load::LoadOptions;
use super::source::blocks::Blocks;
use super::source::decode::{self, Compression};
use super::source::discover::Input;
use super::source::tap::Tap;
use super::summary::Damage;

/// The blocks of an input, whatever it is packed in.
pub(super) type LogBlocks = Blocks<Box<dyn Read + Send>>;

/// An input can't be read.
pub(super) fn unreadable(input: &Input, why: &impl ToString) -> LoadError {
    LoadError::Unreadable { name: input.name.clone(), why: why.to_string() }
}

/// Opens an input; sizes are those of a block and of the longest line, bytes.
///
/// # Errors
/// When the system refuses.
pub(super) fn open(
    input: &Input,
    block_bytes: usize,
    max_line: usize,
) -> Result<(Tap, Compression, LogBlocks), LoadError> {
    let tap = Tap::open(input).map_err(|error| unreadable(input, &error))?;
    let (compression, reader) =
        decode::open(tap.clone()).map_err(|error| unreadable(input, &error))?;
    let blocks = Blocks::new(reader, block_bytes, max_line);
    Ok((tap, compression, blocks))
}

/// What takes the lines apart that begin with `head`; an empty file is an access log without lines.
///
/// # Errors
/// What it is instead of an access log.
pub(super) fn scanner(
    compression: Compression,
    head: &[u8],
    options: &LoadOptions,
) -> Result<Scanner, Foreign> {
    if compression.unread_hint().is_some() {
        return Err(Foreign::Binary);
    }
    let wanted = options.projection.late_fields();
    let choice = Choice { wanted, ..options.choice.clone() };
    match choose(head, &choice) {
        Err(_) if head.is_empty() => Ok(Scanner::Combined),
        chosen => chosen,
    }
}

/// Where an input broke off, if it did; `whole_lines` says whether any block came before.
///
/// # Errors
/// When it was named by the user and nothing of it could be read.
pub(super) fn damage(
    input: &Input,
    compression: Compression,
    blocks: &LogBlocks,
    tap: &Tap,
    whole_lines: bool,
) -> Result<Option<Damage>, LoadError> {
    let Some(why) = blocks.damage() else { return Ok(None) };
    if !whole_lines && input.explicit {
        let kind = compression.name().unwrap_or("file");
        return Err(unreadable(input, &format!("damaged {kind} from its beginning: {why}")));
    }
    Ok(Some(Damage { at_byte: tap.bytes_read(), why: why.to_string() }))
}

/// Why a file that was named can't be read, and what to do.
pub(super) fn refuse(input: &Input, compression: Compression, what: Foreign) -> LoadError {
    let name = input.name.clone();
    match (compression.name(), compression.unread_hint()) {
        (Some(kind), Some(command)) => LoadError::Unreadable {
            why: format!(
                "{kind} is not read; unpack it first: {command} {name} | shadowcap analyze -"
            ),
            name,
        },
        _ => LoadError::Foreign { name, what },
    }
}
