//! Decides what a client looks like, and whether it is good.

use weir_core::AddressBlock;
use weir_view::{ClientLooks, ClientProfile, GoodReason};

use super::marks::{ASSET, MONITOR, PAGE, ROBOT, SCANNED, SEARCH_CRAWLER, SIGNED_IN, USER_CLAIMED};

/// The fewest requests of which most were refused that look like an attack.
const REFUSED_MIN: u64 = 10;

/// Browsers in the order in which their names decide: all name Safari, and most name Chrome.
const BROWSERS: [(&str, &str); 7] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// What the requests of a client say about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAssessment {
    /// The marks of all its requests.
    pub(super) flags: u16,
    pub(super) requests: u64,
    /// Its requests that were answered with a status of 400 to 499.
    pub(super) refused: u64,
    /// Whether it is in a network that the person named.
    pub(super) is_named: bool,
    /// Whether it sends more than people, crawlers and monitors do.
    pub(super) floods: bool,
}

impl ClientAssessment {
    /// Returns what it looks like.
    pub(crate) fn looks(self) -> ClientLooks {
        let has = |flag: u16| self.flags & flag != 0;
        // A program that has to sign in may be refused before every request that it may make.
        let is_refused = self.requests >= REFUSED_MIN && self.refused * 2 > self.requests;
        match () {
            () if has(SCANNED) => ClientLooks::Attack,
            // Whoever floods may call itself a crawler.
            () if is_refused && has(ROBOT) => ClientLooks::Attack,
            () if has(SEARCH_CRAWLER) => ClientLooks::Crawler,
            () if has(MONITOR) => ClientLooks::Monitor,
            () if !has(ROBOT) && (has(PAGE) && has(ASSET) || has(SIGNED_IN)) => ClientLooks::Person,
            () if is_refused => ClientLooks::Attack,
            () if has(ROBOT) => ClientLooks::Program,
            () => ClientLooks::Unknown,
        }
    }

    /// Returns why it is good; empty if it is not. What an attack says about itself does not count.
    pub(crate) fn reasons(self) -> Vec<GoodReason> {
        let is_believed = self.looks() != ClientLooks::Attack;
        // Anyone can send an agent, so it protects nobody who floods.
        let is_claimed = is_believed && !self.floods;
        let has = |reason: &GoodReason| match reason {
            GoodReason::SignedIn => is_believed && self.flags & SIGNED_IN != 0,
            GoodReason::SearchCrawler => is_claimed && self.flags & SEARCH_CRAWLER != 0,
            GoodReason::Monitor => is_claimed && self.flags & MONITOR != 0,
            GoodReason::NamedNetwork => self.is_named,
        };
        GoodReason::ALL.into_iter().filter(has).collect()
    }

    /// Returns whether there is a reason.
    pub(crate) fn is_good(self) -> bool {
        !self.reasons().is_empty()
    }

    /// Returns whether a limit should not reject it, as [`ClientProfile::is_spared`] does.
    pub(crate) fn is_spared(self) -> bool {
        self.looks() == ClientLooks::Person && !self.floods || self.is_good()
    }

    /// Whether it floods, and so is not spared for what it claims to be.
    fn floods_beyond_its_claim(self) -> bool {
        use ClientLooks::{Crawler, Monitor, Person};
        self.floods && matches!(self.looks(), Person | Crawler | Monitor) && !self.is_good()
    }

    /// Describes it, with its first agent and path and the number of its errors.
    pub(super) fn profile(
        self,
        client: &[u8],
        agent: Option<&[u8]>,
        first_path: Option<&[u8]>,
        errors: u64,
    ) -> ClientProfile {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let family = |agent: &[u8]| agent_family(&text(agent)).to_owned();
        ClientProfile {
            client: text(client),
            looks: self.looks(),
            good: self.reasons(),
            claims_user: self.flags & USER_CLAIMED != 0 && self.flags & SIGNED_IN == 0,
            floods: self.floods_beyond_its_claim(),
            agent: agent.map(family).filter(|family| !family.is_empty()),
            first_path: first_path.map(text),
            requests: self.requests,
            errors,
        }
    }
}

/// Returns whether a client is in one of the networks.
pub(super) fn is_named(client: &[u8], networks: &[AddressBlock]) -> bool {
    AddressBlock::any_contains(networks, client)
}

