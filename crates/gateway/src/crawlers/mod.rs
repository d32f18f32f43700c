//! Web Bot Auth: requests that crawlers sign (RFC 9421), verified with the keys that their operators
//! publish.
//!
//! The rules are those of draft-meunier-web-bot-auth-architecture and
//! draft-meunier-http-message-signatures-directory. Only directories of the configuration are fetched:
//! a request that could name any server would let strangers choose what the gateway connects to.

mod signature_base;
mod structured;

use std::sync::Arc;

use hyper::header::HeaderName;
use hyper::http::request::Parts;

use self::signature_base::{authority, field, signature_base};
pub use self::structured::canonical_dictionary;
use self::structured::{InnerList, Item, Member, Value, parse_dictionary, parse_item};
use crate::fetch::{Authorities, FetchUrl, InvalidFetchUrl, TrustError};
use crate::token::{KeyDirectory, RefreshRules};

/// The tag of these signatures.
const TAG: &str = "web-bot-auth";

/// The path of the keys at the origin of an agent.
const DIRECTORY: &str = "/.well-known/http-message-signatures-directory";

/// The longest validity of a signature. In this time it can be sent again.
const VALIDITY_S_MAX: i64 = 86_400;

/// The tolerated difference between clocks.
const LEEWAY_S: i64 = 60;

/// The crawlers whose signatures are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlerConfig {
    /// The origins of their key directories in lower case, as in `Signature-Agent`.
    pub agents: Vec<String>,
    /// The hosts of this gateway in lower case, with a port that is not that of the scheme. A
    /// signature for another host could be one that was sent to another site.
    pub hosts: Vec<String>,
    /// The certificate authorities for these; the system's if absent.
    pub authorities: Option<Authorities>,
    /// The header field that tells backends the host of a verified agent.
    pub field: Option<HeaderName>,
}

/// The crawlers in use, with their keys.
#[derive(Debug)]
pub(crate) struct Crawlers {
    config: CrawlerConfig,
    agents: Vec<Agent>,
}

/// A crawler, or several of one operator.
#[derive(Debug)]
struct Agent {
    origin: String,
    /// The host, with its port if it has one.
    host: Arc<str>,
    keys: Arc<KeyDirectory>,
}

/// A signature of a request that may be that of a crawler, before it is verified.
#[derive(Debug)]
pub(crate) struct CrawlerSignature {
    base: String,
    signature: Vec<u8>,
    key_id: String,
    agent: String,
}

/// Why a request is not that of a known crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrawlerFault {
    /// A field of the signature is malformed, or something is missing.
    Malformed,
    /// A component is absent or not supported.
    Component,
    /// It is for another host than those of the configuration.
    OtherHost,
    /// The host or the agent is not covered.
    Uncovered,
    /// It is not valid yet, has expired, or is valid for more than a day.
    Time,
    /// The configuration does not have the agent.
    UnknownAgent,
    /// The agent has no such key, or its keys could not be fetched yet.
    UnknownKey,
    /// The signature is not that of the key.
    Signature,
}

impl CrawlerFault {
    /// The text in captures of requests.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Malformed => "the signature is malformed",
            Self::Component => "the signature covers something that is absent",
            Self::OtherHost => "the host is not in `crawlers.hosts`",
            Self::Uncovered => "the signature does not cover the host and Signature-Agent",
            Self::Time => "the signature has expired, or is valid for more than a day",
            Self::UnknownAgent => "the agent is not in `crawlers`",
            Self::UnknownKey => "the key of the signature is not known",
            Self::Signature => "the signature is wrong",
        }
    }
}

/// Why no directory can be fetched.
#[derive(Debug)]
pub(crate) enum CrawlerProblem {
    Url(InvalidFetchUrl),
    Trust(TrustError),
}

impl CrawlerConfig {
    /// Returns the first reason why a directory cannot be fetched.
    pub(crate) fn problem(&self) -> Option<CrawlerProblem> {
        self.agents.iter().find_map(|agent| self.directory(agent).err())
    }

    fn directory(&self, agent: &str) -> Result<KeyDirectory, CrawlerProblem> {
        let url: FetchUrl = format!("{agent}{DIRECTORY}").parse().map_err(CrawlerProblem::Url)?;
        let rules = RefreshRules::default();
        KeyDirectory::new(agent, url, self.authorities.as_ref(), rules)
            .map_err(CrawlerProblem::Trust)
    }
}

impl Crawlers {
    /// Creates the crawlers of a configuration. Those with a [`problem`](CrawlerConfig::problem) are
    /// left out.
    pub(crate) fn new(config: &CrawlerConfig) -> Self {
        let agent = |origin: &String| {
            let keys = Arc::new(config.directory(origin).ok()?);
            let host = origin.split_once("://").map_or(&**origin, |(_, host)| host).into();
            Some(Agent { origin: origin.clone(), host, keys })
        };
        Self { agents: config.agents.iter().filter_map(agent).collect(), config: config.clone() }
    }

    pub(crate) fn config(&self) -> &CrawlerConfig {
        &self.config
    }

    /// The key directories, each with its name.
    pub(crate) fn directories(&self) -> impl Iterator<Item = (&Arc<KeyDirectory>, &Arc<str>)> {
        self.agents.iter().map(|agent| (&agent.keys, &agent.host))
    }

