//! A request as a line of a log: any nginx `log_format`, a load balancer's lines, JSON Lines, CSV.

use chrono::DateTime;

use super::event::Event;
use super::random::mixed;
use super::scenario::{Group, Request, Scenario};
use super::text::{Part, Text, push_number, push_padded, write_own, write_part};
use crate::units::address::Address;
use crate::units::span::SECOND_US;
use crate::units::time::format_rfc3339;
use crate::units::zone::Zone;

/// How lines are written, and where to.
#[derive(Debug, Clone)]
pub struct Output {
    /// The file's name; compressed where it ends in `.gz`.
    pub file: String,
    /// How a line looks.
    pub form: Form,
    /// The address that the server sees; none where clients come to it themselves.
    pub peer: Option<Text>,
}

/// How a line looks.
#[derive(Debug, Clone)]
pub enum Form {
    /// Literals and variables; a variable without a value is `-`.
    Log(Vec<Piece>),
    /// An object; what has no value is left out.
    Json(Vec<(String, Text)>),
    /// Values of a header's columns.
    Csv(Vec<(String, Text)>),
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Literal(Vec<u8>),
    /// A variable.
    Variable(Text),
}

impl Output {
    /// Whether the file is compressed.
    pub fn is_gzip(&self) -> bool {
        self.file.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("gz"))
    }

    /// What the file begins with.
    pub fn header(&self) -> Vec<u8> {
        let Form::Csv(columns) = &self.form else { return Vec::new() };
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        format!("{}\n", names.join(",")).into_bytes()
    }
}

/// Stamps are the same for many lines: a few are kept.
#[derive(Debug)]
struct Stamps {
    zone: Zone,
    local: [(i64, String); 8],
    utc: [(i64, String); 8],
}

impl Stamps {
    fn new(zone: Zone) -> Self {
        let empty = || std::array::from_fn(|_| (i64::MIN, String::new()));
        Self { zone, local: empty(), utc: empty() }
    }

    fn local(&mut self, us: i64) -> &str {
        let zone = self.zone;
        kept(&mut self.local, us.div_euclid(SECOND_US), |second| {
            let us = second.saturating_mul(SECOND_US);
            let offset_us = zone.offset_us(us);
            let local = DateTime::from_timestamp_micros(us.saturating_add(offset_us));
            let minutes = offset_us.unsigned_abs() / 60_000_000;
            let sign = if offset_us < 0 { '-' } else { '+' };
            let text = local.map(|local| local.format("%d/%b/%Y:%H:%M:%S").to_string());
            format!("{} {sign}{:02}{:02}", text.unwrap_or_default(), minutes / 60, minutes % 60)
        })
    }

    /// `2026-11-24T13:30:00.` and six digits.
    fn utc(&mut self, us: i64, out: &mut Vec<u8>) {
        let text = kept(&mut self.utc, us.div_euclid(SECOND_US), |second| {
            let whole = format_rfc3339(second.saturating_mul(SECOND_US));
            whole.split('.').next().unwrap_or_default().to_owned()
        });
        out.extend_from_slice(text.as_bytes());
        out.push(b'.');
        push_padded(out, us.rem_euclid(SECOND_US).unsigned_abs(), 6);
        out.push(b'Z');
    }
}

fn kept(slots: &mut [(i64, String); 8], second: i64, make: impl Fn(i64) -> String) -> &str {
    let index = usize::try_from(second.rem_euclid(8)).unwrap_or(0);
    slots.get_mut(index).map_or("", |slot| {
        if slot.0 != second {
            *slot = (second, make(second));
        }
        &slot.1
    })
}