/// Returns the name of the program that an agent names.
fn agent_family(agent: &str) -> &str {
    let named = |text: &'_ str| text.find(['/', ' ', '+', ';', ')', ',']).unwrap_or(text.len());
    // IIS writes plus signs for blanks.
    let compatible = |start: &str| agent.split_once(start).map(|(_, rest)| rest);
    if let Some(rest) = compatible("(compatible; ").or_else(|| compatible("(compatible;+")) {
        return &rest[..named(rest)];
    }
    if agent.starts_with("Mozilla/") {
        let browser = BROWSERS.iter().find(|(token, _)| agent.contains(token));
        return browser.map_or("Mozilla", |(_, name)| name);
    }
    &agent[..named(agent)]
}

#[cfg(test)]
mod tests {
    use weir_view::GoodReason;

    use super::super::marks::{
        ASSET, MONITOR, PAGE, ROBOT, SCANNED, SEARCH_CRAWLER, SIGNED_IN, USER_CLAIMED,
    };
    use super::{ClientAssessment, agent_family};

    fn assessed(flags: u16, refused: u64, is_named: bool) -> ClientAssessment {
        ClientAssessment { flags, requests: 20, refused, is_named, floods: false }
    }

    #[test]
    fn an_attack_is_good_only_in_a_named_network() {
        use GoodReason::{Monitor, NamedNetwork, SearchCrawler, SignedIn};
        for (flags, refused, is_named, reasons) in [
            (SIGNED_IN, 0, false, vec![SignedIn]),
            (SIGNED_IN | ROBOT, 10, false, vec![SignedIn]),
            (SIGNED_IN | ROBOT, 11, false, vec![]),
            (SIGNED_IN | SCANNED, 0, false, vec![]),
            (SEARCH_CRAWLER | ROBOT, 0, false, vec![SearchCrawler]),
            (SEARCH_CRAWLER | ROBOT, 20, false, vec![]),
            (MONITOR | ROBOT, 0, true, vec![Monitor, NamedNetwork]),
            (SCANNED, 20, true, vec![NamedNetwork]),
            (0, 0, false, vec![]),
        ] {
            let found = assessed(flags, refused, is_named);
            assert_eq!(found.reasons(), reasons, "{found:?}");
            assert_eq!(found.is_good(), !reasons.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn a_claim_does_not_protect_who_floods() {
        use GoodReason::{NamedNetwork, SignedIn};
        let person = PAGE | ASSET;
        for (flags, is_named, reasons, is_spared) in [
            (person, false, vec![], false),
            (SEARCH_CRAWLER | ROBOT, false, vec![], false),
            (MONITOR | ROBOT, false, vec![], false),
            (person | USER_CLAIMED, false, vec![], false),
            (person | SIGNED_IN, false, vec![SignedIn], true),
            (SEARCH_CRAWLER | ROBOT, true, vec![NamedNetwork], true),
        ] {
            let flood = ClientAssessment { floods: true, ..assessed(flags, 0, is_named) };
            let profile = flood.profile(b"192.0.2.7", None, None, 0);
            assert_eq!((&profile.good, profile.is_spared()), (&reasons, is_spared), "{flags}");
            assert_eq!(profile.floods, !is_spared, "{flags}");
            let slow = ClientAssessment { floods: false, ..flood };
            assert!(slow.profile(b"192.0.2.7", None, None, 0).is_spared(), "{flags}");
        }
        let claims = assessed(ROBOT | USER_CLAIMED, 0, false).profile(b"192.0.2.7", None, None, 0);
        assert!(claims.claims_user && !claims.is_spared());
    }

    #[test]
    fn agents_have_families() {
        for (agent, family) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox"),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/141.0 Safari/537.36",
                "Chrome",
            ),
            ("Mozilla/5.0 (Windows NT 10.0) Chrome/141.0 Safari/537.36 Edg/141.0", "Edge"),
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://example.com)", "Googlebot"),
            ("Mozilla/5.0+(compatible;+bingbot/2.0;++http://example.com)", "bingbot"),
            ("Mozilla/5.0", "Mozilla"),
            ("python-requests/2.31", "python-requests"),
            ("Go-http-client/1.1", "Go-http-client"),
            ("curl", "curl"),
            ("é/1", "é"),
        ] {
            assert_eq!(agent_family(agent), family);
        }
    }
}
