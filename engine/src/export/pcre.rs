//! Regular expressions as PCRE takes them, from path patterns and from those of the user's files. What they
//! find is decided byte by byte, and all bytes but plain ones are written as `\xHH`: nothing in them can end a
//! quoted text.

use std::fmt::Write as _;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use regex_syntax::utf8::Utf8Sequences;

use crate::site::pattern::{Pattern, Segment};

/// How often PCRE repeats something at most.
const MOST_TIMES: u32 = 65_535;

/// A part of what is found, under a name: the user's, and the group's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'n> {
    pub(super) name: &'n str,
    pub(super) group: &'n str,
}

/// What finds exactly these bytes.
pub(super) fn literal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/_:,@=~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A whole text with `*` for any run of characters. What has been found stays, so that no text takes more steps
/// than it is long times the pieces: PCRE gives up on others, and the condition would be taken for false.
pub(super) fn glob(written: &str) -> String {
    let pieces: Vec<&str> = written.split('*').collect();
    let last = pieces.len().saturating_sub(1);
    let mut out = "^".to_owned();
    for (number, piece) in pieces.iter().enumerate() {
        let piece = literal(piece.as_bytes());
        let _ = match number {
            0 => write!(out, "{piece}"),
            _ if number < last => write!(out, "(?s:(?>.*?{piece}))"),
            _ => write!(out, "(?s:.*){piece}"),
        };
    }
    out.push_str(r"\z");
    out
}

/// What a whole path of a pattern looks like, without anchors.
///
/// Where a `**` and what follows it have been found first, they stay: as in [`Pattern::matches`], an
/// earlier one never needs another place. So no path, however long, takes more than parts × segments steps.
pub(super) fn pattern(pattern: &Pattern, wanted: Option<Wanted<'_>>) -> String {
    let segments = pattern.segments();
    if segments == [Segment::Rest] {
        return "(?s:.*)".to_owned();
    }
    let mut left = wanted;
    let mut blocks = segments.split(|segment| *segment == Segment::Rest);
    let mut out = block(blocks.next().unwrap_or_default(), &mut left);
    let mut blocks = blocks.peekable();
    while let Some(segments) = blocks.next() {
        let found = block(segments, &mut left);
        if blocks.peek().is_some() {
            let _ = write!(out, "(?>(?:/[^/]*)*?{found})");
        } else {
            let _ = write!(out, "(?:/[^/]*)*{found}");
        }
    }
    out
}

/// Segments without `**`.
fn block(segments: &[Segment], wanted: &mut Option<Wanted<'_>>) -> String {
    let mut out = String::new();
    for segment in segments {
        out.push('/');
        match segment {
            Segment::Literal(text) => out.push_str(&literal(text)),
            Segment::Named(name) => match wanted.take_if(|wanted| wanted.name == name) {
                Some(Wanted { group, .. }) => {
                    let _ = write!(out, "(?<{group}>[^/]+)");
                }
                None => out.push_str("[^/]+"),
            },
            Segment::Glob(pieces) => {
                let last = pieces.len().saturating_sub(1);
                for (number, piece) in pieces.iter().enumerate() {
                    let piece = literal(piece);
                    let _ = match number {
                        0 => write!(out, "{piece}"),
                        _ if number < last => write!(out, "(?>[^/]*?{piece})"),
                        _ => write!(out, "[^/]*{piece}"),
                    };
                }
            }
            // blocks are what is between them
            Segment::Rest => {}
        }
        // a segment ends where the next slash or the path's end is
        out.push_str("(?![^/])");
    }
    out
}

/// A regular expression of a site or policy file (bytes, no Unicode), with at most one group named; `None`
/// where PCRE has no such condition.
pub(super) fn regex(written: &str, wanted: Option<Wanted<'_>>) -> Option<String> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let hir = parser.parse(written).ok()?;
    let mut out = String::new();
    write_hir(&hir, wanted, &mut out)?;
    Some(out)
}