/// Writes lines of one output.
#[derive(Debug)]
pub struct Writer<'a> {
    scenario: &'a Scenario,
    output: &'a Output,
    stamps: Stamps,
    scratch: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer of an output's lines.
    pub fn new(scenario: &'a Scenario, output: &'a Output) -> Self {
        Self { scenario, output, stamps: Stamps::new(scenario.zone), scratch: Vec::new() }
    }

    /// Writes the line of a request.
    pub fn write(&mut self, out: &mut Vec<u8>, event: &Event) {
        let group = self.scenario.groups.get(usize::from(event.group));
        let request = self.scenario.requests.get(usize::from(event.request));
        let Some((group, request)) = group.zip(request) else { return };
        let line = Line { event, group, request };
        match &self.output.form {
            Form::Log(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Literal(text) => out.extend_from_slice(text),
                        Piece::Variable(text) => {
                            let from = out.len();
                            self.text(out, text, line);
                            if out.len() == from {
                                out.push(b'-');
                            } else {
                                escape(out, from);
                            }
                        }
                    }
                }
            }
            Form::Json(fields) => self.json(out, fields, line),
            Form::Csv(columns) => {
                for (index, (_, text)) in columns.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    let value = self.value(text, line);
                    let quoted = value.iter().any(|byte| b",\"\r\n".contains(byte));
                    if quoted {
                        out.push(b'"');
                        for byte in &value {
                            match byte {
                                b'"' => out.extend_from_slice(b"\"\""),
                                byte => out.push(*byte),
                            }
                        }
                        out.push(b'"');
                    } else {
                        out.extend_from_slice(&value);
                    }
                    self.scratch = value;
                }
            }
        }
        out.push(b'\n');
    }

    /// A text's value; give it back as `scratch`.
    fn value(&mut self, text: &Text, line: Line<'_>) -> Vec<u8> {
        let mut value = std::mem::take(&mut self.scratch);
        value.clear();
        self.text(&mut value, text, line);
        value
    }

    fn json(&mut self, out: &mut Vec<u8>, fields: &[(String, Text)], line: Line<'_>) {
        out.push(b'{');
        let mut first = true;
        for (name, text) in fields {
            let value = self.value(text, line);
            if !value.is_empty() {
                if !first {
                    out.push(b',');
                }
                first = false;
                push_json(out, name.as_bytes());
                out.push(b':');
                if is_number(text) {
                    out.extend_from_slice(&value);
                } else {
                    push_json(out, &value);
                }
            }
            self.scratch = value;
        }
        out.push(b'}');
    }

    fn text(&mut self, out: &mut Vec<u8>, text: &Text, line: Line<'_>) {
        for part in &text.0 {
            self.part(out, part, line);
        }
    }

    fn part(&mut self, out: &mut Vec<u8>, part: &Part, line: Line<'_>) {
        let Line { event, group, request } = line;
        let number = group.number(event.identity);
        let mut own = |text: &Text| write_own(out, text, number, event.bits);
        match part {
            Part::Literal(_) | Part::Number(_) | Part::Range(..) | Part::Hex | Part::Random => {
                write_part(out, part, 1, number, event.bits);
            }
            Part::User if event.logged_in => group.user.iter().for_each(own),
            Part::Login if event.logs_in => group.user.iter().for_each(own),
            Part::User | Part::Login => {}
            Part::Phone => group.phone.iter().for_each(own),
            Part::Path => path(out, line),
            Part::Field(name) => {
                let field = group.fields.iter().find(|(known, _)| known == name);
                if let Some((_, text)) = field {
                    own(text);
                }
            }
            Part::Client => self.client(out, line),
            Part::Peer => self.peer(out, line),
            Part::Forwarded => self.forwarded(out, line),
            Part::Port => push_number(out, 1_024 + mixed(event.bits, 61) % 60_000),
            Part::Time => self.stamps.utc(event.arrival_us(), out),
            Part::End => self.stamps.utc(event.end_us, out),
            Part::TimeLocal => out.extend_from_slice(self.stamps.local(event.end_us).as_bytes()),
            Part::Msec => push_millis(out, event.end_us.unsigned_abs()),
            Part::Seconds => push_millis(out, event.duration_us.into()),
            Part::Method => out.extend_from_slice(request.method.as_bytes()),
            Part::Status => push_number(out, event.status.into()),
            Part::Bytes => {
                let (least, most) = request.bytes;
                let many = u64::from(most.saturating_sub(least)) + 1;
                push_number(out, u64::from(least) + mixed(event.bits, 62) % many);
            }
            Part::Agent => out.extend_from_slice(group.agent(event.identity)),
        }
    }

    fn client(&self, out: &mut Vec<u8>, Line { event, group, .. }: Line<'_>) {
        if let Some((address, _)) = self.scenario.address(group, event.identity, event.bits) {
            push_address(out, address);
        }
    }

    fn peer(&self, out: &mut Vec<u8>, line: Line<'_>) {
        match &self.output.peer {
            Some(peer) => write_own(out, peer, 0, line.event.bits),
            None => self.client(out, line),
        }
    }

    fn forwarded(&self, out: &mut Vec<u8>, line: Line<'_>) {
        if line.group.forges {
            let bits = u32::try_from(mixed(line.event.bits, 63) >> 32).unwrap_or(0);
            push_address(out, Address::from_v4_bits(bits));
            if self.output.peer.is_some() {
                out.extend_from_slice(b", ");
            }
        }
        if self.output.peer.is_some() {
            self.client(out, line);
        }
    }
}

/// A request with what it belongs to.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    event: &'a Event,
    group: &'a Group,
    request: &'a Request,
}

/// The path: the only text of a request that may name its phone number.
fn path(out: &mut Vec<u8>, Line { event, group, request }: Line<'_>) {
    let number = group.number(event.identity);
    for (salt, part) in (1..).zip(&request.path.0) {
        match (part, &group.phone) {
            (Part::Phone, Some(phone)) => write_own(out, phone, number, event.bits),
            _ => write_part(out, part, salt, number, event.bits),
        }
    }
}

/// Whether a JSON value is written without quotes.
fn is_number(text: &Text) -> bool {
    let number = |part: &Part| {
        matches!(part, Part::Status | Part::Bytes | Part::Seconds | Part::Msec | Part::Port)
    };
    matches!(text.0.as_slice(), [part] if number(part))
}

fn push_address(out: &mut Vec<u8>, address: Address) {
    let Some(bits) = address.v4_bits() else {
        out.extend_from_slice(address.to_string().as_bytes());
        return;
    };
    for (index, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        push_number(out, byte.into());
    }
}

/// Microseconds as seconds with three decimals, cut.
fn push_millis(out: &mut Vec<u8>, us: u64) {
    push_number(out, us / 1_000_000);
    out.push(b'.');
    push_padded(out, us / 1_000 % 1_000, 3);
}

/// Escapes what was written from `from` on, as nginx does: `"`, `\` and control characters.
fn escape(out: &mut Vec<u8>, from: usize) {
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\' && *byte != 127;
    if out.get(from..).is_none_or(|text| text.iter().all(plain)) {
        return;
    }
    for byte in out.split_off(from) {
        if plain(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("\\x{byte:02X}").as_bytes());
        }
    }
}

fn push_json(out: &mut Vec<u8>, text: &[u8]) {
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\' && byte.is_ascii();
    if text.iter().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text);
        out.push(b'"');
    } else {
        let text = serde_json::Value::from(String::from_utf8_lossy(text));
        out.extend_from_slice(text.to_string().as_bytes());
    }
}
