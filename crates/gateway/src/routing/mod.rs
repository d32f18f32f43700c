//! The choice of a route and a backend for each request.

mod route;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hyper::Method;
use hyper::header::HeaderValue;

use self::route::RouteChoice;
pub(crate) use self::route::{Route, RouteGuard};
use crate::access::challenge::Challenges;
use crate::access::cors::preflight_method;
use crate::backend::Backend;
use crate::choice::{Lookup, Template};
use crate::config::{Choice, Config, IssuerConfig, RouteConfig, RouteTarget};
use crate::crawlers::Crawlers;
use crate::header_fields::ClientFields;
use crate::header_fields::trusted_networks::TrustedNetworks;
use crate::identifiers::IdentifierConfig;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::request::target::{RequestTarget, TargetError};
use crate::route::condition::{ConditionInput, InputFields};
use crate::route::path_reading::{PathReading, slash_readings, without_parameters};
use crate::route::route_match::{PathMatch, ReadPath, find, routes_of_path};
use crate::route::weight::{BackendShare, choose_by_weight};
use crate::token::TokenVerifier;
use crate::traces::Traces;

/// A configuration in use. A reload replaces it as a whole.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    routes: Vec<Route>,
    /// Whether a route is for some methods only.
    has_methods: bool,
    has_conditions: bool,
    backends: HashMap<String, Arc<Backend>>,
    issuers: HashMap<String, IssuerConfig>,
    pub(crate) limits: Limits,
    pub(crate) identifiers: IdentifierConfig,
    pub(crate) challenges: Challenges,
    /// The header fields of clients that are removed, and those that are not.
    pub(crate) client_fields: Arc<ClientFields>,
    /// The networks of trusted proxies.
    pub(crate) trusted: TrustedNetworks,
    /// The crawlers whose signatures are verified, if any.
    pub(crate) crawlers: Option<Arc<Crawlers>>,
    /// The exporter of spans, if traces are on.
    pub(crate) traces: Option<Arc<Traces>>,
}

/// The backend chosen for a request.
#[derive(Debug)]
pub(crate) struct BackendChoice {
    /// The backend, or the refusal if there is none.
    pub(crate) backend: Result<Arc<Backend>, Refusal>,
    /// Whether a lookup was answered from the cache; `None` if there was no lookup.
    pub(crate) is_cached: Option<bool>,
}

