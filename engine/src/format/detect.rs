//! Chooses a file's format: first a scanner, from its first block; then, for the combined family, its
//! exact name, from what the whole file held.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::csv::Columns;
use super::fields::Values;
use super::foreign::{self, Foreign};
use super::json::{self, Mapping};
use super::load_balancer::Balancer;
use super::log_format::LogFormat;
use super::record::Record;
use super::scanner::Scanner;
use super::wrap;
use super::writer_evidence::{Writer, WriterEvidence};

/// JSON lines whose names are collected before reading.
const JSON_SAMPLE: usize = 200;

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// nginx's built-in `combined`, or `main` of its own configuration.
    NginxCombined,
    /// An nginx `log_format` that was given.
    NginxCustom,
    /// JSON objects with nginx's names.
    NginxJson,
    /// Apache's `common`.
    ApacheCommon,
    /// Apache's `combined`.
    ApacheCombined,
    /// Apache's `vhost_combined`.
    ApacheVhostCombined,
    /// An Apache `LogFormat` that was given.
    ApacheCustom,
    /// AWS Application Load Balancer.
    Alb,
    /// AWS classic load balancer.
    ElbClassic,
    /// JSON objects with names that were given.
    Jsonl,
    /// CSV with a header.
    Csv,
    /// Parquet as `convert` writes it.
    Parquet,
}

impl Format {
    /// The word used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NginxCombined => "nginx-combined",
            Self::NginxCustom => "nginx-custom",
            Self::NginxJson => "nginx-json",
            Self::ApacheCommon => "apache-common",
            Self::ApacheCombined => "apache-combined",
            Self::ApacheVhostCombined => "apache-vhost-combined",
            Self::ApacheCustom => "apache-custom",
            Self::Alb => "alb",
            Self::ElbClassic => "elb-classic",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// What the user said about the format; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// One of a server's formats.
    pub family: Option<Writer>,
    /// This one.
    pub format: Option<Format>,
    /// A format string, compiled.
    pub log_format: Option<Arc<LogFormat>>,
    /// Fields of JSON and CSV: (field as known here, name in the file).
    pub fields: Vec<(String, String)>,
    /// Fields that are asked for, as known here: JSON objects may have them though the first ones don't.
    pub wanted: Vec<String>,
}

/// A file's format and how that was known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// Why, in words.
    pub reason: String,
    /// Whether nothing in the file or its name told nginx from Apache.
    pub ambiguous: bool,
    /// Step of the stamps, microseconds.
    pub resolution_us: i64,
    /// Whether the moment of arrival is known, and not only that of the end.
    pub knows_arrival: bool,
}

/// A scanner for a file that begins with `head`.
///
/// # Errors
/// What the file is instead.
pub fn choose(head: &[u8], choice: &Choice) -> Result<Scanner, Foreign> {
    if let Some(foreign) = foreign::recognise_bytes(head) {
        return Err(foreign);
    }
    if let Some(scanner) = given(head, choice)? {
        return Ok(scanner);
    }
    let lines = || head.split(|byte| *byte == b'\n').map(without_marks);
    // a header says what all that follows is, whatever the cells of it look like
    let first = lines().find(|line| !line.is_empty()).unwrap_or_default();
    if !first.starts_with(b"{")
        && let Some(columns) = Columns::new(first, &choice.fields)
    {
        return Ok(Scanner::Csv(columns));
    }
    let mut mapping = None;
    let mut named = None;
    let mut content = false;
    for line in lines() {
        let inner = wrap::unwrap(line);
        for text in std::iter::once(line).chain(inner.as_deref()) {
            if text.starts_with(b"{") {
                // of all objects, so made once
                let mapping = mapping.get_or_insert_with(|| json_mapping(head, choice).ok());
                let read =
                    |mapping: &&mut Mapping| mapping.scan(text, &mut Values::default()).is_ok();
                if let Some(mapping) = mapping.as_mut().filter(read) {
                    let own = choice.fields.is_empty() && !mapping.layout.is_read_back();
                    let format = if own { Format::NginxJson } else { Format::Jsonl };
                    return Ok(Scanner::Json(format, mapping.clone()));
                }
            } else if let Some(scanner) = plain(text) {
                return Ok(scanner);
            }
        }
        named = named.or_else(|| foreign::recognise_line(line));
        content |= !line.is_empty() && !line.starts_with(b"#");
    }
    match named {
        Some(foreign) => Err(foreign),
        None if content => Err(Foreign::Unknown),
        None => Ok(Scanner::Combined),
    }
}

/// A line without what may stand before its first character.
fn without_marks(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let start = line.iter().position(|byte| *byte != 0).unwrap_or(line.len());
    line.get(start..).unwrap_or_default().trim_ascii()
}

