//! Whether a log shows proxies instead of clients: a few private addresses, or a CDN's, carry nearly
//! everything. Limits read off such a log would be the proxies', not the clients'.

use ipnet::IpNet;

use crate::traffic::Traffic;
use crate::units::address::Address;

/// Ranges as published; the file says when.
const CDN_RANGES: &str = include_str!("cdn_ranges.tsv");
/// Fewer requests than this prove nothing.
const MIN_REQUESTS: u64 = 100;
/// Private addresses that may be called few.
const FEW: usize = 16;

/// Addresses that look like proxies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxies {
    /// Whose they are: `private` or the name of a CDN.
    pub kind: String,
    /// How many addresses.
    pub addresses: usize,
    /// Requests they carry.
    pub requests: u64,
    /// All requests that have an address.
    pub of: u64,
}

/// Looks for proxies; the kind that carries most, if it carries enough.
pub fn suspect(traffic: &Traffic) -> Option<Proxies> {
    let mut counts = vec![0_u64; traffic.addresses.len()];
    for id in &traffic.events.addresses {
        if let Some(count) = usize::try_from(*id).ok().and_then(|id| counts.get_mut(id)) {
            *count += 1;
        }
    }
    let all: u64 = counts.iter().sum();
    if all < MIN_REQUESTS {
        return None;
    }
    let loads = || traffic.addresses.iter().copied().zip(counts.iter().copied());
    private(loads(), all).or_else(|| cdn(loads(), all))
}

/// The busiest few private addresses carry nine tenths of all requests.
fn private(loads: impl Iterator<Item = (Address, u64)>, all: u64) -> Option<Proxies> {
    let mut busy: Vec<u64> =
        loads.filter(|(address, _)| address.is_private()).map(|(_, load)| load).collect();
    busy.sort_unstable_by(|a, b| b.cmp(a));
    busy.truncate(FEW);
    let requests: u64 = busy.iter().sum();
    (requests * 10 >= all * 9).then(|| Proxies {
        kind: "private".to_owned(),
        addresses: busy.len(),
        requests,
        of: all,
    })
}

/// One CDN's addresses carry half of all requests.
fn cdn(loads: impl Iterator<Item = (Address, u64)>, all: u64) -> Option<Proxies> {
    let ranges = ranges();
    let mut found: Vec<Proxies> = Vec::new();
    for (address, load) in loads {
        let Some(kind) = provider(&ranges, address) else { continue };
        if let Some(proxies) = found.iter_mut().find(|proxies| proxies.kind == kind) {
            proxies.addresses += 1;
            proxies.requests += load;
        } else {
            let kind = kind.to_owned();
            found.push(Proxies { kind, addresses: 1, requests: load, of: all });
        }
    }
    found.into_iter().find(|proxies| proxies.requests * 2 >= all)
}

/// A range of addresses, both ends inside, and whose it is.
type Range = (u128, u128, &'static str);

/// The ranges, sorted; they don't overlap.
fn ranges() -> Vec<Range> {
    let mut ranges: Vec<Range> = CDN_RANGES
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, cidr)| cidr.parse::<IpNet>().ok().map(|net| (name, net)))
        .map(|(name, net)| {
            (Address::from(net.network()).bits(), Address::from(net.broadcast()).bits(), name)
        })
        .collect();
    ranges.sort_unstable();
    ranges
}

fn provider(ranges: &[Range], address: Address) -> Option<&'static str> {
    let after = ranges.partition_point(|(start, _, _)| *start <= address.bits());
    let (_, end, name) = ranges.get(after.checked_sub(1)?)?;
    (address.bits() <= *end).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Events;

    fn traffic(addresses: &[(&str, u32)]) -> Traffic {
        let mut sorted: Vec<(Address, u32)> = addresses
            .iter()
            .map(|(text, load)| (Address::parse(text.as_bytes()).unwrap(), *load))
            .collect();
        sorted.sort_unstable();
        let mut events = Events::default();
        for (id, (_, load)) in (0..).zip(&sorted) {
            events.addresses.extend((0..*load).map(|_| id));
        }
        let addresses = sorted.into_iter().map(|(address, _)| address).collect();
        Traffic { events, addresses, ..Traffic::default() }
    }

    #[test]
    fn few_private_addresses_or_a_cdn_look_like_proxies() {
        let balancers = suspect(&traffic(&[("10.0.0.1", 60), ("10.0.0.2", 50), ("8.8.8.8", 5)]));
        let balancers = balancers.unwrap();
        assert_eq!((balancers.kind.as_str(), balancers.addresses), ("private", 2));
        let cloudflare =
            suspect(&traffic(&[("104.16.1.1", 80), ("172.64.0.9", 30), ("8.8.8.8", 5)]));
        let cloudflare = cloudflare.unwrap();
        assert_eq!((cloudflare.kind.as_str(), cloudflare.requests), ("Cloudflare", 110));
        assert_eq!(suspect(&traffic(&[("8.8.8.8", 80), ("9.9.9.9", 30)])), None);
        assert_eq!(suspect(&traffic(&[("10.0.0.1", 60), ("8.8.8.8", 50)])), None);
        assert_eq!(suspect(&traffic(&[("10.0.0.1", 6)])), None);
    }

    #[test]
    fn every_published_range_is_read() {
        let lines = CDN_RANGES.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ranges().len(), lines);
        let disjoint = ranges().windows(2).all(|pair| pair[0].1 < pair[1].0);
        assert!(disjoint, "a search by start needs ranges that don't overlap");
    }
}
