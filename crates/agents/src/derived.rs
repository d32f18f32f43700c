//! What agents and referrers say, as derived fields.

use std::sync::Arc;

use weir_core::{Derivation, DerivedField, DerivedInput, DerivedInputs, DerivedName, Field};

use crate::ranges::CrawlerRanges;
use crate::reader::{AgentField, AgentLists};
use crate::referer::{Referers, referer_host};

/// The derived fields of this crate.
pub const DERIVED_NAMES: &[DerivedName] = &[
    DerivedName {
        name: "agent",
        about: "the browser or app and its major version, as Firefox 145",
    },
    DerivedName { name: "agent_family", about: "the browser or app" },
    DerivedName {
        name: "system",
        about: "the operating system, and its version if agents tell it",
    },
    DerivedName { name: "device", about: "desktop, phone, tablet or bot" },
    DerivedName { name: "crawler", about: "the name of the crawler, or unnamed bot" },
    DerivedName {
        name: "crawler_kind",
        about: "what the crawler is for: search, ai_training and so on",
    },
    DerivedName { name: "crawler_operator", about: "who runs the crawler, if that is certain" },
    DerivedName {
        name: "crawler_verified",
        about: "whether the crawler asks from an address of its operator, by --crawler-ranges",
    },
    DerivedName { name: "referer_host", about: "the host of the referrer, without www." },
    DerivedName {
        name: "referer_kind",
        about: "own, search, social, mail, ai_assistant or other, by the host of the referrer",
    },
];

/// The field of this name that an agent tells; `None` if there is none.
pub fn agent_field(name: &str, lists: &Arc<AgentLists>) -> Option<DerivedField> {
    let field = AgentField::by_name(name)?;
    Some(DerivedField::of_field(name, Field::UserAgent, OfAgent { lists: lists.clone(), field }))
}

/// The field of this name that a referrer tells; `None` if there is none.
pub fn referer_field(name: &str, referers: &Arc<Referers>) -> Option<DerivedField> {
    match name {
        "referer_host" => Some(DerivedField::of_field(name, Field::Referer, HostOfReferer)),
        "referer_kind" => {
            let inputs = [Field::Referer, Field::Host];
            let inputs = inputs.map(|field| DerivedInput::Text(field.name().to_owned()));
            let derivation = Arc::new(KindOfReferer(referers.clone()));
            Some(DerivedField::new(name, inputs.to_vec(), derivation))
        }
        _ => None,
    }
}

/// The field `crawler_verified`.
pub fn verified_field(lists: &Arc<AgentLists>, ranges: Arc<CrawlerRanges>) -> DerivedField {
    let text = |field: Field| DerivedInput::Text(field.name().to_owned());
    let inputs = vec![text(Field::UserAgent), text(Field::Client), DerivedInput::Time];
    let derivation = VerifiedCrawler { lists: lists.clone(), ranges };
    DerivedField::new("crawler_verified", inputs, Arc::new(derivation))
}

#[derive(Debug)]
struct OfAgent {
    lists: Arc<AgentLists>,
    field: AgentField,
}

impl Derivation for OfAgent {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        inputs.text(0).is_some_and(|agent| self.lists.append(self.field, agent, value))
    }
}

#[derive(Debug)]
struct HostOfReferer;

impl Derivation for HostOfReferer {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        inputs.text(0).is_some_and(|referer| referer_host(referer, value))
    }
}

#[derive(Debug)]
struct KindOfReferer(Arc<Referers>);

impl Derivation for KindOfReferer {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let kind = inputs.text(0).and_then(|referer| self.0.kind(referer, inputs.text(1)));
        value.extend_from_slice(kind.map_or("", |kind| kind.text()).as_bytes());
        kind.is_some()
    }
}

#[derive(Debug)]
struct VerifiedCrawler {
    lists: Arc<AgentLists>,
    ranges: Arc<CrawlerRanges>,
}

impl Derivation for VerifiedCrawler {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let crawler = inputs.text(0).and_then(|agent| self.lists.crawler(agent));
        // A tool and a robot without a name claim to be nobody.
        let Some(crawler) = crawler.filter(|crawler| crawler.kind.is_claim()) else { return false };
        let client = inputs.text(1).and_then(|client| str::from_utf8(client).ok());
        let address = client.and_then(|client| client.parse().ok());
        let time_s = inputs.time().map(|time| time.unix_ns.div_euclid(1_000_000_000));
        let verdict = self.ranges.verdict(crawler.name, address, time_s);
        value.extend_from_slice(verdict.text().as_bytes());
        true
    }
}
