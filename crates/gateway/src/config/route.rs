//! `[[routes]]`: routes of requests to backends.

use hyper::Method;
use hyper::header::HeaderName;

use super::claims;
use super::client_certificate;
use super::condition;
use super::cors;
use super::encoded_slashes;
use super::folder::ConfigFolder;
use super::route_changes;
use super::route_path::{check_host, check_path};
use super::route_table::{LocatedRoute, NamedReading};
use super::session::{self, SessionConfig};
use super::table::{LocatedValue, TableReader};
use super::target::{self, RouteTarget, check_name};
use super::token_places;
use crate::access::client_certificate::CertificateRule;
use crate::access::cors::CorsConfig;
use crate::access::forwarded_claims::ForwardedClaims;
use crate::access::requirement::Requirement;
use crate::access::token_place::TokenPlaces;
use crate::route::changes::RouteChanges;
use crate::route::condition::RouteCondition;
use crate::route::path_reading::PathReading;

/// A route: matches requests by path and host, and selects their backend.
#[derive(Debug, Clone)]
pub struct RouteConfig {
    /// The path prefix, in whole segments.
    pub path: String,
    /// The host of the request; `None` matches any host.
    pub host: Option<String>,
    /// What the route asks of a request besides its host and path.
    pub condition: RouteCondition,
    /// The names of the issuers whose tokens are accepted; without one, the route needs no token.
    pub issuers: Vec<String>,
    /// How the backend is found.
    pub target: RouteTarget,
    /// How the gateway logs in to the backend, if it does.
    pub session: Option<SessionConfig>,
    /// The pages of other origins that may call the route; none if absent.
    pub cors: Option<CorsConfig>,
    /// Where the token may be besides `Authorization`.
    pub token_places: TokenPlaces,
    /// What the token must have besides its validity.
    pub requirements: Vec<Requirement>,
    /// What the backend learns of the token.
    pub forwarded_claims: ForwardedClaims,
    /// What the client's certificate must be, and what the backend learns of it.
    pub certificate: CertificateRule,
    /// What the route changes in requests and answers.
    pub changes: RouteChanges,
    /// The names of the limits that count its requests, besides those for all.
    pub limits: Vec<String>,
    /// How the servers that may get the requests read paths.
    pub reading: PathReading,
    /// Whether paths pass that have empty segments or encoded slashes.
    pub passes_slashes: bool,
}

impl RouteConfig {
    /// Whether a request that has passed this route may reach what another one protects: it is the
    /// same, or open to everybody, and has no limits that this one lacks.
    pub(crate) fn covers_access(&self, other: &Self) -> bool {
        let is_limited = other.limits.iter().all(|name| self.limits.contains(name));
        let is_open = self.is_guarded() && !other.is_guarded();
        is_limited && (self.gives_same_access(other) || is_open)
    }

    /// Whether requests need a token or a client certificate.
    pub(crate) fn is_guarded(&self) -> bool {
        !self.issuers.is_empty() || self.certificate.is_required
    }

    /// Whether requests are checked and sent to servers as by another route.
    pub(crate) fn gives_same_access(&self, other: &Self) -> bool {
        self.target == other.target
            && self.changes.path == other.changes.path
            && self.changes.request == other.changes.request
            && self.asks_the_same(other)
    }

    /// Whether requests are checked as by another route.
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        let accepts = |issuer: &String| self.issuers.contains(issuer);
        // Each name is there once.
        self.issuers.len() == other.issuers.len()
            && other.issuers.iter().all(accepts)
            && self.session == other.session
            && self.requirements == other.requirements
            && self.forwarded_claims == other.forwarded_claims
            && self.certificate == other.certificate
            && self.token_places == other.token_places
            // It says which pages may send the cookie with a token.
            && self.cors == other.cors
    }

    /// The name in records: the path, with the host and the conditions.
    pub(crate) fn name(&self) -> String {
        let methods = self.condition.methods.iter().map(|methods| {
            let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
            format!("{} ", names.join(","))
        });
        let fields = self.condition.fields.iter();
        let fields = fields
            .map(|(name, value)| format!(" {name}={}", String::from_utf8_lossy(value.as_bytes())));
        let place = [self.host.clone().unwrap_or_default(), self.path.clone()];
        methods.chain(place).chain(fields).collect()
    }
}

/// What a route can name.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownNames<'a> {
    pub(super) issuers: &'a [NamedIssuer<'a>],
    pub(super) backends: &'a [NamedReading<'a>],
    pub(super) limits: &'a [&'a str],
    /// Whether the gateway asks its clients for certificates.
    pub(super) asks_for_certificates: bool,
    /// The field that tells backends a verified crawler.
    pub(super) crawler_field: Option<&'a HeaderName>,
}