/// The scanner that the user asked for.
fn given(head: &[u8], choice: &Choice) -> Result<Option<Scanner>, Foreign> {
    if let Some(format) = &choice.log_format {
        let name = choice.format.unwrap_or(Format::NginxCustom);
        return Ok(Some(Scanner::LogFormat(name, Arc::clone(format))));
    }
    if choice.family.is_some()
        && json::names(head.split(|b| *b == b'\n').next().unwrap_or_default()).is_none()
    {
        return Ok(Some(Scanner::Combined));
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(without_marks);
    match choice.format {
        None | Some(Format::Parquet) => Ok(None),
        Some(format @ (Format::NginxJson | Format::Jsonl)) => {
            json_mapping(head, choice).map(|mapping| Some(Scanner::Json(format, mapping)))
        }
        Some(Format::Csv) => {
            let header = lines.find(|line| !line.is_empty()).unwrap_or_default();
            let columns = Columns::new(header, &choice.fields).ok_or(Foreign::Unmapped)?;
            Ok(Some(Scanner::Csv(columns)))
        }
        Some(Format::Alb) => Ok(Some(Scanner::balancer(Balancer::Alb))),
        Some(Format::ElbClassic) => Ok(Some(Scanner::balancer(Balancer::Classic))),
        Some(_) => Ok(Some(Scanner::Combined)),
    }
}

/// The scanner that reads this line, if one does that needs no names.
fn plain(line: &[u8]) -> Option<Scanner> {
    let scanners =
        [Scanner::Combined, Scanner::balancer(Balancer::Alb), Scanner::balancer(Balancer::Classic)];
    scanners.into_iter().find(|scanner| scanner.scan(line, &mut Values::default()).is_ok())
}

/// A mapping of all names that the first objects have, and of those that later ones may have.
fn json_mapping(head: &[u8], choice: &Choice) -> Result<Mapping, Foreign> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<String> = Vec::new();
    let lines = head.split(|byte| *byte == b'\n').map(without_marks);
    for line in lines.filter(|line| line.ends_with(b"}") || line.contains(&b'{')).take(JSON_SAMPLE)
    {
        let inner = wrap::unwrap(line);
        for name in json::names(inner.as_deref().unwrap_or(line)).unwrap_or_default() {
            if seen.insert(name.clone()) {
                all.push(name);
            }
        }
    }
    if !Mapping::new(&all, &choice.fields).suffices() {
        return Err(Foreign::Unmapped);
    }
    let wanted = choice.wanted.iter().map(String::as_str).chain(json::OFTEN_LATE);
    let late = json::unseen(&all, wanted);
    all.extend(late);
    Ok(Mapping::new(&all, &choice.fields))
}

/// What the lines of one file looked like.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Lines that are requests.
    pub records: u64,
    /// Of these, with a virtual host.
    pub vhost: u64,
    /// Of these, with referer and user agent.
    pub agent: u64,
    /// Of these, going on after the fields of the combined family.
    pub going_on: u64,
    /// Most decimals of a second in any stamp.
    pub decimals: u8,
    /// What tells nginx from Apache.
    pub evidence: WriterEvidence,
}

impl Tally {
    /// Adds one line.
    pub fn observe(&mut self, record: &Record<'_>, line: &[u8], scanner: &Scanner) {
        self.records += 1;
        self.decimals = self.decimals.max(record.decimals);
        if matches!(scanner, Scanner::Combined) {
            self.vhost += u64::from(record.form.vhost);
            self.agent += u64::from(record.form.agent);
            self.going_on += u64::from(record.form.goes_on);
            self.evidence.observe(record, line);
        }
    }