fn write_hir(hir: &Hir, wanted: Option<Wanted<'_>>, out: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty => out.push_str("(?:)"),
        HirKind::Literal(text) => {
            let _ = write!(out, "(?:{})", literal(&text.0));
        }
        HirKind::Class(class) => write_class(class, out),
        HirKind::Look(look) => out.push_str(look_text(*look)?),
        HirKind::Repetition(Repetition { min, max, greedy, sub }) => {
            if max.unwrap_or(*min) > MOST_TIMES {
                return None;
            }
            out.push_str("(?:");
            write_hir(sub, wanted, out)?;
            let _ = match max {
                Some(max) => write!(out, "){{{min},{max}}}"),
                None => write!(out, "){{{min},}}"),
            };
            if !greedy {
                out.push('?');
            }
        }
        HirKind::Capture(capture) => {
            let named = wanted.filter(|wanted| capture.name.as_deref() == Some(wanted.name));
            let _ = match named {
                Some(Wanted { group, .. }) => write!(out, "(?<{group}>"),
                None => write!(out, "(?:"),
            };
            write_hir(&capture.sub, wanted, out)?;
            out.push(')');
        }
        HirKind::Concat(all) => {
            for one in all {
                write_hir(one, wanted, out)?;
            }
        }
        HirKind::Alternation(all) => {
            for (number, one) in all.iter().enumerate() {
                out.push_str(if number == 0 { "(?:" } else { "|" });
                write_hir(one, wanted, out)?;
            }
            out.push(')');
        }
    }
    Some(())
}

fn write_class(class: &Class, out: &mut String) {
    let range = |out: &mut String, first: u8, last: u8| {
        let _ = if first == last {
            write!(out, "\\x{first:02x}")
        } else {
            write!(out, "\\x{first:02x}-\\x{last:02x}")
        };
    };
    match class {
        Class::Bytes(class) if class.ranges().is_empty() => out.push_str("(?!)"),
        Class::Bytes(class) => {
            out.push('[');
            for found in class.ranges() {
                range(out, found.start(), found.end());
            }
            out.push(']');
        }
        Class::Unicode(class) => {
            let ranges = class.ranges().iter();
            let sequences = ranges.flat_map(|r| Utf8Sequences::new(r.start(), r.end()));
            out.push_str("(?:(?!)");
            for sequence in sequences {
                out.push('|');
                for byte in sequence.as_slice() {
                    out.push('[');
                    range(out, byte.start, byte.end);
                    out.push(']');
                }
            }
            out.push(')');
        }
    }
}

/// Conditions on a place. PCRE's own `^` and `$` look away from the last line's end.
fn look_text(look: Look) -> Option<&'static str> {
    Some(match look {
        Look::Start => r"\A",
        Look::End => r"\z",
        Look::StartLF => r"(?<![^\x0a])",
        Look::EndLF => r"(?![^\x0a])",
        Look::StartCRLF => r"(?:(?<![^\x0a])|(?<=\x0d)(?!\x0a))",
        Look::EndCRLF => r"(?:(?![^\x0d])|(?<!\x0d)(?=\x0a))",
        Look::WordAscii => r"\b",
        Look::WordAsciiNegate => r"\B",
        Look::WordStartAscii => r"(?<![0-9A-Za-z_])(?=[0-9A-Za-z_])",
        Look::WordEndAscii => r"(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])",
        Look::WordStartHalfAscii => r"(?<![0-9A-Za-z_])",
        Look::WordEndHalfAscii => r"(?![0-9A-Za-z_])",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_segment_by_segment() {
        let text = |path: &str| pattern(&Pattern::parse(path).unwrap(), None);
        assert_eq!(text("/v1/a.b"), "/v1(?![^/])/a\\x2eb(?![^/])");
        assert_eq!(text("/s/**"), "/s(?![^/])(?:/[^/]*)*");
        assert_eq!(text("/**/a/**/b"), "(?>(?:/[^/]*)*?/a(?![^/]))(?:/[^/]*)*/b(?![^/])");
        assert_eq!(text("/a*b*c"), "/a(?>[^/]*?b)[^/]*c(?![^/])");
        let wanted = Wanted { name: "id", group: "g" };
        let named = pattern(&Pattern::parse("/{id}/{id}").unwrap(), Some(wanted));
        assert_eq!(named, "/(?<g>[^/]+)(?![^/])/[^/]+(?![^/])");
    }

    #[test]
    fn regular_expressions_keep_their_meaning_and_lose_their_syntax() {
        let text = |written: &str| regex(written, None);
        assert_eq!(text(r"^/a{2}+$").unwrap(), r"\A(?:/)(?:(?:(?:a)){2,2}){1,}\z");
        assert_eq!(text("[a-c&&[^b]]").unwrap(), r"[\x61\x63]");
        assert_eq!(text("(?i)\"").unwrap(), r"(?:\x22)");
        assert_eq!(text("(?x) a # b\n").unwrap(), "(?:a)");
        assert_eq!(text(r"(?u:\b)"), None);
        assert_eq!(text("(?u:\u{e9})").unwrap(), r"(?:\xc3\xa9)");
        let wanted = Wanted { name: "phone", group: "g" };
        let found = regex("/(?P<phone>[0-9]+)/(?P<other>x)", Some(wanted)).unwrap();
        assert_eq!(found, r"(?:/)(?<g>(?:[\x30-\x39]){1,})(?:/)(?:(?:x))");
    }
}
