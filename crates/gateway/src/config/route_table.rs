//! The routes of a configuration as a whole: whether one of them can be reached, or passed by, with
//! a request that means another.

use super::encoded_slashes;
use super::route::RouteConfig;
use super::route_changes;
use super::route_methods;
use super::table::{LocatedValue, TableReader};
use crate::header_fields::ClientFields;
use crate::route::path_reading::PathReading;
use crate::route::route_match::{ReadPath, RoutePattern, routes_of_path};

/// A route with its place in the configuration.
#[derive(Debug)]
pub(super) struct LocatedRoute {
    pub(super) config: RouteConfig,
    /// The value of `path`.
    pub(super) path: LocatedValue<()>,
    /// The value of `encoded_slashes`, if they pass.
    pub(super) encoded_slashes: Option<LocatedValue<()>>,
    /// The key of the route, such as `routes[1]`.
    pub(super) key: String,
}

/// A backend as far as the routes to it are concerned.
#[derive(Debug)]
pub(super) struct NamedReading<'a> {
    pub(super) name: &'a str,
    pub(super) reading: PathReading,
    /// Whether the configuration says how its servers read paths.
    pub(super) is_stated: bool,
}

fn pattern(route: &LocatedRoute) -> RoutePattern {
    RoutePattern::new(route.config.host.as_deref(), &route.config.path)
}

/// Notes the mistakes of a table of routes.
pub(super) fn check(
    root: &TableReader<'_>,
    routes: &[LocatedRoute],
    backends: &[NamedReading<'_>],
    client_fields: &ClientFields,
) {
    for (index, route) in routes.iter().enumerate() {
        check_equal_routes(root, route, &routes[..index]);
        route_methods::check(root, route, routes, client_fields);
        route_changes::check(root, route, routes);
        encoded_slashes::check(root, route, routes);
        if route.config.is_guarded() {
            check_slash(root, route, routes);
            warn_of_other_hosts(root, route, routes);
        }
    }
    warn_of_other_spellings(root, routes, backends);
}

/// A route must not have the path of an earlier one, in the way in which a server reads both.
fn check_equal_routes(root: &TableReader<'_>, route: &LocatedRoute, earlier: &[LocatedRoute]) {
    for first in earlier.iter().filter(|first| first.config.host == route.config.host) {
        let LocatedRoute { config, key, .. } = first;
        if config.path == route.config.path {
            if let Some(message) = route_methods::conflict(first, &route.config) {
                return root.complain_at(&route.path, message);
            }
            continue;
        }
        let reading = config.reading.max(route.config.reading);
        let is_same = reading.spell(&config.path) == reading.spell(&route.config.path);
        if is_same && !config.gives_same_access(&route.config) {
            root.complain_at(&route.path, format!(
                "the servers read this path and that of {key} as one, so requests to both are refused; \
                 remove one, or give both the same issuer and backend"
            ));
            return;
        }
    }
}

/// In which way a route is easier to pass than a guarded one.
pub(super) fn lesser_access(other: &RouteConfig) -> &'static str {
    match other.is_guarded() {
        false => "without a token",
        true => "with other requirements",
    }
}

/// A guarded route `/api/` does not cover `/api`, which an open route may.
fn check_slash(root: &TableReader<'_>, route: &LocatedRoute, routes: &[LocatedRoute]) {
    let Some(bare) = route.config.path.strip_suffix('/').filter(|bare| !bare.is_empty()) else {
        return;
    };
    let patterns = routes.iter().map(|route| (route, pattern(route)));
    let patterns: Vec<_> = patterns.collect();
    let host = route.config.host.as_deref();
    let found = routes_of_path(patterns.iter(), |it| &it.1, host, ReadPath::strict(bare));
    let is_easier = |other: &RouteConfig| {
        other.condition.shares_method(&route.config.condition)
            && !other.gives_same_access(&route.config)
    };
    if let Some((other, _)) = found.into_iter().find(|(other, _)| is_easier(&other.config)) {
        let (key, how) = (&other.key, lesser_access(&other.config));
        root.complain_at(&route.path, format!(
            "{key} answers `{bare}` {how}; write \"{bare}\", which covers `{bare}` and all below it"
        ));
    }
}

/// A guarded route of one host, whose backend a request with another host reaches without a token.
fn warn_of_other_hosts(root: &TableReader<'_>, route: &LocatedRoute, routes: &[LocatedRoute]) {
    if route.config.host.is_none() {
        return;
    }
    let other = routes.iter().find(|other| {
        other.config.host.is_none()
            && other.config.condition.shares_method(&route.config.condition)
            && other.config.target.may_share_backend(&route.config.target)
            && !other.config.gives_same_access(&route.config)
            && pattern(other).matches(None, ReadPath::strict(&route.config.path))
    });
    if let Some(other) = other {
        let (key, how) = (&other.key, lesser_access(&other.config));
        root.warn_at(&route.path, format!(
            "with another host in the request, {key} answers this path from the same backend {how}; give \
             that route a `host`, if the backend does not tell hosts apart"
        ));
    }
}

/// A backend with open and guarded routes, of which it is not said how its servers read paths.
fn warn_of_other_spellings(
    root: &TableReader<'_>,
    routes: &[LocatedRoute],
    backends: &[NamedReading<'_>],
) {
    for backend in backends.iter().filter(|backend| !backend.is_stated) {
        let uses = |route: &&LocatedRoute| route.config.target.may_reach(backend.name);
        let mut guarded = routes.iter().filter(uses).filter(|it| it.config.is_guarded());
        let covers = |open: &LocatedRoute, guarded: &LocatedRoute| {
            let host = guarded.config.host.as_deref();
            let is_same_path = open.config.path == guarded.config.path;
            guarded.config.path != "/"
                && !is_same_path
                && open.config.condition.shares_method(&guarded.config.condition)
                && pattern(open).matches(host, ReadPath::strict(&guarded.config.path))
        };
        let open_of = |guarded: &LocatedRoute| {
            let mut others = routes.iter().filter(uses);
            others.find(|it| covers(it, guarded) && !it.config.gives_same_access(&guarded.config))
        };
        let found = guarded.find_map(|guarded| Some((guarded, open_of(guarded)?)));
        if let Some((guarded, open)) = found {
            root.warn_at(&guarded.path, format!(
                "{open} answers other spellings, such as `{upper}`, {how}. If the servers of \
                 `{name}` ignore case (Express does) or run on Windows, write paths = \"ignore-case\" or \
                 \"windows\" in [backends.{name}], else paths = \"strict\"",
                open = open.key,
                how = lesser_access(&open.config),
                upper = guarded.config.path.to_uppercase(),
                name = backend.name,
            ));
        }
    }
}
