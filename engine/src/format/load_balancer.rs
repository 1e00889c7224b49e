//! AWS load balancers' access logs: ALB in every generation, and the classic ELB. Fields stand in a
//! fixed order, parted by single blanks, quoted where they may hold blanks; new ones are appended over
//! the years, so what is missing at the end is missing and what is more is ignored.
//! Source: "Access logs for your Application Load Balancer", AWS documentation, and its revisions.

use super::fields::{Field, Kind, Layout, Role, Values};
use super::record::{Escape, Record, RequestText};
use super::skip::SkipReason;
use super::text::closing_quote;

/// Which balancer wrote a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balancer {
    /// Application Load Balancer.
    Alb,
    /// Classic Elastic Load Balancer.
    Classic,
}

/// Fields of an ALB line, in order.
const ALB: [(&str, Role, Kind); 33] = [
    ("type", Role::Extra, Kind::Text),
    ("time_logged", Role::Logged(0), Kind::Text),
    ("elb", Role::Extra, Kind::Text),
    ("client", Role::ClientAndPort, Kind::Text),
    ("target", Role::Extra, Kind::Endpoint),
    ("request_processing_time", Role::Extra, Kind::Decimal),
    ("target_processing_time", Role::Extra, Kind::Decimal),
    ("response_processing_time", Role::Extra, Kind::Decimal),
    ("status", Role::Status, Kind::Integer),
    ("target_status", Role::Extra, Kind::Integer),
    ("received_bytes", Role::Extra, Kind::Integer),
    ("sent_bytes", Role::Bytes(0), Kind::Integer),
    ("request", Role::Request, Kind::Text),
    ("user_agent", Role::UserAgent, Kind::Text),
    ("ssl_cipher", Role::Extra, Kind::Text),
    ("ssl_protocol", Role::Extra, Kind::Text),
    ("target_group_arn", Role::Extra, Kind::Text),
    ("trace_id", Role::Extra, Kind::Text),
    ("domain_name", Role::Extra, Kind::Text),
    ("chosen_cert_arn", Role::Extra, Kind::Text),
    ("matched_rule_priority", Role::Extra, Kind::Text),
    ("request_creation_time", Role::Arrival, Kind::Text),
    ("actions", Role::Extra, Kind::Texts),
    ("redirect_url", Role::Extra, Kind::Text),
    ("error_reason", Role::Extra, Kind::Text),
    ("target_list", Role::Extra, Kind::Texts),
    ("target_status_list", Role::Extra, Kind::Texts),
    ("classification", Role::Extra, Kind::Text),
    ("classification_reason", Role::Extra, Kind::Text),
    ("conn_trace_id", Role::Extra, Kind::Text),
    ("transformed_host", Role::Extra, Kind::Text),
    ("transformed_uri", Role::Extra, Kind::Text),
    ("request_transform_status", Role::Extra, Kind::Text),
];

/// Fields of a classic ELB line, in order.
const CLASSIC: [(&str, Role, Kind); 15] = [
    ("time_logged", Role::Logged(0), Kind::Text),
    ("elb", Role::Extra, Kind::Text),
    ("client", Role::ClientAndPort, Kind::Text),
    ("target", Role::Extra, Kind::Endpoint),
    ("request_processing_time", Role::Extra, Kind::Decimal),
    ("target_processing_time", Role::Extra, Kind::Decimal),
    ("response_processing_time", Role::Extra, Kind::Decimal),
    ("status", Role::Status, Kind::Integer),
    ("target_status", Role::Extra, Kind::Integer),
    ("received_bytes", Role::Extra, Kind::Integer),
    ("sent_bytes", Role::Bytes(0), Kind::Integer),
    ("request", Role::Request, Kind::Text),
    ("user_agent", Role::UserAgent, Kind::Text),
    ("ssl_cipher", Role::Extra, Kind::Text),
    ("ssl_protocol", Role::Extra, Kind::Text),
];

