//! `[[routes]]`: routes of requests to backends.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use super::backend::{is_request_path, read_paths};
use super::folder::ConfigFolder;
use super::route_table::{LocatedRoute, NamedReading};
use super::secret::Secret;
use super::table::{LocatedValue, TableReader};
use crate::fetch::{FetchClient, FetchLimits, FetchUrl};
use crate::path_reading::PathReading;
use crate::request_target::decode_path;

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

/// How the backend of a request is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTarget {
    /// Always the backend of this name.
    Backend(String),
    /// The backend selected by the value of a claim.
    Claim {
        /// The name of the claim, or its path with dots.
        claim: String,
        /// How its value selects the backend.
        choice: Choice,
    },
}

/// How the value of a claim selects a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A table from values to names of backends.
    Table(BTreeMap<String, String>),
    /// A URL in which `{claim}` stands for the value.
    Template(String),
    /// A lookup service.
    Lookup {
        /// Its URL, in which `{claim}` stands for the value.
        url: String,
        /// How long its answers are cached.
        cache: Duration,
    },
}

/// How the gateway logs in to a backend on behalf of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// How a session begins.
    pub login: Login,
    /// The gateway's credential.
    pub credential: Secret,
    /// How long a session is used, unless the backend sets a shorter lifetime.
    pub lifetime: Duration,
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// A path of the backend that accepts the credential.
    Path(String),
    /// A token exchange service (RFC 8693).
    Exchange(FetchUrl),
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
    let target = read_target(&table, table.may_have("issuer"), &names);
    let reading = target.as_ref().map(|target| read_reading(&table, target, backends));
    let has_session = table.has("session");
    let session = table.table("session").and_then(|session| read_session(session, folder));
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

/// How the servers of a route read paths. Those that are made from a claim belong to no backend, so
/// the route says it.
fn read_reading(
    table: &TableReader<'_>,
    target: &RouteTarget,
    backends: &[NamedReading<'_>],
) -> PathReading {
    let is_used = |name: &str| match target {
        RouteTarget::Backend(own) => own == name,
        RouteTarget::Claim { choice: Choice::Table(table), .. } => {
            table.values().any(|it| it == name)
        }
        RouteTarget::Claim { choice: Choice::Template(_), .. } => false,
        RouteTarget::Claim { choice: Choice::Lookup { .. }, .. } => true,
    };
    if matches!(target, RouteTarget::Claim { choice: Choice::Template(_), .. }) {
        return read_paths(table).unwrap_or_default();
    }
    let used = backends.iter().filter(|backend| is_used(backend.name));
    used.map(|backend| backend.reading).max().unwrap_or_default()
}

/// Checks that requests can match a path. They are matched after percent-decoding, and those with
/// ambiguous paths are refused.
fn check_path(table: &TableReader<'_>, path: &LocatedValue<&str>) {
    let text = path.value;
    if let Some(plain) = before_pattern(text) {
        let message = format!(
            "there are no patterns in paths, so no request matches this; write \"{plain}\", which covers \
             all below it"
        );
        return table.complain_at(path, message);
    }
    if !text.starts_with('/') || text.contains(['?', '#']) {
        let message = "this is not a path; write it with a slash at its beginning: \"/api\"";
        return table.complain_at(path, message);
    }
    if text.contains(';') {
        let message = "no request matches this, because `;` begins a parameter; leave it out";
        return table.complain_at(path, message);
    }
    let message = match decode_path(text) {
        Some(decoded) if decoded == text => return,
        Some(decoded) => {
            format!("no request matches this, because paths are decoded first; write \"{decoded}\"")
        }
        None => {
            "no request matches this: those with dot segments, empty segments, encoded slashes, \
                 backslashes or control characters are refused"
                .to_owned()
        }
    };
    table.complain_at(path, message);
}

/// The path before the first segment with another program's notation for patterns, such as `*`,
/// `{id}`, `:id`, `<id>`, `[id]` and `^...$`. `None` if there is no such segment.
fn before_pattern(path: &str) -> Option<String> {
    let is_pattern = |segment: &str| {
        segment.len() > 1 && segment.starts_with([':', '<', '['])
            || segment.contains(['*', '{', '}', '|', '^'])
            || segment.ends_with('$')
    };
    let segments: Vec<&str> = path.split('/').collect();
    let first = segments.iter().position(|segment| is_pattern(segment))?;
    match segments.get(..first)?.join("/") {
        plain if plain.is_empty() => Some("/".to_owned()),
        plain => Some(plain),
    }
}

/// Checks that requests can match a host. A route matches its name without the port, in any case.
fn check_host(table: &TableReader<'_>, host: &LocatedValue<&str>) {
    let text = host.value;
    if is_host_name(text) {
        return;
    }
    let name = text.split_once("://").map_or(text, |(_, rest)| rest);
    let name = name.split('/').next().unwrap_or_default();
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name).trim_end_matches('.');
    let message = if text.contains('*') {
        "there are no patterns in hosts, so no request matches this; write a route for each host, or \
         leave `host` out"
            .to_owned()
    } else if !text.is_ascii() {
        "write the name as browsers send it, with xn--".to_owned()
    } else if is_host_name(name) {
        format!("a host is a name without scheme, port, path and final dot; write \"{name}\"")
    } else {
        "this is not the name of a host; write it as in \"shop.example\"".to_owned()
    };
    table.complain_at(host, message);
}

/// Whether a text is a host as requests are matched by it.
fn is_host_name(text: &str) -> bool {
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.bytes().all(is_name)
    };
    text.split('.').all(is_label)
}

