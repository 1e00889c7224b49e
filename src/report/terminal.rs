//! The report as tables for a terminal, or for any plain text.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};
use shadowcap_engine::units::span;

use super::warning::{REFUSED_BEFORE, TOO_MANY};
use super::{
    terminal_costs, terminal_curves, terminal_policies, terminal_recommendations,
    terminal_requirements,
};

use super::model::{Companions, Input, Key, Measure, Report, Seconds, Source, Warning};
use super::number::{factor, grouped, percent, plural, range};

/// Rows of the table of files before the rest is summed up.
const MOST_FILES: usize = 12;
/// Characters of a path that are shown.
const LONGEST_PATH: usize = 48;
/// Characters of a key that are shown.
const LONGEST_KEY: usize = 72;
/// Windows shown for each route, microseconds: few enough for one line.
const ROUTE_WINDOWS_US: [i64; 3] = [span::SECOND_US, span::MINUTE_US, span::HOUR_US];

/// How tables look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Whether to colour.
    pub(crate) color: bool,
    /// Columns.
    pub(crate) width: u16,
}

impl Look {
    fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub(super) fn heading(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    pub(super) fn table(self, header: &[&str]) -> Table {
        let mut table = self.left_table(header);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// A table of texts.
    pub(super) fn left_table(self, header: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_preset(NOTHING);
        table.set_style(TableComponent::HeaderLines, '\u{2500}');
        table.set_style(TableComponent::MiddleHeaderIntersections, '\u{2500}');
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(self.width);
        table.set_header(header.iter().copied());
        table
    }
}

/// Writes the whole report.
pub(crate) fn write(report: &Report, look: Look) -> String {
    let mut out = String::new();
    opening(&mut out, report, look);
    files(&mut out, &report.input, look);
    skipped(&mut out, &report.input, look);
    for key in &report.keys {
        let rows: Vec<&Measure> = report.measure.iter().filter(|row| row.key == key.key).collect();
        if rows.is_empty() && !report.policies.is_empty() {
            continue;
        }
        peaks(&mut out, key, report.input.requests, &rows, look);
        routes(&mut out, &rows, look);
    }
    suspects(&mut out, report, look);
    terminal_policies::write(&mut out, report, look);
    terminal_costs::write(&mut out, report, look);
    terminal_curves::write(&mut out, report, look);
    terminal_recommendations::write(&mut out, report, look);
    terminal_requirements::write(&mut out, report, look);
    out
}

/// One line that says what this is about, then every warning.
fn opening(out: &mut String, report: &Report, look: Look) {
    let input = &report.input;
    let clients = report.keys.first().map_or(0, |key| key.distinct);
    let mut line = format!(
        "{} from {}",
        plural(input.requests, "request", "requests"),
        plural(clients, "client address", "client addresses"),
    );
    if let (Some(first), Some(last)) = (&input.first, &input.last) {
        let _ = write!(line, ", {} to {} UTC", seconds(first), seconds(last));
    }
    // a report not to be trusted says so before anything else
    let (first, rest): (Vec<_>, Vec<_>) = input
        .warnings
        .iter()
        .partition(|warning| [TOO_MANY, REFUSED_BEFORE].contains(&warning.code));
    for warning in first {
        show(out, warning, look);
    }
    let _ = writeln!(out, "{}", look.heading(&line));
    terminal_requirements::write_missed(out, report, look);
    for warning in rest {
        show(out, warning, look);
    }
}

fn show(out: &mut String, warning: &Warning, look: Look) {
    let code = look.paint(AnsiColor::Yellow.on_default(), warning.code);
    let text = format!("{code}  {}", warning.text);
    out.push_str(&wrapped(&text, look.width, warning.code.len() + 2));
}

/// `2015-05-17T10:05:03.000000Z` → `2015-05-17 10:05:03`.
fn seconds(rfc3339: &str) -> String {
    rfc3339.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// Breaks a paragraph at blanks, with later lines indented.
pub(super) fn wrapped(text: &str, width: u16, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > usize::from(width) {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
    out
}

/// What is said of a file that has no format.
fn without_format(source: &Source) -> &'static str {
    match (source.bytes, source.lines) {
        (0, _) => "empty",
        (_, 0) => "damaged",
        _ => "no requests",
    }
}

/// The end of a path, where the names that differ are.
fn tail(path: &str) -> String {
    let length = path.chars().count();
    match length.checked_sub(LONGEST_PATH) {
        None | Some(0) => path.to_owned(),
        Some(cut) => ['\u{2026}'].into_iter().chain(path.chars().skip(cut + 1)).collect(),
    }
}

fn files(out: &mut String, input: &Input, look: Look) {
    let mut table = look.table(&["file", "format", "lines", "requests", "skipped"]);
    for column in table.column_iter_mut().skip(1).take(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for source in input.sources.iter().take(MOST_FILES) {
        let format = source.format.or(source.foreign).unwrap_or_else(|| without_format(source));
        let format =
            source.compression.map_or_else(|| format.to_owned(), |c| format!("{format}, {c}"));
        let skipped = source.lines - source.requests;
        let counts = [source.lines, source.requests, skipped].map(grouped);
        table.add_row([tail(&source.file), format].into_iter().chain(counts));
    }
    let _ = writeln!(out, "\n{}\n{table}", look.heading("What was read"));
    if let Some(more) = input.sources.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        let _ = writeln!(
            out,
            "and {}: {} lines, {} requests in all",
            plural(u64::try_from(more).unwrap_or(u64::MAX), "more file", "more files"),
            grouped(input.lines),
            grouped(input.requests)
        );
    }
    if let [source] = input.sources.as_slice()
        && let Some(reason) = &source.format_reason
    {
        let _ = writeln!(out, "format: {reason}");
    }
    if input.out_of_order > 0 {
        let _ = writeln!(
            out,
            "{} behind a later one in their file and were sorted",
            if input.out_of_order == 1 {
                "1 request stood".to_owned()
            } else {
                format!("{} requests stood", grouped(input.out_of_order))
            }
        );
    }
}

fn skipped(out: &mut String, input: &Input, look: Look) {
    if input.skipped.is_empty() {
        return;
    }
    let mut table = look.table(&["reason", "lines", "first example"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for skipped in &input.skipped {
        let example = skipped.example.as_ref().map_or_else(String::new, |example| {
            format!("{}:{}  {}", example.file, example.line, example.text)
        });
        table.add_row([skipped.reason.to_owned(), grouped(skipped.count), example]);
    }
    let _ = writeln!(out, "\n{}\n{table}", look.heading("Lines that are no requests"));
}

/// The most requests of a key in any window, over keys.
fn peaks(out: &mut String, key: &Key, requests: u64, rows: &[&Measure], look: Look) {
    let all: Vec<&&Measure> = rows.iter().filter(|row| row.route == "*").collect();
    let name = &key.key;
    let missing = match key.missing {
        0 => String::new(),
        missing => format!("; {} of requests have no {name}", percent(missing, requests)),
    };
    let title = format!("How fast one {name} goes ({} in all{missing})", grouped(key.distinct));
    let _ = writeln!(out, "\n{}", look.heading(&title));
    if all.is_empty() {
        return;
    }
    let header = ["window", "p50", "p90", "p99", "p99.9", "most", "by calendar", "short by"];
    let mut table = look.table(&header);
    for row in &all {
        table.add_row([
            window(row.window_s),
            range(&row.peak.p50),
            range(&row.peak.p90),
            range(&row.peak.p99),
            range(&row.peak.p999),
            range(&row.peak.max),
            range(&row.calendar.max),
            factor(&row.understated.of_max),
        ]);
    }
    let _ = writeln!(out, "{table}");
    busiest(out, &all);
    for (what, companions) in [("users", &key.users_per_key), ("addresses", &key.addresses_per_key)]
    {
        if let Some(Companions { p50, p99, max }) = companions {
            let _ = writeln!(
                out,
                "{what} seen with one {name}: {} for half of them, {} at p99, {} at most",
                grouped(*p50),
                grouped(*p99),
                grouped(*max)
            );
        }
    }
    out.push_str(&wrapped(NOTES, look.width, 0));
}

/// Which key is busiest: one line for each stretch of windows that name the same.
fn busiest(out: &mut String, rows: &[&&Measure]) {
    for same in rows.chunk_by(|a, b| a.busiest == b.busiest) {
        let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
        let Some(name) = &first.busiest else { continue };
        let windows = if first.window_s == last.window_s {
            window(first.window_s)
        } else {
            format!("{} to {}", window(first.window_s), window(last.window_s))
        };
        let _ = writeln!(out, "most in {windows}: {}", head(name));
    }
}

/// The beginning of a key's text.
fn head(text: &str) -> String {
    if text.chars().nth(LONGEST_KEY).is_none() {
        return text.to_owned();
    }
    text.chars().take(LONGEST_KEY).chain(['\u{2026}']).collect()
}

/// Who stands out, and why.
fn suspects(out: &mut String, report: &Report, look: Look) {
    if report.suspects.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.heading("Who stands out (which need not be bad)"));
    for suspect in &report.suspects {
        let requests = plural(suspect.requests, "request", "requests");
        let text = format!("{}: {requests}; {}", head(&suspect.key), suspect.reasons.join("; "));
        out.push_str(&wrapped(&text, look.width, 4));
    }
}

/// What the columns mean, for whoever reads the table for the first time.
const NOTES: &str = "p99: 99 % never sent more requests than this within the window, wherever it \
begins. by calendar: the most that windows aligned to the clock show, as dashboards have them; short by: how \
much that is too little. a\u{2013}b: stamps are too coarse to tell, the truth lies between (proven).";

/// One line per route: p99 and most, for a few windows.
fn routes(out: &mut String, rows: &[&Measure], look: Look) {
    let mut names: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.route != "*") {
        if !names.contains(&row.route.as_str()) {
            names.push(&row.route);
        }
    }
    let Some(first) = rows.first().filter(|_| !names.is_empty()) else { return };
    let keys = format!("{}s", first.key);
    let mut header = vec!["route".to_owned(), "requests".to_owned(), keys];
    for shown in ROUTE_WINDOWS_US {
        let name = span::format(shown);
        header.push(format!("{name} p99"));
        header.push(format!("{name} most"));
    }
    let mut table = look.table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        let of_route: Vec<&&Measure> = rows.iter().filter(|row| row.route == *name).collect();
        let Some(any) = of_route.first() else { continue };
        let mut cells = vec![(*name).to_owned(), grouped(any.requests), grouped(any.keys)];
        for shown in ROUTE_WINDOWS_US {
            let row = of_route.iter().find(|row| row.window_s.us == shown);
            cells.push(row.map_or_else(String::new, |row| range(&row.peak.p99)));
            cells.push(row.map_or_else(String::new, |row| range(&row.peak.max)));
        }
        table.add_row(cells);
    }
    let _ = writeln!(
        out,
        "\n{}\n{table}",
        look.heading(&format!("The same by route, per {}", first.key))
    );
}

fn window(seconds: Seconds) -> String {
    span::format(seconds.us)
}
