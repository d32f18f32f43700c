//! What is known of a client from its requests in a log.

use serde::{Deserialize, Serialize};

use crate::collateral::GoodReason;
use crate::number::{separated, share};

/// What the requests of a client in a log say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ClientProfile {
    /// Its address, as in the log.
    pub client: String,
    /// What it looks like.
    pub looks: ClientLooks,
    /// Why it is good. Left out if nothing says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<GoodReason>>"))]
    pub good: Vec<GoodReason>,
    /// Whether it named a user and was served, but nothing shows that it signed in: anyone can name
    /// a user. Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub claims_user: bool,
    /// Whether it sends too much for what it claims to be, so that a limit need not spare it: 60
    /// requests in a minute, of which a file that pages embed counts as a fifth. Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub floods: bool,
    /// The first program that it names, such as `curl` or `Googlebot`; its browser if it names none.
    /// Left out if no request has an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub agent: Option<String>,
    /// The path of its first request. Left out if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub first_path: Option<String>,
    /// The number of its requests.
    pub requests: u64,
    /// Those of them that were answered with a status of 400 or more.
    pub errors: u64,
}

/// What a client looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientLooks {
    /// No agent of a program, and it signed in, or loaded a page and a file that pages embed.
    Person,
    /// Its agent names the crawler of a search engine.
    Crawler,
    /// Its agent names a monitor.
    Monitor,
    /// It asked for what scanners ask for, or most of its requests failed.
    Attack,
    /// Its agent is that of a program, or is missing.
    Program,
    /// Nothing of these.
    Unknown,
}

impl ClientProfile {
    /// Whether a limit should not reject it: it looks like a person, or is good.
    pub fn is_spared(&self) -> bool {
        self.looks == ClientLooks::Person && !self.floods || !self.good.is_empty()
    }

    /// What it looks like and why it is good, such as `person, signed in`.
    pub fn marks(&self) -> String {
        let mut marks = vec![self.looks.word()];
        marks.extend(self.good.iter().filter_map(|reason| match reason {
            GoodReason::SignedIn => Some("signed in"),
            GoodReason::NamedNetwork => Some("named good"),
            // What it looks like says so already.
            GoodReason::SearchCrawler | GoodReason::Monitor => None,
        }));
        let claims = [(self.claims_user, "user (claimed)"), (self.floods, "floods")];
        marks.extend(claims.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark));
        marks.join(", ")
    }

    /// The profile in words, such as `looks like: person, signed in; Firefox; 12 requests in all, 8.3%
    /// with errors, the first for /`. Program and path are from the log.
    pub fn sentence(&self) -> String {
        let mut sentence = format!("looks like: {}", self.marks());
        if let Some(agent) = &self.agent {
            sentence.push_str(&format!("; {agent}"));
        }
        let noun = if self.requests == 1 { "request" } else { "requests" };
        let errors = match self.errors {
            0 => "none".to_owned(),
            errors => share(errors, self.requests),
        };
        let requests = separated(self.requests);
        sentence.push_str(&format!("; {requests} {noun} in all, {errors} with errors"));
        if let Some(path) = &self.first_path {
            sentence.push_str(&format!(", the first for {path}"));
        }
        sentence
    }
}

impl ClientLooks {
    /// The word for it. An agent can be forged, so a crawler is claimed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Crawler => "crawler (claimed)",
            Self::Monitor => "monitor (claimed)",
            Self::Attack => "attack",
            Self::Program => "program",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientLooks, ClientProfile, GoodReason};

    #[test]
    fn a_profile_is_told_in_words() {
        let profile = ClientProfile {
            client: "192.0.2.7".to_owned(),
            looks: ClientLooks::Person,
            good: vec![GoodReason::SignedIn, GoodReason::NamedNetwork],
            claims_user: false,
            floods: false,
            agent: Some("Firefox".to_owned()),
            first_path: Some("/".to_owned()),
            requests: 1_200,
            errors: 100,
        };
        assert_eq!(
            profile.sentence(),
            "looks like: person, signed in, named good; Firefox; 1,200 requests in all, 8.3% with \
             errors, the first for /"
        );
        let crawler = ClientProfile {
            looks: ClientLooks::Crawler,
            good: vec![GoodReason::SearchCrawler],
            agent: None,
            first_path: None,
            requests: 1,
            errors: 0,
            ..profile
        };
        assert_eq!(
            crawler.sentence(),
            "looks like: crawler (claimed); 1 request in all, none with errors"
        );
        let flood = ClientProfile { good: vec![], claims_user: true, floods: true, ..crawler };
        assert_eq!(flood.marks(), "crawler (claimed), user (claimed), floods");
        assert!(!flood.is_spared());
    }
}