    /// Reads the signature of a request for one of the hosts, by an agent of the configuration.
    /// Returns `None` if it has none with the tag of
    /// crawlers.
    pub(crate) fn read(
        &self,
        request: &Parts,
        is_tls: bool,
        now_unix_s: i64,
    ) -> Option<Result<CrawlerSignature, CrawlerFault>> {
        if !request.headers.contains_key("signature-input") {
            return None;
        }
        let inputs = parse_dictionary(&field(&request.headers, "signature-input")?)?;
        let tagged = inputs.into_iter().find_map(|(label, member)| match member {
            Member::List(list) if text(&list, "tag") == Some(TAG) => Some((label, list)),
            _ => None,
        });
        let (label, components) = tagged?;
        Some(self.read_signature(request, is_tls, &label, &components, now_unix_s))
    }

    fn read_signature(
        &self,
        request: &Parts,
        is_tls: bool,
        label: &str,
        components: &InnerList,
        now_unix_s: i64,
    ) -> Result<CrawlerSignature, CrawlerFault> {
        let agent = agent_of(request, components)?;
        if !self.agents.iter().any(|known| known.origin == agent) {
            return Err(CrawlerFault::UnknownAgent);
        }
        let covers = |name: &str| components.items.iter().any(|it| is_named(it, name));
        if !covers("@authority") && !covers("@target-uri") {
            return Err(CrawlerFault::Uncovered);
        }
        let host = authority(request, is_tls).ok_or(CrawlerFault::Component)?;
        if !self.config.hosts.contains(&host) {
            return Err(CrawlerFault::OtherHost);
        }
        check_time(components, now_unix_s)?;
        let key_id = text(components, "keyid").ok_or(CrawlerFault::Malformed)?.to_owned();
        if text(components, "alg").is_some_and(|algorithm| algorithm != "ed25519") {
            return Err(CrawlerFault::Malformed);
        }
        let signatures = field(&request.headers, "signature");
        let signatures = signatures.as_deref().and_then(parse_dictionary);
        let signature = signatures.into_iter().flatten().find(|(name, _)| name == label);
        let Some((_, Member::Item(Item { value: Value::Bytes(signature), .. }))) = signature else {
            return Err(CrawlerFault::Malformed);
        };
        let base = signature_base(request, is_tls, components)?;
        Ok(CrawlerSignature { base, signature, key_id, agent })
    }

    /// Verifies a signature with the present keys, and returns the host of the agent. Never waits: if
    /// the key is not known, the directory is fetched for later requests.
    pub(crate) fn verify(
        &self,
        signature: &CrawlerSignature,
        now_unix_s: i64,
    ) -> Result<&Arc<str>, CrawlerFault> {
        let agent = self.agents.iter().find(|agent| agent.origin == signature.agent);
        let agent = agent.ok_or(CrawlerFault::UnknownAgent)?;
        let CrawlerSignature { base, signature, key_id, .. } = signature;
        match agent.keys.verify(key_id, base.as_bytes(), signature, now_unix_s) {
            None => Err(CrawlerFault::UnknownKey),
            Some(false) => Err(CrawlerFault::Signature),
            Some(true) => Ok(&agent.host),
        }
    }
}

fn check_time(components: &InnerList, now_unix_s: i64) -> Result<(), CrawlerFault> {
    let number = |name: &str| match parameter(components, name) {
        Some(Value::Integer(number)) => Ok(*number),
        _ => Err(CrawlerFault::Malformed),
    };
    let (created, expires) = (number("created")?, number("expires")?);
    let is_current = created <= now_unix_s.saturating_add(LEEWAY_S)
        && now_unix_s <= expires.saturating_add(LEEWAY_S);
    let is_short = (0..=VALIDITY_S_MAX).contains(&expires.saturating_sub(created));
    if is_current && is_short { Ok(()) } else { Err(CrawlerFault::Time) }
}

/// The origin of the agent, in the part of `Signature-Agent` that is covered. The field is a text, or
/// a dictionary of texts in later drafts.
fn agent_of(request: &Parts, components: &InnerList) -> Result<String, CrawlerFault> {
    const NAME: &str = "signature-agent";
    let value = field(&request.headers, NAME).ok_or(CrawlerFault::UnknownAgent)?;
    let covered = components.items.iter().find(|it| is_named(it, NAME));
    let item = match &covered.ok_or(CrawlerFault::Uncovered)?.parameters[..] {
        [] => match parse_item(&value) {
            Some(item) => Some(item),
            None => parse_dictionary(&value).and_then(|members| match &members[..] {
                [(_, Member::Item(item))] => Some(item.clone()),
                _ => None,
            }),
        },
        [(name, Value::String(key))] if name == "key" => {
            let members = parse_dictionary(&value).unwrap_or_default();
            members.into_iter().find_map(|(name, member)| match member {
                Member::Item(item) if name == *key => Some(item),
                _ => None,
            })
        }
        _ => None,
    };
    match item {
        Some(Item { value: Value::String(agent), .. }) => {
            Ok(agent.strip_suffix('/').unwrap_or(&agent).to_ascii_lowercase())
        }
        _ => Err(CrawlerFault::Malformed),
    }
}

fn is_named(item: &Item, name: &str) -> bool {
    matches!(&item.value, Value::String(text) if text == name)
}

fn parameter<'l>(list: &'l InnerList, name: &str) -> Option<&'l Value> {
    list.parameters.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

fn text<'l>(list: &'l InnerList, name: &str) -> Option<&'l str> {
    match parameter(list, name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
