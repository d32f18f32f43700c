//! Which route and which backend a request takes.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::Uri;

use crate::backend::Backend;
use crate::config::{Choice, Config, IssuerConfig, RouteConfig, Target};
use crate::token::TokenVerifier;

/// What a configuration says about requests. A reload replaces it as a whole.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// Those with the longest paths first.
    routes: Vec<Route>,
    backends: HashMap<String, Arc<Backend>>,
    issuers: HashMap<String, IssuerConfig>,
}

/// One route, ready for use.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) config: RouteConfig,
    /// The name in records.
    pub(crate) name: Arc<str>,
}

impl Routing {
    /// Backends with the same settings as in `before` keep their connections and what is known of them,
    /// issuers their keys and the tokens that are verified.
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
        let mut routes: Vec<Route> = config.routes.iter().map(Route::new).collect();
        routes.sort_by_key(|route| {
            (std::cmp::Reverse(route.config.path.len()), route.config.host.is_none())
        });
        Self {
            routes,
            backends: config.backends.iter().map(backend).collect(),
            issuers: config.issuers.iter().map(issuer).collect(),
        }
    }

    pub(crate) fn backends(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.backends.values()
    }

    /// The route of a request: among those that fit, the one with the longest path, and one with a host
    /// before one without.
    pub(crate) fn route(&self, uri: &Uri, host: Option<&str>) -> Option<&Route> {
        self.routes.iter().find(|route| route.fits(uri.path(), host))
    }

    /// What verifies the tokens of a route; `None` if the route is open to everybody.
    pub(crate) fn verifier(&self, route: &Route) -> Option<&Arc<TokenVerifier>> {
        let issuer = self.issuers.get(route.config.issuer.as_ref()?)?;
        Some(&issuer.verifier)
    }

    /// The backend of a route, by the value of the claim if the route has one.
    pub(crate) fn backend(&self, route: &Route, claim: Option<&str>) -> Option<&Arc<Backend>> {
        let name = match &route.config.target {
            Target::Backend(name) => name,
            Target::Claim { choice: Choice::Table(table), .. } => table.get(claim?)?,
            Target::Claim { .. } => return None,
        };
        self.backends.get(name)
    }
}

impl Route {
    fn new(config: &RouteConfig) -> Self {
        let name = match &config.host {
            Some(host) => format!("{host}{}", config.path),
            None => config.path.clone(),
        };
        Self { name: name.into(), config: config.clone() }
    }

    fn fits(&self, path: &str, host: Option<&str>) -> bool {
        let fits_host = self.config.host.as_deref().is_none_or(|own| {
            host.map(without_port).is_some_and(|host| host.eq_ignore_ascii_case(own))
        });
        let rest = path.strip_prefix(self.config.path.as_str());
        // `/api` is `/api` and `/api/...`, and not `/apis`.
        let fits_path = rest.is_some_and(|rest| {
            self.config.path.ends_with('/') || rest.is_empty() || rest.starts_with('/')
        });
        fits_host && fits_path
    }
}

/// The host of a `Host` field.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
