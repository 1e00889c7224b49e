//! Who asks the exported nginx for what: clients that come in bursts, over shared connections or their own.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length of the schedule.
const END_MS: u64 = 24_000;
/// Connections that all requests share which are answered at once.
const SHARED_HANDS: u64 = 8;

/// Above what the longest delay takes: a request that is sent when the response to a delayed one came would come
/// at the very edge of the limit that delayed it.
const LONGEST_MS: u64 = 450;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Shot {
    /// When to send it, in ms after the start.
    pub(crate) due_ms: u64,
    /// Whose request it is.
    pub(crate) client: Client,
    /// The path and query.
    pub(crate) target: String,
    /// The least ms after the response before, however late that came.
    pub(crate) apart_ms: u64,
}

/// A client as the last header of its requests tells it, and a cookie behind.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: IpAddr,
    user: Option<u64>,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        match self.user {
            Some(user) => write!(f, "\r\nCookie: a=b; uid=u{user}"),
            None => Ok(()),
        }
    }
}

/// A kind of client.
struct Habit {
    target: &'static str,
    clients: u64,
    /// Connections that a client has for itself; 0: its requests go over the shared ones.
    hands: u64,
    /// The most requests of a burst, ms between two of them, and between bursts.
    burst: u64,
    within_ms: u64,
    pause_ms: u64,
    /// Of so many requests one comes without a cookie.
    nameless: u64,
}

const fn habit(
    target: &'static str,
    clients: u64,
    hands: u64,
    burst: [u64; 3],
    nameless: u64,
) -> Habit {
    let [burst, within_ms, pause_ms] = burst;
    Habit { target, clients, hands, burst, within_ms, pause_ms, nameless }
}

const HABITS: [Habit; 9] = [
    habit("/v1/menu/7", 30, 0, [60, 12, 3_000], 3),
    habit("//v1/./m%65nu/8?a=b", 12, 0, [60, 12, 3_000], 3),
    habit("/v1/cart", 8, 6, [16, 600, 2_500], 7),
    habit("/v2/login", 20, 0, [30, 20, 2_500], 5),
    habit("/v1/search?p=1&q=term", 10, 0, [24, 60, 4_000], 4),
    habit("/v1/net/a/b", 60, 0, [8, 60, 6_000], 4),
    habit("/v1/shared", 12, 0, [24, 40, 4_000], 4),
    habit("/v1/strict", 12, 0, [24, 40, 4_000], 4),
    habit("/static/logo.png", 12, 0, [24, 40, 6_000], 4),
];

/// What each connection sends, in order.
pub(crate) fn hands() -> Vec<Vec<Shot>> {
    let count = usize::try_from(SHARED_HANDS).unwrap();
    let mut shared: Vec<Vec<Shot>> = vec![Vec::new(); count];
    let mut own = Vec::new();
    for (number, habit) in HABITS.iter().enumerate() {
        for client in 0..habit.clients {
            for hand in 0..habit.hands.max(1) {
                let mut random = Random(u64::try_from(number).unwrap() << 32 | client << 8 | hand);
                let shots = shots(habit, client, &mut random);
                if habit.hands > 0 {
                    own.push(shots);
                } else {
                    let at = usize::try_from(random.below(SHARED_HANDS)).unwrap();
                    shared[at].extend(shots);
                }
            }
        }
    }
    for hand in &mut shared {
        hand.sort_by_key(|shot| shot.due_ms);
    }
    for client in 0..8 {
        for hand in 0..6 {
            own.push(slow(client, hand));
        }
    }
    shared.extend(own);
    shared
}

fn shots(habit: &Habit, client: u64, random: &mut Random) -> Vec<Shot> {
    let mut shots = Vec::new();
    let mut due_ms = 100 + random.below(habit.pause_ms);
    while due_ms < END_MS {
        for _ in 0..=random.below(habit.burst) {
            let user = (random.below(habit.nameless) > 0).then_some(client / 2);
            let term = client / 3;
            let target = habit.target.replace("term", &format!("term{term}"));
            let client = Client { address: address(client), user };
            shots.push(Shot { due_ms, client, target, apart_ms: 0 });
            due_ms += random.below(habit.within_ms);
            if habit.hands > 0 {
                due_ms += LONGEST_MS;
            }
        }
        due_ms += random.below(habit.pause_ms);
    }
    shots
}

/// Requests that last, several of one client at a time.
fn slow(client: u64, hand: u64) -> Vec<Shot> {
    let mut random = Random(0x510e ^ client << 8 ^ hand);
    let mut due_ms = 100 + random.below(900);
    let mut shots = Vec::new();
    while due_ms < END_MS {
        let target = format!("/v1/slow?wait={}", 20 + random.below(600));
        let client = Client { address: address(client), user: None };
        shots.push(Shot { due_ms, client, target, apart_ms: 0 });
        due_ms += 700 + random.below(900);
    }
    shots
}

/// The address of a client: of the cloud, of a denied network within it, of neither, by IPv4 or IPv6.
fn address(client: u64) -> IpAddr {
    let [.., high, low] = client.to_be_bytes();
    match client % 6 {
        0 => Ipv4Addr::new(198, 18, high, low).into(),
        1 => Ipv4Addr::new(198, 18, 9, low).into(),
        2 => Ipv4Addr::new(198, 18, 10, low).into(),
        3 => Ipv6Addr::new(0x2001, 0xdb8, 0xc10d, client.try_into().unwrap(), 0, 0, 0, 7).into(),
        // two clients of one /64, and of one IPv4 network
        4 => Ipv6Addr::new(
            0x2001,
            0xdb8,
            0x5c,
            (client / 12).try_into().unwrap(),
            0,
            0,
            1,
            client.try_into().unwrap(),
        )
        .into(),
        _ => Ipv4Addr::new(203, 0, 113 + low % 16, low).into(),
    }
}

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    /// A number in 0..bound. The bias of a remainder is far below what a schedule needs.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
