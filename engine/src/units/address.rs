//! Internet addresses as one number, IPv4 folded into IPv6, with prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The high 96 bits that IPv4 addresses carry in their IPv4-mapped form (RFC 4291, 2.5.5.2).
const V4_MAPPED: u128 = 0xffff_0000_0000;
/// The part of a mapped address that is the IPv4 address.
const V4_MASK: u128 = 0xffff_ffff;

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address *is* its IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u128);

impl Address {
    /// Reads an address as logs write it: no port; `[…]` and a zone (`%eth0`) are taken off IPv6.
    pub fn parse(text: &[u8]) -> Option<Self> {
        parse_v4(text).or_else(|| parse_v6(text))
    }

    /// The address with only its leading bits kept: `v4` of 32 for IPv4, `v6` of 128 for IPv6.
    #[must_use]
    pub fn truncate(self, v4: u8, v6: u8) -> Self {
        let kept = if self.is_v4() { 96 + u32::from(v4.min(32)) } else { u32::from(v6.min(128)) };
        let mask = u128::MAX.checked_shl(128 - kept).unwrap_or(0);
        Self(self.0 & mask)
    }

    /// The address, with the prefix it was cut to unless that is all of it: `2001:db8::/64`.
    pub fn with_prefix(self, v4: u8, v6: u8) -> String {
        match if self.is_v4() { (v4, 32) } else { (v6, 128) } {
            (kept, whole) if kept < whole => format!("{self}/{kept}"),
            _ => self.to_string(),
        }
    }

    /// Whether this is an IPv4 address.
    pub fn is_v4(self) -> bool {
        self.0 & !V4_MASK == V4_MAPPED
    }

    /// The 32 bits of an IPv4 address.
    pub fn v4_bits(self) -> Option<u32> {
        self.is_v4().then(|| u32::try_from(self.0 & V4_MASK).unwrap_or(0))
    }

    /// An IPv4 address of its bits.
    pub fn from_v4_bits(bits: u32) -> Self {
        Self(V4_MAPPED | u128::from(bits))
    }

    /// The address as the standard library knows it.
    pub fn to_ip(self) -> IpAddr {
        let v6 = Ipv6Addr::from_bits(self.0);
        v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
    }

    /// The 128 bits, IPv4 in its mapped form.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Private, loopback, link-local or carrier-grade NAT space (RFC 1918, 6598, 3927, 4193): what
    /// a load balancer, a proxy or a health check shows, never a client on the internet.
    pub fn is_private(self) -> bool {
        match self.to_ip() {
            IpAddr::V4(v4) => {
                let [first, second, ..] = v4.octets();
                v4.is_private()
                    || v4.is_loopback()
                    || v4.is_link_local()
                    || (first == 100 && (64..128).contains(&second))
            }
            IpAddr::V6(v6) => {
                v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local()
            }
        }
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(v4) => Self::from_v4_bits(v4.to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ip().fmt(f)
    }
}

/// Dotted decimal, four parts of one to three digits; a hand-made loop since every line has one.
fn parse_v4(text: &[u8]) -> Option<Address> {
    if text.len() > 15 {
        return None;
    }
    let mut bits = 0_u32;
    let mut dots = 0_u8;
    let mut digits = 0_u8;
    let mut part = 0_u32;
    for &byte in text {
        if byte.is_ascii_digit() {
            part = part * 10 + u32::from(byte - b'0');
            digits += 1;
            if digits > 3 || part > 255 {
                return None;
            }
        } else if byte == b'.' && digits > 0 && dots < 3 {
            bits = bits << 8 | part;
            dots += 1;
            digits = 0;
            part = 0;
        } else {
            return None;
        }
    }
    let whole = dots == 3 && digits > 0;
    whole.then(|| Address::from_v4_bits(bits << 8 | part))
}

fn parse_v6(text: &[u8]) -> Option<Address> {
    let text = text.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(text);
    let end = memchr::memchr(b'%', text).unwrap_or(text.len());
    let text = std::str::from_utf8(text.get(..end)?).ok()?;
    text.parse::<Ipv6Addr>().ok().map(|v6| IpAddr::V6(v6).into())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn mapped_addresses_are_ipv4() {
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_eq!(address("::ffff:c000:201").to_string(), "192.0.2.1");
        assert_eq!(address("[2001:db8::1%eth0]").to_string(), "2001:db8::1");
    }

    #[test]
    fn what_is_not_an_address_is_none() {
        for text in [
            "",
            "-",
            "1.2.3",
            "1.2.3.4.5",
            "256.1.1.1",
            "1..2.3",
            "1.2.3.4:80",
            "1.2.3.4,",
            "host",
            "0001.2.3.4",
        ] {
            assert_eq!(Address::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn prefixes_keep_leading_bits() {
        assert_eq!(address("192.0.2.77").truncate(24, 64), address("192.0.2.0"));
        assert_eq!(address("192.0.2.77").truncate(32, 64), address("192.0.2.77"));
        assert_eq!(address("2001:db8:1:2:3::4").truncate(32, 64), address("2001:db8:1:2::"));
        assert_eq!(address("2001:db8::4").truncate(32, 0), address("::"));
    }

    #[test]
    fn private_space_is_known() {
        for text in [
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "127.0.0.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(address(text).is_private(), "{text}");
        }
        for text in ["172.32.0.1", "100.128.0.1", "8.8.8.8", "2001:db8::1"] {
            assert!(!address(text).is_private(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_addresses_read_back(bits in any::<u128>(), v4 in any::<u32>()) {
            for ip in [IpAddr::V6(Ipv6Addr::from_bits(bits)), IpAddr::V4(Ipv4Addr::from_bits(v4))] {
                let known = Address::from(ip);
                prop_assert_eq!(Address::parse(known.to_string().as_bytes()), Some(known));
                let folded = known.v4_bits().map_or(known, Address::from_v4_bits);
                prop_assert_eq!(folded, known);
            }
        }
    }
}
