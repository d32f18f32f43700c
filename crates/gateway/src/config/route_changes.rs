//! `backend_path`, `request_fields` and `answer_fields` of a route: what it changes.

use hyper::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use super::route::RouteConfig;
use super::route_table::{LocatedRoute, lesser_access};
use super::table::{LocatedValue, TableReader};
use crate::header_fields;
use crate::request::target::decode_path;
use crate::route::changes::{FieldChanges, PathChange, RouteChanges};

/// Reads the changes of a route with a path. Notes mistakes.
pub(super) fn read(route: &TableReader<'_>, path: Option<&str>) -> RouteChanges {
    let inside = route.string("backend_path");
    if let Some(inside) = &inside
        && (!inside.value.starts_with('/')
            || inside.value.contains(['?', '#', ';'])
            || decode_path(inside.value).as_deref() != Some(inside.value))
    {
        let message =
            "this is not a path; write it decoded, with a slash at its beginning: \"/v2\"";
        route.complain_at(inside, message);
    }
    let path = path.zip(inside).map(|(outside, inside)| PathChange {
        outside: outside.to_owned(),
        inside: inside.value.to_owned(),
    });
    let request = route.table("request_fields").map(|it| read_fields(it, is_fixed_in_request));
    let answer = route.table("answer_fields").map(|it| read_fields(it, is_fixed_in_answer));
    RouteChanges { path, request: request.unwrap_or_default(), answer: answer.unwrap_or_default() }
}

fn is_fixed_in_request(name: &HeaderName) -> bool {
    header_fields::is_own(name) || is_of_websocket(name)
}

fn is_fixed_in_answer(name: &HeaderName) -> bool {
    const OWN: [HeaderName; 3] = [ALLOW, RETRY_AFTER, WWW_AUTHENTICATE];
    header_fields::is_needed(name)
        || header_fields::is_identifier(name)
        || is_of_websocket(name)
        || OWN.contains(name)
        || name.as_str().starts_with("ratelimit")
        || name.as_str().starts_with("access-control-")
}

fn is_of_websocket(name: &HeaderName) -> bool {
    name.as_str().starts_with("sec-websocket-")
}

fn read_fields(table: TableReader<'_>, is_fixed: fn(&HeaderName) -> bool) -> FieldChanges {
    let read_name = |text: &str, at: &LocatedValue<&str>| {
        let name = HeaderName::from_bytes(text.as_bytes()).ok().filter(|name| !is_fixed(name));
        if name.is_none() {
            table.complain_at(
                at,
                format!("`{text}` is not a header field that can be changed here"),
            );
        }
        name
    };
    let mut set: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for (name, text) in table.table("set").iter().flat_map(TableReader::entries) {
        let value = HeaderValue::from_str(text.value).ok();
        if value.is_none() {
            table.complain_at(&text, "a header field cannot have this value");
        }
        let name = read_name(name, &text);
        if let Some(name) = name.as_ref().filter(|name| set.iter().any(|(other, _)| other == *name))
        {
            table.complain_at(&text, format!("`{name}` is set twice; leave one out"));
        }
        set.extend(name.zip(value));
    }
    let list = table.strings("remove");
    let items = list.into_iter().flat_map(|list| list.value);
    let removed = items.filter_map(|item| read_name(item.value, &item)).collect();
    table.finish();
    FieldChanges { set, removed }
}

/// Warns if another route, easier to pass, leads to the paths of the same backend that this one
/// guards. The path of a request does not tell them apart if one of the routes changes it.
pub(super) fn check(root: &TableReader<'_>, route: &LocatedRoute, routes: &[LocatedRoute]) {
    let guarded = &route.config;
    if !guarded.is_guarded() {
        return;
    }
    for LocatedRoute { config: other, key, .. } in routes {
        let is_easier = (guarded.changes.path.is_some() || other.changes.path.is_some())
            && other.condition.shares_method(&guarded.condition)
            && other.target.may_share_backend(&guarded.target)
            && !other.asks_the_same(guarded);
        // Of two paths of which one is below the other, the longer one decides.
        let is_decided = other.host == guarded.host
            && (outward(other, inside(guarded)).as_deref() == Some(&*guarded.path)
                || outward(guarded, inside(other)).as_deref() == Some(&*other.path));
        let below = || outward(guarded, inside(other)).map(|_| other.path.clone());
        let path = outward(other, inside(guarded)).or_else(below);
        if let Some(path) = path.filter(|_| is_easier && !is_decided) {
            let how = lesser_access(other);
            return root.warn_at(&route.path, format!(
                "{key} answers `{path}` {how}, which the backend gets as a path at or below `{inside}`, as \
                 from this route; give {key} a `backend_path` elsewhere, or the same issuer and \
                 requirements",
                inside = inside(guarded),
            ));
        }
    }
}

/// The path of a route at its backend.
fn inside(route: &RouteConfig) -> &str {
    route.changes.path.as_ref().map_or(&route.path, |change| &change.inside)
}

/// The path by which a route leads to a path of the backend, if it does.
fn outward(route: &RouteConfig, path: &str) -> Option<String> {
    let unchanged = || PathChange { outside: route.path.clone(), inside: route.path.clone() };
    route.changes.path.clone().unwrap_or_else(unchanged).outward_path(path)
}