/// Checks that a name exists.
fn check_name(
    table: &TableReader<'_>,
    name: &LocatedValue<&str>,
    known: &[&str],
    what: &str,
) -> bool {
    if known.contains(&name.value) {
        return true;
    }
    let hint = match weir_core::nearest_name(name.value, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => format!("write [{what}s.{}]", name.value),
        None => format!("known names: {}", known.join(", ")),
    };
    table.complain_at(name, format!("there is no {what} `{}`; {hint}", name.value));
    false
}

fn read_target(
    table: &TableReader<'_>,
    has_issuer: bool,
    backends: &[&str],
) -> Option<RouteTarget> {
    let (claim, fixed) = (table.string("claim"), table.string("backend"));
    let has = ["backends", "lookup"].map(|name| table.has(name));
    let set_count = has.into_iter().filter(|has| *has).count() + usize::from(fixed.is_some());
    if set_count != 1 {
        table.complain(format!(
            "a route needs exactly one of `backend`, `backends` (with `claim`) and `lookup` (with \
             `claim`); {set_count} are set"
        ));
        return None;
    }
    if let Some(name) = fixed {
        if claim.is_some() {
            table.complain(
                "`claim` has no effect beside `backend`; write `backends` or leave it out",
            );
        }
        return check_name(table, &name, backends, "backend")
            .then(|| RouteTarget::Backend(name.value.to_owned()));
    }
    let choice = if has[1] { read_lookup(table) } else { read_choice(table, backends) };
    let Some(claim) = claim else {
        table.complain("`claim` is missing: the claim of the token that decides the backend");
        return None;
    };
    if claim.value.split('.').any(str::is_empty) {
        let message =
            "no token has this claim; write its name, or its path: \"realm_access.tenant\"";
        table.complain_at(&claim, message);
    }
    if !has_issuer {
        table.complain("`claim` needs `issuer`: without a token there are no claims");
    }
    Some(RouteTarget::Claim { claim: claim.value.to_owned(), choice: choice? })
}

fn read_choice(table: &TableReader<'_>, backends: &[&str]) -> Option<Choice> {
    if !table.is_table("backends") {
        let template = table.string("backends")?;
        return check_template(table, &template)
            .then(|| Choice::Template(template.value.to_owned()));
    }
    let entries = table.table("backends")?.entries();
    if entries.is_empty() {
        table.complain("`backends` is empty; write { VALUE = \"BACKEND\" }");
    }
    let mut map = BTreeMap::new();
    for (value, name) in entries {
        if check_name(table, &name, backends, "backend") {
            map.insert(value.to_owned(), name.value.to_owned());
        }
    }
    Some(Choice::Table(map))
}

fn read_lookup(table: &TableReader<'_>) -> Option<Choice> {
    let lookup = table.table("lookup")?;
    let url = lookup.required_string("url");
    let cache = lookup.duration("cache").unwrap_or(Duration::from_secs(60));
    let is_valid = url.as_ref().is_some_and(|url| check_template(&lookup, url));
    if let Some(url) = url.as_ref().filter(|_| is_valid)
        && let Err(problem) = url.value.replace("{claim}", "value").parse::<FetchUrl>()
    {
        lookup.complain_at(url, problem.to_string());
    }
    lookup.finish();
    let url = url?.value.to_owned();
    is_valid.then_some(Choice::Lookup { url, cache })
}

/// Checks that a template is a URL with `{claim}`.
fn check_template(table: &TableReader<'_>, template: &LocatedValue<&str>) -> bool {
    let is_url = template.value.starts_with("http://") || template.value.starts_with("https://");
    let is_valid = is_url && template.value.contains("{claim}");
    if !is_valid {
        table.complain_at(
            template,
            "write a URL with {claim} in it, as in http://{claim}.internal:9000",
        );
    }
    is_valid
}

fn read_session(table: TableReader<'_>, folder: &ConfigFolder) -> Option<SessionConfig> {
    let (login, exchange) = (table.string("login"), table.string("exchange"));
    let login = match (login, exchange) {
        (Some(path), None) if is_request_path(path.value) => {
            Some(Login::Path(path.value.to_owned()))
        }
        (Some(path), None) => {
            table.complain_at(
                &path,
                "this is not a path; write it with a slash at its beginning and without spaces: \"/session\"",
            );
            None
        }
        (None, Some(url)) => read_exchange(&table, &url),
        _ => {
            table.complain(
                "a session needs exactly one of `login` (a path of the backend) and `exchange` (a URL)",
            );
            None
        }
    };
    let credential = read_credential(&table, folder);
    let lifetime = table.duration("lifetime").unwrap_or(Duration::from_secs(300));
    let config =
        login.and_then(|login| Some(SessionConfig { login, credential: credential?, lifetime }));
    table.finish();
    config
}

/// Reads the address of a token service.
fn read_exchange(table: &TableReader<'_>, url: &LocatedValue<&str>) -> Option<Login> {
    match url.value.parse::<FetchUrl>() {
        Ok(parsed) => {
            if let Err(error) = FetchClient::for_url(&parsed, None, FetchLimits::default()) {
                table.complain_at(url, error.to_string());
            }
            Some(Login::Exchange(parsed))
        }
        Err(error) => {
            table.complain_at(url, error.to_string());
            None
        }
    }
}

fn read_credential(table: &TableReader<'_>, folder: &ConfigFolder) -> Option<Secret> {
    let (file, variable) = (table.string("credential_file"), table.string("credential_env"));
    let (located, read) = match (file, variable) {
        (Some(file), None) => {
            let read = Secret::read(&folder.source(file.value));
            (file, read)
        }
        (None, Some(variable)) => {
            let read = Secret::from_environment(variable.value);
            (variable, read)
        }
        _ => {
            table.complain("a session needs exactly one of `credential_file` and `credential_env`");
            return None;
        }
    };
    read.map_err(|message| table.complain_at(&located, message)).ok()
}
