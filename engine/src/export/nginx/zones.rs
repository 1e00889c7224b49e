//! What nginx is told of one limit: its zone and how large it is, its rate, its burst.

use crate::limiter::nginx::{Delay, Nginx};
use crate::policy::{Limit, LimitKey};
use crate::site::Site;

use super::keys::Value;

/// Keys of a few bytes that a megabyte of a zone of `limit_req` holds: 128 bytes each
/// (<https://nginx.org/en/docs/http/ngx_http_limit_req_module.html#limit_req_zone>).
const RATES_PER_MB: u64 = 8_000;
/// The same of `limit_conn`: 64 bytes each
/// (<https://nginx.org/en/docs/http/ngx_http_limit_conn_module.html#limit_conn_zone>).
const CONNECTIONS_PER_MB: u64 = 16_000;
/// The size where nobody says how many keys there are, megabytes.
const USUAL_MB: u64 = 10;
/// The largest zone that is written, megabytes.
const LARGEST_MB: u64 = 4_096;
/// The most that nginx takes for `limit_conn`.
pub(super) const MOST_CONNECTIONS: u64 = 65_535;

/// A zone's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Megabytes.
    pub(super) mb: u64,
    /// Keys that it holds.
    pub(super) keys: u64,
    /// Keys that are expected, if the site says it.
    pub(super) expected: Option<u64>,
}

impl Size {
    /// Of the zone of a limit's keys.
    pub(super) fn of(site: &Site, key: &LimitKey, values: &[Value], connections: bool) -> Self {
        let short = values.iter().all(|value| value.short);
        let of_short = if connections { CONNECTIONS_PER_MB } else { RATES_PER_MB };
        // text takes the next larger piece of memory
        let per_mb = if short { of_short } else { of_short / 2 };
        let names: Vec<&str> = key.name.split('+').filter(|name| *name != "global").collect();
        let count = |name: &&str| match *name {
            "route" => u64::try_from(site.routes.len()).ok(),
            name => site.keys_available.get(name).copied(),
        };
        let expected = names
            .iter()
            .try_fold(1_u64, |all, name| count(name).map(|count| all.saturating_mul(count)));
        let mb = expected.map_or(USUAL_MB, |keys| keys.div_ceil(per_mb)).clamp(1, LARGEST_MB);
        Self { mb, keys: mb.saturating_mul(per_mb), expected }
    }

    /// What a comment says of it.
    pub(super) fn words(self) -> String {
        let Self { mb, keys, expected } = self;
        match expected {
            Some(1) => format!("{mb} MB, one key"),
            Some(expected) if expected > keys => {
                format!(
                    "{mb} MB hold some {keys} keys, and {expected} are expected: a full zone forgets the oldest, and refuses what still finds no room"
                )
            }
            Some(expected) => format!("{mb} MB hold some {keys} keys; {expected} are expected"),
            None => format!("{mb} MB hold some {keys} keys; [keys_available] of the site sizes it"),
        }
    }
}

/// The rate as it is written, such that nginx stores the same; `None` where it can't.
pub(super) fn rate(nginx: &Nginx) -> Option<String> {
    if nginx.rate_milli > 0 && nginx.rate_milli.is_multiple_of(1_000) {
        return Some(format!("{}r/s", nginx.rate_milli / 1_000));
    }
    let per_minute = nginx.rate_milli.checked_mul(60)?.div_ceil(1_000);
    (per_minute > 0 && per_minute * 1_000 / 60 == nginx.rate_milli)
        .then(|| format!("{per_minute}r/m"))
}

/// What follows `limit_req`.
pub(super) fn request(zone: &str, nginx: &Nginx) -> String {
    // nginx takes no burst of 0, which is what it has without
    let burst = if nginx.burst == 0 { String::new() } else { format!(" burst={}", nginx.burst) };
    let delay = match nginx.delay {
        Delay::None => " nodelay".to_owned(),
        Delay::All | Delay::After(0) => String::new(),
        Delay::After(requests) => format!(" delay={requests}"),
    };
    format!("limit_req zone={zone}{burst}{delay};")
}

/// What follows `limit_conn`.
pub(super) fn connections(zone: &str, limit: u64) -> String {
    format!("limit_conn {zone} {limit};")
}

/// A zone's name: the policy's limit by number and name.
pub(super) fn zone_name(number: usize, limit: &Limit) -> String {
    let name = super::super::plain_name(&limit.name);
    let parted = if name.is_empty() { "" } else { "_" };
    format!("{}{number}{parted}{name}", super::maps::PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::nginx::Reclaim;
    use crate::units::rate::Rate;

    fn nginx(rate_milli: u64, burst: u64, delay: Delay) -> Nginx {
        Nginx { rate_milli, burst, delay, reclaim: Reclaim::Busy }
    }

    #[test]
    fn every_rate_that_can_be_written_is_stored_alike() {
        for count in 1..5_000 {
            for unit in ["s", "m"] {
                let stored = Nginx::stored_rate(Rate::parse(&format!("{count}r/{unit}")).unwrap());
                let written = rate(&nginx(stored, 0, Delay::All)).unwrap();
                assert_eq!(Nginx::stored_rate(Rate::parse(&written).unwrap()), stored, "{written}");
            }
        }
        assert_eq!(rate(&nginx(0, 0, Delay::All)), None);
        assert_eq!(rate(&nginx(17, 0, Delay::All)), None);
    }

    #[test]
    fn bursts_and_delays_are_what_nginx_takes() {
        let text = |burst, delay| request("z", &nginx(1_000, burst, delay));
        assert_eq!(text(0, Delay::All), "limit_req zone=z;");
        assert_eq!(text(0, Delay::None), "limit_req zone=z nodelay;");
        assert_eq!(text(7, Delay::None), "limit_req zone=z burst=7 nodelay;");
        assert_eq!(text(7, Delay::After(0)), "limit_req zone=z burst=7;");
        assert_eq!(text(7, Delay::After(3)), "limit_req zone=z burst=7 delay=3;");
    }
}
