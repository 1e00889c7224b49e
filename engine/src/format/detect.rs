//! Chooses a file's format: first whether it is one read here at all, from its first block; then its
//! exact name, from what the whole file held.

use super::combined;
use super::foreign::{self, Foreign};
use super::record::Record;
use super::writer_evidence::{Writer, WriterEvidence};

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// nginx's built-in `combined`.
    NginxCombined,
    /// Apache's `common`.
    ApacheCommon,
    /// Apache's `combined`.
    ApacheCombined,
    /// Apache's `vhost_combined`.
    ApacheVhostCombined,
}

impl Format {
    /// Every format, in the order in which help lists them.
    pub const ALL: [Self; 4] =
        [Self::NginxCombined, Self::ApacheCommon, Self::ApacheCombined, Self::ApacheVhostCombined];

    /// The word used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NginxCombined => "nginx-combined",
            Self::ApacheCommon => "apache-common",
            Self::ApacheCombined => "apache-combined",
            Self::ApacheVhostCombined => "apache-vhost-combined",
        }
    }

    /// Steps of the format's stamps, in microseconds.
    pub fn resolution_us(self) -> i64 {
        match self {
            Self::NginxCombined
            | Self::ApacheCommon
            | Self::ApacheCombined
            | Self::ApacheVhostCombined => crate::units::span::SECOND_US,
        }
    }

    /// Whether a stamp is the moment the response ended, so that the request came earlier.
    pub fn stamps_completion(self) -> bool {
        self == Self::NginxCombined
    }
}

/// What the user said about the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Find out.
    Auto,
    /// One of a server's formats.
    Family(Writer),
    /// This one.
    Exactly(Format),
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
}

/// Judges whether a file can be read, from its first block. `Ok` if it can.
///
/// # Errors
/// What the file is instead.
pub fn admit(head: &[u8], choice: Choice) -> Result<(), Foreign> {
    if let Some(foreign) = foreign::recognise_bytes(head) {
        return Err(foreign);
    }
    if choice != Choice::Auto {
        return Ok(());
    }
    let mut named = None;
    let mut content = false;
    for line in head.split(|byte| *byte == b'\n') {
        if combined::scan(line.trim_ascii()).is_ok() {
            return Ok(());
        }
        named = named.or_else(|| foreign::recognise_line(line));
        content |= !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    }
    match named {
        Some(foreign) => Err(foreign),
        None if content => Err(Foreign::Unknown),
        None => Ok(()),
    }
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
    /// What tells nginx from Apache.
    pub evidence: WriterEvidence,
}

impl Tally {
    /// Adds one line.
    pub fn observe(&mut self, record: &Record<'_>, line: &[u8]) {
        self.records += 1;
        self.vhost += u64::from(record.form.vhost);
        self.agent += u64::from(record.form.agent);
        self.evidence.observe(record, line);
    }

    /// Adds another part's counts.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.vhost += other.vhost;
        self.agent += other.agent;
        self.evidence.merge(&other.evidence);
    }

    /// Names the format of a file; `name` (its path as given) decides only if no line does.
    pub fn format(&self, choice: Choice, name: &str) -> Detected {
        let told =
            |format, reason: &str| Detected { format, reason: reason.to_owned(), ambiguous: false };
        match choice {
            Choice::Exactly(format) => return told(format, "given by --format"),
            Choice::Family(Writer::Nginx) => {
                return told(Format::NginxCombined, "given by --format nginx");
            }
            Choice::Family(Writer::Apache) => {
                return told(self.apache_shape(), "given by --format apache, shape by most lines");
            }
            Choice::Auto => {}
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
            return Detected { format, reason, ambiguous: false };
        }
        let lower = name.to_ascii_lowercase();
        match (lower.contains("nginx"), lower.contains("apache") || lower.contains("httpd")) {
            (true, false) => told(Format::NginxCombined, "its name says nginx; no line proves it"),
            (false, true) => told(shape, "its name says Apache; no line proves it"),
            _ if self.evidence.apache_likely > 1 => {
                told(shape, "idents or sizes for HEAD, which nginx rarely writes")
            }
            _ => Detected {
                format: Format::NginxCombined,
                reason: "nothing tells nginx from Apache".to_owned(),
                ambiguous: true,
            },
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

    #[test]
    fn a_file_is_admitted_by_one_readable_line_among_its_first() {
        let head = format!("# comment\n\n{}{LINE}\n", "junk\n".repeat(2_000));
        assert_eq!(admit(head.as_bytes(), Choice::Auto), Ok(()));
        assert_eq!(admit(b"junk\nmore junk\n", Choice::Auto), Err(Foreign::Unknown));
        assert_eq!(admit(b"junk\n", Choice::Exactly(Format::NginxCombined)), Ok(()));
        assert_eq!(admit(b"\n\n# only a comment\n", Choice::Auto), Ok(()));
        let error = b"2024/06/01 12:00:00 [error] 7#7: *1 x\n";
        assert_eq!(admit(error, Choice::Auto), Err(Foreign::NginxError));
    }

    #[test]
    fn the_name_decides_only_when_no_line_does() {
        let tally = Tally { records: 2, agent: 2, ..Tally::default() };
        assert!(tally.format(Choice::Auto, "access.log").ambiguous);
        assert_eq!(
            tally.format(Choice::Auto, "/var/log/apache2/access.log").format,
            Format::ApacheCombined
        );
        let evidence = WriterEvidence { nginx_status: 1, ..WriterEvidence::default() };
        let told = Tally { evidence, ..tally };
        assert_eq!(told.format(Choice::Auto, "apache.log").format, Format::NginxCombined);
    }
}
