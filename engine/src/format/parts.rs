//! From the values of a line's fields to its record: the one way of every format but the combined
//! family's.

use crate::units::address::Address;

use super::fields::{Layout, Role, Values};
use super::record::{Client, Form, Record, RequestText};
use super::skip::SkipReason;
use super::stamp::{self, Stamp};
use super::text::number;

impl Layout {
    /// Makes a record of a line's values.
    ///
    /// # Errors
    /// `bad-time` without a stamp that can be read, `bad-address` if the client is neither an address nor a
    /// name.
    pub fn record<'a>(&self, values: &Values<'a>) -> Result<Record<'a>, SkipReason> {
        let mut parts = Parts::default();
        for (index, field) in self.fields.iter().enumerate() {
            if let Some(value) = values.get(index) {
                parts.take(field.role, value, self)?;
            }
        }
        parts.finish(self)
    }
}

/// A record in the making.
#[derive(Default)]
struct Parts<'a> {
    client: Option<&'a [u8]>,
    client_port: Option<u16>,
    peer: Option<&'a [u8]>,
    ident: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    logged: Option<(u8, Stamp)>,
    arrival: Option<Stamp>,
    line: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    target: Option<&'a [u8]>,
    query: Option<&'a [u8]>,
    protocol: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    port: Option<u16>,
    status: Option<u16>,
    bytes: Option<(u8, u64)>,
    bytes_dash: bool,
    duration_us: Option<i64>,
    referer: Option<&'a [u8]>,
    user_agent: Option<&'a [u8]>,
    forwarded: Option<&'a [u8]>,
    limited: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// Adds a field's value.
    ///
    /// # Errors
    /// When it can't be read and is needed.
    fn take(&mut self, role: Role, value: &'a [u8], layout: &Layout) -> Result<(), SkipReason> {
        let present = |value: &'a [u8]| layout.present(value);
        match role {
            Role::Extra => {}
            Role::Client => self.client = self.client.or(present(value)),
            Role::ClientAndPort => {
                let (address, port) = split_port(value);
                self.client = Some(address);
                self.client_port = port;
            }
            Role::Logged(rank) => self.stamp(rank, &layout.escape.undo(value))?,
            Role::LoggedBack => {
                let stamp = stamp::iso(value).ok_or(SkipReason::BadTime)?;
                let decimals = match stamp.instant_us {
                    us if us % 1_000_000 == 0 => 0,
                    us if us % 1_000 == 0 => 3,
                    _ => 6,
                };
                self.logged = Some((0, Stamp { decimals, ..stamp }));
            }
            Role::Arrival => self.arrival = stamp::iso(value).or(self.arrival),
            Role::Bytes(rank) => self.size(rank, value),
            Role::Duration(unit_us) => {
                self.duration_us = duration(value, unit_us).or(self.duration_us);
            }
            Role::Seconds if value.contains(&b'.') => {
                self.duration_us = self.duration_us.or(duration(value, 1_000_000));
            }
            Role::ClientPort => self.client_port = small(value),
            Role::Port => self.port = small(value),
            Role::Status => self.status = small(value),
            _ => self.text(role, value, present(value)),
        }
        Ok(())
    }

    fn text(&mut self, role: Role, value: &'a [u8], present: Option<&'a [u8]>) {
        let Some(value) = present else {
            if role == Role::Request {
                self.line = self.line.or(Some(value));
            }
            return;
        };
        let slot = match role {
            Role::Peer => &mut self.peer,
            Role::Ident => &mut self.ident,
            Role::User => &mut self.user,
            Role::Request => &mut self.line,
            Role::Method => &mut self.method,
            Role::Target => &mut self.target,
            Role::Query => &mut self.query,
            Role::Protocol => &mut self.protocol,
            Role::Scheme => &mut self.scheme,
            Role::Host => &mut self.host,
            Role::Referer => &mut self.referer,
            Role::UserAgent => &mut self.user_agent,
            Role::Forwarded => &mut self.forwarded,
            Role::Limited => &mut self.limited,
            _ => return,
        };
        slot.get_or_insert(value);
    }

    fn stamp(&mut self, rank: u8, value: &[u8]) -> Result<(), SkipReason> {
        if self.logged.is_some_and(|(known, _)| known >= rank) {
            return Ok(());
        }
        let stamp = stamp::any(value).ok_or(SkipReason::BadTime)?;
        self.logged = Some((rank, stamp));
        Ok(())
    }

    fn size(&mut self, rank: u8, value: &[u8]) {
        if self.bytes.is_some_and(|(known, _)| known > rank) {
            return;
        }
        self.bytes_dash |= value == b"-";
        let size = if value == b"-" { Some(0) } else { number(value) };
        self.bytes = size.map(|size| (rank, size)).or(self.bytes);
    }

    /// The record, if there is a stamp and a client.
    ///
    /// # Errors
    /// As [`Layout::record`].
    fn finish(self, layout: &Layout) -> Result<Record<'a>, SkipReason> {
        let (_, logged) = self.logged.ok_or(SkipReason::BadTime)?;
        let arrival = self.arrival.map_or_else(
            || match self.duration_us.filter(|_| layout.stamps_end) {
                Some(duration_us) => logged.instant_us.saturating_sub(duration_us),
                None => logged.instant_us,
            },
            |arrival| arrival.instant_us,
        );
        let duration_us = self.duration_us.or_else(|| {
            let arrival = self.arrival?;
            stamp::plausible(logged.instant_us.saturating_sub(arrival.instant_us))
        });
        Ok(Record {
            client: client(self.client, self.forwarded)?,
            client_port: self.client_port,
            peer: self.peer.and_then(|peer| Client::parse(peer).ok()),
            logged_us: logged.instant_us,
            arrival_us: arrival,
            decimals: match self.arrival {
                Some(arrival) if !layout.is_read_back() => arrival.decimals,
                _ => logged.decimals,
            },
            request: match self.line {
                Some(line) => RequestText::Line(line),
                None => RequestText::Parts {
                    method: self.method,
                    target: self.target,
                    query: self.query,
                    protocol: self.protocol,
                },
            },
            scheme: self.scheme,
            port: self.port,
            status: self.status,
            bytes: self.bytes.map(|(_, size)| size),
            duration_us,
            host: self.host,
            ident: self.ident,
            user: self.user,
            referer: self.referer,
            user_agent: self.user_agent,
            forwarded: self.forwarded,
            limited: self.limited,
            escape: layout.escape,
            form: Form { vhost: false, agent: true, bytes_dash: self.bytes_dash, goes_on: false },
        })
    }
}

