//! `check`: mistakes in site and policy files, found without a log.

use std::fmt::Write;
use std::path::Path;

use shadowcap_engine::document::Problem;
use shadowcap_engine::policy::lint::{self, Code, Within};
use shadowcap_engine::policy::{self, Place};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::units::escape;

use crate::cli::args::policy::{CheckArgs, SeverityArg};
use crate::cli::exit::{Exit, Failure};
use crate::cli::job;
use crate::cli::output::Target;
use crate::cli::problems::{Remark, Weight, render};
use crate::cli::setting::bytes_of;
use crate::report::findings::{Document, File, Finding};
use crate::report::json;

/// A file with what was found in it.
struct Checked {
    name: String,
    text: String,
    kind: &'static str,
    found: Vec<(Place, Finding)>,
}

/// Runs the command.
///
/// # Errors
/// When a file can't be read, or the site given by `--site` can't be used.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let target = job::json_target(&args.json)?;
    let look = job::look(args.color);
    let mut checked = Vec::new();
    let mut policies = Vec::new();
    // sites first: policies are read against them
    let mut site: Option<(usize, Site)> = None;
    let names =
        args.site.iter().chain(args.files.iter().filter(|name| Some(*name) != args.site.as_ref()));
    for name in names {
        let bytes = bytes_of(name)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let given = args.site.as_ref() == Some(name);
        if !given && policy::read::is_policy(&text) {
            policies.push((name, bytes, text));
            continue;
        }
        let found = match site::read::read(&bytes, name, &Folder::of(Path::new(name))) {
            Ok(read) => {
                if site.is_none() || given {
                    site = Some((checked.len(), read));
                }
                Vec::new()
            }
            Err(problems) => problems.iter().map(|problem| of_problem(name, problem)).collect(),
        };
        checked.push(Checked { name: name.clone(), text, kind: "site", found });
    }
    for (name, bytes, text) in policies {
        let mut found = Vec::new();
        let known = site.as_ref().map(|(_, site)| site);
        for (within, place, finding) in check_policy(name, &bytes, known, args.now) {
            let of_site = site.as_ref().and_then(|(at, _)| checked.get_mut(*at));
            match of_site.filter(|_| within == Within::Site) {
                Some(file) if !file.found.contains(&(place, finding.clone())) => {
                    file.found.push((place, finding));
                }
                Some(_) => {}
                None => found.push((place, finding)),
            }
        }
        checked.push(Checked { name: name.clone(), text, kind: "policy", found });
    }
    checked.sort_by_key(|file| args.files.iter().position(|name| *name == file.name));
    let document = document(&checked, args.deny);
    let to_stdout = matches!(target, Some(Target::Stdout));
    if let Some(target) = target {
        target.finish(&json::write(&document))?;
    }
    if !to_stdout {
        let text = text(&checked, &document, args.quiet, look.color);
        Target::Stdout.finish(text.as_bytes())?;
    }
    Ok(if document.pass { Exit::Fine } else { Exit::Failed })
}

/// What is wrong with a policy, and what is questionable about it.
fn check_policy(
    name: &str,
    bytes: &[u8],
    site: Option<&Site>,
    now_us: Option<i64>,
) -> Vec<(Within, Place, Finding)> {
    let read = match site {
        Some(site) => policy::read::read(bytes, name, site).map(|policy| (policy, Vec::new())),
        None => policy::read::read_lenient(bytes, name, &Site::default())
            .map(|lenient| (lenient.policy, lenient.notes)),
    };
    let here = |(place, finding)| (Within::Policy, place, finding);
    match read {
        Err(problems) => problems.iter().map(|problem| here(of_problem(name, problem))).collect(),
        Ok((policy, unknown_names)) => {
            let unknown = unknown_names.iter().map(|problem| {
                let (place, finding) = of_problem(name, problem);
                let code = Code::UnknownNames.text();
                here((place, Finding { code, severity: "note", ..finding }))
            });
            let findings = lint::lint(&policy, site, now_us);
            // the reader's notes say which names
            let told = |finding: &lint::Finding| {
                finding.code == Code::UnknownNames && !unknown_names.is_empty()
            };
            let findings = findings.into_iter().filter(|finding| !told(finding)).map(|finding| {
                let within = finding.file;
                let (place, shown) = of_finding(&finding);
                (within, place, shown)
            });
            unknown.chain(findings).collect()
        }
    }
}

