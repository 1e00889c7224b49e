//! The closed list of reasons why a line is not a request.

/// Why a line was skipped. The order is that of the list in every report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Nothing but blanks.
    Blank,
    /// Begins with `#`.
    Comment,
    /// Names columns.
    Header,
    /// The time stamp can't be read or doesn't exist.
    BadTime,
    /// The client is neither an address nor the name of a host.
    BadAddress,
    /// Fields are missing or out of place.
    BadShape,
    /// Two records run together, as when two processes write without `O_APPEND`.
    TwoRecords,
    /// Longer than `--max-line`.
    TooLong,
    /// Not text in an encoding that is read.
    BadEncoding,
    /// Only NUL bytes, as `copytruncate` leaves them.
    NulPadding,
    /// The rest of a line whose archive breaks off.
    ArchiveDamaged,
    /// A line of another format than its file's.
    OtherFormat,
    /// Outside `--from` and `--to`.
    OutOfRange,
}

impl SkipReason {
    /// Every reason, in the order of the list.
    pub const ALL: [Self; 13] = [
        Self::Blank,
        Self::Comment,
        Self::Header,
        Self::BadTime,
        Self::BadAddress,
        Self::BadShape,
        Self::TwoRecords,
        Self::TooLong,
        Self::BadEncoding,
        Self::NulPadding,
        Self::ArchiveDamaged,
        Self::OtherFormat,
        Self::OutOfRange,
    ];

    /// The word used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Comment => "comment",
            Self::Header => "header",
            Self::BadTime => "bad-time",
            Self::BadAddress => "bad-address",
            Self::BadShape => "bad-shape",
            Self::TwoRecords => "two-records",
            Self::TooLong => "too-long",
            Self::BadEncoding => "bad-encoding",
            Self::NulPadding => "nul-padding",
            Self::ArchiveDamaged => "archive-damaged",
            Self::OtherFormat => "other-format",
            Self::OutOfRange => "out-of-range",
        }
    }

    /// Whether a line skipped for this reason was meant to be a request and could not be read: such
    /// lines count against `--max-bad`.
    pub fn is_unreadable(self) -> bool {
        !matches!(self, Self::Blank | Self::Comment | Self::Header | Self::OutOfRange)
    }
}
