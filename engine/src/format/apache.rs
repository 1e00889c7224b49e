//! Apache's `LogFormat`: a format string compiled to a scanner. Source: `mod_log_config`.

use thiserror::Error;

use super::fields::{Field, Kind, Layout, MAX_FIELDS, Role};
use super::log_format::{LogFormat, Piece};
use super::record::Escape;

/// Why a `LogFormat` can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ApacheError {
    /// A directive that isn't one.
    #[error("`{0}` is no directive of Apache's LogFormat")]
    Directive(String),
    /// A time in a form that is not read.
    #[error(
        "`%{{{0}}}t` is not read: use %t, %{{sec}}t, %{{msec}}t, %{{usec}}t, or %{{%Y-%m-%dT%H:%M:%S%z}}t"
    )]
    TimeForm(String),
    /// Two directives stand together, so that no line tells where one ends.
    #[error(
        "{first}{second}: two directives need some text between them, or no line tells where the first ends"
    )]
    Adjacent {
        /// The first directive's column.
        first: String,
        /// The second's.
        second: String,
    },
    /// No time is logged.
    #[error("the LogFormat has no time: it needs %t")]
    NoTime,
    /// No client is logged.
    #[error(
        "the LogFormat has no client: it needs %h or %a, or %{{X-Forwarded-For}}i with --client-ip"
    )]
    NoClient,
    /// Too many directives.
    #[error("the LogFormat has more than {MAX_FIELDS} directives")]
    TooMany,
}

/// Compiles a format string, as it stands in httpd.conf with or without its backslashes.
///
/// # Errors
/// When lines of the format couldn't be taken apart or told nothing.
pub fn compile(format: &str) -> Result<LogFormat, ApacheError> {
    let format = format.replace("\\\"", "\"").replace("\\t", "\t");
    let mut layout = Layout { fields: Vec::new(), escape: Escape::Backslash, stamps_end: false };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = format.as_str();
    while let Some(at) = rest.find('%') {
        let (literal, tail) = rest.split_at(at);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal.as_bytes().to_vec()));
        }
        let (directive, after) = directive(tail)?;
        rest = after;
        let Some(mut directive) = directive else {
            pieces.push(Piece::Literal(b"%".to_vec()));
            continue;
        };
        let bracketed = directive.clf_time;
        if bracketed {
            pieces.push(Piece::Literal(b"[".to_vec()));
        }
        if let (Some(Piece::Field(_)), Some(last)) = (pieces.last(), layout.fields.last()) {
            let (first, second) = (last.name.clone(), directive.field.name);
            return Err(ApacheError::Adjacent { first, second });
        }
        if directive.end_of_request {
            directive.field.role = Role::LoggedEnd;
        }
        pieces.push(Piece::Field(layout.fields.len()));
        directive.field.name = unique(&layout, &directive.field.name);
        layout.fields.push(directive.field);
        if bracketed {
            pieces.push(Piece::Literal(b"]".to_vec()));
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.as_bytes().to_vec()));
    }
    forget_ends(&mut layout);
    check(&layout)?;
    Ok(LogFormat::new(layout, pieces))
}

/// Of a stamp of the beginning and one of the end, the beginning is the arrival; with the end alone,
/// the duration leads back to it.
fn forget_ends(layout: &mut Layout) {
    let begins = layout.has_time();
    layout.stamps_end = !begins;
    for field in layout.fields.iter_mut().filter(|field| field.role == Role::LoggedEnd) {
        field.role = if begins { Role::Extra } else { Role::Logged(1) };
    }
}

/// The same directive may stand twice; its columns then have different names.
fn unique(layout: &Layout, name: &str) -> String {
    let taken = layout.fields.iter().filter(|field| field.name.starts_with(name)).count();
    if taken == 0 { name.to_owned() } else { format!("{name}_{}", taken + 1) }
}

