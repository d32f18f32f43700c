//! The clients, user agents and paths of the traffic, built once for a seed.

use crate::agents::{Agents, Class};
use crate::alias::Alias;
use crate::clients::{self, Client, Clients};
use crate::outcome::{GET, Outcomes, POST, RequestOutcome, Tail, size};
use crate::pool::Pool;
use crate::rng::Rng;
use crate::schedule::TrafficEvent;
use crate::site::{NO_REFERER, ResourceKind, Site};

/// The number of distinct clients, without those of the events.
const CLIENTS: usize = 60_000;
/// The number of distinct user agents.
const AGENTS: usize = 40_000;
/// The number of distinct paths, without those of the events.
const PATHS: usize = 36_000;

/// The parts of one line in their order, without the time, which follows `client`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'w> {
    /// `192.0.2.1 - - `
    pub(crate) client: &'w [u8],
    pub(crate) outcome: RequestOutcome,
    /// `/path?query`
    pub(crate) target: &'w [u8],
    /// ` HTTP/1.1" 200 `
    pub(crate) tail: &'w Tail,
    /// `None` for `-`.
    pub(crate) size: Option<u32>,
    /// ` "-" "`
    pub(crate) referer: &'w [u8],
    /// `curl/8.5.0"` and the line feed.
    pub(crate) agent: &'w [u8],
}

/// The pools of texts, and the tables from which they are drawn.
#[derive(Debug)]
pub(crate) struct World {
    agents: Agents,
    agent_ranks: Alias,
    clients: Clients,
    client_ranks: Alias,
    site: Site,
    outcomes: Outcomes,
    attackers: Pool,
}

const ATTACK_AGENTS: [&[u8]; 4] = [
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/80.0.3987.149 Safari/537.36\"\n",
    b"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:62.0) Gecko/20100101 Firefox/62.0\"\n",
    b"python-requests/2.28.1\"\n",
    b"-\"\n",
];

const PROBES: [&[u8]; 20] = [
    b"/.env",
    b"/.git/config",
    b"/wp-config.php.bak",
    b"/phpmyadmin/index.php",
    b"/cgi-bin/luci/;stok=/locale?form=country",
    b"/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    b"/actuator/health",
    b"/.aws/credentials",
    b"/server-status",
    b"/admin/config.php",
    b"/backup.zip",
    b"/index.php?page=../../../../etc/passwd",
    b"/solr/admin/info/system?wt=json",
    b"/boaform/admin/formLogin",
    b"/api/.env",
    b"/owa/auth/logon.aspx",
    b"/.DS_Store",
    b"/search?q=%3Cscript%3Ealert(1)%3C/script%3E",
    b"/?id=1%27%20OR%20%271%27=%271",
    b"/HNAP1/",
];

impl World {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let agents = Agents::new(AGENTS, rng);
        let agent_ranks = Alias::zipf(AGENTS, 10.0);
        let clients = Clients::new(CLIENTS, &agents, &agent_ranks, rng);
        Self {
            agents,
            agent_ranks,
            clients,
            client_ranks: Alias::zipf(CLIENTS, 20.0),
            site: Site::new(PATHS, rng),
            outcomes: Outcomes::new(),
            attackers: clients::attackers(),
        }
    }

    /// Draws the next line during an event.
    #[inline]
    pub(crate) fn parts(&self, event: TrafficEvent, rng: &mut Rng) -> Parts<'_> {
        match event {
            TrafficEvent::Attack if rng.below(100) < 87 => self.attack(rng),
            TrafficEvent::Scan if rng.below(100) < 25 => self.probe(rng),
            _ => self.visit(event == TrafficEvent::Outage, rng),
        }
    }

    /// Draws the start of a line.
    pub(crate) fn any_client(&self, rng: &mut Rng) -> &[u8] {
        self.clients.texts.get(self.clients.list[self.client_ranks.draw(rng)].text)
    }

    fn visit(&self, is_outage: bool, rng: &mut Rng) -> Parts<'_> {
        let client = self.clients.list[self.client_ranks.draw(rng)];
        let path = match client.class {
            Class::Browser | Class::Tool => self.site.browsed.draw(rng),
            Class::Crawler => self.site.crawled.draw(rng),
            Class::Monitor => self.site.health(),
        };
        let resource = self.site.resources[path];
        let outcome = self.outcomes.draw(resource.kind, is_outage, rng);
        Parts {
            client: self.clients.texts.get(client.text),
            outcome,
            target: self.site.paths.get(path as u32),
            tail: self.outcomes.tail(client.protocol, outcome),
            size: size(outcome, resource, rng),
            referer: self.referer(client.class, resource.kind, rng),
            agent: self.agents.texts.get(self.agent(client, rng)),
        }
    }

    /// Mostly the client's own user agent. Sometimes another, because several people may share an
    /// address.
    fn agent(&self, client: Client, rng: &mut Rng) -> u32 {
        if client.class != Class::Browser || rng.below(8) != 0 {
            return client.agent;
        }
        self.agent_ranks.draw(rng) as u32
    }

    fn referer(&self, class: Class, kind: ResourceKind, rng: &mut Rng) -> &[u8] {
        if class != Class::Browser {
            return NO_REFERER;
        }
        match (kind, rng.below(100)) {
            (ResourceKind::Page | ResourceKind::Moved, 0..42) | (_, 0..6) => NO_REFERER,
            (ResourceKind::Page | ResourceKind::Moved | ResourceKind::Gone, 42..66) => {
                self.site.foreign_referer(rng)
            }
            _ => self.site.own_referer(rng),
        }
    }

    /// A log-in attempt from the attacking network.
    fn attack(&self, rng: &mut Rng) -> Parts<'_> {
        let host = rng.below(self.attackers.len() as u32);
        let (target, referer): (&[u8], &[u8]) = if rng.below(3) == 0 {
            (b"/xmlrpc.php", NO_REFERER)
        } else {
            (b"/wp-login.php", b" \"https://www.example.com/wp-login.php\" \"")
        };
        let status = match rng.below(100) {
            0..38 => 401,
            38..72 => 403,
            72..97 => 429,
            _ => 200,
        };
        let outcome = RequestOutcome::new(POST, status);
        Parts {
            client: self.attackers.get(host),
            outcome,
            target,
            tail: self.outcomes.tail(1, outcome),
            size: Some(if status == 200 { 4_523 } else { 157 }),
            referer,
            agent: ATTACK_AGENTS[host as usize % ATTACK_AGENTS.len()],
        }
    }

    /// A request of the scanner for a vulnerable path.
    fn probe(&self, rng: &mut Rng) -> Parts<'_> {
        let status = rng.pick(&[&404, &404, &404, &404, &404, &403, &400, &301]);
        let outcome = RequestOutcome::new(GET, *status);
        Parts {
            client: clients::SCANNER,
            outcome,
            target: rng.pick(&PROBES),
            tail: self.outcomes.tail(1, outcome),
            size: Some(157),
            referer: NO_REFERER,
            agent: b"Mozilla/5.0 zgrab/0.x\"\n",
        }
    }
}
