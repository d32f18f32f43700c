//! Which route and which backend a request takes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::Backend;
use crate::challenge::Challenges;
use crate::choice::{Lookup, Template};
use crate::config::{Choice, Config, IssuerConfig, RouteConfig, Target};
use crate::identifiers::IdentifierConfig;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::request_target::RequestTarget;
use crate::session::Sessions;
use crate::token::TokenVerifier;
use crate::traces::Traces;
use crate::trusted_networks::TrustedNetworks;

/// What a configuration says about requests. A reload replaces it as a whole.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// Those with the longest paths first.
    routes: Vec<Route>,
    backends: HashMap<String, Arc<Backend>>,
    issuers: HashMap<String, IssuerConfig>,
    pub(crate) limits: Limits,
    pub(crate) identifiers: IdentifierConfig,
    pub(crate) challenges: Challenges,
    /// The proxies whose word counts.
    pub(crate) trusted: TrustedNetworks,
    /// Where spans go, if they are asked for.
    pub(crate) traces: Option<Arc<Traces>>,
}

/// One route, ready for use.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) config: RouteConfig,
    /// The name in records.
    pub(crate) name: Arc<str>,
    pub(crate) sessions: Option<Arc<Sessions>>,
    choice: RouteChoice,
}

/// How a route finds a backend by the value of a claim.
#[derive(Debug, Clone)]
enum RouteChoice {
    /// By a name that the configuration has.
    Named,
    Template(Arc<Template>),
    Lookup(Arc<Lookup>),
    /// The configuration has a mistake that was reported when it was read.
    Nowhere,
}

/// The backend that a claim leads to.
#[derive(Debug)]
pub(crate) struct ChosenBackend {
    /// The backend, or why there is none.
    pub(crate) backend: Result<Arc<Backend>, Refusal>,
    /// Whether a look-up was answered without asking its service; `None` if nothing was looked up.
    pub(crate) is_remembered: Option<bool>,
}

impl Routing {
    /// Backends with the same settings as in `before` keep their connections and what is known of them,
    /// issuers their keys and the tokens that are verified, limits their counts, traces the spans that wait.
    pub(crate) fn new(config: &Config, before: Option<&Self>) -> Self {
        let backend = |config: &crate::config::BackendConfig| {
            let kept = before.and_then(|before| before.backends.get(&config.name));
            let kept = kept.filter(|backend| backend.config() == config).cloned();
            (config.name.clone(), kept.unwrap_or_else(|| Arc::new(Backend::new(config.clone()))))
        };
        let issuer = |config: &IssuerConfig| {
            let kept = before.and_then(|before| before.issuers.get(&config.name));
            let kept = kept.filter(|issuer| *issuer == config);
            (config.name.clone(), kept.unwrap_or(config).clone())
        };
        let mut routes: Vec<Route> =
            config.routes.iter().map(|route| Route::new(route, before)).collect();
        routes.sort_by_key(|route| {
            (std::cmp::Reverse(route.config.path.len()), route.config.host.is_none())
        });
        Self {
            routes,
            backends: config.backends.iter().map(backend).collect(),
            issuers: config.issuers.iter().map(issuer).collect(),
            limits: Limits::new(&config.limits, before.map(|before| &before.limits)),
            identifiers: config.identifiers,
            challenges: Challenges::new(&config.realm).unwrap_or_default(),
            trusted: config.trusted_networks.clone(),
            traces: config.traces.as_ref().map(|traces| {
                let kept = before.and_then(|before| before.traces.clone());
                let kept = kept.filter(|kept| kept.config() == traces);
                kept.unwrap_or_else(|| Arc::new(Traces::new(traces.clone())))
            }),
        }
    }

    pub(crate) fn backends(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.backends.values()
    }

    /// What verifies tokens.
    pub(crate) fn verifiers(&self) -> impl Iterator<Item = &TokenVerifier> {
        self.issuers.values().map(|issuer| &*issuer.verifier)
    }

