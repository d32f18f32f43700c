//! Describes a client by its requests, read one after another.

use weir_core::{AddressBlock, Field, Record};
use weir_view::{ClientLooks, ClientProfile};

use crate::client_traits::{
    ClientAssessment, MONITOR, ROBOT, SEARCH_CRAWLER, SIGNED_IN, agent_flags, is_below_400, is_set,
    path_flags,
};

/// The fewest requests of which most failed that look like an attack.
const FAILED_MIN: u64 = 10;

/// Parts of paths that only scanners ask for, in lower case.
const SCANNED: [&[u8]; 16] = [
    b"/.env",
    b"/.git/",
    b"/.aws/",
    b"/.ssh/",
    b"/phpunit",
    b"/phpmyadmin",
    b"/cgi-bin/",
    b"/boaform",
    b"/actuator/",
    b"/etc/passwd",
    b"/../",
    b"/wp-config.php",
    b"/hnap1",
    b"/solr/admin",
    b"/dump.sql",
    b"/backup.zip",
];

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

/// What the requests of a client say about it, as far as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientRequests {
    flags: u8,
    requests: u64,
    errors: u64,
    /// Answers with a status of 400 to 499.
    refused: u64,
    has_scanned: bool,
    agent: Option<Box<[u8]>>,
    /// Whether that agent is a program's.
    is_program: bool,
    first_path: Option<Box<[u8]>>,
}

impl ClientRequests {
    /// Takes the next request of the client.
    pub fn take(&mut self, record: &Record<'_>) {
        let text = |field| record.text(field).filter(|value: &&[u8]| is_set(value));
        let (agent, path) = (text(Field::UserAgent), text(Field::Path));
        let status = record.text(Field::Status).unwrap_or_default();
        if self.requests == 0 {
            self.first_path = path.map(Into::into);
        }
        self.requests += 1;
        let of_agent = agent_flags(agent.unwrap_or_default());
        // A program says more about a client than the browsers that it pretends to be.
        let is_program = agent.is_some() && of_agent & ROBOT != 0;
        self.take_agent(agent.map(Into::into), is_program);
        self.flags |= of_agent;
        if is_below_400(status) {
            self.flags |= path.map_or(0, path_flags);
            self.flags |= text(Field::User).map_or(0, |_| SIGNED_IN);
        }
        self.errors += u64::from(matches!(status, [b'4'..=b'9', _, _]));
        self.refused += u64::from(matches!(status, [b'4', _, _]));
        self.has_scanned = self.has_scanned || path.is_some_and(is_scanned);
    }

    /// Adds the requests that follow.
    pub fn merge(&mut self, later: Self) {
        if self.requests == 0 {
            *self = later;
            return;
        }
        self.take_agent(later.agent, later.is_program);
        self.flags |= later.flags;
        self.requests += later.requests;
        self.errors += later.errors;
        self.refused += later.refused;
        self.has_scanned |= later.has_scanned;
    }

    /// Keeps the first agent, or the first one of a program.
    fn take_agent(&mut self, agent: Option<Box<[u8]>>, is_program: bool) {
        if agent.is_some() && (self.agent.is_none() || is_program && !self.is_program) {
            (self.agent, self.is_program) = (agent, is_program);
        }
    }

    /// Describes the client, which is good if it is in one of the networks.
    pub fn profile(&self, client: &[u8], good_networks: &[AddressBlock]) -> ClientProfile {
        let is_named = AddressBlock::any_contains(good_networks, client);
        let assessed = ClientAssessment::new(self.flags, is_named);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        ClientProfile {
            client: text(client),
            looks: self.looks(assessed),
            good: assessed.reasons(),
            agent: self
                .agent
                .as_deref()
                .map(|agent| agent_family(&text(agent)).to_owned())
                .filter(|family| !family.is_empty()),
            first_path: self.first_path.as_deref().map(text),
            requests: self.requests,
            errors: self.errors,
        }
    }

