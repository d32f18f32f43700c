//! What a route changes in a request on its way to the backend, and in the answer.

use hyper::Uri;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::http::uri::PathAndQuery;

use crate::request::target::encode_path;

/// The changes of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteChanges {
    /// The path of the backend in place of that of the route.
    pub path: Option<PathChange>,
    /// The header fields of requests.
    pub request: FieldChanges,
    /// The header fields of answers, those of the gateway itself included.
    pub answer: FieldChanges,
}

/// Changes of header fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldChanges {
    /// Fields that are set, in place of others of their name.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Fields that are removed.
    pub removed: Vec<HeaderName>,
}

/// A path at whose place a backend has another one, in whole segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The decoded path of the route.
    pub outside: String,
    /// The decoded path at the backend.
    pub inside: String,
}

impl RouteChanges {
    /// Changes the answer to a request.
    pub(crate) fn change_answer(&self, headers: &mut HeaderMap) {
        if let Some(path) = &self.path
            && let Some(location) = headers.get(LOCATION)
            && let Some(outward) = path.outward(location)
        {
            headers.insert(LOCATION, outward);
        }
        self.answer.apply(headers);
    }
}

impl FieldChanges {
    /// The names of the fields of others that do not pass: they are removed or replaced.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = &HeaderName> {
        self.removed.iter().chain(self.set.iter().map(|(name, _)| name))
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for name in &self.removed {
            headers.remove(name);
        }
        for (name, value) in &self.set {
            headers.insert(name, value.clone());
        }
    }
}

impl PathChange {
    /// Changes the target of a request that has matched the route. `None` if the result is not a
    /// target, which cannot happen with the paths of a checked configuration.
    pub(crate) fn change(&self, uri: &mut Uri) -> Option<()> {
        let path = self.inward(uri.path());
        let target: PathAndQuery = match uri.query() {
            Some(query) => format!("{path}?{query}").parse().ok()?,
            None => path.parse().ok()?,
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(target);
        *uri = parts.try_into().ok()?;
        Some(())
    }

    /// The path at the backend for a path as sent. Segments are counted, because those of the route
    /// may be encoded.
    fn inward(&self, path: &str) -> String {
        let segments = base(&self.outside).matches('/').count();
        let rest = path.match_indices('/').nth(segments).map_or("", |(at, _)| &path[at..]);
        match (base(&self.inside), rest) {
            ("", "") => "/".to_owned(),
            (inside, rest) => format!("{}{rest}", encode_path(inside)),
        }
    }

    /// The path outside for a path of the backend; `None` for others.
    pub(crate) fn outward_path(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(base(&self.inside))?;
        let outside = base(&self.outside);
        let slash = if outside.is_empty() { "/" } else { "" };
        match rest.chars().next() {
            Some('/') => Some(format!("{outside}{rest}")),
            None | Some('?' | '#') => Some(format!("{outside}{slash}{rest}")),
            Some(_) => None,
        }
    }

    /// The address outside for a redirect of the backend to a path of its own.
    fn outward(&self, location: &HeaderValue) -> Option<HeaderValue> {
        let location = location.to_str().ok()?;
        if !location.starts_with('/') || location.starts_with("//") {
            return None;
        }
        let [outside, inside] = [&self.outside, &self.inside].map(|path| encode_path(path));
        HeaderValue::try_from(Self { outside, inside }.outward_path(location)?).ok()
    }
}

/// A path without its final slash; empty for the root.
fn base(path: &str) -> &str {
    path.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(outside: &str, inside: &str) -> PathChange {
        PathChange { outside: outside.to_owned(), inside: inside.to_owned() }
    }

    #[test]
    fn a_path_is_changed_in_whole_segments() {
        for (outside, inside, path, expected) in [
            ("/shop", "/", "/shop", "/"),
            ("/shop", "/", "/shop/", "/"),
            ("/shop", "/", "/shop/cart/1", "/cart/1"),
            ("/shop", "/", "/%73hop/c%61rt?a=/shop", "/c%61rt?a=/shop"),
            ("/shop", "/v2", "/shop", "/v2"),
            ("/shop", "/v2/", "/shop", "/v2"),
            ("/shop", "/v2", "/shop/", "/v2/"),
            ("/shop", "/v 2", "/shop/x", "/v%202/x"),
            ("/shop/", "/v2", "/shop/x", "/v2/x"),
            ("/a/b", "/c", "/a/b/x", "/c/x"),
            ("/", "/v2", "/", "/v2/"),
            ("/", "/v2", "/x?y", "/v2/x?y"),
            ("/", "/", "/x", "/x"),
        ] {
            let mut uri: Uri = path.parse().expect("a target");
            change(outside, inside).change(&mut uri).expect("a target");
            assert_eq!(uri.to_string(), expected, "{outside} {inside} {path}");
        }
    }

    #[test]
    fn redirects_lead_outside() {
        for (outside, inside, location, expected) in [
            ("/shop", "/", "/login?x", Some("/shop/login?x")),
            ("/shop", "/", "/", Some("/shop/")),
            ("/shop", "/v2", "/v2/login", Some("/shop/login")),
            ("/shop", "/v2", "/v2", Some("/shop")),
            ("/", "/v2", "/v2", Some("/")),
            ("/", "/v2", "/v2#x", Some("/#x")),
            ("/shop", "/v2", "/v22", None),
            ("/shop", "/v2", "/other", None),
            ("/shop", "/", "//evil.example/", None),
            ("/shop", "/", "https://other.example/", None),
            ("/shop", "/", "login", None),
        ] {
            let location = HeaderValue::from_static(location);
            let found = change(outside, inside).outward(&location);
            let expected = expected.map(HeaderValue::from_static);
            assert_eq!(found, expected, "{outside} {inside} {location:?}");
        }
    }
}
