//! Who asks for what and when: a schedule of some seventy seconds, the same for the same seed. Clients
//! come in bursts, in steady spells near their limit, and after more than a minute away.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length of the schedule.
const END_MS: u64 = 70_000;
/// Connections that all routes without waiting share: one answers in a fraction of a millisecond.
const SHARED_HANDS: usize = 10;

/// From an edge of a limit it is farther than the ms by which clocks differ, and less than to the next one.
const APART_MS: u64 = 13;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shot {
    /// When to send it, in ms after the start.
    pub(crate) due_ms: u64,
    /// Whose request it is.
    pub(crate) client: IpAddr,
    /// The path and query.
    pub(crate) target: String,
    /// The least ms after the response before, however late that came.
    pub(crate) apart_ms: u64,
}

/// How clients of one route behave.
struct Habit {
    route: &'static str,
    clients: u64,
    /// Connections a client has for itself; 0: its requests go over the shared ones.
    hands: u64,
    /// The most requests of a burst.
    burst: u64,
    /// The most ms between two requests of a burst.
    within_ms: u64,
    /// The most ms between two bursts.
    pause_ms: u64,
    /// About so many ms between the requests of a steady spell.
    steady_ms: u64,
    /// The most ms that the backend is asked to wait.
    wait_ms: u64,
    /// The least ms between two requests of one connection. Above the longest response, requests come at
    /// their own time: one sent when a response came would come at the very edge of the limit that
    /// delayed the other. On a machine that is late [`APART_MS`] keeps them from it.
    least_ms: u64,
}

/// A habit over the shared connections.
const fn quick(
    route: &'static str,
    clients: u64,
    [burst, within_ms, pause_ms, steady_ms]: [u64; 4],
) -> Habit {
    Habit {
        route,
        clients,
        hands: 0,
        burst,
        within_ms,
        pause_ms,
        steady_ms,
        wait_ms: 0,
        least_ms: 0,
    }
}

const HABITS: [Habit; 13] = [
    quick("address", 48, [40, 25, 5_000, 85]),
    quick("minute", 120, [9, 400, 14_000, 2_900]),
    quick("rare", 120, [7, 900, 20_000, 8_200]),
    quick("eight", 36, [30, 25, 4_000, 85]),
    quick("spacing", 40, [12, 450, 3_000, 85]),
    quick("pair", 36, [24, 25, 6_000, 80]),
    quick("narrow", 36, [18, 50, 7_000, 230]),
    quick("wide", 36, [18, 50, 7_000, 250]),
    quick("enforced", 60, [16, 90, 6_000, 170]),
    quick("two-delays", 36, [24, 60, 9_000, 550]),
    Habit {
        route: "queued",
        clients: 24,
        hands: 5,
        burst: 4,
        within_ms: 1_100,
        pause_ms: 4_000,
        steady_ms: 1_200,
        wait_ms: 0,
        least_ms: 1_030,
    },
    Habit {
        route: "slow",
        clients: 16,
        hands: 6,
        burst: 8,
        within_ms: 1_000,
        pause_ms: 3_000,
        steady_ms: 900,
        wait_ms: 800,
        least_ms: 830,
    },
    Habit {
        route: "both",
        clients: 12,
        hands: 7,
        burst: 3,
        within_ms: 1_500,
        pause_ms: 4_500,
        steady_ms: 1_500,
        wait_ms: 500,
        least_ms: 1_350,
    },
];

/// What each connection sends, in order.
pub(crate) fn hands(seed: u64) -> Vec<Vec<Shot>> {
    let mut shared = vec![Vec::new(); SHARED_HANDS];
    let mut own = Vec::new();
    for (habit, number) in HABITS.iter().zip(1..) {
        for client in 0..habit.clients {
            for hand in 0..habit.hands.max(1) {
                let mut random = Random::new(seed, [number, client, hand]);
                let shots = habit.shots(client, &mut random);
                if habit.hands > 0 {
                    own.push(shots);
                } else {
                    shared[index(client, SHARED_HANDS)].extend(shots);
                }
            }
        }
    }
    own.push(idle_slow(&mut Random::new(seed, [101, 0, 0])));
    own.push(idle_deep(&mut Random::new(seed, [102, 0, 0])));
    own.append(&mut shared);
    for shots in &mut own {
        shots.sort();
    }
    own
}