    fn looks(&self, assessed: ClientAssessment) -> ClientLooks {
        let has_failed = self.requests >= FAILED_MIN && self.refused * 2 >= self.requests;
        match self.flags {
            _ if self.has_scanned => ClientLooks::Attack,
            // Whoever floods may call itself a crawler.
            flags if has_failed && flags & ROBOT != 0 => ClientLooks::Attack,
            flags if flags & SEARCH_CRAWLER != 0 => ClientLooks::Crawler,
            flags if flags & MONITOR != 0 => ClientLooks::Monitor,
            _ if assessed.is_human() => ClientLooks::Person,
            _ if has_failed => ClientLooks::Attack,
            flags if flags & ROBOT != 0 => ClientLooks::Program,
            _ => ClientLooks::Unknown,
        }
    }
}

fn is_scanned(path: &[u8]) -> bool {
    let path = path.to_ascii_lowercase();
    SCANNED.iter().any(|part| path.windows(part.len()).any(|window| window == *part))
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
    use weir_core::{AddressBlock, Field, Record};
    use weir_view::{ClientLooks, GoodReason};

    use super::{ClientRequests, agent_family};

    const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

    fn requests(list: &[(&str, &str, &str)]) -> ClientRequests {
        let mut client = ClientRequests::default();
        for (agent, path, status) in list {
            let mut record = Record::new();
            record.put_text(Field::UserAgent, Some(agent.as_bytes()));
            record.put_text(Field::Path, Some(path.as_bytes()));
            record.put_text(Field::Status, Some(status.as_bytes()));
            client.take(&record);
        }
        client
    }

    #[test]
    fn clients_look_like_what_they_do() {
        let page = (BROWSER, "/", "200");
        let style = (BROWSER, "/site.css", "200");
        let missing = (BROWSER, "/a", "404");
        for (list, looks) in [
            (vec![page, style], ClientLooks::Person),
            (vec![page], ClientLooks::Unknown),
            (vec![("curl/8.5.0", "/", "200")], ClientLooks::Program),
            (vec![("-", "/", "200")], ClientLooks::Program),
            (vec![missing; 10], ClientLooks::Attack),
            (vec![missing; 9], ClientLooks::Unknown),
            (vec![page, style, (BROWSER, "/.env", "404")], ClientLooks::Attack),
            (vec![("Googlebot/2.1", "/", "200")], ClientLooks::Crawler),
            (vec![("Googlebot/2.1", "/a", "404"); 10], ClientLooks::Attack),
            (vec![("kube-probe/1.29", "/health", "200")], ClientLooks::Monitor),
        ] {
            let profile = requests(&list).profile(b"192.0.2.7", &[]);
            assert_eq!(profile.looks, looks, "{list:?}");
            assert_eq!(profile.requests, list.len() as u64);
        }
    }

    #[test]
    fn parts_of_a_log_add_up() {
        let (page, missing) = ((BROWSER, "/first", "200"), ("curl/8", "/then", "500"));
        let mut first = requests(&[page, missing]);
        first.merge(requests(&[missing, page]));
        assert_eq!(first, requests(&[page, missing, missing, page]));
        let mut none = ClientRequests::default();
        none.merge(first.clone());
        assert_eq!(none, first);
        let nameless = ("-", "/then", "500");
        let mut parts = requests(&[page, nameless]);
        parts.merge(requests(&[nameless, missing]));
        assert_eq!(parts, requests(&[page, nameless, nameless, missing]));
        assert_eq!(parts.profile(b"192.0.2.7", &[]).agent.as_deref(), Some("curl"));
        let networks = [AddressBlock::parse("192.0.2.0/24").expect("a network")];
        let profile = first.profile(b"192.0.2.7", &networks);
        assert_eq!(profile.good, [GoodReason::NamedNetwork]);
        assert_eq!((profile.requests, profile.errors), (4, 2));
        assert_eq!(profile.first_path.as_deref(), Some("/first"));
        assert_eq!(profile.agent.as_deref(), Some("curl"), "the program among its agents");
    }

    #[test]
    fn agents_have_families() {
        for (agent, family) in [
            (BROWSER, "Firefox"),
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
