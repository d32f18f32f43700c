//! `[[routes]]`: routes of requests to backends.

use super::folder::ConfigFolder;
use super::route_path::{check_host, check_path};
use super::route_table::{LocatedRoute, NamedReading};
use super::session::{self, SessionConfig};
use super::table::{LocatedValue, TableReader};
use super::target::{self, Target, check_name};
use crate::path_reading::PathReading;

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
    /// How the servers that may get the requests read paths.
    pub reading: PathReading,
}

impl RouteConfig {
    /// Whether requests are checked and sent to servers as by another route.
    pub(crate) fn gives_same_access(&self, other: &Self) -> bool {
        (&self.issuer, &self.target, &self.session)
            == (&other.issuer, &other.target, &other.session)
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
        reading: reading?,
    };
    Some(LocatedRoute { config, path: LocatedValue { value: (), span, key: path_key }, key })
}
