//! CSV with a header (RFC 4180): fields may be quoted, and quoted ones may hold line ends, so a record
//! can span lines. What a column means is told by its name, or given.

use super::fields::{Layout, Values};
use super::json::Mapping;
use super::record::{Escape, Record};
use super::skip::SkipReason;

/// The columns of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// What the columns mean.
    pub layout: Layout,
    /// For each column the field it is, if it is one.
    slots: Vec<Option<usize>>,
    /// What parts the columns.
    pub separator: u8,
    header: Vec<u8>,
}

impl Columns {
    /// Reads a header; `given` names win: (field as known here, column). `None` if the columns don't
    /// tell when and who.
    pub fn new(header: &[u8], given: &[(String, String)]) -> Option<Self> {
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header).trim_ascii_end();
        let separator = [b',', b';', b'\t', b'|']
            .into_iter()
            .max_by_key(|byte| memchr::memchr_iter(*byte, header).count())
            .filter(|byte| memchr::memchr(*byte, header).is_some())?;
        let names: Vec<String> = Fields { rest: Some(header), separator }
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .collect();
        let mapping = Mapping::new(&names, given);
        let slots = names.iter().map(|name| mapping.slot(name.as_bytes())).collect();
        mapping.suffices().then(|| Self {
            slots,
            layout: Layout {
                escape: if mapping.layout.is_read_back() {
                    Escape::ConvertedCsv
                } else {
                    Escape::Csv
                },
                ..mapping.layout
            },
            separator,
            header: header.to_vec(),
        })
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        let header = Fields { rest: Some(&self.header), separator: self.separator };
        header.map(<[u8]>::trim_ascii).any(|column| column == name.as_bytes())
    }

    /// Takes a record apart.
    ///
    /// # Errors
    /// `header` for the header again (joined files), or the reason why it is no record.
    pub fn scan<'a>(
        &self,
        line: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Record<'a>, SkipReason> {
        if line == self.header || line.strip_prefix(b"\xef\xbb\xbf") == Some(&self.header) {
            return Err(SkipReason::Header);
        }
        let mut count = 0;
        let fields = Fields { rest: Some(line), separator: self.separator };
        for (slot, value) in self.slots.iter().zip(fields) {
            if let Some(slot) = slot {
                values.set(*slot, value);
            }
            count += 1;
        }
        if count < 2 {
            return Err(SkipReason::BadShape);
        }
        self.layout.record(values)
    }
}

/// Where the first record of `text` ends: the first line end outside quoted fields. A field is quoted
/// only if it begins with a quote.
pub fn record_end(text: &[u8], separator: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += quoted_length(text.get(at..)?)?;
        at += memchr::memchr2(separator, b'\n', text.get(at..)?)?;
        if text.get(at) == Some(&b'\n') {
            return Some(at);
        }
        at += 1;
    }
}

/// The length of the quoted part that `field` begins with; 0 if it doesn't. `None` if it doesn't end.
fn quoted_length(field: &[u8]) -> Option<usize> {
    let Some(inner) = field.strip_prefix(b"\"") else { return Some(0) };
    let mut at = 0;
    loop {
        let quote = at + memchr::memchr(b'"', inner.get(at..)?)?;
        if inner.get(quote + 1) != Some(&b'"') {
            return Some(quote + 2);
        }
        at = quote + 2;
    }
}

/// Where the last record of `text` that ends inside it ends. `text` begins at a record.
pub fn last_record_end(text: &[u8], separator: u8) -> Option<usize> {
    let mut last = None;
    let mut from = 0;
    while let Some(end) = text.get(from..).and_then(|rest| record_end(rest, separator)) {
        last = Some(from + end);
        from += end + 1;
    }
    last
}

/// The fields of one record: quotes around them taken off, doubled quotes inside left.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.rest?;
        let end = quoted_length(text).unwrap_or(text.len());
        let behind = text.get(end..).unwrap_or_default();
        let (end, rest) = match memchr::memchr(self.separator, behind) {
            Some(at) => (end + at, text.get(end + at + 1..)),
            None => (text.len(), None),
        };
        self.rest = rest;
        let field = text.get(..end)?;
        Some(field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).unwrap_or(field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_taken_apart() {
        let given = [("user".to_owned(), "who".to_owned())];
        let columns = Columns::new(b"time,client_ip,path,who,status", &given).unwrap();
        let line = b"2024-06-01T12:00:00Z,192.0.2.1,\"/a,\"\"b\"\"\nc\",ann,200";
        let mut values = Values::default();
        let record = columns.scan(line, &mut values).unwrap();
        assert_eq!(record.status, Some(200));
        assert_eq!(record.user, Some(b"ann".as_slice()));
        assert_eq!(&*record.escape.undo(values.get(2).unwrap()), b"/a,\"b\"\nc");
        assert_eq!(
            columns.scan(b"time,client_ip,path,who,status", &mut values).unwrap_err(),
            SkipReason::Header
        );
        assert_eq!(Columns::new(b"a,b,c", &[]), None);
        assert_eq!(Columns::new(b"no separator", &[]), None);
    }

    #[test]
    fn records_end_outside_quotes() {
        assert_eq!(record_end(b"a,\"b\nc\"\nd\n", b','), Some(7));
        assert_eq!(record_end(b"a\"b,c\nd\"\n", b','), Some(5));
        assert_eq!(last_record_end(b"a\nb,\"c\nd\ne", b','), Some(1));
    }
}
