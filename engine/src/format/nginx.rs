//! nginx's `log_format`: a format string, or a directive out of an nginx.conf, compiled to a scanner.
//! Source: `ngx_http_log_module`; variables of the core, proxy, upstream, realip and `limit_req` modules.

use thiserror::Error;

use super::fields::{Field, Kind, Layout, MAX_FIELDS, Role};
use super::log_format::{LogFormat, Piece};
use super::record::Escape;

/// Why a `log_format` can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NginxError {
    /// Two variables stand together, so that no line tells where one ends.
    #[error(
        "${first}${second}: two variables need some text between them, or no line tells where the first ends"
    )]
    Adjacent {
        /// The first variable.
        first: String,
        /// The second.
        second: String,
    },
    /// No time is logged.
    #[error("the log_format has no time: it needs $time_local, $time_iso8601 or $msec")]
    NoTime,
    /// No client is logged.
    #[error(
        "the log_format has no client: it needs $remote_addr, or $http_x_forwarded_for with --client-ip"
    )]
    NoClient,
    /// Too many variables.
    #[error("the log_format has more than {MAX_FIELDS} variables")]
    TooMany,
    /// The file holds no such directive.
    #[error("no log_format {wanted} in the file; it has: {found}")]
    NotFound {
        /// The name asked for, or words for any.
        wanted: String,
        /// The names there are.
        found: String,
    },
}

/// Compiles a format string.
///
/// # Errors
/// When lines of the format couldn't be taken apart or told nothing.
pub fn compile(format: &str, escape: Escape) -> Result<LogFormat, NginxError> {
    let mut layout = Layout { fields: Vec::new(), escape, stamps_end: true };
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        let (literal, tail) = rest.split_at(at);
        pieces.push(Piece::Literal(literal.as_bytes().to_vec()));
        let (name, after) = variable(tail);
        if name.is_empty() {
            pieces.push(Piece::Literal(b"$".to_vec()));
        } else {
            if literal.is_empty() && !layout.fields.is_empty() {
                let first = layout.fields.last().map(|field| field.name.clone());
                return Err(NginxError::Adjacent {
                    first: first.unwrap_or_default(),
                    second: name.to_owned(),
                });
            }
            pieces.push(Piece::Field(layout.fields.len()));
            layout.fields.push(field(name));
        }
        rest = after;
    }
    pieces.push(Piece::Literal(rest.as_bytes().to_vec()));
    pieces.retain(|piece| *piece != Piece::Literal(Vec::new()));
    check(&layout)?;
    Ok(LogFormat::new(layout, pieces))
}

fn check(layout: &Layout) -> Result<(), NginxError> {
    if layout.fields.len() > MAX_FIELDS {
        return Err(NginxError::TooMany);
    }
    if !layout.has_time() {
        return Err(NginxError::NoTime);
    }
    if !layout.has_client() {
        return Err(NginxError::NoClient);
    }
    Ok(())
}

