//! The variables of the file: `map` and `geo` blocks, each once, and the one place where texts are quoted.

use std::fmt::Write as _;

use super::super::comment;

/// The longest parameter that is written: nginx reads 4,096 bytes.
const LONGEST: usize = 4_000;
/// What the names of all variables, groups and zones begin with.
pub(super) const PREFIX: &str = "shadowcap_";

/// The group whose text becomes a variable's: read at once, so that all blocks can share its name.
pub(super) const GROUP: &str = "shadowcap_found";

/// Why something can't be said.
pub(super) type Why = String;

/// A row of a map: what its source is, and what the variable is then; both as they are written.
pub(super) type Row = (String, String);

/// The blocks written so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Maps {
    text: String,
    /// Blocks without their names, and their variables.
    known: Vec<(String, String)>,
    names: Vec<String>,
}

impl Maps {
    /// A variable (with its `$`) that a map makes of a source; one that is there already if it is the same.
    /// `source` holds variables; `default` is written after the rows.
    ///
    /// # Errors
    /// When a row is longer than nginx reads.
    pub(super) fn map(
        &mut self,
        name: &str,
        source: &str,
        rows: &[Row],
        default: &str,
    ) -> Result<String, Why> {
        let mut body = String::new();
        for (found, value) in rows {
            if found.len().max(value.len()) > LONGEST {
                return Err("a pattern is longer than the 4 kB that nginx reads at once".to_owned());
            }
            let _ = writeln!(body, "    {found} {value};");
        }
        let _ = writeln!(body, "    default {default};\n}}");
        Ok(self.block(&format!("map \"{source}\""), name, &body))
    }

    /// A variable (with its `$`) that a `geo` block makes of the client's address.
    pub(super) fn geo(&mut self, name: &str, rows: &[Row]) -> String {
        let mut body = String::new();
        for (range, value) in rows {
            let _ = writeln!(body, "    {range} {value};");
        }
        body.push_str("}\n");
        self.block("geo", name, &body)
    }

    fn block(&mut self, head: &str, name: &str, body: &str) -> String {
        let whole = format!("{head}\n{body}");
        if let Some((_, variable)) = self.known.iter().find(|(known, _)| *known == whole) {
            return variable.clone();
        }
        let variable = format!("${}", self.name(name));
        let _ = write!(self.text, "{head} {variable} {{\n{body}");
        self.known.push((whole, variable.clone()));
        variable
    }

    /// A name that no other variable or group has.
    pub(super) fn name(&mut self, name: &str) -> String {
        let wanted = format!("{PREFIX}{name}");
        let taken = |name: &String| self.names.contains(name);
        let numbered = (2_u64..).map(|number| format!("{wanted}_{number}"));
        let name = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken(name));
        let name = name.unwrap_or(wanted);
        self.names.push(name.clone());
        name
    }

    /// A comment before the next block.
    pub(super) fn comment(&mut self, text: &str) {
        self.text.push_str(&comment("#", text));
    }

    /// All that was written since this was last asked.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// 1 where all of these variables, each 0 or 1, are 1, else 0; without any, always 1.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(super) fn all(&mut self, name: &str, flags: &[String]) -> Result<String, Why> {
        match flags {
            [] => self.map(name, "1", &[], "1"),
            [only] => Ok(only.clone()),
            several => {
                let row = (all_ones(several.len()), "1".to_owned());
                self.map(name, &several.concat(), &[row], "0")
            }
        }
    }

    /// 0 where a variable is empty, else 1.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(super) fn present(&mut self, variable: &str) -> Result<String, Why> {
        self.map("has", variable, &[(quoted(""), "0".to_owned())], "1")
    }
}

/// What finds so many flags that are all 1.
pub(super) fn all_ones(count: usize) -> String {
    quoted(&format!("~^1{{{count}}}\\z"))
}

/// What finds a text in which a regular expression is found.
pub(super) fn found(regex: &str) -> String {
    quoted(&format!("~{regex}"))
}

/// A text as one parameter. Variables in it stay variables.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}
