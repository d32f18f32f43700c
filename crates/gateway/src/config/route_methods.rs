//! Routes of one path and host, which methods and header fields tell apart: whether one of them opens
//! a way round another.

use hyper::Method;
use hyper::header::HeaderName;

use super::route::RouteConfig;
use super::route_table::{LocatedRoute, lesser_access};
use super::table::TableReader;
use crate::header_fields::ClientFields;

/// The fields by which servers take a request for one of another method.
const OVERRIDES: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-method-override"),
];

/// Why two routes of one path and host exclude each other, if they do.
pub(super) fn conflict(first: &LocatedRoute, second: &RouteConfig) -> Option<String> {
    let LocatedRoute { config, key, .. } = first;
    let [one, other] = [&config.condition, &second.condition];
    if !one.shares_method(other) {
        return None;
    }
    let has_same_fields = one.fields.len() == other.fields.len()
        && one.fields.iter().all(|field| other.fields.contains(field));
    match (has_same_fields, &one.methods, &other.methods) {
        (true, None, None) => Some(format!(
            "{key} has the same path and host, so this route gets no requests; change or remove one"
        )),
        (true, Some(methods), Some(others)) => {
            let shared = methods.iter().find(|method| others.contains(method))?;
            Some(format!(
                "{key} has the same path and host, and {shared} too; name each method in one of the \
                 routes (`GET` includes `HEAD`)"
            ))
        }
        // The route with methods takes those, and the other one the rest.
        (true, ..) => None,
        (false, ..) if config.target.may_share_backend(&second.target) => {
            (!config.asks_the_same(second) || config.limits != second.limits).then(|| {
                format!(
                    "clients choose header fields, so everybody could take the easier one of this \
                     route and {key}, which have the same backend; give both the same issuer, \
                     requirements and limits"
                )
            })
        }
        (false, ..) => None,
    }
}

/// Notes ways round a route with methods by which a server takes a request for another one.
pub(super) fn check(
    root: &TableReader<'_>,
    route: &LocatedRoute,
    routes: &[LocatedRoute],
    client_fields: &ClientFields,
) {
    let Some(methods) = &route.config.condition.methods else { return };
    // CGI and its successors read both spellings as one.
    let is_override = |name: &&HeaderName| {
        let dashed = name.as_str().replace('_', "-");
        OVERRIDES.iter().any(|known| *known == *dashed)
    };
    if let Some(kept) = client_fields.kept.iter().find(is_override) {
        root.complain_at(&route.path, format!(
            "`keep_fields` lets `{kept}` pass, by which servers take a request for one of another \
             method; remove it there, or leave `methods` out"
        ));
    }
    let is_easier = |other: &&LocatedRoute| {
        (&other.config.path, &other.config.host) == (&route.config.path, &route.config.host)
            && other.config.condition.methods.as_ref().is_none_or(|it| it.contains(&Method::POST))
            && other.config.target.may_share_backend(&route.config.target)
            && !other.config.gives_same_access(&route.config)
    };
    let is_changing =
        |method: &Method| [Method::PUT, Method::PATCH, Method::DELETE].contains(method);
    if route.config.is_guarded()
        && methods.iter().any(is_changing)
        && !methods.contains(&Method::POST)
        && let Some(other) = routes.iter().find(is_easier)
    {
        let (key, how) = (&other.key, lesser_access(&other.config));
        root.warn_at(&route.path, format!(
            "servers that read `_method` in a form (Rails, Laravel and Spring can) take a POST for one \
             of these methods, and {key} answers POST {how}; if yours does, add \"POST\" here"
        ));
    }
}
