//! Path patterns: literals, `{name}` for one segment, `*` inside a segment, `**` for any rest.

mod sets;

use std::fmt;

use thiserror::Error;

/// Why a pattern can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    /// It doesn't begin with a slash.
    #[error("a path pattern begins with `/`, `**` or `*`, not `{0}`")]
    NoSlash(String),
    /// A brace is open, empty or amid other text.
    #[error(
        "`{0}` is not a whole `{{name}}`: braces hold the name of one segment, as in /users/{{id}}"
    )]
    Brace(String),
    /// Two placeholders have one name.
    #[error("`{{{0}}}` stands twice")]
    Twice(String),
}

/// One segment of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// This text.
    Literal(Vec<u8>),
    /// Pieces between stars, matched in order within one segment.
    Glob(Vec<Vec<u8>>),
    /// Any text but none, by a name.
    Named(String),
    /// `**`: any number of segments, none too.
    Rest,
}

/// A compiled path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When braces are misused or the pattern does not begin with `/`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "**" {
            return Ok(Self { segments: vec![Segment::Rest] });
        }
        let relative =
            text.strip_prefix('/').ok_or_else(|| PatternError::NoSlash(text.to_owned()))?;
        let mut segments = Vec::new();
        let mut names = Vec::new();
        for part in relative.split('/') {
            let segment = parse_segment(part)?;
            if let Segment::Named(name) = &segment {
                if names.contains(name) && name != "id" {
                    return Err(PatternError::Twice(name.clone()));
                }
                names.push(name.clone());
            }
            segments.push(segment);
        }
        Ok(Self { segments })
    }

    /// Its segments, in order; [`Segment::Rest`] alone is any path.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether a normalised path matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.segments == [Segment::Rest] || self.walk(path, |_, _| {})
    }

    /// The segment that `{name}` stands for in a path that matches; the first of that name.
    pub fn capture<'p>(&self, name: &str, path: &'p [u8]) -> Option<&'p [u8]> {
        let wanted =
            self.segments.iter().position(|s| matches!(s, Segment::Named(n) if n == name))?;
        let mut place = None;
        let matched = self.walk(path, |segment, part| {
            if segment == wanted {
                place = Some(part);
            }
        });
        part_at(path.strip_prefix(b"/")?, place.filter(|_| matched)?)
    }

    /// Whether a path matches; `note` is told which segment of the pattern was tried on the part of the
    /// path that begins at which byte after the first slash: the last told of a segment is what it took.
    ///
    /// `**` first takes nothing; where the pattern fails, the last `**` takes one part more. Earlier
    /// ones never need to, so the work is at most parts × segments. Every line of a log comes here:
    /// nothing is allocated.
    fn walk(&self, path: &[u8], mut note: impl FnMut(usize, usize)) -> bool {
        let Some(path) = path.strip_prefix(b"/") else { return false };
        let (mut segment, mut at) = (0, 0);
        let mut last_rest: Option<(usize, usize)> = None;
        loop {
            note(segment, at);
            match (self.segments.get(segment), part_at(path, at)) {
                (None, None) => return true,
                (Some(Segment::Rest), _) => {
                    last_rest = Some((segment, at));
                    segment += 1;
                }
                (Some(wanted), Some(found)) if matches_one(wanted, found) => {
                    segment += 1;
                    at += found.len() + 1;
                }
                _ => {
                    let Some((rest, taken)) = last_rest else { return false };
                    let Some(part) = part_at(path, taken) else { return false };
                    at = taken + part.len() + 1;
                    last_rest = Some((rest, at));
                    segment = rest + 1;
                }
            }
        }
    }

    /// Whether the pattern has a placeholder of this name.
    pub fn has(&self, name: &str) -> bool {
        self.segments.iter().any(|s| matches!(s, Segment::Named(n) if n == name))
    }
}

impl fmt::Display for Pattern {
    /// As the user wrote it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) => write!(f, "/{}", String::from_utf8_lossy(text))?,
                Segment::Named(name) => write!(f, "/{{{name}}}")?,
                Segment::Rest => f.write_str("/**")?,
                Segment::Glob(pieces) => {
                    write!(f, "/{}", String::from_utf8_lossy(&pieces.join(&b'*')))?;
                }
            }
        }
        Ok(())
    }
}

