//! Shows what is wrong with a file a user wrote: each problem with its place, what is allowed, and a way
//! out.

use std::io::{self, IsTerminal, Write};

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use shadowcap_engine::policy::Place;
use shadowcap_engine::units::escape;

use super::setting::WrongFile;

/// How much a remark weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The file can't be used, or must not be.
    Error,
    /// It can, and is likely to be wrong.
    Warning,
    /// Worth knowing.
    Note,
}

/// Something to say about a place in a file.
#[derive(Debug)]
pub(crate) struct Remark<'a> {
    /// How much it weighs.
    pub(crate) weight: Weight,
    /// Its stable code.
    pub(crate) code: &'static str,
    /// What was found.
    pub(crate) text: String,
    /// The file's name.
    pub(crate) name: &'a str,
    /// The file's text.
    pub(crate) source: &'a str,
    /// Where.
    pub(crate) place: Place,
    /// Notes below: what is allowed, what to do.
    pub(crate) notes: Vec<String>,
}

/// Shows all problems of a file on standard error.
pub(crate) fn show(file: &WrongFile) {
    let color = io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut text = String::new();
    for problem in &file.problems {
        let allowed = problem.allowed.as_ref().map(|allowed| format!("allowed: {allowed}"));
        let remark = Remark {
            weight: Weight::Error,
            code: problem.code.text(),
            text: problem.message.clone(),
            name: &problem.file,
            // the line of a list that a file names isn't at hand
            source: if problem.file == file.name { &file.text } else { "" },
            place: problem.place,
            notes: allowed.into_iter().chain(problem.help.clone()).collect(),
        };
        text.push_str(&render(&remark, color));
        text.push('\n');
    }
    // nobody can be told that stderr is closed
    let _ = write!(io::stderr(), "{text}");
    let count = file.problems.len();
    let problems = if count == 1 { "1 problem" } else { &format!("{count} problems") };
    super::diagnostics::error(&format!("{}: {problems} to mend", file.name));
}

/// A remark with the line it is about.
pub(crate) fn render(remark: &Remark<'_>, color: bool) -> String {
    let clean = |text: &str| escape::terminal(text.as_bytes());
    let source = clean_source(remark.source);
    let (from, to) = (remark.place.from.min(source.len()), remark.place.to.min(source.len()));
    let name = clean(remark.name);
    let title = clean(&remark.text);
    let notes: Vec<String> = remark.notes.iter().map(|note| clean(note)).collect();
    if source.is_empty() {
        let place = format!("{name}:{}:{}", remark.place.line, remark.place.column);
        let notes: Vec<String> = notes.iter().map(|note| format!("  = help: {note}\n")).collect();
        let notes = notes.concat();
        let weight = match remark.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
            Weight::Note => "note",
        };
        return format!("{weight}[{}]: {title}\n --> {place}\n{notes}", remark.code);
    }
    let annotation = AnnotationKind::Primary.span(from..to.max(from));
    let snippet = Snippet::source(source.as_str()).path(name.as_str()).annotation(annotation);
    let level = match remark.weight {
        Weight::Error => Level::ERROR,
        Weight::Warning => Level::WARNING,
        Weight::Note => Level::NOTE,
    };
    let mut group: Group<'_> = level.primary_title(title.as_str()).id(remark.code).element(snippet);
    for note in &notes {
        group = group.element(Level::HELP.message(note.as_str()));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let rendered = renderer.decor_style(DecorStyle::Ascii).render(&[group]);
    format!("{rendered}\n")
}

/// The text with what a terminal would obey replaced by as many bytes that it won't, so that places stay.
fn clean_source(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let obeyed = character.is_control() && character != '\n' && character != '\t';
            let (shown, count) = if obeyed { ('?', character.len_utf8()) } else { (character, 1) };
            std::iter::repeat_n(shown, count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_shows_its_line_and_what_to_do() {
        let source = "name = \"x\"\nburts = 3\n";
        let remark = Remark {
            weight: Weight::Error,
            code: "F002",
            text: "unknown key `burts`".to_owned(),
            name: "policy.toml",
            source,
            place: Place { from: 11, to: 16, line: 2, column: 1 },
            notes: vec!["did you mean `burst`?".to_owned()],
        };
        let text = render(&remark, false);
        for part in ["error[F002]", "unknown key", "policy.toml:2:1", "burts = 3", "did you mean"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(clean_source("a\u{1b}[1m\u{85}é\n"), "a?[1m??é\n");
    }
}
