//! The codes of findings: what each is called and how bad it is. A code never changes its meaning.

use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// A limit does other than it seems to say.
    Warning,
    /// What the policy is for does not hold.
    Error,
}

impl Severity {
    /// All, the mildest first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $title:literal;)+) => {
        /// What a finding is about. `docs/lints.md` has a section for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = concat!($text, ": ", $title, ".")] $variant,)+
        }

        impl Code {
            /// All codes, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as written: `SC001`.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// What it says, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// How bad it is unless a finding knows better.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    NeverBinds "SC001" Warning "never binds: an earlier limit is tighter";
    NoBurst "SC002" Warning "nginx without a burst";
    TruncatedRate "SC003" Warning "nginx truncates the rate";
    ClockStep "SC004" Note "a rate beyond one request per clock step";
    LocalCounters "SC005" Warning "local counters in several instances";
    ProxyAddress "SC006" Warning "the address of a proxy as key";
    ForgeableKey "SC007" Warning "a key that the client can forge";
    SingleIpv6 "SC008" Warning "single IPv6 addresses";
    EscapedPath "SC009" Warning "a path that another spelling escapes";
    StaticFiles "SC010" Note "static files are limited too";
    SwappedValues "SC011" Warning "more per user than per address";
    Expired "SC012" Warning "expired";
    SameTwice "SC013" Warning "the same limit twice";
    FixedWindow "SC014" Warning "a fixed window before money";
    FailsOpen "SC015" Error "fails open before money";
    NoBound "SC016" Error "a paid action without a bound";
    MissingKey "SC017" Warning "requests without the key pass";
    InFlight "SC018" Note "requests in flight outrun the count";
    SharedBan "SC019" Note "a ban on shared addresses";
    UnknownNames "SC020" Note "unknown names, since no site was given";
    LongDelay "SC021" Warning "long delays";
    LateAlarm "SC022" Warning "an alarm that rings too late";
    InShadow "SC023" Warning "in shadow before money";
    EndlessQueue "SC024" Warning "a queue without end";
    IdleAllow "SC025" Note "an exception for nothing";
}

impl Code {
    /// Reads `SC001`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.text() == text)
    }

    /// Whether it can only be found with a site at hand.
    pub fn needs_site(self) -> bool {
        matches!(
            self,
            Self::LocalCounters
                | Self::ProxyAddress
                | Self::SwappedValues
                | Self::FixedWindow
                | Self::FailsOpen
                | Self::NoBound
                | Self::MissingKey
                | Self::InShadow
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_numbered_without_gaps_and_read_back() {
        for (at, code) in Code::ALL.iter().enumerate() {
            assert_eq!(code.text(), format!("SC{:03}", at + 1));
            assert_eq!(Code::parse(code.text()), Some(*code));
        }
        assert_eq!(Code::parse("SC000"), None);
    }

    #[test]
    fn an_error_is_worse_than_a_note() {
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
        assert_eq!(Severity::ALL.map(Severity::name), ["note", "warning", "error"]);
    }
}