/// The client; where the log leaves it empty, the one address that was forwarded, if it is one.
fn client<'a>(
    written: Option<&'a [u8]>,
    forwarded: Option<&'a [u8]>,
) -> Result<Client<'a>, SkipReason> {
    match written {
        None => Ok(forwarded.and_then(Address::parse).map_or(Client::Named(b"-"), Client::Address)),
        Some(text) => Client::parse(text),
    }
}

/// `address:port`, the address perhaps IPv6 with or without brackets.
pub fn split_port(text: &[u8]) -> (&[u8], Option<u16>) {
    let split = memchr::memrchr(b':', text).and_then(|at| text.split_at_checked(at));
    let Some((address, [_, port @ ..])) = split else { return (text, None) };
    let address = address.strip_prefix(b"[").and_then(|a| a.strip_suffix(b"]")).unwrap_or(address);
    match small(port) {
        Some(port) => (address, Some(port)),
        None => (text, None),
    }
}

fn small(text: &[u8]) -> Option<u16> {
    number(text).and_then(|value| u16::try_from(value).ok())
}

/// A decimal number of units as microseconds.
fn duration(text: &[u8], unit_us: u32) -> Option<i64> {
    let seconds = stamp::seconds(text)?;
    let us = i128::from(seconds.instant_us) * i128::from(unit_us) / 1_000_000;
    i64::try_from(us).ok().and_then(stamp::plausible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_split_off_at_the_last_colon() {
        assert_eq!(split_port(b"192.0.2.1:443"), (b"192.0.2.1".as_slice(), Some(443)));
        assert_eq!(split_port(b"[2001:db8::1]:80"), (b"2001:db8::1".as_slice(), Some(80)));
        assert_eq!(split_port(b"2001:db8::1:80"), (b"2001:db8::1".as_slice(), Some(80)));
        assert_eq!(split_port(b"unix:/x"), (b"unix:/x".as_slice(), None));
    }

    #[test]
    fn durations_are_read_in_their_unit() {
        assert_eq!(duration(b"0.683", 1_000_000), Some(683_000));
        assert_eq!(duration(b"683", 1_000), Some(683_000));
        assert_eq!(duration(b"683", 1), Some(683));
        assert_eq!(duration(b"-1", 1), None);
    }
}