impl Routing {
    /// Creates the routing of a configuration. Whatever has the same settings as in `before` keeps
    /// its state: backends their connections and health, issuers their keys and verified tokens,
    /// limits their counts, traces their waiting spans.
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
        let issuers: HashMap<_, _> = config.issuers.iter().map(issuer).collect();
        let challenges = Challenges::new(&config.realm).unwrap_or_default();
        let conditions = || config.routes.iter().map(|route| &route.condition);
        let route = |config: &RouteConfig| Route::new(config, &issuers, &challenges, before);
        Self {
            routes: config.routes.iter().map(route).collect(),
            has_methods: conditions().any(|it| it.methods.is_some()),
            has_conditions: conditions().any(|it| it.methods.is_some() || !it.fields.is_empty()),
            backends: config.backends.iter().map(backend).collect(),
            issuers,
            limits: Limits::new(&config.limits, before.map(|before| &before.limits)),
            identifiers: config.identifiers,
            challenges,
            client_fields: client_fields(config),
            trusted: config.trusted_networks.clone(),
            crawlers: config.crawlers.as_ref().map(|crawlers| {
                let kept = before.and_then(|before| before.crawlers.clone());
                let kept = kept.filter(|kept| kept.config() == crawlers);
                kept.unwrap_or_else(|| Arc::new(Crawlers::new(crawlers)))
            }),
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

    /// The token verifiers of all issuers.
    pub(crate) fn verifiers(&self) -> impl Iterator<Item = &Arc<TokenVerifier>> {
        self.issuers.values().map(|issuer| &issuer.verifier)
    }

    /// The backend templates of all routes.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        self.routes.iter().filter_map(|route| match &route.choice {
            RouteChoice::Template(template) => Some(&**template),
            _ => None,
        })
    }

    /// The shares of the backends of all routes with weights, in the order of the routes.
    pub(crate) fn shares(&self) -> Vec<BackendShare> {
        let of_route = |route: &Route| Some(route.shares.as_ref()?.read(&route.name));
        self.routes.iter().filter_map(of_route).flatten().collect()
    }

    /// The possible results of the caches that the routes use, as in records, each with a count of
    /// 0.
    pub(crate) fn cache_results(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        let looks_up = |route: &Route| matches!(route.choice, RouteChoice::Lookup(_));
        let mut results = Vec::new();
        if self.routes.iter().any(looks_up) {
            results.extend(["hit", "miss"].map(|result| ("lookup", result)));
        }
        if self.routes.iter().any(|route| route.sessions.is_some()) {
            results.extend(["hit", "miss", "renewed"].map(|result| ("session", result)));
        }
        results.into_iter().map(|result| (result, 0)).collect()
    }

    /// Returns the route of a request: of the matching routes, the one with the longest path. A
    /// route with a host precedes one without. Of those of one path and host, the conditions decide.
    ///
    /// # Errors
    /// If the servers of the route may read the path as one of a route that asks for more, or the
    /// method as another one.
    pub(crate) fn route(
        &self,
        target: &RequestTarget<'_>,
    ) -> Result<PathMatch<'_, Route>, TargetError> {
        let fields = InputFields::Sent(target.headers);
        let input = ConditionInput { method: target.method, fields };
        if !self.has_conditions {
            return self.route_as(target, input);
        }
        // Some servers take `post` for `POST`.
        let is_lowercase = || target.method.as_str().bytes().any(|byte| byte.is_ascii_lowercase());
        if self.has_methods && is_lowercase() {
            return Err(TargetError::Method);
        }
        // The gateway itself answers a preflight, for the route of the method that it asks about
        // and of the fields that it announces.
        if let Some(method) = preflight_method(target.method, target.headers) {
            let fields = InputFields::Announced(target.headers);
            let asked = ConditionInput { method: &method, fields };
            if let found @ PathMatch::Route(Route {
                config: RouteConfig { cors: Some(_), .. },
                ..
            }) = self.route_as(target, asked)?
            {
                return Ok(found);
            }
        }
        self.route_as(target, input)
    }

    fn route_as(
        &self,
        target: &RequestTarget<'_>,
        input: ConditionInput<'_>,
    ) -> Result<PathMatch<'_, Route>, TargetError> {
        let rank = |route: &Route| {
            let condition = &route.config.condition;
            condition.takes(input).then(|| condition.precedence())
        };
        let find = |path: ReadPath<'_>| {
            find(self.routes.iter(), |route| &route.pattern, rank, target.host, path)
        };
        let is_doubtful = target.has_doubtful_slashes;
        let route = match find(ReadPath::strict(&target.path)) {
            PathMatch::Route(route) if !is_doubtful || route.config.passes_slashes => route,
            PathMatch::Untaken
                if self.of_path(target).iter().any(|it| it.config.passes_slashes) =>
            {
                return Ok(PathMatch::Untaken);
            }
            _ if is_doubtful => return Err(TargetError::Path),
            other => return Ok(other),
        };
        let own_reading = route.config.reading;
        let is_plain = !target.raw_path.contains([';', '%']) && !is_doubtful;
        if own_reading == PathReading::Strict && is_plain {
            return Ok(PathMatch::Route(route));
        }
        let covers = |text: &str, reading: PathReading, is_encoded| {
            let Some(text) = reading.spell(text) else { return false };
            let found = find(ReadPath { text: &text, reading, is_encoded });
            matches!(found, PathMatch::Route(other) if route.config.covers_access(&other.config))
        };
        let covers_readings = |text: &str, is_encoded| {
            [text, &without_parameters(text)].into_iter().all(|text| {
                covers(text, PathReading::Strict, is_encoded)
                    && covers(text, own_reading, is_encoded)
            })
        };
        let is_covered = [(&*target.path, false), (target.raw_path, true)].into_iter().all(
            |(text, is_encoded)| match is_doubtful {
                false => covers_readings(text, is_encoded),
                true => slash_readings(text).iter().all(|text| covers_readings(text, is_encoded)),
            },
        );
        if is_covered { Ok(PathMatch::Route(route)) } else { Err(TargetError::Path) }
    }

    /// The routes of the path of a request, whatever they take.
    fn of_path(&self, target: &RequestTarget<'_>) -> Vec<&Route> {
        let path = ReadPath::strict(&target.path);
        routes_of_path(self.routes.iter(), |route| &route.pattern, target.host, path)
    }

    /// The methods of the routes of a path, as in `Allow`, unless the request has one of them.
    pub(crate) fn other_methods(&self, target: &RequestTarget<'_>) -> Option<HeaderValue> {
        let mut names = Vec::new();
        for route in self.of_path(target) {
            let methods = route.config.condition.methods.as_ref()?;
            if methods.contains(target.method) {
                return None;
            }
            names.extend(methods.iter().map(Method::as_str));
        }
        names.sort_unstable();
        names.dedup();
        HeaderValue::try_from(names.join(", ")).ok()
    }

    /// Chooses the backend of a route, by the value of the claim if the route uses one. Of several
    /// with weights, each subject stays with one.
    pub(crate) async fn backend(
        &self,
        route: &Route,
        claim: Option<&str>,
        subject: Option<&str>,
    ) -> BackendChoice {
        let named = |name: &str| self.backends.get(name).cloned();
        let backend = match (&route.config.target, &route.choice, claim) {
            (RouteTarget::Backend(name), ..) => named(name),
            (RouteTarget::Weighted(backends), ..) => {
                let is_well = |name: &str| named(name).is_some_and(|it| it.has_available());
                let chosen = choose_by_weight(backends, subject, is_well);
                if let (Some(name), Some(shares)) = (chosen, &route.shares) {
                    shares.count(name);
                }
                chosen.and_then(named)
            }
            (RouteTarget::Claim { choice: Choice::Table(table), .. }, _, Some(claim)) => {
                table.get(claim).and_then(|name| named(name))
            }
            (_, RouteChoice::Template(template), Some(claim)) => template.backend(claim),
            // A server may take such a value in the path of a URL as another folder.
            (_, RouteChoice::Lookup(_), Some("" | "." | "..")) => None,
            (_, RouteChoice::Lookup(lookup), Some(claim)) => {
                return self.look_up(lookup, claim, &route.name).await;
            }
            _ => None,
        };
        BackendChoice { backend: backend.ok_or(Refusal::NO_BACKEND), is_cached: None }
    }

    /// Chooses the backend that a service names. A name that no backend has is a fault of the
    /// service or of the configuration, and not of the client.
    async fn look_up(&self, lookup: &Lookup, claim: &str, route: &str) -> BackendChoice {
        let found = Box::pin(lookup.backend(claim, route)).await;
        let is_cached = Some(found.as_ref().is_some_and(|found| found.is_cached));
        let name = found.as_ref().map(|found| found.value.backend.as_deref());
        let backend = match name {
            None => Err(Refusal::NO_LOOKUP),
            Some(None) => Err(Refusal::NO_BACKEND),
            Some(Some(name)) => self.backends.get(name).cloned().ok_or_else(|| {
                lookup.report_unknown(name, route);
                Refusal::NO_LOOKUP
            }),
        };
        BackendChoice { backend, is_cached }
    }
}

/// The header fields of clients that are removed, and those that are not. A field that states a claim
/// or a certificate on one route is removed on all.
fn client_fields(config: &Config) -> Arc<ClientFields> {
    let mut fields = config.client_fields.clone();
    for route in &config.routes {
        let of_claims = route.forwarded_claims.fields.iter().map(|(name, _)| name);
        let of_certificate = route.certificate.fields.iter().map(|(name, _)| name);
        fields.removed.extend(of_claims.chain(of_certificate).cloned());
    }
    let of_crawlers = config.crawlers.as_ref().and_then(|crawlers| crawlers.field.clone());
    fields.removed.extend(of_crawlers);
    Arc::new(fields)
}