/// Reads the table of a route. Notes mistakes, and may return `None` then.
pub(super) fn read(
    table: TableReader<'_>,
    known: KnownNames<'_>,
    folder: &ConfigFolder,
) -> Option<LocatedRoute> {
    let path = table.required_string("path");
    if let Some(path) = &path {
        check_path(&table, path);
    }
    let host = table.string("host");
    if let Some(host) = &host {
        check_host(&table, host);
    }
    let condition = condition::read(&table);
    let issuers = read_issuers(&table, known.issuers);
    let backends = known.backends;
    let names: Vec<&str> = backends.iter().map(|backend| backend.name).collect();
    let target = target::read(&table, table.may_have("issuer"), &names);
    let reading = target.as_ref().map(|target| target::read_reading(&table, target, backends));
    let has_session = table.has("session");
    let session = table.table("session").and_then(|session| session::read(session, folder));
    if has_session && !table.may_have("issuer") {
        table.complain("`session` needs `issuer`: a session belongs to the subject of a token");
    }
    let cors = table.table("cors").and_then(cors::read);
    let token_places = table.table("token").map(token_places::read).unwrap_or_default();
    let requirements = table.table("require").map(claims::read_required).unwrap_or_default();
    let forwarded_claims = claims::read_forwarded(&table);
    let of_token = ["token", "require", "forward_claims", "forward_token"];
    for name in of_token.into_iter().filter(|name| table.has(name)) {
        if !table.may_have("issuer") {
            table.complain(format!("`{name}` needs `issuer`: this route has no token"));
        }
    }
    let certificate = client_certificate::read_rule(&table, known.asks_for_certificates);
    let changes = route_changes::read(&table, path.as_ref().map(|path| path.value));
    check_set_once(&table, &forwarded_claims, &certificate, &changes, known.crawler_field);
    let limits = read_names(&table, "limits", known.limits, "limit");
    let encoded_slashes = encoded_slashes::read(&table);
    let key = table.path().to_owned();
    table.finish();
    if has_session && session.is_none() {
        return None;
    }
    let LocatedValue { value: path, span, key: path_key } = path?;
    let config = RouteConfig {
        path: path.to_owned(),
        host: host.map(|host| host.value.to_ascii_lowercase()),
        condition,
        issuers,
        target: target?,
        session,
        cors,
        token_places,
        requirements,
        forwarded_claims,
        certificate,
        changes,
        limits,
        reading: reading?,
        passes_slashes: encoded_slashes.is_some(),
    };
    let path = LocatedValue { value: (), span, key: path_key };
    Some(LocatedRoute { config, path, encoded_slashes, key })
}

/// Checks that a request field is set in one way only.
fn check_set_once(
    table: &TableReader<'_>,
    claims: &ForwardedClaims,
    certificate: &CertificateRule,
    changes: &RouteChanges,
    of_crawlers: Option<&HeaderName>,
) {
    let of_claims = claims.fields.iter().map(|(name, _)| (name, "forward_claims"));
    let of_certificate = certificate.fields.iter().map(|(name, _)| (name, "forward_certificate"));
    let of_changes = changes.request.set.iter().map(|(name, _)| (name, "request_fields"));
    let mut seen: Vec<(&HeaderName, &str)> = Vec::new();
    let of_crawlers = of_crawlers.map(|name| (name, "crawlers"));
    let of_route = of_claims.chain(of_certificate).chain(of_changes);
    for (name, key) in of_crawlers.into_iter().chain(of_route) {
        if let Some((_, other)) = seen.iter().find(|(it, other)| *it == name && *other != key) {
            table.complain(format!("`{name}` is in `{other}` too; leave one out"));
        }
        seen.push((name, key));
    }
}

/// An issuer as far as the routes with it are concerned.
#[derive(Debug)]
pub(super) struct NamedIssuer<'a> {
    pub(super) name: &'a str,
    /// The claim `iss` of its tokens, if the configuration has it.
    pub(super) claim: Option<&'a str>,
    /// Whether the issuer is asked about its tokens.
    pub(super) introspects: bool,
}

/// Reads the issuers of a route. Their tokens have to differ in the claim `iss`.
fn read_issuers(table: &TableReader<'_>, known: &[NamedIssuer<'_>]) -> Vec<String> {
    let Some(list) = table.strings("issuer") else { return Vec::new() };
    if list.value.is_empty() {
        let message = "the list is empty, which would open the route to everybody; name an issuer, or \
                       leave `issuer` out if this is meant";
        table.complain_at(&list, message);
    }
    let names: Vec<&str> = known.iter().map(|issuer| issuer.name).collect();
    let issuers = read_names(table, "issuer", &names, "issuer");
    let claim = |name: &str| known.iter().find(|it| it.name == name).and_then(|it| it.claim);
    let introspects =
        |name: &&String| known.iter().any(|it| it.name == name.as_str() && it.introspects);
    if issuers.iter().filter(introspects).count() > 1 {
        table.complain_at(
            &list,
            "several of these have an `introspection_url`, and their tokens cannot be told apart; name \
             one of them",
        );
    }
    for (index, issuer) in issuers.iter().enumerate() {
        let same =
            |it: &&String| *it != issuer && claim(it).is_some() && claim(it) == claim(issuer);
        if let Some(other) = issuers[..index].iter().find(same) {
            table.complain_at(&list, format!(
                "tokens of `{other}` and `{issuer}` have the same `iss`, so they cannot be told apart; \
                 name one of them, with the audiences of both"
            ));
        }
    }
    issuers
}

/// Reads a list of names, each of which exists and is there once.
fn read_names(
    table: &TableReader<'_>,
    key: &'static str,
    known: &[&str],
    what: &str,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in table.strings(key).into_iter().flat_map(|list| list.value) {
        if check_name(table, &item, known, what) && names.iter().any(|it| it == item.value) {
            table.complain_at(&item, format!("`{}` is named twice; leave one out", item.value));
        }
        names.push(item.value.to_owned());
    }
    names
}
