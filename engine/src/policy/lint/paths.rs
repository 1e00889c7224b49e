//! Which paths limits are about: SC009 patterns that another spelling escapes, SC010 static files.

use crate::limiter::Limiter;
use crate::policy::{Limit, Place};
use crate::site::matching::{Match, TextField, TextPattern};

use super::{Code, Finding, Within};
use crate::policy::coverage::Ground;

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        found.extend(escaped_path(ground, limit));
        found.extend(static_files(ground, limit));
    }
}

/// What is peculiar about a pattern that was made for paths as they were sent.
fn raw(pattern: &str) -> Option<&'static str> {
    if pattern.contains('%') {
        Some("`%`")
    } else if pattern.contains("//") {
        Some("`//`")
    } else {
        None
    }
}

fn escaped_path(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let conditions = limit.matching.text_conditions();
    let own = conditions
        .iter()
        .filter(|condition| condition.of == TextField::Path)
        .flat_map(|condition| condition.any.iter().map(TextPattern::written))
        .find_map(|written| Some(escaped(limit, raw(written)?, &format!("`{written}`"))));
    own.or_else(|| {
        let site = ground.site?;
        let named = routes(&limit.matching);
        named.into_iter().filter_map(|route| site.routes.get(route)).find_map(|route| {
            let written = route.path().to_string();
            let pattern = format!("`{written}` of the route `{}`", route.name);
            let finding = escaped(limit, raw(&written)?, &pattern);
            Some(Finding { file: Within::Site, place: Place::of_line(route.line), ..finding })
        })
    })
}

fn escaped(limit: &Limit, what: &str, pattern: &str) -> Finding {
    let text = format!(
        "the path {pattern} holds {what}: decoded paths never do, so nothing matches it here, and where paths are compared undecoded another spelling of the same page escapes it"
    );
    let help = "write the path as it is after decoding, with single slashes";
    Finding::on(limit, Code::EscapedPath, text, help)
}

/// The routes that a match names, in `not` too.
fn routes(matching: &Match) -> Vec<usize> {
    let mut all = matching.route.clone();
    if let Some(not) = matching.not.as_deref() {
        all.extend(routes(not));
    }
    all
}

fn static_files(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let first = ground.site.and_then(|site| site.tiers.first()).map(|tier| tier.name.as_str());
    let at = limit.at.as_deref()?;
    let at_edge = at == "edge" || first == Some(at);
    let matching = &limit.matching;
    if !at_edge || matches!(limit.limiter, Limiter::Block(_)) || chooses(matching) {
        return None;
    }
    let text = format!(
        "is asked at `{at}` about every request, static files too: a page brings dozens, and they fill it"
    );
    let help = "name the routes or paths it is for, or leave the static ones out by `not`";
    Some(Finding::on(limit, Code::StaticFiles, text, help))
}

/// Whether a match names or excludes routes, paths or hosts, or methods that fetch no files.
fn chooses(matching: &Match) -> bool {
    let by_text = matching.texts.iter().any(|condition| match condition.of {
        TextField::Method => !condition.fits(b"GET") && !condition.fits(b"HEAD"),
        TextField::Host => true,
        TextField::Path => condition.any.iter().all(|p| !matches!(p.written(), "**" | "/**")),
        TextField::UserAgent | TextField::Field(_) => false,
    });
    let excludes = matching.not.as_deref().is_some_and(|not| {
        !not.route.is_empty()
            || not.texts.iter().any(|c| matches!(c.of, TextField::Path | TextField::Host))
    });
    !matching.route.is_empty() || by_text || excludes
}