/// The part of a path, its first slash gone, that begins at a byte; `None` behind the last one.
fn part_at(path: &[u8], at: usize) -> Option<&[u8]> {
    let rest = path.get(at..)?;
    rest.get(..memchr::memchr(b'/', rest).unwrap_or(rest.len()))
}

fn parse_segment(part: &str) -> Result<Segment, PatternError> {
    if part == "**" {
        return Ok(Segment::Rest);
    }
    if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let plain =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        return if plain {
            Ok(Segment::Named(name.to_owned()))
        } else {
            Err(PatternError::Brace(part.to_owned()))
        };
    }
    if part.contains(['{', '}']) {
        return Err(PatternError::Brace(part.to_owned()));
    }
    if part.contains('*') {
        return Ok(Segment::Glob(part.split('*').map(|p| p.as_bytes().to_vec()).collect()));
    }
    Ok(Segment::Literal(part.as_bytes().to_vec()))
}

fn matches_one(segment: &Segment, part: &[u8]) -> bool {
    match segment {
        Segment::Literal(text) => text == part,
        Segment::Named(_) => !part.is_empty(),
        Segment::Glob(pieces) => matches_glob(pieces, part),
        Segment::Rest => true,
    }
}

/// The first piece opens the segment, the last closes it, those between follow in order.
fn matches_glob(pieces: &[Vec<u8>], part: &[u8]) -> bool {
    let Some((first, later)) = pieces.split_first() else { return false };
    let Some(mut rest) = part.strip_prefix(first.as_slice()) else { return false };
    let Some((last, middle)) = later.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(at) = memchr::memmem::find(rest, piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or(b"");
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn every_kind_of_segment_matches_what_it_should() {
        assert!(matches("/v1/otp/{phone}", "/v1/otp/+91981"));
        assert!(!matches("/v1/otp/{phone}", "/v1/otp/"));
        assert!(!matches("/v1/otp/{phone}", "/v1/otp/1/2"));
        assert!(matches("/img/*.jpg", "/img/a.b.jpg"));
        assert!(!matches("/img/*.jpg", "/img/a/b.jpg"));
        assert!(matches("/a*b*c", "/a1b2c") && !matches("/a*b*c", "/a1c2b"));
        assert!(matches("/static/**", "/static/") && matches("/static/**", "/static/a/b"));
        assert!(matches("/static/**", "/static") && !matches("/static/**", "/statics"));
        assert!(matches("/**/admin", "/x/y/admin") && matches("/**/admin", "/admin"));
        assert!(matches("**", "*") && matches("/", "/") && !matches("/", "/a"));
    }

    #[test]
    fn captures_are_found_by_name() {
        let pattern = Pattern::parse("/u/{user}/o/{order}").unwrap();
        assert_eq!(pattern.capture("order", b"/u/7/o/9"), Some(b"9".as_slice()));
        let deep = Pattern::parse("/**/o/{order}").unwrap();
        assert_eq!(deep.capture("order", b"/a/b/o/9"), Some(b"9".as_slice()));
        assert_eq!(pattern.capture("none", b"/u/7/o/9"), None);
        let between = Pattern::parse("/**/o/{order}/**/x").unwrap();
        assert_eq!(between.capture("order", b"/a/o/9/b/c/x"), Some(b"9".as_slice()));
    }

    #[test]
    fn many_rests_on_a_long_path_take_no_longer() {
        let path = "/a".repeat(20_000);
        assert!(!matches("/**/a/**/a/**/a/**/b", &path));
        assert!(matches("/**/a/**/a/**/a/**", &path));
    }

    #[test]
    fn patterns_are_written_as_they_were_read() {
        for text in ["/", "/a/{id}/*.jpg", "/a*b*c/**", "/**/x//y", "/v1/%6Cogin"] {
            assert_eq!(Pattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn misused_braces_are_refused() {
        for text in ["users/{id}", "/users/{", "/users/{}", "/a{b}c", "/{a b}"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
        assert_eq!(Pattern::parse("/{a}/{a}"), Err(PatternError::Twice("a".into())));
    }
}
