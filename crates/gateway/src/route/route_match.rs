//! Which route a host and a path lead to.

use std::borrow::Cow;

use crate::request::target::encode_path;
use crate::route::path_reading::PathReading;

/// What a route matches: a host, and a path in each way of reading it.
#[derive(Debug, Clone)]
pub(crate) struct RoutePattern {
    host: Option<String>,
    /// The decoded path, by [`PathReading`].
    decoded: [String; PathReading::ALL.len()],
    /// The percent-encoded path, by [`PathReading`].
    encoded: [String; PathReading::ALL.len()],
}

/// A path of a request in one way of reading it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPath<'a> {
    pub(crate) text: &'a str,
    pub(crate) reading: PathReading,
    /// Whether the path is not decoded. Some servers, such as Express, match paths as they are sent.
    pub(crate) is_encoded: bool,
}

impl<'a> ReadPath<'a> {
    /// A decoded path, read strictly.
    pub(crate) fn strict(text: &'a str) -> Self {
        Self { text, reading: PathReading::Strict, is_encoded: false }
    }
}

impl RoutePattern {
    pub(crate) fn new(host: Option<&str>, path: &str) -> Self {
        let spellings = |path: &str| {
            PathReading::ALL.map(|(_, reading)| {
                reading.spell(path).map_or_else(|| path.into(), Cow::into_owned)
            })
        };
        Self {
            host: host.map(str::to_owned),
            decoded: spellings(path),
            encoded: spellings(&encode_path(path)),
        }
    }

    /// Whether the route matches a host and a path.
    pub(crate) fn matches(&self, host: Option<&str>, path: ReadPath<'_>) -> bool {
        let is_own = |own: &str| host.is_some_and(|host| host.eq_ignore_ascii_case(own));
        let own = self.path(path);
        // `/api` matches `/api` and `/api/...`, but not `/apis`.
        let is_below = |rest: &str| own.ends_with('/') || rest.is_empty() || rest.starts_with('/');
        path.text.strip_prefix(own).is_some_and(is_below) && self.host.as_deref().is_none_or(is_own)
    }

    /// Of the routes that match, the one with the longest path has precedence, and one with a host
    /// over one without.
    fn precedence(&self, path: ReadPath<'_>) -> (usize, bool) {
        (self.path(path).len(), self.host.is_some())
    }

    /// The own path in the spelling of another.
    fn path(&self, other: ReadPath<'_>) -> &str {
        let paths = if other.is_encoded { &self.encoded } else { &self.decoded };
        &paths[other.reading as usize]
    }
}

/// The routes that a host and a path lead to.
#[derive(Debug)]
pub(crate) enum PathMatch<'a, T> {
    /// No route has the path.
    None,
    /// Routes have the path, but none of them takes the request. It is not looked for among routes
    /// of shorter paths, because these may ask for less.
    Untaken,
    Route(&'a T),
}

/// Finds the route of a host and a path. Of the routes of the longest path, it is the first with the
/// highest rank; `rank` returns `None` for a route that does not take the request.
pub(crate) fn find<'a, T, R: PartialOrd>(
    routes: impl Iterator<Item = &'a T>,
    pattern: impl Fn(&T) -> &RoutePattern,
    rank: impl Fn(&T) -> Option<R>,
    host: Option<&str>,
    path: ReadPath<'_>,
) -> PathMatch<'a, T> {
    let mut precedence = None;
    let mut found: Option<(R, &T)> = None;
    for route in routes.filter(|route| pattern(route).matches(host, path)) {
        let own = Some(pattern(route).precedence(path));
        if own < precedence {
            continue;
        }
        if own > precedence {
            (precedence, found) = (own, None);
        }
        if let Some(rank) = rank(route)
            && found.as_ref().is_none_or(|(highest, _)| rank > *highest)
        {
            found = Some((rank, route));
        }
    }
    match (found, precedence) {
        (Some((_, route)), _) => PathMatch::Route(route),
        (None, Some(_)) => PathMatch::Untaken,
        (None, None) => PathMatch::None,
    }
}

/// The routes of the longest path that a host and a path lead to, whatever they take.
pub(crate) fn routes_of_path<'a, T>(
    routes: impl Iterator<Item = &'a T>,
    pattern: impl Fn(&T) -> &RoutePattern,
    host: Option<&str>,
    path: ReadPath<'_>,
) -> Vec<&'a T> {
    let (mut precedence, mut found) = (None, Vec::new());
    for route in routes.filter(|route| pattern(route).matches(host, path)) {
        let own = Some(pattern(route).precedence(path));
        if own > precedence {
            precedence = own;
            found.clear();
        }
        if own == precedence {
            found.push(route);
        }
    }
    found
}