fn check(layout: &Layout) -> Result<(), ApacheError> {
    if layout.fields.len() > MAX_FIELDS {
        return Err(ApacheError::TooMany);
    }
    if !layout.has_time() {
        return Err(ApacheError::NoTime);
    }
    if !layout.has_client() {
        return Err(ApacheError::NoClient);
    }
    Ok(())
}

/// One directive.
struct Directive {
    field: Field,
    /// `%t`: stands in brackets.
    clf_time: bool,
    /// `%{end:…}t`.
    end_of_request: bool,
}

/// Splits a directive off; `None` for `%%`.
fn directive(text: &str) -> Result<(Option<Directive>, &str), ApacheError> {
    let wrong = || ApacheError::Directive(text.chars().take(12).collect());
    let rest = text.strip_prefix('%').unwrap_or(text);
    if let Some(after) = rest.strip_prefix('%') {
        return Ok((None, after));
    }
    // status conditions (`%400,501{…}i`, `%!200…`) and `<`, `>` pick a request, not a field
    let start =
        rest.find(|c: char| !(c.is_ascii_digit() || ",!<>".contains(c))).ok_or_else(wrong)?;
    let rest = rest.get(start..).unwrap_or_default();
    let (argument, rest) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}').ok_or_else(wrong)?,
        None => ("", rest),
    };
    // `%^FU` and `%^FB` are the only directives of more letters
    let length =
        if rest.starts_with('^') { 3 } else { rest.chars().next().map_or(0, char::len_utf8) };
    let (letter, after) = rest.split_at_checked(length).ok_or_else(wrong)?;
    if letter == "t" {
        return time(argument).map(|directive| (Some(directive), after));
    }
    let field = field(letter, argument).ok_or_else(wrong)?;
    Ok((Some(Directive { field, clf_time: false, end_of_request: false }), after))
}

fn field(letter: &str, argument: &str) -> Option<Field> {
    let (column, role, kind) = match (letter, argument) {
        ("h", _) | ("a", "") => ("client", Role::Client, Kind::Text),
        ("a", "c") => ("peer_ip", Role::Peer, Kind::Text),
        ("l", _) => ("ident", Role::Ident, Kind::Text),
        ("u", _) => ("remote_user", Role::User, Kind::Text),
        ("r", _) => ("request", Role::Request, Kind::Text),
        ("m", _) => ("method", Role::Method, Kind::Text),
        ("U", _) => ("request_uri", Role::Target, Kind::Text),
        ("q", _) => ("args", Role::Query, Kind::Text),
        ("H", _) => ("protocol", Role::Protocol, Kind::Text),
        ("s", _) => ("status", Role::Status, Kind::Integer),
        ("b" | "B", _) => ("bytes_body", Role::Bytes(1), Kind::Integer),
        ("O", _) => ("bytes_sent", Role::Bytes(0), Kind::Integer),
        ("I", _) => ("received_bytes", Role::Extra, Kind::Integer),
        ("D", _) | ("T", "us") => ("duration", Role::Duration(1), Kind::Decimal),
        ("T", "ms") => ("duration", Role::Duration(1_000), Kind::Decimal),
        ("T", _) => ("duration", Role::Duration(1_000_000), Kind::Decimal),
        ("v" | "V", _) => ("host", Role::Host, Kind::Text),
        ("p", "remote") => ("client_port", Role::ClientPort, Kind::Integer),
        ("p", _) => ("port", Role::Port, Kind::Integer),
        ("i", header) => match header.to_ascii_lowercase().as_str() {
            "referer" => ("referer", Role::Referer, Kind::Text),
            "user-agent" => ("user_agent", Role::UserAgent, Kind::Text),
            "host" => ("host", Role::Host, Kind::Text),
            "x-forwarded-for" => ("x_forwarded_for", Role::Forwarded, Kind::Texts),
            _ => return Some(named("http", header)),
        },
        ("C", cookie) => return Some(named("cookie", cookie)),
        ("o", header) => return Some(named("sent_http", header)),
        ("e" | "n" | "x" | "^ti" | "^to" | "c", name) => return Some(named("env", name)),
        ("A" | "f" | "k" | "L" | "P" | "R" | "X" | "S" | "^FB", name) => {
            return Some(named(letter.trim_start_matches('^'), name));
        }
        _ => return None,
    };
    Some(Field::new(column, role, kind))
}