/// Splits `$name…` or `${name}…` into the name and what follows.
fn variable(text: &str) -> (&str, &str) {
    let text = text.strip_prefix('$').unwrap_or(text);
    if let Some((name, after)) = text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return (name, after);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// What a variable means. Names are compared in lower case, as nginx does with headers.
pub(super) fn field(name: &str) -> Field {
    let lower = name.to_ascii_lowercase();
    let (column, role, kind) = match lower.as_str() {
        "remote_addr" => ("client", Role::Client, Kind::Text),
        "remote_port" => ("client_port", Role::ClientPort, Kind::Integer),
        "realip_remote_addr" => ("peer_ip", Role::Peer, Kind::Text),
        "remote_user" => ("remote_user", Role::User, Kind::Text),
        "time_local" => ("time_local", Role::Logged(0), Kind::Text),
        "time_iso8601" => ("time_iso8601", Role::Logged(1), Kind::Text),
        "msec" => ("msec", Role::Logged(2), Kind::Text),
        "request" => ("request", Role::Request, Kind::Text),
        "request_method" => ("method", Role::Method, Kind::Text),
        "request_uri" => ("request_uri", Role::Target, Kind::Text),
        "uri" | "document_uri" => ("uri", Role::Target, Kind::Text),
        "args" | "query_string" => ("args", Role::Query, Kind::Text),
        "server_protocol" => ("protocol", Role::Protocol, Kind::Text),
        "scheme" => ("scheme", Role::Scheme, Kind::Text),
        "host" | "http_host" => ("host", Role::Host, Kind::Text),
        "server_port" => ("server_port", Role::Extra, Kind::Integer),
        "status" => ("status", Role::Status, Kind::Integer),
        "body_bytes_sent" => ("body_bytes_sent", Role::Bytes(1), Kind::Integer),
        "bytes_sent" => ("bytes_sent", Role::Bytes(0), Kind::Integer),
        "request_length" => ("received_bytes", Role::Extra, Kind::Integer),
        "request_time" => ("request_time", Role::Duration(1_000_000), Kind::Decimal),
        "http_referer" => ("referer", Role::Referer, Kind::Text),
        "http_user_agent" => ("user_agent", Role::UserAgent, Kind::Text),
        "http_x_forwarded_for" => ("x_forwarded_for", Role::Forwarded, Kind::Texts),
        "limit_req_status" => ("limited", Role::Limited, Kind::Text),
        other => return extra(other),
    };
    Field::new(column, role, kind)
}

/// A variable that analysis doesn't use: lists of the upstream module, else text.
fn extra(name: &str) -> Field {
    let kind = match name {
        "upstream_addr" | "upstream_cache_status" => Kind::Texts,
        "upstream_status"
        | "upstream_response_length"
        | "upstream_bytes_received"
        | "upstream_bytes_sent" => Kind::Integers,
        "upstream_response_time"
        | "upstream_connect_time"
        | "upstream_header_time"
        | "upstream_queue_time" => Kind::Decimals,
        _ => Kind::Text,
    };
    Field::new(name, Role::Extra, kind)
}

/// One `log_format` of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Its name.
    pub name: String,
    /// The format string.
    pub format: String,
    /// How it escapes.
    pub escape: Escape,
}

/// The `log_format` of this name in an nginx.conf; the only one if no name is given.
///
/// # Errors
/// When there is none, or several and no name.
pub fn from_conf(conf: &str, wanted: Option<&str>) -> Result<Directive, NginxError> {
    let all = directives(conf);
    let mut matching = all.iter().filter(|d| wanted.is_none_or(|wanted| wanted == d.name));
    match (matching.next(), matching.next()) {
        (Some(directive), None) => Ok(directive.clone()),
        _ => Err(NginxError::NotFound {
            wanted: wanted.unwrap_or("without a name (give file:NAME)").to_owned(),
            found: match all.as_slice() {
                [] => "none".to_owned(),
                list => list.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(", "),
            },
        }),
    }
}

fn directives(conf: &str) -> Vec<Directive> {
    let words = words(conf);
    let mut found = Vec::new();
    for statement in words.split(|word| matches!(word, Word::End)) {
        let texts: Vec<&str> = statement
            .iter()
            .filter_map(|word| match word {
                Word::Text(text) => Some(text.as_str()),
                Word::End => None,
            })
            .collect();
        let [keyword, name, parts @ ..] = texts.as_slice() else { continue };
        if *keyword != "log_format" {
            continue;
        }
        let (escape, parts) = match parts {
            ["escape=json", rest @ ..] => (Escape::Json, rest),
            ["escape=none", rest @ ..] => (Escape::None, rest),
            ["escape=default", rest @ ..] | rest => (Escape::Backslash, rest),
        };
        found.push(Directive { name: (*name).to_owned(), format: parts.concat(), escape });
    }
    found
}

/// A word of a configuration, or the end of a statement (`;`, `{`, `}`).
enum Word {
    Text(String),
    End,
}

/// nginx's lexer: blanks part words, quotes keep them together, `#` begins a comment, a backslash
/// takes the next character (`\n`, `\r`, `\t` become control characters).
fn words(conf: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut chars = conf.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ';' | '{' | '}' => words.push(Word::End),
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            c if c.is_whitespace() => {}
            quote @ ('"' | '\'') => {
                let mut text = String::new();
                while let Some(c) = chars.next_if(|c| *c != quote) {
                    text.push(if c == '\\' { escaped(chars.next()) } else { c });
                }
                chars.next();
                words.push(Word::Text(text));
            }
            first => {
                let mut text = String::from(first);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && *c != ';' && *c != '{')
                {
                    text.push(c);
                }
                words.push(Word::Text(text));
            }
        }
    }
    words
}

