//! What an agent says, as values of fields.

use crate::crawlers::{Crawler, CrawlerKind, Crawlers};
use crate::device::device;
use crate::expressions::Origin;
use crate::families::{Families, Name};
use crate::list::{ListError, ListOrigin};

/// The lists by which agents are read.
#[derive(Debug)]
pub struct AgentLists {
    families: Families,
    crawlers: Crawlers,
}

/// A value that an agent tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentField {
    /// The family and the major version of the browser, app or crawler: `Firefox 145`.
    Agent,
    /// Its family: `Firefox`.
    AgentFamily,
    /// The operating system, and its major version where agents tell the true one: `Android 14`.
    System,
    /// `desktop`, `phone`, `tablet` or `bot`.
    Device,
    /// The name of the crawler, or `unnamed bot`.
    Crawler,
    /// What the crawler is for.
    CrawlerKind,
    /// Who runs the crawler.
    CrawlerOperator,
}

/// The fields by name.
const FIELDS: [(&str, AgentField); 7] = [
    ("agent", AgentField::Agent),
    ("agent_family", AgentField::AgentFamily),
    ("system", AgentField::System),
    ("device", AgentField::Device),
    ("crawler", AgentField::Crawler),
    ("crawler_kind", AgentField::CrawlerKind),
    ("crawler_operator", AgentField::CrawlerOperator),
];

/// A list that is in use.
#[derive(Debug, Clone)]
pub struct ListSummary<'a> {
    /// What it is about.
    pub subject: &'static str,
    /// Where it is from.
    pub origin: &'a ListOrigin,
    /// How many expressions it has.
    pub expressions: usize,
}

impl AgentLists {
    /// The lists that the program contains.
    pub fn embedded() -> Self {
        Self { families: Families::embedded(), crawlers: Crawlers::embedded() }
    }

    /// Puts another list of families and systems into the place of the present one.
    ///
    /// # Errors
    /// If the list is not valid.
    pub fn replace_agents(&mut self, list: &[u8]) -> Result<(), ListError> {
        self.families = Families::read(list, Origin::User)?;
        Ok(())
    }

    /// Puts another list of crawlers into the place of the present one.
    ///
    /// # Errors
    /// If the list is not valid.
    pub fn replace_crawlers(&mut self, list: &[u8]) -> Result<(), ListError> {
        self.crawlers = Crawlers::read(list, Origin::User)?;
        Ok(())
    }

    /// The lists, as they are shown.
    pub fn summaries(&self) -> [ListSummary<'_>; 2] {
        let (families, crawlers) = (&self.families, &self.crawlers);
        [
            ListSummary {
                subject: "agents",
                origin: &families.origin,
                expressions: families.expressions(),
            },
            ListSummary {
                subject: "crawlers",
                origin: &crawlers.origin,
                expressions: crawlers.patterns(),
            },
        ]
    }

    /// Returns the crawler that an agent names. Whatever browser it also names, it is a crawler.
    pub fn crawler<'a>(&'a self, agent: &'a [u8]) -> Option<Crawler<'a>> {
        self.crawlers.find(agent)
    }

    /// Appends a value that an agent tells. Returns false if it does not tell it.
    pub fn append(&self, field: AgentField, agent: &[u8], value: &mut Vec<u8>) -> bool {
        let crawler = self.crawler(agent);
        let crawler = crawler.as_ref();
        let text = |text: Option<&str>, value: &mut Vec<u8>| {
            value.extend_from_slice(text.unwrap_or_default().as_bytes());
            text.is_some()
        };
        match field {
            AgentField::Agent => append_name(self.family(agent, crawler), true, value),
            AgentField::AgentFamily => append_name(self.family(agent, crawler), false, value),
            AgentField::System if crawler.is_some() => false,
            AgentField::System => append_name(self.system(agent), true, value),
            AgentField::Device if crawler.is_some() => text(Some("bot"), value),
            AgentField::Device => text(device(agent), value),
            AgentField::Crawler => text(crawler.map(|it| it.name), value),
            AgentField::CrawlerKind => text(crawler.map(|it| it.kind.text()), value),
            AgentField::CrawlerOperator => text(crawler.and_then(|it| it.operator), value),
        }
    }

    /// Returns the family: that of a crawler is its name, unless it has none.
    fn family(&self, agent: &[u8], crawler: Option<&Crawler>) -> Option<Name> {
        match crawler {
            Some(named) if named.kind != CrawlerKind::Unnamed => Some(Name {
                name: named.name.as_bytes().to_vec(),
                major: named.major.map(<[u8]>::to_vec),
            }),
            _ => self.families.family(agent),
        }
    }

    /// Returns the system. The version is left out where agents say the same whatever the version:
    /// Windows since 10, macOS, Chrome OS, and the Android and iOS of browsers with frozen agents.
    fn system(&self, agent: &[u8]) -> Option<Name> {
        let mut system = self.families.system(agent)?;
        let has = |text: &str| memchr::memmem::find(agent, text.as_bytes()).is_some();
        let is_frozen = match &*system.name {
            b"Windows" => system.major.as_deref() == Some(b"10"),
            b"Mac OS X" => system.major.as_deref() == Some(b"10"),
            b"Android" => has("Android 10; K)"),
            b"iOS" => safari_version(agent).is_some_and(|version| version >= FROZEN_IOS),
            b"Chrome OS" | b"Linux" => true,
            _ => false,
        };
        if is_frozen {
            system.major = None;
        }
        Some(system)
    }
}

/// The version of Safari since which agents say that iOS is 18, whatever it is.
const FROZEN_IOS: u32 = 26;

/// The major version after `Version/`.
fn safari_version(agent: &[u8]) -> Option<u32> {
    const WORD: &[u8] = b"Version/";
    let start = memchr::memmem::find(agent, WORD)? + WORD.len();
    let digits = agent[start..].iter().take_while(|byte| byte.is_ascii_digit()).take(4);
    Some(digits.fold(0, |version, digit| version * 10 + u32::from(digit - b'0')))
}

fn append_name(name: Option<Name>, has_version: bool, value: &mut Vec<u8>) -> bool {
    let Some(name) = name else { return false };
    value.extend_from_slice(&name.name);
    if let Some(major) = name.major.filter(|_| has_version) {
        value.push(b' ');
        value.extend_from_slice(&major);
    }
    true
}

impl AgentField {
    /// The field of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        FIELDS.iter().find(|known| known.0 == name).map(|known| known.1)
    }
}