/// A column named after its argument: `cookie_uid`, `http_x_request_id`.
fn named(prefix: &str, argument: &str) -> Field {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let suffix: String = argument.chars().map(plain).collect();
    let name = if suffix.is_empty() { prefix.to_owned() } else { format!("{prefix}_{suffix}") };
    Field::new(&name, Role::Extra, Kind::Text)
}

/// `%t` and `%{…}t`.
fn time(argument: &str) -> Result<Directive, ApacheError> {
    let (end_of_request, form) = match argument.split_once(':') {
        Some(("begin", form)) => (false, form),
        Some(("end", form)) => (true, form),
        _ => (false, argument),
    };
    let rank = match form {
        "" | "%d/%b/%Y:%H:%M:%S %z" => 0,
        "sec" | "%s" | "%Y-%m-%dT%H:%M:%S%z" | "%Y-%m-%d %H:%M:%S%z" | "%FT%T%z" | "%F %T%z" => 1,
        "msec" | "usec" => 2,
        _ => return Err(ApacheError::TimeForm(form.to_owned())),
    };
    let field = Field::new("time_logged", Role::Logged(rank), Kind::Text);
    Ok(Directive { field, clf_time: form.is_empty(), end_of_request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fields::Values;

    #[test]
    fn a_format_takes_its_lines_apart() {
        let format = compile(
            r#"%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %D %{uid}C"#,
        )
        .unwrap();
        let line = br#"shop.example:443 192.0.2.7 - ann [01/Jun/2024:12:00:00 +0000] "GET /a HTTP/1.1" 200 512 "-" "x \"y\"" 1500 u7"#;
        let mut values = Values::default();
        let record = format.scan(line, &mut values).unwrap();
        assert_eq!((record.host, record.port), (Some(b"shop.example".as_slice()), Some(443)));
        assert_eq!((record.status, record.bytes), (Some(200), Some(512)));
        assert_eq!((record.duration_us, record.arrival_us), (Some(1_500), record.logged_us));
        let cookie = format.layout.position("cookie_uid").unwrap();
        assert_eq!(values.get(cookie), Some(b"u7".as_slice()));
    }

    #[test]
    fn the_beginning_is_the_arrival_and_of_the_end_the_duration_is_taken() {
        let arrival = |format: &str, line: &str| {
            let format = compile(format).unwrap();
            format.scan(line.as_bytes(), &mut Values::default()).unwrap().arrival_us
        };
        let both = "%h %{begin:usec}t %{end:msec}t %D";
        let line = "192.0.2.1 1717243200000000 1717243205000 5000000";
        assert_eq!(arrival(both, line), 1_717_243_200_000_000);
        let end = arrival("%h %{end:msec}t %D", "192.0.2.1 1717243205000 5000000");
        assert_eq!(end, 1_717_243_200_000_000);
        assert_eq!(arrival("%h %{usec}t %D", "192.0.2.1 1717243200000000 5"), end);
    }

    #[test]
    fn formats_that_tell_nothing_are_refused() {
        assert_eq!(compile("%h %s").unwrap_err(), ApacheError::NoTime);
        assert_eq!(compile("%t %s").unwrap_err(), ApacheError::NoClient);
        assert!(matches!(compile("%h%l %t").unwrap_err(), ApacheError::Adjacent { .. }));
        assert!(matches!(compile("%h %{%c}t").unwrap_err(), ApacheError::TimeForm(_)));
        assert!(matches!(compile("%h %t %Y").unwrap_err(), ApacheError::Directive(_)));
    }
}