    /// Adds another part's counts.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.vhost += other.vhost;
        self.agent += other.agent;
        self.going_on += other.going_on;
        self.decimals = self.decimals.max(other.decimals);
        self.evidence.merge(&other.evidence);
    }

    /// Names the format of a file; `name` (its path as given) decides only if no line does.
    pub fn format(&self, scanner: &Scanner, choice: &Choice, name: &str) -> Detected {
        let (format, reason, ambiguous) = match scanner.format() {
            Some(format) => (format, Self::reason_of(format, choice).to_owned(), false),
            None => self.combined(choice, name),
        };
        let stamps_end = format == Format::NginxCombined;
        Detected {
            format,
            reason,
            ambiguous,
            resolution_us: match self.decimals {
                0 => 1_000_000,
                1..=3 => 1_000,
                _ => 1,
            },
            knows_arrival: scanner.knows_arrival() && !stamps_end,
        }
    }

    fn reason_of(format: Format, choice: &Choice) -> &'static str {
        if choice.log_format.is_some() {
            return "given by --log-format";
        }
        if choice.format == Some(format) {
            return "given by --format";
        }
        match format {
            Format::Alb => "fields of an ALB",
            Format::ElbClassic => "fields of a classic ELB",
            Format::Csv => "a header that names when and who",
            Format::Parquet => "as convert writes it",
            _ => "objects that name when and who",
        }
    }

    /// Which of the combined family.
    fn combined(&self, choice: &Choice, name: &str) -> (Format, String, bool) {
        let told = |format, reason: &str| (format, reason.to_owned(), false);
        if let Some(format) = choice.format {
            return told(format, "given by --format");
        }
        match choice.family {
            Some(Writer::Nginx) => return told(Format::NginxCombined, "given by --format nginx"),
            Some(Writer::Apache) => {
                return told(self.apache_shape(), "given by --format apache, shape by most lines");
            }
            None => {}
        }
        let shape = self.apache_shape();
        if shape == Format::ApacheVhostCombined {
            return told(shape, "most lines begin with a virtual host");
        }
        if shape == Format::ApacheCommon {
            return told(shape, "most lines end after the size");
        }
        if let Some((writer, reason)) = self.evidence.verdict() {
            let format = if writer == Writer::Nginx { Format::NginxCombined } else { shape };
            return (format, reason, false);
        }
        let lower = name.to_ascii_lowercase();
        match (lower.contains("nginx"), lower.contains("apache") || lower.contains("httpd")) {
            (true, false) => told(Format::NginxCombined, "its name says nginx; no line proves it"),
            (false, true) => told(shape, "its name says Apache; no line proves it"),
            _ if self.evidence.apache_likely > 1 => {
                told(shape, "idents or sizes for HEAD, which nginx rarely writes")
            }
            _ => (Format::NginxCombined, "nothing tells nginx from Apache".to_owned(), true),
        }
    }

    fn apache_shape(&self) -> Format {
        if self.vhost * 2 > self.records {
            Format::ApacheVhostCombined
        } else if self.agent * 2 > self.records || self.records == 0 {
            Format::ApacheCombined
        } else {
            Format::ApacheCommon
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "192.0.2.1 - - [01/Jun/2024:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5";

    fn format_of(head: &str) -> Result<Option<Format>, Foreign> {
        choose(head.as_bytes(), &Choice::default()).map(|scanner| scanner.format())
    }

    #[test]
    fn a_file_is_told_by_its_header_or_the_first_line_that_can_be_read() {
        assert_eq!(
            format_of(&format!("# comment\n\n{}{LINE}\n", "junk\n".repeat(2_000))),
            Ok(None)
        );
        assert_eq!(format_of("junk\nmore junk\n"), Err(Foreign::Unknown));
        let forced = Choice { format: Some(Format::NginxCombined), ..Choice::default() };
        assert_eq!(choose(b"junk\n", &forced), Ok(Scanner::Combined));
        assert_eq!(format_of("\n\n# only a comment\n"), Ok(None));
        assert_eq!(format_of("2024/06/01 12:00:00 [error] 7#7: *1 x\n"), Err(Foreign::NginxError));
        let json = r#"{"time":"2024-06-01T12:00:00Z","remote_addr":"192.0.2.1"}"#;
        assert_eq!(format_of(json), Ok(Some(Format::NginxJson)));
        assert_eq!(
            format_of("time,client_ip,status\n2024-06-01T12:00:00Z,192.0.2.1,200\n"),
            Ok(Some(Format::Csv))
        );
        let forged =
            format!("time,client_ip,path\n2024-06-01T12:00:00Z,192.0.2.1,\"/\n{LINE}\n\"\n");
        assert_eq!(format_of(&forged), Ok(Some(Format::Csv)));
        let docker = format!(
            r#"{{"log":{}}}"#,
            r#""{\"time\":\"2024-06-01T12:00:00Z\",\"ip\":\"192.0.2.1\"}\n","stream":"stdout""#
        );
        assert_eq!(format_of(&docker), Ok(Some(Format::NginxJson)));
        assert_eq!(format_of(&"{\n".repeat(200_000)), Err(Foreign::Unknown));
        let alb = "http 2024-06-01T12:00:00.1Z app/lb/0 192.0.2.1:9 - -1 -1 -1 502 - 3 6 \"GET http://a:80/ HTTP/1.1\"";
        assert_eq!(format_of(alb), Ok(Some(Format::Alb)));
    }

    #[test]
    fn the_name_decides_only_when_no_line_does() {
        let auto = Choice::default();
        let tally = Tally { records: 2, agent: 2, ..Tally::default() };
        let format = |tally: &Tally, name| tally.format(&Scanner::Combined, &auto, name);
        assert!(format(&tally, "access.log").ambiguous);
        assert_eq!(format(&tally, "/var/log/apache2/access.log").format, Format::ApacheCombined);
        let evidence = WriterEvidence { nginx_status: 1, ..WriterEvidence::default() };
        let told = Tally { evidence, ..tally };
        assert_eq!(format(&told, "apache.log").format, Format::NginxCombined);
    }
}
