//! JSON Lines: one object a line, as nginx writes them with a JSON `log_format`, or any other writer
//! with a mapping of names. The reader works on bytes and forgives what nginx can't avoid: values that
//! were not quoted and turned out to be empty, `-` or a list; bytes that are no UTF-8.

use std::collections::BTreeSet;

use super::fields::{Field, Kind, Layout, MAX_FIELDS, Role, Values};
use super::nginx;
use super::record::{Escape, Record};
use super::skip::SkipReason;

/// Which name of an object is which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// What the fields mean.
    pub layout: Layout,
    /// For each field, the name it has in the object.
    names: Vec<String>,
}

/// Names that are understood besides nginx's variables, with what they mean.
const SYNONYMS: [(&str, &str); 42] = [
    ("time", "time_iso8601"),
    ("ts", "time_iso8601"),
    ("@timestamp", "time_iso8601"),
    ("timestamp", "time_iso8601"),
    ("datetime", "time_iso8601"),
    ("time_iso", "time_iso8601"),
    ("date", "time_iso8601"),
    ("client_ip", "remote_addr"),
    ("clientip", "remote_addr"),
    ("client", "remote_addr"),
    ("ip", "remote_addr"),
    ("remote_ip", "remote_addr"),
    ("remote", "remote_addr"),
    ("client_addr", "remote_addr"),
    ("client_port", "remote_port"),
    ("peer_ip", "realip_remote_addr"),
    ("user", "remote_user"),
    ("method", "request_method"),
    ("http_method", "request_method"),
    ("verb", "request_method"),
    ("path", "request_uri"),
    ("url", "request_uri"),
    ("uri_path", "request_uri"),
    ("query", "args"),
    ("request_query", "args"),
    ("protocol", "server_protocol"),
    ("http_version", "server_protocol"),
    ("vhost", "host"),
    ("server_name", "host"),
    ("domain", "host"),
    ("status_code", "status"),
    ("response_code", "status"),
    ("response", "status"),
    ("bytes", "body_bytes_sent"),
    ("size", "body_bytes_sent"),
    ("response_size", "body_bytes_sent"),
    ("referer", "http_referer"),
    ("referrer", "http_referer"),
    ("user_agent", "http_user_agent"),
    ("agent", "http_user_agent"),
    ("x_forwarded_for", "http_x_forwarded_for"),
    ("xff", "http_x_forwarded_for"),
];

/// Names of durations besides `request_time`. Without a unit in the name, a whole number may be milli-
/// or nanoseconds, so only one with decimals is taken, for seconds.
const DURATIONS: [(&str, Role); 7] = [
    ("duration", Role::Seconds),
    ("response_time", Role::Seconds),
    ("duration_ms", Role::Duration(1_000)),
    ("request_time_ms", Role::Duration(1_000)),
    ("response_time_ms", Role::Duration(1_000)),
    ("latency_ms", Role::Duration(1_000)),
    ("duration_us", Role::Duration(1)),
];

/// Fields that writers leave out of an object where they are empty, so that the first ones of a log often lack
/// them.
pub const OFTEN_LATE: [&str; 3] = ["remote_user", "http_user_agent", "status"];

/// The rank of a stamp that the user named.
const GIVEN: u8 = 9;

fn same_role(a: Role, b: Role) -> bool {
    let times = matches!(a, Role::Logged(_)) && matches!(b, Role::Logged(_));
    let durations = matches!(a, Role::Duration(_)) && matches!(b, Role::Duration(_));
    times || durations || (a == b && a != Role::Extra)
}

/// The field that an object's name stands for.
pub fn field_of(name: &str) -> Field {
    let lower = name.to_ascii_lowercase();
    if lower == "logged" {
        return Field::new("logged", Role::Logged(0), Kind::Text);
    }
    if lower == "instance" {
        return Field::new("instance", Role::Instance, Kind::Text);
    }
    if let Some((_, role)) = DURATIONS.iter().find(|(known, _)| *known == lower) {
        return Field::new("duration", *role, Kind::Decimal);
    }
    let variable =
        SYNONYMS.iter().find(|(known, _)| *known == lower).map_or(lower.as_str(), |(_, var)| var);
    let field = nginx::field(variable);
    if field.role == Role::Extra { Field::new(name, Role::Extra, field.kind) } else { field }
}

