//! A route in use: whose tokens it accepts, and how it finds a backend.

use std::collections::HashMap;
use std::sync::Arc;

use super::Routing;
use crate::access::challenge::Challenges;
use crate::choice::{Lookup, Template};
use crate::config::{Choice, IssuerConfig, RouteConfig, RouteTarget};
use crate::route::changes::RouteChanges;
use crate::route::route_match::RoutePattern;
use crate::route::weight::ShareCounters;
use crate::session::Sessions;
use crate::token::IssuerChoice;

/// A route in use.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) config: RouteConfig,
    pub(super) pattern: RoutePattern,
    /// The name in records.
    pub(crate) name: Arc<str>,
    pub(crate) guard: RouteGuard,
    /// The challenges for clients without a valid token, if the route has its own.
    pub(crate) challenges: Option<Arc<Challenges>>,
    /// What the route changes in requests and answers, if anything.
    pub(crate) changes: Option<Arc<RouteChanges>>,
    pub(crate) sessions: Option<Arc<Sessions>>,
    pub(super) choice: RouteChoice,
    /// The requests of each backend, if the route has several with weights.
    pub(super) shares: Option<Arc<ShareCounters>>,
}

/// Whose tokens a route accepts.
#[derive(Debug)]
pub(crate) enum RouteGuard {
    /// The route needs no token.
    Open,
    Issuers(IssuerChoice),
    /// An issuer does not exist.
    Unknown,
}

/// How a route selects a backend by the value of a claim.
#[derive(Debug, Clone)]
pub(super) enum RouteChoice {
    /// By the name of a configured backend.
    Named,
    Template(Arc<Template>),
    Lookup(Arc<Lookup>),
    /// Selects no backend, because of a mistake that was reported when the configuration was read.
    Invalid,
}

impl Route {
    /// Creates a route. A route that existed `before` keeps its sessions, cached lookups and counts.
    pub(super) fn new(
        config: &RouteConfig,
        issuers: &HashMap<String, IssuerConfig>,
        challenges: &Challenges,
        before: Option<&Routing>,
    ) -> Self {
        let kept = before.and_then(|before| {
            let is_same = |route: &&Self| {
                (&route.config.path, &route.config.host, &route.config.condition)
                    == (&config.path, &config.host, &config.condition)
            };
            before.routes.iter().find(is_same)
        });
        let sessions = config.session.as_ref().map(|session| {
            let kept = kept.and_then(|route| route.sessions.clone());
            kept.filter(|it| it.has_config(session))
                .unwrap_or_else(|| Arc::new(Sessions::new(session)))
        });
        let (choice, shares) = match kept.filter(|route| route.config.target == config.target) {
            Some(route) => (route.choice.clone(), route.shares.clone()),
            None => (RouteChoice::new(&config.target), share_counters(&config.target)),
        };
        let guard = RouteGuard::new(config, issuers);
        let challenges = match &guard {
            RouteGuard::Issuers(issuers) if issuers.issuers().len() > 1 => {
                Some(Arc::new(challenges.with_issuers(issuers.issuers())))
            }
            _ => None,
        };
        Self {
            pattern: RoutePattern::new(config.host.as_deref(), &config.path),
            name: config.name().into(),
            guard,
            challenges,
            changes: (config.changes != RouteChanges::default())
                .then(|| Arc::new(config.changes.clone())),
            config: config.clone(),
            sessions,
            choice,
            shares,
        }
    }
}

/// Counters for the backends of a target with weights.
fn share_counters(target: &RouteTarget) -> Option<Arc<ShareCounters>> {
    let RouteTarget::Weighted(backends) = target else { return None };
    Some(Arc::new(ShareCounters::new(backends)))
}

impl RouteGuard {
    fn new(config: &RouteConfig, issuers: &HashMap<String, IssuerConfig>) -> Self {
        if config.issuers.is_empty() {
            return Self::Open;
        }
        let verifier = |name: &String| Some(issuers.get(name)?.verifier.clone());
        let verifiers: Option<Vec<_>> = config.issuers.iter().map(verifier).collect();
        let is_other = |issuer: &&IssuerConfig| !config.issuers.contains(&issuer.name);
        let others = issuers.values().filter(is_other);
        let others = others.filter(|it| !it.verifier.introspects());
        let others = others.map(|it| it.verifier.issuer().to_owned()).collect();
        let choice = verifiers.and_then(|verifiers| IssuerChoice::new(verifiers, others));
        choice.map_or(Self::Unknown, Self::Issuers)
    }
}

impl RouteChoice {
    fn new(target: &RouteTarget) -> Self {
        match target {
            RouteTarget::Backend(_)
            | RouteTarget::Weighted(_)
            | RouteTarget::Claim { choice: Choice::Table(_), .. } => Self::Named,
            RouteTarget::Claim { choice: Choice::Template(text), .. } => {
                Self::Template(Arc::new(Template::new(text)))
            }
            RouteTarget::Claim { choice: Choice::Lookup { url, cache }, .. } => {
                Lookup::new(url, *cache)
                    .map_or(Self::Invalid, |lookup| Self::Lookup(Arc::new(lookup)))
            }
        }
    }
}