/// A problem of a file, or of one that it names.
fn of_problem(name: &str, problem: &Problem) -> (Place, Finding) {
    let elsewhere = problem.file != name;
    let place =
        if elsewhere { Place { line: 1, column: 1, ..Place::default() } } else { problem.place };
    let text = if elsewhere {
        let Place { line, column, .. } = problem.place;
        format!("{}:{line}:{column}: {}", problem.file, problem.message)
    } else {
        problem.message.clone()
    };
    let allowed = problem.allowed.as_ref().map(|allowed| format!("allowed: {allowed}"));
    let help: Vec<String> = allowed.into_iter().chain(problem.help.clone()).collect();
    let finding = Finding {
        code: problem.code.text(),
        severity: "error",
        line: place.line,
        column: place.column,
        limit: None,
        requirement: None,
        text: clean(&text),
        help: (!help.is_empty()).then(|| clean(&help.join("; "))),
    };
    (place, finding)
}

fn of_finding(finding: &lint::Finding) -> (Place, Finding) {
    let place = finding.place;
    let shown = Finding {
        code: finding.code.text(),
        severity: finding.severity.name(),
        line: place.line,
        column: place.column,
        limit: finding.limit.as_deref().map(clean),
        requirement: finding.requirement.as_deref().map(clean),
        text: clean(&finding.text),
        help: Some(clean(&finding.help)).filter(|help| !help.is_empty()),
    };
    (place, shown)
}

fn clean(text: &str) -> String {
    escape::terminal(text.as_bytes())
}

fn document(checked: &[Checked], deny: SeverityArg) -> Document {
    let count = |severity: &str| {
        let all = checked.iter().flat_map(|file| &file.found);
        let matching = all.filter(|(_, finding)| finding.severity == severity);
        u64::try_from(matching.count()).unwrap_or(u64::MAX)
    };
    let (errors, warnings, notes) = (count("error"), count("warning"), count("note"));
    let denied = match deny {
        SeverityArg::Error => errors,
        SeverityArg::Warning => errors + warnings,
        SeverityArg::Note => errors + warnings + notes,
    };
    let files = checked.iter().map(|file| {
        let mut findings: Vec<Finding> =
            file.found.iter().map(|(_, finding)| finding.clone()).collect();
        findings.sort_by(|a, b| (a.line, a.column, a.code).cmp(&(b.line, b.column, b.code)));
        File { file: clean(&file.name), kind: file.kind, findings }
    });
    let files = files.collect();
    Document { schema: "shadowcap/check/1", files, errors, warnings, notes, pass: denied == 0 }
}

fn text(checked: &[Checked], document: &Document, quiet: bool, color: bool) -> String {
    let mut out = String::new();
    for file in checked {
        let mut found: Vec<&(Place, Finding)> = file.found.iter().collect();
        found.sort_by_key(|(place, finding)| (*place, finding.code));
        for (place, finding) in found {
            if quiet && finding.severity != "error" {
                continue;
            }
            let weight = match finding.severity {
                "error" => Weight::Error,
                "warning" => Weight::Warning,
                _ => Weight::Note,
            };
            let remark = Remark {
                weight,
                code: finding.code,
                text: finding.text.clone(),
                name: &file.name,
                source: &file.text,
                place: *place,
                notes: finding.help.clone().into_iter().collect(),
            };
            out.push_str(&render(&remark, color));
            out.push('\n');
        }
    }
    if !quiet {
        let many = |count: u64, one: &str| {
            if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
        };
        let _ = writeln!(
            out,
            "{}: {}, {}, {}",
            many(u64::try_from(checked.len()).unwrap_or(u64::MAX), "file"),
            many(document.errors, "error"),
            many(document.warnings, "warning"),
            many(document.notes, "note")
        );
    }
    out
}
