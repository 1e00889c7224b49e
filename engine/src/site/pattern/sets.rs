//! Path patterns as sets of paths: whether one holds all of another's, whether two can share one.

use super::{Pattern, Segment, matches_glob, matches_one};

/// Most pairs of segments that are compared; beyond, the answer is the careful one.
const MOST_PAIRS: usize = 1 << 20;

impl Pattern {
    /// Whether every path of `other` is surely one of this pattern's.
    pub fn covers(&self, other: &Self) -> bool {
        if self.segments == [Segment::Rest] {
            return true;
        }
        other.segments != [Segment::Rest]
            && walk(&self.segments, &other.segments, |mine, theirs, next| match (mine, theirs) {
                (None, None) => true,
                (Some(Segment::Rest), _) => next.mine || (theirs.is_some() && next.theirs),
                (Some(mine), Some(theirs)) => covers_one(mine, theirs) && next.both,
                (None, Some(_)) | (Some(_), None) => false,
            })
            .unwrap_or(false)
    }

    /// Whether some path may be both of this pattern's and of `other`'s; `false` is sure.
    pub fn overlaps(&self, other: &Self) -> bool {
        walk(&self.segments, &other.segments, |mine, theirs, next| match (mine, theirs) {
            (None, None) => true,
            (Some(Segment::Rest), _) => next.mine || (theirs.is_some() && next.theirs),
            (_, Some(Segment::Rest)) => next.theirs || (mine.is_some() && next.mine),
            (Some(mine), Some(theirs)) => overlaps_one(mine, theirs) && next.both,
            (None, Some(_)) | (Some(_), None) => false,
        })
        .unwrap_or(true)
    }
}

/// The answers for what follows: without my segment, without theirs, without both.
struct Next {
    mine: bool,
    theirs: bool,
    both: bool,
}

/// Answers from the ends of two patterns to their beginnings, each pair of rests once; `None` if there
/// are too many.
fn walk(
    mine: &[Segment],
    theirs: &[Segment],
    step: impl Fn(Option<&Segment>, Option<&Segment>, Next) -> bool,
) -> Option<bool> {
    if mine.len().saturating_add(1).checked_mul(theirs.len().saturating_add(1))? > MOST_PAIRS {
        return None;
    }
    let mut below: Vec<bool> = vec![false; theirs.len() + 2];
    for i in (0..=mine.len()).rev() {
        let mut row = vec![false; theirs.len() + 2];
        for j in (0..=theirs.len()).rev() {
            let at = |row: &[bool], j: usize| row.get(j).copied().unwrap_or(false);
            let next =
                Next { mine: at(&below, j), theirs: at(&row, j + 1), both: at(&below, j + 1) };
            let answer = step(mine.get(i), theirs.get(j), next);
            if let Some(cell) = row.get_mut(j) {
                *cell = answer;
            }
        }
        below = row;
    }
    below.first().copied()
}

/// Whether every part that fits `theirs` fits `mine`; neither is `**`.
fn covers_one(mine: &Segment, theirs: &Segment) -> bool {
    match (mine, theirs) {
        (_, Segment::Literal(text)) => matches_one(mine, text),
        (Segment::Named(_), Segment::Named(_)) => true,
        (Segment::Named(_), Segment::Glob(pieces)) => pieces.iter().any(|piece| !piece.is_empty()),
        (Segment::Glob(mine), Segment::Glob(theirs)) => mine == theirs || is_star(mine),
        (Segment::Glob(mine), Segment::Named(_)) => is_star(mine),
        (Segment::Literal(_) | Segment::Rest, _) | (_, Segment::Rest) => false,
    }
}

/// Whether some part may fit both; neither is `**`.
fn overlaps_one(mine: &Segment, theirs: &Segment) -> bool {
    match (mine, theirs) {
        (Segment::Literal(text), other) | (other, Segment::Literal(text)) => {
            matches_one(other, text)
        }
        (Segment::Glob(mine), Segment::Glob(theirs)) => {
            let open = |at: fn(&[Vec<u8>]) -> Option<&Vec<u8>>, ends: bool| {
                let (Some(a), Some(b)) = (at(mine), at(theirs)) else { return true };
                if ends {
                    a.ends_with(b) || b.ends_with(a)
                } else {
                    a.starts_with(b) || b.starts_with(a)
                }
            };
            open(<[Vec<u8>]>::first, false) && open(<[Vec<u8>]>::last, true)
        }
        _ => true,
    }
}

/// Whether the pieces are those of `*`, which any part fits.
fn is_star(pieces: &[Vec<u8>]) -> bool {
    pieces.len() > 1 && pieces.iter().all(Vec::is_empty) && matches_glob(pieces, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    const PATTERNS: [&str; 14] = [
        "**",
        "/**",
        "/",
        "/a",
        "/a/{id}",
        "/a/*",
        "/a/b",
        "/a/**",
        "/**/b",
        "/a/**/b",
        "/a/b*",
        "/a/*b",
        "/{x}/b",
        "/static/**/*.js",
    ];
    const PATHS: [&str; 14] = [
        "/",
        "/a",
        "/a/",
        "/a/b",
        "/a/bc",
        "/a/cb",
        "/a/x/b",
        "/a/x/y",
        "/b",
        "/x/b",
        "*",
        "/static/a.js",
        "/static/x/a.js",
        "/static",
    ];

    #[test]
    fn what_covers_and_overlaps_agrees_with_what_matches() {
        for one in PATTERNS {
            for two in PATTERNS {
                let (first, second) = (pattern(one), pattern(two));
                for path in PATHS.map(str::as_bytes) {
                    let (in_first, in_second) = (first.matches(path), second.matches(path));
                    if first.covers(&second) {
                        assert!(in_first || !in_second, "{one} covers {two}");
                    }
                    if in_first && in_second {
                        assert!(first.overlaps(&second), "{one} overlaps {two}");
                    }
                }
                assert_eq!(first.overlaps(&second), second.overlaps(&first), "{one} {two}");
            }
        }
    }

    #[test]
    fn what_is_plain_is_seen() {
        for (one, two) in [
            ("/a/{id}", "/a/b"),
            ("/a/**", "/a/x/{y}"),
            ("/a/*", "/a/{id}"),
            ("/**/b", "/a/**/b"),
            ("/a/{id}", "/a/{name}"),
        ] {
            assert!(pattern(one).covers(&pattern(two)), "{one} {two}");
            assert!(!pattern(two).covers(&pattern("/**")), "{two}");
        }
        for (one, two) in [("/a", "/b"), ("/a/{id}", "/a"), ("/a/b*", "/a/c*"), ("/a/**", "/b/**")]
        {
            assert!(!pattern(one).overlaps(&pattern(two)), "{one} {two}");
        }
        assert!(!pattern("/a/{id}").covers(&pattern("/a/*")), "* fits the empty part");
    }

    #[test]
    fn endless_patterns_get_the_careful_answer() {
        let long = pattern(&"/a".repeat(2_000));
        assert!(long.overlaps(&pattern(&"/b".repeat(2_000))));
        assert!(!long.covers(&long.clone()));
    }
}