fn escaped(c: Option<char>) -> char {
    match c {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some(c) => c,
        None => '\\',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fields::Values;
    use crate::format::record::Client;
    use crate::units::address::Address;

    #[test]
    fn a_format_takes_its_lines_apart() {
        let format = compile(
            r#"$remote_addr:$remote_port - $remote_user [$time_local] "$request" $status $upstream_response_time $request_time $msec"#,
            Escape::Backslash,
        )
        .unwrap();
        let line = br#"2001:db8::7:42918 - a b [01/Jun/2024:12:00:00 +0000] "GET /\x22 HTTP/1.1" 200 0.001, 0.002 : 0.003 0.5 1717243200.787"#;
        let mut values = Values::default();
        let record = format.scan(line, &mut values).unwrap();
        assert_eq!(record.client, Client::Address(Address::parse(b"2001:db8::7").unwrap()));
        assert_eq!((record.client_port, record.status), (Some(42918), Some(200)));
        assert_eq!(record.user, Some(b"a b".as_slice()));
        assert_eq!(record.logged_us, 1_717_243_200_787_000);
        assert_eq!(record.arrival_us, 1_717_243_200_287_000);
        assert_eq!(record.decimals, 3);
        let times = format.layout.position("upstream_response_time").unwrap();
        assert_eq!(values.get(times), Some(b"0.001, 0.002 : 0.003".as_slice()));
    }

    #[test]
    fn what_a_client_writes_hides_and_forges_nothing() {
        let read = |format: &str, line: &str| {
            let format = compile(format, Escape::Backslash).unwrap();
            let mut values = Values::default();
            let record = format.scan(line.as_bytes(), &mut values).unwrap();
            (record.logged_us, record.status, record.user.map(<[u8]>::to_vec))
        };
        let noon = 1_717_243_200_000_000;
        assert_eq!(
            read(r"$msec $remote_addr $request_time $status", "1717243200.000 203.0.113.9 0.1 200"),
            (noon, Some(200), None)
        );
        assert_eq!(
            read(
                r#"$remote_addr - $remote_user [$time_iso8601] "$request" $status"#,
                r#"192.0.2.1 - a [b [2024-06-01T12:00:00+00:00] "GET / HTTP/1.1" 200"#
            ),
            (noon, Some(200), Some(b"a [b".to_vec()))
        );
        assert_eq!(
            read(
                r#"$remote_addr $http_x_forwarded_for [$time_iso8601] "$request" $status"#,
                r#"192.0.2.1 x, [2024-06-01T12:00:00+00:00] "GET / HTTP/1.1" 200"#
            ),
            (noon, Some(200), None)
        );
        for request in ["GET /a|1000000000.000|200 HTTP/1.1", "GET /a|1000000000.000|200"] {
            let line = format!("192.0.2.1|ann|{request}|1717243200.000|404");
            let format = "$remote_addr|$remote_user|$request|$msec|$status";
            assert_eq!(read(format, &line), (noon, Some(404), Some(b"ann".to_vec())), "{line}");
        }
    }

    #[test]
    fn a_line_of_blanks_takes_no_time() {
        let format =
            compile("$remote_addr - $remote_user [$time_local] $status", Escape::None).unwrap();
        let line = [b"192.0.2.1".as_slice(), &vec![b' '; 1 << 20]].concat();
        assert!(format.scan(&line, &mut Values::default()).is_err());
    }

    #[test]
    fn formats_that_tell_nothing_are_refused() {
        let error = |format| compile(format, Escape::Backslash).unwrap_err();
        assert_eq!(error("$remote_addr $status"), NginxError::NoTime);
        assert_eq!(error("$time_local $status"), NginxError::NoClient);
        assert!(matches!(error("$remote_addr$remote_port $msec"), NginxError::Adjacent { .. }));
    }

    #[test]
    fn directives_are_found_in_a_configuration() {
        let conf = r#"
            http { # log_format no 'x';
                log_format main '$remote_addr - $remote_user [$time_local] '
                                '"$request" $status';
                log_format json escape=json '{"t":"$time_iso8601",' "\"a\":\"$remote_addr\"}";
                access_log /var/log/nginx/access.log main;
            }"#;
        let main = from_conf(conf, Some("main")).unwrap();
        assert_eq!(main.format, r#"$remote_addr - $remote_user [$time_local] "$request" $status"#);
        let json = from_conf(conf, Some("json")).unwrap();
        assert_eq!(json.escape, Escape::Json);
        assert_eq!(json.format, r#"{"t":"$time_iso8601","a":"$remote_addr"}"#);
        let message = from_conf(conf, None).unwrap_err().to_string();
        assert!(message.contains("main, json"), "{message}");
    }
}