impl Habit {
    fn shots(&self, client: u64, random: &mut Random) -> Vec<Shot> {
        let mut shots = Vec::new();
        // some come late: a new key is when nginx forgets old ones
        let mut now_ms = random.below(if client.is_multiple_of(3) { 66_000 } else { 3_000 });
        // some go away for more than a minute
        let (away_from_ms, away_for_ms) =
            if client % 8 == 1 { (4_000, 60_000 + random.below(2_000)) } else { (END_MS, 0) };
        while now_ms < END_MS {
            let steady = random.below(4) == 0;
            let count = 1 + random.below(if steady { 3 * self.burst } else { self.burst });
            for _ in 0..count {
                shots.push(Shot {
                    due_ms: now_ms,
                    client: address(client),
                    target: self.target(random),
                    apart_ms: if self.least_ms > 0 { APART_MS } else { 0 },
                });
                let gap_ms = if steady {
                    self.steady_ms * (900 + random.below(200)) / 1_000
                } else {
                    random.below(self.within_ms + 1)
                };
                now_ms += gap_ms.max(self.least_ms);
                if now_ms >= away_from_ms && now_ms < away_from_ms + away_for_ms {
                    now_ms += away_for_ms;
                }
                if now_ms >= END_MS {
                    return shots;
                }
            }
            now_ms += random.below(self.pause_ms);
        }
        shots
    }

    fn target(&self, random: &mut Random) -> String {
        if self.wait_ms == 0 {
            format!("/{}", self.route)
        } else {
            format!("/{}?wait={}", self.route, 1 + random.below(self.wait_ms))
        }
    }
}

/// Keys of one request a minute that ask once, then again after about a minute, while new keys arrive:
/// a key that nginx has forgotten meanwhile passes where the others are refused.
fn idle_slow(random: &mut Random) -> Vec<Shot> {
    let shot = |due_ms, client: u64| Shot {
        due_ms,
        client: address(1_000 + client),
        target: "/idle-slow".to_owned(),
        apart_ms: 0,
    };
    let mut shots = Vec::new();
    for client in 0..400 {
        let first_ms = 100 + random.below(4_000);
        shots.push(shot(first_ms, client));
        if client.is_multiple_of(4) {
            // a refused request makes the key younger, not its last admission
            shots.push(shot(first_ms + 20_000 + random.below(39_000), client));
        }
        for _ in 0..2 {
            shots.push(shot(first_ms + 59_500 + random.below(4_500), client));
        }
    }
    for new in 0..120 {
        shots.push(shot(60_000 + random.below(8_000), 1_000 + new));
    }
    shots
}

/// Keys that fill most of a burst that a minute empties, go away for just over it, and fill it again
/// beyond its end: one forgotten meanwhile has up to one request more.
fn idle_deep(random: &mut Random) -> Vec<Shot> {
    let mut shots = Vec::new();
    for client in 0..16 {
        let first_ms = 200 + random.below(4_000);
        let again_ms = first_ms + 60_050 + random.below(1_700);
        let all = std::iter::repeat_n(first_ms, 31).chain(std::iter::repeat_n(again_ms, 44));
        for due_ms in all {
            let target = "/idle-deep".to_owned();
            shots.push(Shot { due_ms, client: address(3_000 + client), target, apart_ms: 0 });
        }
    }
    for new in 0..6 {
        let due_ms = 60_000 + random.below(6_000);
        let target = "/idle-deep".to_owned();
        shots.push(Shot { due_ms, client: address(4_000 + new), target, apart_ms: 0 });
    }
    shots
}

/// The address of a client: every fifth by IPv6, of which all share one /64.
fn address(client: u64) -> IpAddr {
    let [.., high, low] = client.to_be_bytes();
    if client % 5 == 4 {
        let host = u16::from_be_bytes([high, low]);
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x5c, 7, 0, 0, 0, host))
    } else {
        IpAddr::V4(Ipv4Addr::new(198, 18, high, low))
    }
}

fn index(number: u64, of: usize) -> usize {
    usize::try_from(number).unwrap() % of
}

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    /// A stream of its own for each path of numbers.
    fn new(seed: u64, path: [u64; 3]) -> Self {
        let mut random = Self(seed);
        for step in path {
            random.0 = random.next() ^ step;
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in 0..bound. The bias of a remainder is far below what a schedule needs.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
