//! Folds paths into templates, so that counting by path stays small: `/orders/17/items/9` and
//! `/orders/18/items/2` are both `/orders/{id}/items/{id}`.
//!
//! A template is a path pattern as `--route` takes it, and matches every path it was folded from. It
//! holds only plain characters. Numbers, hexadecimal and random tokens, addresses, e-mail addresses and
//! whatever is spelled with escapes are folded, since they may name a person; words stay.

/// Segments kept; what is deeper becomes `**`.
const MAX_SEGMENTS: usize = 6;
/// Longest segment kept as it is.
const MAX_SEGMENT: usize = 32;
/// Digits in a row, inside a longer segment, that make a number worth folding.
const MIN_DIGIT_RUN: usize = 3;
/// Digits of a segment, however spread, that may be a telephone number or an address.
const MANY_DIGITS: usize = 6;
/// Runs of digits of a segment that may be an address.
const MANY_RUNS: usize = 4;

/// Appends the template of a normalised path (beginning with `/`) to `out`.
pub fn fold(path: &[u8], out: &mut Vec<u8>) {
    let Some(relative) = path.strip_prefix(b"/") else {
        out.extend_from_slice(b"**"); // authority form, `*`: no path
        return;
    };
    for (depth, segment) in relative.split(|byte| *byte == b'/').enumerate() {
        out.push(b'/');
        if depth == MAX_SEGMENTS {
            out.extend_from_slice(b"**");
            return;
        }
        fold_segment(segment, out);
    }
}

fn fold_segment(segment: &[u8], out: &mut Vec<u8>) {
    if segment.iter().all(u8::is_ascii_lowercase) && segment.len() <= MAX_SEGMENT {
        out.extend_from_slice(segment); // most segments are plain words
    } else if is_identifier(segment) {
        out.extend_from_slice(b"{id}");
    } else if segment.len() > MAX_SEGMENT {
        out.push(b'*');
    } else {
        fold_digit_runs(segment, out);
    }
}

/// Numbers, UUIDs, digests, addresses, telephone numbers, e-mail addresses, random tokens; and what
/// holds characters that a path seldom has, which may be any of these in another spelling.
fn is_identifier(segment: &[u8]) -> bool {
    let Census { odd, digits, upper, lower, colons, hexadecimal, token, numeric } =
        Census::of(segment);
    let length = segment.len();
    odd > 0
        || (colons >= 2 && hexadecimal + colons == length)
        || (length >= 16 && upper > 0 && lower == 0 && token == length)
        || (digits > 0
            && (digits == length
                || (digits >= 4 && numeric == length)
                || (length >= 8 && hexadecimal == length)
                || (length >= 8 && upper > 0 && lower > 0 && token == length)))
}

/// How many characters of each kind a segment has.
#[derive(Default)]
struct Census {
    /// None that a path usually has.
    odd: usize,
    digits: usize,
    upper: usize,
    lower: usize,
    colons: usize,
    /// Hexadecimal digits and `-`.
    hexadecimal: usize,
    /// Letters, digits, `-` and `_`.
    token: usize,
    /// Digits and what parts them in numbers and addresses.
    numeric: usize,
}

impl Census {
    fn of(segment: &[u8]) -> Self {
        let mut census = Self::default();
        for &byte in segment {
            match byte {
                b'0'..=b'9' => census.digits += 1,
                b'a'..=b'z' => census.lower += 1,
                b'A'..=b'Z' => census.upper += 1,
                b':' => census.colons += 1,
                other => census.odd += usize::from(!is_plain(other)),
            }
            census.hexadecimal += usize::from(byte.is_ascii_hexdigit() || byte == b'-');
            census.token +=
                usize::from(byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            census.numeric += usize::from(byte.is_ascii_digit() || b"-._:+".contains(&byte));
        }
        census
    }
}

/// Characters that a segment may keep.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()+,;=:".contains(&byte)
}

/// Keeps what isn't a number; long runs of digits become `*`, all of them where there are many.
fn fold_digit_runs(segment: &[u8], out: &mut Vec<u8>) {
    let runs = || segment.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let numbers = || runs().filter(|run| run.iter().all(u8::is_ascii_digit));
    let many =
        numbers().map(<[u8]>::len).sum::<usize>() >= MANY_DIGITS || numbers().count() >= MANY_RUNS;
    for run in runs() {
        let number = run.iter().all(u8::is_ascii_digit);
        if number && (many || run.len() >= MIN_DIGIT_RUN) {
            out.push(b'*');
        } else {
            out.extend_from_slice(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::fold;
    use crate::site::path::normalise;
    use crate::site::pattern::Pattern;

    fn folded(path: &str) -> String {
        let mut out = Vec::new();
        fold(path.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_and_tokens_are_folded_and_words_stay() {
        for (path, template) in [
            ("/", "/"),
            ("/menu/17", "/menu/{id}"),
            ("/blog/2015/05/hello-world", "/blog/{id}/{id}/hello-world"),
            ("/v1/users/550e8400-e29b-41d4-a716-446655440000", "/v1/users/{id}"),
            ("/img/IMG_20240601.jpg", "/img/IMG_*.jpg"),
            ("/product-8423/", "/product-*/"),
            ("/jquery-1.9.1.min.js", "/jquery-1.9.1.min.js"),
            ("/v1/otp/+919812345678", "/v1/otp/{id}"),
            ("/u/alice@example.com", "/u/{id}"),
            ("/ip/192.0.2.17", "/ip/{id}"),
            ("/deadbeef", "/deadbeef"),
            ("/cafe1234", "/{id}"),
            ("/t/eyJhbGciOiJIUzI1NiJ9abc", "/t/{id}"),
            ("/a/b/c/d/e/f/g/h", "/a/b/c/d/e/f/**"),
            ("/caf\u{e9}/{x}*", "/{id}/{id}"),
            ("/r/10.1.2.3.json", "/r/*.*.*.*.json"),
            ("/ip/fe80::abcd:ef", "/ip/{id}"),
            ("/p/+91-98-12-34-56", "/p/{id}"),
            ("/p/tel+91-98-12-34-56", "/p/tel+*-*-*-*-*"),
            ("/m/alice%40example.com", "/m/{id}"),
            ("/reset/QWERTYUIOPASDFGHJKLZ", "/reset/{id}"),
            ("/invite/aB3dE9kQ", "/invite/{id}"),
            ("*", "**"),
            ("203.0.113.9:443", "**"),
        ] {
            assert_eq!(folded(path), template, "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_template_is_a_pattern_that_matches_its_path(
            path in proptest::collection::vec(any::<u8>(), 0..80)
        ) {
            let mut path = path;
            path.insert(0, b'/');
            let normal = normalise(&path).into_owned();
            let mut template = Vec::new();
            fold(&normal, &mut template);
            let text = String::from_utf8(template).unwrap();
            let pattern = Pattern::parse(&text).unwrap();
            prop_assert!(pattern.matches(&normal), "{} {:?}", text, normal);
        }

        #[test]
        fn wordlike_templates_match_too(path in "/([a-z0-9@.{}*-]{0,20}/){0,8}[A-Za-z0-9_.-]{0,45}") {
            let normal = normalise(path.as_bytes()).into_owned();
            let mut template = Vec::new();
            fold(&normal, &mut template);
            let text = String::from_utf8(template).unwrap();
            prop_assert!(Pattern::parse(&text).unwrap().matches(&normal), "{} {}", text, path);
        }
    }
}
