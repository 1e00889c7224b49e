//! Paths as a server sees them before it picks a location: percent-decoded once, dot segments and
//! doubled slashes resolved (nginx, `merge_slashes` and its URI normalisation; RFC 3986, 5.2.4).

use std::borrow::Cow;

use crate::units::hex;

/// Normalises a path, query already cut off. What is no path (`*`, `host:443`) stays as it is.
pub fn normalise(path: &[u8]) -> Cow<'_, [u8]> {
    // one pass: every line of every log has a path, and most are short and plain
    let mut slash = false;
    let odd = path.iter().any(|byte| {
        let after_slash = slash;
        slash = *byte == b'/';
        *byte == b'%' || (after_slash && (slash || *byte == b'.'))
    });
    let plain = !odd;
    if plain || path.first() != Some(&b'/') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(resolve(&percent_decode(path)))
}

/// Undoes `%HH` once; what isn't two hexadecimal digits stays.
pub fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = match tail {
            [high, low, after @ ..]
                if *first == b'%' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                out.push(hex::value(*high) << 4 | hex::value(*low));
                after
            }
            _ => {
                out.push(*first);
                tail
            }
        };
    }
    out
}

fn resolve(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut ends_in_folder = false;
    for segment in path.split(|byte| *byte == b'/') {
        ends_in_folder = true;
        match segment {
            b"" | b"." => {}
            b".." => {
                kept.pop();
            }
            word => {
                kept.push(word);
                ends_in_folder = false;
            }
        }
    }
    let mut out = Vec::with_capacity(path.len());
    for segment in kept {
        out.push(b'/');
        out.extend_from_slice(segment);
    }
    if ends_in_folder {
        out.push(b'/');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_normalised_as_a_server_does() {
        for (path, normal) in [
            ("/a/b", "/a/b"),
            ("/%61/b", "/a/b"),
            ("//a///b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/a/..", "/"),
            ("/a/b/.", "/a/b/"),
            ("/a%2f%2e%2e%2fb", "/b"),
            ("/%zz%4", "/%zz%4"),
            ("/a/.hidden", "/a/.hidden"),
            ("*", "*"),
        ] {
            assert_eq!(normalise(path.as_bytes()), normal.as_bytes(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_path_has_no_dot_segments_or_doubled_slashes(path in "/[a./%2eE]{0,30}") {
            let normal = normalise(path.as_bytes()).into_owned();
            prop_assert!(normal.starts_with(b"/"));
            prop_assert!(memchr::memmem::find(&normal, b"//").is_none());
            let dotted = normal.split(|b| *b == b'/').any(|s| s == b"." || s == b"..");
            prop_assert!(!dotted);
        }
    }
}
