//! `encoded_slashes` of a route: whether paths pass whose segments servers see in different ways.

use super::route::RouteConfig;
use super::route_table::LocatedRoute;
use super::table::{LocatedValue, TableReader};
use crate::route::route_match::{ReadPath, RoutePattern};

/// Reads the key, and returns its place if such paths pass.
pub(super) fn read(route: &TableReader<'_>) -> Option<LocatedValue<()>> {
    let LocatedValue { value, span, key } = route.string("encoded_slashes")?;
    let located = LocatedValue { value: (), span, key };
    match value {
        "pass" => return Some(located),
        "refuse" => {}
        other => {
            let message = format!("`{other}` is not one of \"refuse\", \"pass\"");
            route.complain_at(&located, message);
        }
    }
    None
}

/// Servers may read `/a//b` and `/a%2Fb` as `/a/b`. So no route below one that passes such paths may
/// ask for something else, or lead elsewhere.
pub(super) fn check(root: &TableReader<'_>, route: &LocatedRoute, routes: &[LocatedRoute]) {
    let Some(place) = &route.encoded_slashes else { return };
    let below = routes.iter().filter(|other| is_below(&other.config, &route.config));
    let found = below.filter_map(|other| Some((other, difference(&route.config, &other.config)?)));
    for (LocatedRoute { config, key, .. }, difference) in found {
        root.complain_at(place, format!(
            "{key} (`{path}`) lies below this route, and {difference}; servers that merge slashes or \
             decode `%2F` take some requests of this route for requests of that one. Give both the \
             same, or write `encoded_slashes` in a route of a longer path",
            path = config.path,
        ));
    }
}

/// Whether a request of one route can get the path of another one by a change of its slashes.
fn is_below(route: &RouteConfig, upper: &RouteConfig) -> bool {
    let shares_host = route.host.is_none() || upper.host.is_none() || route.host == upper.host;
    let reading = route.reading.max(upper.reading);
    let spell = |path| reading.spell(path).unwrap_or_else(|| path.into());
    let (path, upper_path) = (spell(&route.path), spell(&upper.path));
    let is_within = || {
        RoutePattern::new(None, &upper.path)
            .matches(None, ReadPath { text: &path, reading, is_encoded: false })
    };
    shares_host && path != upper_path && is_within()
}

/// In what a route differs that may get requests of another one.
fn difference(route: &RouteConfig, other: &RouteConfig) -> Option<&'static str> {
    let has_limits_of = |one: &RouteConfig, another: &RouteConfig| {
        another.limits.iter().all(|name| one.limits.contains(name))
    };
    if !has_limits_of(route, other) || !has_limits_of(other, route) {
        Some("has other `limits`")
    } else if route.gives_same_access(other) {
        None
    } else if route.target != other.target {
        Some("has another backend")
    } else if !route.asks_the_same(other) {
        Some("asks for other tokens")
    } else {
        Some("changes requests in another way")
    }
}
