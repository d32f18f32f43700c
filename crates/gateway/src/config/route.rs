//! `[[routes]]`: routes of requests to backends.

use super::claims;
use super::cors;
use super::folder::ConfigFolder;
use super::route_path::{check_host, check_path};
use super::route_table::{LocatedRoute, NamedReading};
use super::session::{self, SessionConfig};
use super::table::{LocatedValue, TableReader};
use super::target::{self, RouteTarget, check_name};
use super::token_places;
use crate::access::cors::CorsConfig;
use crate::access::forwarded_claims::ForwardedClaims;
use crate::access::requirement::Requirement;
use crate::access::token_place::TokenPlaces;
use crate::route::path_reading::PathReading;

/// A route: matches requests by path and host, and selects their backend.
#[derive(Debug, Clone)]
pub struct RouteConfig {
    /// The path prefix, in whole segments.
    pub path: String,
    /// The host of the request; `None` matches any host.
    pub host: Option<String>,
    /// The name of the issuer whose tokens are accepted; without one, the route needs no token.
    pub issuer: Option<String>,
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
    /// How the servers that may get the requests read paths.
    pub reading: PathReading,
}

impl RouteConfig {
    /// Whether a request that has passed this route may reach what another one protects: it is the
    /// same, or open to everybody.
    pub(crate) fn covers_access(&self, other: &Self) -> bool {
        self.gives_same_access(other) || self.issuer.is_some() && other.issuer.is_none()
    }

    /// Whether requests are checked and sent to servers as by another route.
    pub(crate) fn gives_same_access(&self, other: &Self) -> bool {
        (&self.issuer, &self.target, &self.session)
            == (&other.issuer, &other.target, &other.session)
            && self.requirements == other.requirements
            && self.forwarded_claims == other.forwarded_claims
            && self.token_places == other.token_places
            // It says which pages may send the cookie with a token.
            && self.cors == other.cors
    }
}

/// Reads the table of a route. Notes mistakes, and may return `None` then. `issuers` and `backends`
/// are those that exist.
pub(super) fn read(
    table: TableReader<'_>,
    issuers: &[&str],
    backends: &[NamedReading<'_>],
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
    let issuer = table.string("issuer");
    if let Some(issuer) = &issuer {
        check_name(&table, issuer, issuers, "issuer");
    }
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
    let key = table.path().to_owned();
    table.finish();
    if has_session && session.is_none() {
        return None;
    }
    let LocatedValue { value: path, span, key: path_key } = path?;
    let config = RouteConfig {
        path: path.to_owned(),
        host: host.map(|host| host.value.to_ascii_lowercase()),
        issuer: issuer.map(|issuer| issuer.value.to_owned()),
        target: target?,
        session,
        cors,
        token_places,
        requirements,
        forwarded_claims,
        reading: reading?,
    };
    Some(LocatedRoute { config, path: LocatedValue { value: (), span, key: path_key }, key })
}