impl Mapping {
    /// A mapping for objects with these names; `given` names win: (field as known here, name in the
    /// object).
    pub fn new(names: &[String], given: &[(String, String)]) -> Self {
        let mut fields: Vec<(Field, String)> = Vec::new();
        for name in names {
            let said = given.iter().find(|(_, column)| column == name);
            let own = || {
                let field = field_of(name);
                let same =
                    |(known, _): &(String, String)| same_role(field_of(known).role, field.role);
                if given.iter().any(same) {
                    Field::new(name, Role::Extra, Kind::Text)
                } else {
                    field
                }
            };
            let field = said.map_or_else(own, |(known, _)| {
                let field = field_of(known);
                let time = matches!(field.role, Role::Logged(_));
                // what is said wins over finer stamps that the log has too
                if time { Field { role: Role::Logged(GIVEN), ..field } } else { field }
            });
            fields.push((field, name.clone()));
        }
        // those that analysis needs come first: a line may have more fields than there is room for
        fields.sort_by_key(|(field, _)| field.role == Role::Extra);
        fields.truncate(MAX_FIELDS);
        let (fields, own): (Vec<Field>, Vec<String>) = fields.into_iter().unzip();
        let mut layout = Layout { fields, escape: Escape::Json, stamps_end: true };
        if ["time", "logged", "client_ip", "malformed"].iter().all(|n| own.iter().any(|o| o == n)) {
            layout.read_back();
        }
        Self { layout, names: own }
    }

    /// The field that a name is.
    pub fn slot(&self, name: &[u8]) -> Option<usize> {
        self.names.iter().position(|own| own.as_bytes() == name)
    }

    /// Whether objects with these names tell when and who.
    pub fn suffices(&self) -> bool {
        self.layout.has_time() && self.layout.has_client()
    }

    /// Takes a line apart.
    ///
    /// # Errors
    /// The reason why it is no record.
    pub fn scan<'a>(
        &self,
        line: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Record<'a>, SkipReason> {
        let start = memchr::memchr(b'{', line).ok_or(SkipReason::BadShape)?;
        let body = line.get(start..).ok_or(SkipReason::BadShape)?;
        let mut members = Members::new(body).ok_or(SkipReason::BadShape)?;
        for (name, value) in members.by_ref() {
            let Some(index) = self.slot(name) else { continue };
            if self.layout.is_read_back() && value == Value::Bare(b"null") {
                continue;
            }
            // a name that stands twice may be the client's, where the writer doesn't escape
            let needed = self.layout.fields.get(index).is_some_and(|f| f.role != Role::Extra);
            if needed && values.get(index).is_some() {
                return Err(SkipReason::BadShape);
            }
            values.set(index, value.text());
        }
        if !members.ended_well {
            return Err(SkipReason::BadShape);
        }
        self.layout.record(values)
    }
}

/// The names under which later objects may have these fields, where none of the `seen` is one of them.
pub fn unseen<'w>(seen: &[String], wanted: impl Iterator<Item = &'w str>) -> Vec<String> {
    let mut more: Vec<String> = Vec::new();
    for name in wanted {
        let field = field_of(name).name;
        if seen.iter().any(|known| field_of(known).name == field) {
            continue;
        }
        let synonyms = SYNONYMS.iter().filter(|(_, variable)| *variable == field);
        let all = std::iter::once(name).chain(synonyms.map(|(synonym, _)| *synonym));
        more.extend(all.map(str::to_owned));
    }
    more.sort_unstable();
    more.dedup();
    more
}

