//! Clients with their addresses and user agents, and the addresses of the attackers.

use std::collections::HashSet;

use crate::agents::{Agents, Class};
use crate::alias::Alias;
use crate::pool::Pool;
use crate::rng::Rng;

/// One client with its main user agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    /// The number of its text in `Clients::texts`.
    pub(crate) text: u32,
    /// The rank of its user agent.
    pub(crate) agent: u32,
    /// An index into `outcome::PROTOCOLS`.
    pub(crate) protocol: u8,
    /// The class of its user agent.
    pub(crate) class: Class,
}

/// The clients by rank, the most frequent first.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The start of a line up to the time: `192.0.2.1 - - `.
    pub(crate) texts: Pool,
    pub(crate) list: Vec<Client>,
}

impl Clients {
    /// Draws `len` distinct clients, each with one of `agents`.
    pub(crate) fn new(len: usize, agents: &Agents, ranks: &Alias, rng: &mut Rng) -> Self {
        let mut clients = Self { texts: Pool::default(), list: Vec::with_capacity(len) };
        let mut seen = HashSet::with_capacity(len);
        while clients.list.len() < len {
            let name = name(rng);
            if seen.contains(&name) {
                continue;
            }
            let text = clients.texts.push(format!("{name} - {} ", user(rng)).as_bytes());
            let agent = ranks.draw(rng) as u32;
            let class = agents.classes[agent as usize];
            clients.list.push(Client { text, agent, protocol: protocol(class, rng), class });
            seen.insert(name);
        }
        clients
    }
}

/// The 254 hosts of the attacking network, which is reserved for documentation.
pub(crate) fn attackers() -> Pool {
    let mut pool = Pool::default();
    for host in 1..255 {
        pool.push(format!("203.0.113.{host} - - ").as_bytes());
    }
    pool
}

/// The host of the scanner, in another network reserved for documentation.
pub(crate) const SCANNER: &[u8] = b"198.51.100.23 - - ";

fn name(rng: &mut Rng) -> String {
    match rng.below(100) {
        0..88 => ipv4(rng),
        88..99 => ipv6(rng),
        _ => host(rng),
    }
}

/// A unicast address outside the reserved networks.
fn ipv4(rng: &mut Rng) -> String {
    let first = loop {
        let first = rng.between(1, 223);
        if !matches!(first, 10 | 100 | 127 | 169 | 172 | 192 | 198 | 203) {
            break first;
        }
    };
    format!("{first}.{}.{}.{}", rng.below(256), rng.below(256), rng.between(1, 254))
}

fn ipv6(rng: &mut Rng) -> String {
    let network = format!("2001:db8:{:x}:{:x}", rng.between(1, 0xffff), rng.between(1, 0xffff));
    if rng.below(4) == 0 {
        format!("{network}::{:x}", rng.between(1, 0xfff))
    } else {
        let mut part = || rng.between(0x1000, 0xffff);
        format!("{network}:{:x}:{:x}:{:x}:{:x}", part(), part(), part(), part())
    }
}

fn host(rng: &mut Rng) -> String {
    let network = rng.pick(&["dsl", "cable", "mobile", "dyn", "pool"]);
    let domain = rng.pick(&["example.net", "example.org", "isp.example"]);
    format!("{network}-{}-{}-{}.{domain}", rng.below(256), rng.below(256), rng.below(256))
}

fn user(rng: &mut Rng) -> &'static str {
    if rng.below(200) == 0 {
        rng.pick(&["alice", "bob", "carol", "dave@example.com", "erin", "shop-admin", "Mallory A."])
    } else {
        "-"
    }
}

fn protocol(class: Class, rng: &mut Rng) -> u8 {
    let dice = rng.below(100);
    match class {
        Class::Browser if dice < 68 => 2,
        Class::Browser if dice < 74 => 3,
        Class::Crawler if dice < 35 => 2,
        Class::Tool if dice < 8 => 0,
        Class::Browser | Class::Crawler | Class::Tool | Class::Monitor => 1,
    }
}
