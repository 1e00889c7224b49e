//! Addresses of identities: one each, or few that many share.

use ipnet::IpNet;

use super::random::{below, mixed};
use crate::units::address::Address;

/// What distinguishes this use of an identity's number from others.
const SLOT: u64 = 11;
const HOST: u64 = 12;

/// Addresses that a group may have.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Where they are; taken in turn.
    pub networks: Vec<IpNet>,
    /// How many are shared by all, in turn or as `busy` says; none: each identity has its own.
    pub shared: Option<u64>,
    /// Of the shared ones, so many that together have such a share of the identities, millionths.
    pub busy: Vec<(u64, u64)>,
    /// Whether the last 64 bits of IPv6 are drawn anew for each request.
    pub roams: bool,
}

impl Pool {
    /// Makes shared addresses fewer; the busiest go first, since fewer people can't fill them.
    pub(super) fn scale(&mut self, times: &impl Fn(u64) -> u64) {
        if let Some(shared) = &mut self.shared {
            *shared = times(*shared).max(1);
        }
        for (count, share_ppm) in &mut self.busy {
            let fewer = times(*count);
            *share_ppm = (u128::from(*share_ppm) * u128::from(fewer))
                .checked_div((*count).into())
                .and_then(|share| u64::try_from(share).ok())
                .map_or(0, |share| if *count == fewer { *share_ppm } else { share });
            *count = fewer;
        }
        self.busy.retain(|(count, _)| *count > 0);
    }

    /// The address of an identity, for a request with these random bits.
    pub fn address(&self, identity: u64, bits: u64) -> Address {
        let slot = self.slot(identity);
        let networks = u64::try_from(self.networks.len()).unwrap_or(0).max(1);
        let which = usize::try_from(slot % networks).unwrap_or(0);
        let inside = slot / networks;
        match self.networks.get(which) {
            Some(IpNet::V4(net)) => {
                let hosts = 1_u64 << (32 - u32::from(net.prefix_len()));
                let host = u32::try_from(inside % hosts).unwrap_or(0);
                Address::from_v4_bits(net.network().to_bits() | host)
            }
            Some(IpNet::V6(net)) => {
                let subnets = 64_u32.saturating_sub(net.prefix_len().into());
                let subnet = inside & 1_u64.checked_shl(subnets).map_or(u64::MAX, |many| many - 1);
                let host = if self.roams { bits } else { mixed(identity, HOST) };
                let bits = net.network().to_bits() | (u128::from(subnet) << 64) | u128::from(host);
                Address::from(std::net::IpAddr::V6(bits.into()))
            }
            None => Address::from_v4_bits(0),
        }
    }

    fn slot(&self, identity: u64) -> u64 {
        let Some(shared) = self.shared else { return identity };
        if self.busy.is_empty() {
            // as many people behind each
            return identity % shared.max(1);
        }
        let bits = mixed(identity, SLOT);
        let mut left = below(bits, 1_000_000);
        let mut before = 0;
        for (count, share_ppm) in &self.busy {
            if left < *share_ppm {
                // the same bits once more, finer
                return before + mixed(bits, SLOT) % count.max(&1);
            }
            left -= share_ppm;
            before += count;
        }
        before + mixed(bits, SLOT) % shared.saturating_sub(before).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(networks: &[&str], shared: Option<u64>) -> Pool {
        let networks = networks.iter().map(|net| net.parse().unwrap()).collect();
        Pool { name: String::new(), networks, shared, busy: vec![(1, 300_000)], roams: false }
    }

    #[test]
    fn each_has_its_own_address_in_its_network() {
        let pool = pool(&["240.0.0.0/8", "2001:db8:1000::/36"], None);
        let mut seen: Vec<Address> = (0..10_000).map(|of| pool.address(of, 0)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
        assert_eq!(pool.address(2, 7).to_string(), "240.0.0.1");
        assert!(pool.address(3, 7).to_string().starts_with("2001:db8:1000:1:"));
        assert_eq!(pool.address(3, 8), pool.address(3, 7));
        let roams = Pool { roams: true, ..pool };
        assert_eq!(roams.address(3, 7).truncate(32, 64), roams.address(3, 8).truncate(32, 64));
        assert_ne!(roams.address(3, 7), roams.address(3, 8));
    }

    #[test]
    fn a_busy_address_has_its_share_of_people() {
        let mut pool = pool(&["100.64.0.0/12"], Some(100));
        let of_busiest = |pool: &Pool| {
            (0..100_000).filter(|of| pool.address(*of, 0).to_string() == "100.64.0.0").count()
        };
        assert!((29_000..31_000).contains(&of_busiest(&pool)));
        let fewer = |count: u64| count / 10;
        pool.scale(&fewer);
        assert_eq!((pool.shared, pool.busy.len()), (Some(10), 0));
        assert_eq!(of_busiest(&pool), 10_000);
    }
}