/// The names of an object's members.
pub fn names(line: &[u8]) -> Option<Vec<String>> {
    let start = memchr::memchr(b'{', line)?;
    let mut members = Members::new(line.get(start..)?)?;
    let mut seen = BTreeSet::new();
    let mut names: Vec<String> = Vec::new();
    for (name, _) in members.by_ref() {
        if seen.insert(name) {
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    members.ended_well.then_some(names)
}

/// For a JSON `log_format` of nginx, the variable that stands behind each name: (variable, name).
pub fn variables(format: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(mut members) = Members::new(format.trim_start().as_bytes()) else { return found };
    for (name, value) in members.by_ref() {
        let text = String::from_utf8_lossy(value.text());
        let variable = text.trim_matches(|c| "${}".contains(c));
        let plain = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if text.starts_with('$') && plain {
            found.push((variable.to_owned(), String::from_utf8_lossy(name).into_owned()));
        }
    }
    found
}

/// A member's value, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value<'a> {
    /// Between its quotes, escapes not undone.
    Text(&'a [u8]),
    /// A number, `true`, or whatever was not quoted.
    Bare(&'a [u8]),
    /// An object or a list, brackets too.
    Nested(&'a [u8]),
}

impl<'a> Value<'a> {
    fn text(self) -> &'a [u8] {
        match self {
            Self::Bare(b"null") => b"-",
            Self::Text(text) | Self::Bare(text) | Self::Nested(text) => text,
        }
    }
}

/// The members of one object, in order.
struct Members<'a> {
    rest: &'a [u8],
    ended_well: bool,
}

impl<'a> Members<'a> {
    fn new(object: &'a [u8]) -> Option<Self> {
        let rest = object.strip_prefix(b"{")?;
        Some(Self { rest, ended_well: false })
    }

    fn value(&mut self) -> Option<Value<'a>> {
        let rest = self.rest.trim_ascii_start();
        match rest.first()? {
            b'"' => {
                let (text, after) = string(rest)?;
                self.rest = after;
                Some(Value::Text(text))
            }
            b'{' | b'[' => {
                let length = nested(rest)?;
                let (value, after) = rest.split_at_checked(length)?;
                self.rest = after;
                Some(Value::Nested(value))
            }
            _ => {
                let end = bare_end(rest)?;
                let (value, after) = rest.split_at_checked(end)?;
                self.rest = after;
                Some(Value::Bare(value.trim_ascii()))
            }
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        let rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        if rest.starts_with(b"}") {
            self.ended_well = true;
            return None;
        }
        let (name, after) = string(rest)?;
        self.rest = after.trim_ascii_start().strip_prefix(b":")?;
        Some((name, self.value()?))
    }
}

/// A quoted string and what follows it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let end = super::text::closing_quote(inner, 0)?;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

/// The length of an object or list, strings in it passed over.
fn nested(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => at += 1 + super::text::closing_quote(text.get(at + 1..)?, 0)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Where an unquoted value ends: at the brace, or at the comma that a quoted name follows (a list that
/// was not quoted holds commas too).
fn bare_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b',', b'}', text.get(from..)?)?;
        if text.get(at) == Some(&b'}') {
            return Some(at);
        }
        if text.get(at + 1..)?.trim_ascii_start().starts_with(b"\"") {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(String, String)> {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut members = Members::new(text.as_bytes()).unwrap();
        let all = members.by_ref().map(|(n, v)| (show(n), show(v.text()))).collect();
        assert!(members.ended_well, "{text}");
        all
    }

    #[test]
    fn objects_are_read_even_where_nginx_could_not_quote() {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        assert_eq!(
            members(r#"{"a":1, "b" : "x\"y","c":null}"#),
            pairs(&[("a", "1"), ("b", "x\\\"y"), ("c", "-")])
        );
        assert_eq!(
            members(r#"{"a":,"b":-,"c":0.1, 0.2}"#),
            pairs(&[("a", ""), ("b", "-"), ("c", "0.1, 0.2")])
        );
        assert_eq!(
            members(r#"{"a":{"b":["}",{}]},"c":2}"#),
            pairs(&[("a", r#"{"b":["}",{}]}"#), ("c", "2")])
        );
        assert_eq!(members("{}"), []);
        for text in ["{", r#"{"a"}"#, r#"{"a":"x}"#, r#"{"a":[}"#] {
            assert_eq!(names(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_json_log_format_tells_which_name_is_which_variable() {
        let format = r#"{ "t":"$msec", "who": "$remote_addr", "n": $status, "fixed":"x" }"#;
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            variables(format),
            [pair("msec", "t"), pair("remote_addr", "who"), pair("status", "n")]
        );
    }

    #[test]
    fn a_name_that_stands_twice_is_not_believed_and_depth_costs_no_time() {
        let names = names(br#"{"time":1,"remote_addr":1,"x":1}"#).unwrap();
        let mapping = Mapping::new(&names, &[]);
        let read = |line: &str| mapping.scan(line.as_bytes(), &mut Values::default()).err();
        let twice = r#"{"time":"2024-06-01T12:00:00Z","remote_addr":"192.0.2.1","x":"","remote_addr":"6.6.6.6"}"#;
        assert_eq!(read(twice), Some(SkipReason::BadShape));
        for deep in ["[".repeat(1 << 20), format!("{{{}", r#""":"","#.repeat(1 << 17))] {
            assert_eq!(read(&format!(r#"{{"x":{deep}"#)), Some(SkipReason::BadShape));
        }
    }

    #[test]
    fn durations_without_a_unit_need_decimals() {
        let names = ["time", "ip", "Duration"].map(str::to_owned);
        let mapping = Mapping::new(&names, &[]);
        let duration = |value: &str| {
            let line =
                format!(r#"{{"time":"2024-06-01T12:00:00Z","ip":"192.0.2.1","Duration":{value}}}"#);
            mapping.scan(line.as_bytes(), &mut Values::default()).unwrap().duration_us
        };
        assert_eq!(duration("1234567"), None);
        assert_eq!(duration("0.250"), Some(250_000));
    }

    #[test]
    fn fields_that_the_first_objects_lack_are_looked_for_later() {
        let seen = ["time", "ip", "agent"].map(str::to_owned);
        let more =
            unseen(&seen, ["honeypot", "time_iso8601", "user_agent", "remote_user"].into_iter());
        assert_eq!(more, ["honeypot", "remote_user", "user"]);
        assert_eq!(unseen(&more, ["honeypot"].into_iter()), Vec::<String>::new());
    }

    #[test]
    fn names_are_understood_or_given() {
        let names: Vec<String> = ["when", "addr", "status"].map(str::to_owned).to_vec();
        assert!(!Mapping::new(&names, &[]).suffices());
        let given =
            [("time".to_owned(), "when".to_owned()), ("client_ip".to_owned(), "addr".to_owned())];
        let mapping = Mapping::new(&names, &given);
        assert!(mapping.suffices());
        let line = br#"{"when":"2024-06-01T12:00:00.250Z","addr":"192.0.2.1","status":404}"#;
        let record = mapping.scan(line, &mut Values::default()).unwrap();
        assert_eq!((record.status, record.decimals), (Some(404), 3));
    }
}