impl Balancer {
    /// What the fields mean.
    pub fn layout(self) -> Layout {
        let table: &[(&str, Role, Kind)] = match self {
            Self::Alb => &ALB,
            Self::Classic => &CLASSIC,
        };
        Layout {
            fields: table.iter().map(|(name, role, kind)| Field::new(name, *role, *kind)).collect(),
            escape: Escape::Balancer,
            stamps_end: false,
        }
    }

    /// Fields that every generation has: up to the request.
    fn least(self) -> usize {
        match self {
            Self::Alb => 13,
            Self::Classic => 12,
        }
    }
}

/// Takes a line apart; `layout` is the balancer's own.
///
/// # Errors
/// The reason why it is no request of this balancer.
pub fn scan<'a>(
    balancer: Balancer,
    layout: &Layout,
    line: &'a [u8],
    values: &mut Values<'a>,
) -> Result<Record<'a>, SkipReason> {
    let mut count = 0;
    for (index, value) in Tokens(line).enumerate().take(layout.fields.len()) {
        values.set(index, value);
        count = index + 1;
    }
    let balancer_name = values.get(if balancer == Balancer::Alb { 2 } else { 1 });
    let plausible = match balancer {
        Balancer::Alb => balancer_name.is_some_and(|name| name.starts_with(b"app/")),
        Balancer::Classic => (4..7).all(|at| values.get(at).is_some_and(is_time)),
    };
    if count < balancer.least() || !plausible {
        return Err(SkipReason::BadShape);
    }
    let mut record = layout.record(values)?;
    if let RequestText::Line(line) = record.request {
        record.request = RequestText::Line(line.trim_ascii_end());
    }
    Ok(record)
}

/// A processing time: seconds with decimals, or `-1`.
fn is_time(text: &[u8]) -> bool {
    text == b"-1" || super::stamp::seconds(text).is_some()
}

/// Words parted by blanks; a quoted word ends at the quote that no backslash escapes. A missing blank
/// after a quote is forgiven.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0;
        let (token, rest) = match text {
            [] => return None,
            [b'"', inner @ ..] => {
                let end = closing_quote(inner, 0).unwrap_or(inner.len());
                (inner.get(..end)?, inner.get(end + 1..).unwrap_or_default())
            }
            _ => {
                let end = memchr::memchr(b' ', text).unwrap_or(text.len());
                text.split_at_checked(end)?
            }
        };
        self.0 = rest.strip_prefix(b" ").unwrap_or(rest);
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_length_are_read() {
        let start = r#"https 2024-06-01T12:00:00.123456Z app/lb/0 2001:db8::1:443 - -1 -1 -1 502 - 345 678 "GET https://www.example.com:443/a b HTTP/1.1 ""#;
        let layout = Balancer::Alb.layout();
        for (rest, arrival_us) in [
            ("", 123_456),
            (r#" "x" c t arn "Root" "d" "c" 0 2024-06-01T12:00:00.100000Z "waf,forward""#, 100_000),
            (
                r#" "x" c t arn "Root" "-" "-"1 2024-06-01T12:00:00.100000Z "f" "-" "-" "-" "-" "-" "-" T "-" "-" "-" "more" 9"#,
                100_000,
            ),
        ] {
            let line = format!("{start}{rest}");
            let mut values = Values::default();
            let record = scan(Balancer::Alb, &layout, line.as_bytes(), &mut values).unwrap();
            assert_eq!(record.arrival_us % 1_000_000, arrival_us, "{line}");
            assert_eq!(record.client_port, Some(443));
            assert_eq!(
                record.request.line(),
                Some(b"GET https://www.example.com:443/a b HTTP/1.1".as_slice())
            );
        }
        let mut values = Values::default();
        for line in
            ["Enable AccessLog for ELB: app/my-lb/0 at x", "http x app/lb/0 1.2.3.4:5 -", ""]
        {
            assert!(scan(Balancer::Alb, &layout, line.as_bytes(), &mut values).is_err(), "{line}");
        }
    }
}
