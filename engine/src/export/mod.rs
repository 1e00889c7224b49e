//! A policy as configuration of the enforcement point: one file per enforcement point. What it can't say is
//! said in a comment where it would stand, and once more as a note; nothing is dropped in silence.

mod nginx;
mod pcre;
mod redis_lua;
mod words;

use std::fmt;

use thiserror::Error;

use crate::policy::{Limit, Policy};
use crate::site::Site;
use crate::units::escape;

/// What decides about requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// nginx's `limit_req` and `limit_conn`.
    Nginx,
    /// A script that Redis runs.
    RedisLua,
}

/// A policy as configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The configuration: a file as it is.
    pub text: String,
    /// What it doesn't say as the policy does, in the order of the file.
    pub notes: Vec<Note>,
}

/// Something that configuration can't say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The limit it is about, with its line in the policy; `None` for the whole.
    pub limit: Option<(String, usize)>,
    /// What isn't said, and what follows. Texts of the user's files stand in it as they are.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.limit {
            Some((name, line)) => write!(f, "line {line}, \u{201c}{name}\u{201d}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Why nothing is exported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExportError {
    /// Limits of the kind stand at several places, and one file is for one.
    #[error("its nginx limits stand at several places ({}): say whose file this is, as in --at {}", .0.join(", "), .0.first().map_or("", String::as_str))]
    Places(Vec<String>),
    /// No limit stands there.
    #[error("no limit stands at `{0}`")]
    NoSuchPlace(String),
}

/// Writes the configuration of the enforcement point; `at` is the place it is for, where limits stand at
/// several.
///
/// # Errors
/// When the place isn't known, or it isn't told which of several it is.
pub fn export(
    policy: &Policy,
    site: &Site,
    target: Target,
    at: Option<&str>,
) -> Result<Exported, ExportError> {
    if let Some(at) = at
        && policy.limits.iter().all(|limit| limit.at.as_deref() != Some(at))
    {
        return Err(ExportError::NoSuchPlace(at.to_owned()));
    }
    match target {
        Target::Nginx => nginx::export(policy, site, at),
        Target::RedisLua => Ok(redis_lua::export(policy, site, at)),
    }
}

/// A file while it is written.
#[derive(Debug)]
struct Draft {
    /// What begins a comment.
    mark: &'static str,
    text: String,
    notes: Vec<Note>,
}

impl Draft {
    fn new(mark: &'static str) -> Self {
        Self { mark, text: String::new(), notes: Vec::new() }
    }

    /// A comment. Nothing in it can end its line.
    fn comment(&mut self, text: &str) {
        self.text.push_str(&comment(self.mark, text));
    }

    /// A comment that is a note, too.
    fn remark(&mut self, limit: Option<&Limit>, text: &str) {
        self.comment(&format!("NOTE: {text}"));
        self.note(limit, text);
    }

    fn note(&mut self, limit: Option<&Limit>, text: &str) {
        let limit = limit.map(|limit| (limit.name.clone(), limit.place.line));
        self.notes.push(Note { limit, text: text.to_owned() });
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// A comment line. The blank keeps a text from making another kind of comment of it (`--[[` in Lua).
fn comment(mark: &str, text: &str) -> String {
    format!("{mark} {}\n", escape::terminal(text.as_bytes()))
}

/// A limit's number, name and place in its file, as comments open with it.
fn title(number: usize, limit: &Limit) -> String {
    format!("{number}. \u{201c}{}\u{201d}, line {} of the policy", limit.name, limit.place.line)
}

/// A name in small letters, digits and `_`, for names of zones and variables; not unique.
fn plain_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(MOST_OF_A_NAME)
        .collect();
    plain.trim_matches('_').to_owned()
}

/// Letters of a name that are kept.
const MOST_OF_A_NAME: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_one_line_whatever_is_in_it() {
        assert_eq!(
            comment("#", "a\nlimit_req off;\r\u{2028}"),
            "# a\\x0Alimit_req off;\\x0D\\u{2028}\n"
        );
        assert_eq!(comment("--", "[[ a"), "-- [[ a\n");
    }

    #[test]
    fn names_are_made_plain() {
        assert_eq!(plain_name("SMS hard-stop; }"), "sms_hard_stop");
        assert_eq!(plain_name("\u{e9}\u{4e2d}"), "");
    }
}
