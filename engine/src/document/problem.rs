//! What is wrong with a file: a stable code, a place, what was found, what is allowed, a way out.

use std::fmt;

use super::place::Place;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal;)+) => {
        /// What kind of problem it is. Codes never change their meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)+
        }

        impl Code {
            /// All codes, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as written, such as `F002`.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }
        }
    };
}

codes! {
    /// It isn't TOML, or not UTF-8.
    Syntax = "F001";
    /// A key that nothing knows here.
    UnknownKey = "F002";
    /// A key that has to be there isn't.
    MissingKey = "F003";
    /// A value of another type.
    WrongType = "F004";
    /// A text that is none of the allowed words.
    UnknownWord = "F005";
    /// A key that belongs to another algorithm.
    OtherAlgorithm = "F006";
    /// The name of a route, label, key, tier, outage, field … that nothing defines.
    UnknownName = "F007";
    /// A name or key that is defined twice.
    DefinedTwice = "F008";
    /// A number, time or list outside what is possible.
    OutOfRange = "F009";
    /// Keys that can't stand together, or one that needs another.
    Contradiction = "F010";
    /// A file that can't be read.
    Unreadable = "F011";
    /// A line of a list that isn't what the list holds.
    ListLine = "F012";
    /// A text that isn't what it should be: a length of time, a rate, a pattern …
    Malformed = "F013";
    /// A condition on the response where only the request is known.
    ResponseUnknown = "F014";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind.
    pub code: Code,
    /// The file, as the user named it.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What was found.
    pub message: String,
    /// What is allowed there.
    pub allowed: Option<String>,
    /// A way out.
    pub help: Option<String>,
}

impl Problem {
    /// A problem of a file that is named later.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, file: String::new(), place, message, allowed: None, help: None }
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    /// Says what is allowed.
    #[must_use]
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    /// Shows a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Problem {
    /// One line: `FILE:LINE:COLUMN: CODE message; allowed: …; help`. What came from the file is
    /// escaped, so that it stays one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, file, place, message, allowed, help } = self;
        let line = |text: &str| text.replace(char::is_control, " ");
        write!(f, "{}:{}:{}: {code} {}", line(file), place.line, place.column, line(message))?;
        if let Some(allowed) = allowed {
            write!(f, "; allowed: {}", line(allowed))?;
        }
        if let Some(help) = help {
            write!(f, "; {}", line(help))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line() {
        let place = Place { from: 0, to: 1, line: 3, column: 7 };
        let problem = Problem::new(Code::UnknownKey, place, "`ratte`\nis no key")
            .in_file("p.toml")
            .allowed("rate, burst")
            .help("did you mean `rate`?");
        assert_eq!(
            problem.to_string(),
            "p.toml:3:7: F002 `ratte` is no key; allowed: rate, burst; did you mean `rate`?"
        );
    }

    #[test]
    fn codes_ascend() {
        let texts: Vec<_> = Code::ALL.iter().map(|code| code.text()).collect();
        assert!(texts.windows(2).all(|pair| pair[0] < pair[1]), "{texts:?}");
    }
}