    /// The templates of backends.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        self.routes.iter().filter_map(|route| match &route.choice {
            RouteChoice::Template(template) => Some(&**template),
            _ => None,
        })
    }

    /// The route of a request: among those that fit, the one with the longest path, and one with a host
    /// before one without.
    pub(crate) fn route(&self, target: &RequestTarget<'_>) -> Option<&Route> {
        self.routes.iter().find(|route| route.fits(target))
    }

    /// What verifies the tokens of a route; `None` if the route is open to everybody.
    ///
    /// # Errors
    /// If the route has an issuer that does not exist.
    pub(crate) fn verifier(&self, route: &Route) -> Result<Option<&Arc<TokenVerifier>>, Refusal> {
        let Some(name) = &route.config.issuer else { return Ok(None) };
        let issuer = self.issuers.get(name).ok_or(Refusal::NO_ISSUER)?;
        Ok(Some(&issuer.verifier))
    }

    /// The backend of a route, by the value of the claim if the route has one.
    pub(crate) async fn backend(&self, route: &Route, claim: Option<&str>) -> ChosenBackend {
        let mut is_remembered = None;
        let named = |name: &str| self.backends.get(name).cloned();
        let backend = match (&route.config.target, &route.choice, claim) {
            (Target::Backend(name), ..) => named(name),
            (Target::Claim { choice: Choice::Table(table), .. }, _, Some(claim)) => {
                table.get(claim).and_then(|name| named(name))
            }
            (_, RouteChoice::Template(template), Some(claim)) => template.backend(claim),
            (_, RouteChoice::Lookup(lookup), Some(claim)) => {
                let found = Box::pin(lookup.backend(claim)).await;
                is_remembered = Some(found.as_ref().is_some_and(|found| found.is_remembered));
                let Some(found) = found else {
                    return ChosenBackend { backend: Err(Refusal::NO_LOOKUP), is_remembered };
                };
                found.value.backend.as_deref().and_then(named)
            }
            _ => None,
        };
        ChosenBackend { backend: backend.ok_or(Refusal::NO_BACKEND), is_remembered }
    }
}

impl Route {
    /// A route that was there `before` keeps its sessions and what it has looked up.
    fn new(config: &RouteConfig, before: Option<&Routing>) -> Self {
        let kept = before.and_then(|before| {
            let is_same = |route: &&Self| {
                route.config.path == config.path && route.config.host == config.host
            };
            before.routes.iter().find(is_same)
        });
        let sessions = config.session.as_ref().map(|session| {
            let kept = kept.and_then(|route| route.sessions.clone());
            kept.filter(|it| it.are_of(session)).unwrap_or_else(|| Arc::new(Sessions::new(session)))
        });
        let choice = match kept.filter(|route| route.config.target == config.target) {
            Some(route) => route.choice.clone(),
            None => RouteChoice::new(&config.target),
        };
        let name = match &config.host {
            Some(host) => format!("{host}{}", config.path),
            None => config.path.clone(),
        };
        Self { name: name.into(), config: config.clone(), sessions, choice }
    }

    fn fits(&self, target: &RequestTarget<'_>) -> bool {
        let is_own = |own: &str| target.host.is_some_and(|host| host.eq_ignore_ascii_case(own));
        let fits_host = self.config.host.as_deref().is_none_or(is_own);
        let rest = target.path.strip_prefix(self.config.path.as_str());
        // `/api` is `/api` and `/api/...`, and not `/apis`.
        let fits_path = rest.is_some_and(|rest| {
            self.config.path.ends_with('/') || rest.is_empty() || rest.starts_with('/')
        });
        fits_host && fits_path
    }
}

impl RouteChoice {
    fn new(target: &Target) -> Self {
        match target {
            Target::Backend(_) | Target::Claim { choice: Choice::Table(_), .. } => Self::Named,
            Target::Claim { choice: Choice::Template(text), .. } => {
                Self::Template(Arc::new(Template::new(text)))
            }
            Target::Claim { choice: Choice::Lookup { url, cache }, .. } => Lookup::new(url, *cache)
                .map_or(Self::Nowhere, |lookup| Self::Lookup(Arc::new(lookup))),
        }
    }
}
