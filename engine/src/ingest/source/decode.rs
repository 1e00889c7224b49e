//! Compression, told by content and not by name: gzip with all its members, zstd with all its frames.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::GzDecoder;

use super::tap::Tap;

/// Largest zstd window that is accepted, as a power of two: memory an archive may ask for.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Bytes handed to a decoder at a time.
const BUFFER: usize = 1 << 17;

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// bzip2, which is not read.
    Bzip2,
    /// xz, which is not read.
    Xz,
    /// A zip archive, which is not read.
    Zip,
}

impl Compression {
    /// The word used in reports; `None` for plain files.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
            Self::Bzip2 => Some("bzip2"),
            Self::Xz => Some("xz"),
            Self::Zip => Some("zip"),
        }
    }

    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Self::Xz,
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            _ => Self::Plain,
        }
    }

    /// The command that undoes a compression which isn't read here.
    pub fn unread_hint(self) -> Option<&'static str> {
        match self {
            Self::Bzip2 => Some("bzip2 -dc"),
            Self::Xz => Some("xz -dc"),
            Self::Zip => Some("unzip -p"),
            Self::Plain | Self::Gzip | Self::Zstd => None,
        }
    }
}

/// Looks at the first bytes and gives a reader of what the input holds.
///
/// # Errors
/// What the system reports, or that the decoder can't be made.
pub fn open(mut tap: Tap) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let mut head = Vec::new();
    tap.by_ref().take(6).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let whole = Cursor::new(head).chain(tap);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::Gzip => Box::new(Members::new(BufReader::with_capacity(BUFFER, whole))),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(BUFFER, whole))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        _ => Box::new(whole),
    };
    Ok((compression, reader))
}

/// All members of a gzip file, one after the other. flate2's own multi-member reader takes zeros
/// after the last member (tape padding) for damage; gzip itself ignores them.
struct Members<R: BufRead> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(reader: R) -> Self {
        Self { member: Some(GzDecoder::new(reader)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else {
                return Ok(0);
            };
            if skip_zeros(&mut rest)? {
                self.member = Some(GzDecoder::new(rest));
            }
        }
    }
}

/// Passes over zeros; whether anything follows.
fn skip_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(false);
        }
        let zeros = available.iter().take_while(|byte| **byte == 0).count();
        if zeros < available.len() {
            reader.consume(zeros);
            return Ok(true);
        }
        reader.consume(zeros);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression as Level;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(bytes: Vec<u8>) -> (Compression, io::Result<Vec<u8>>, Vec<u8>) {
        let (compression, mut reader) = open(Tap::new(Box::new(Cursor::new(bytes)))).unwrap();
        let mut out = Vec::new();
        let result = reader.read_to_end(&mut out).map(|_| out.clone());
        (compression, result, out)
    }

    #[test]
    fn every_member_is_read_and_padding_ignored() {
        let mut file = gzip(b"one\n");
        file.extend(gzip(b""));
        file.extend(gzip(b"two\n"));
        file.extend([0; 700]);
        let (compression, result, _) = decode(file);
        assert_eq!((compression, result.unwrap()), (Compression::Gzip, b"one\ntwo\n".to_vec()));
    }

    #[test]
    fn a_cut_member_gives_what_came_before_the_cut() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let mut file = gzip(&text);
        file.truncate(file.len() / 2);
        let (_, result, before) = decode(file);
        assert!(result.is_err());
        assert!(before.len() > 1000 && text.starts_with(&before));
    }

    #[test]
    fn zstd_frames_are_joined_and_plain_text_is_left_alone() {
        let mut file = zstd::encode_all(&b"one\n"[..], 1).unwrap();
        file.extend(zstd::encode_all(&b"two\n"[..], 1).unwrap());
        let (compression, result, _) = decode(file);
        assert_eq!((compression, result.unwrap()), (Compression::Zstd, b"one\ntwo\n".to_vec()));
        let (plain, result, _) = decode(b"x".to_vec());
        assert_eq!((plain, result.unwrap()), (Compression::Plain, b"x".to_vec()));
    }
}
