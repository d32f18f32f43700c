//! The configuration: a TOML file, checked as a whole.
//!
//! Every mistake is noted with its line and key. All are returned together, so that a user can
//! correct the file in one go.

mod access_log;
mod backend;
mod claims;
mod client_certificate;
mod condition;
mod cors;
mod crawlers;
mod encoded_slashes;
mod error;
mod file;
mod folder;
mod identifiers;
mod issuer;
mod limit;
mod listen;
mod origin;
mod problem;
mod route;
mod route_changes;
mod route_methods;
mod route_path;
mod route_table;
mod secret;
mod session;
mod table;
mod target;
mod token_places;
mod traces;
mod warnings;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hyper::header::HeaderName;
use toml::de::DeTable;
use weir_net::socket::{BindError, ClientCertificates, TlsFiles};

pub use self::backend::{BackendConfig, Timeouts};
pub use self::error::ConfigError;
use self::folder::ConfigFolder;
pub use self::issuer::IssuerConfig;
pub use self::listen::{ListenAddress, ListenAddressError, ReservedAddress};
pub use self::origin::{InvalidOrigin, Origin};
pub use self::problem::Problem;
use self::problem::Problems;
pub use self::route::RouteConfig;
use self::route::{KnownNames, NamedIssuer};
use self::route_table::{LocatedRoute, NamedReading};
pub use self::secret::Secret;
pub use self::session::{Login, SessionConfig};
use self::table::TableReader;
pub use self::target::{Choice, RouteTarget};
use crate::access::challenge::Challenges;
use crate::access_log::AccessLogConfig;
use crate::crawlers::CrawlerConfig;
use crate::fetch::Authorities;
use crate::header_fields::trusted_networks::{TrustedNetwork, TrustedNetworks};
use crate::header_fields::{self, ClientFields};
use crate::identifiers::{IdentifierConfig, TraceMode};
use crate::limits::LimitConfig;
use crate::traces::TraceConfig;

/// Larger configuration files are refused.
const BYTES_MAX: u64 = 16 << 20;

/// The maximum of `threads`.
const THREADS_MAX: u64 = 1_024;

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct Config {
    /// The addresses to listen on, never empty.
    pub listen: Vec<ListenAddress>,
    /// The number of threads that serve connections; `None` means one for each processor.
    pub threads: Option<usize>,
    /// The networks of proxies in front of the gateway. What their requests say about a client is
    /// trusted.
    pub trusted_networks: TrustedNetworks,
    /// The header fields of clients that are removed, and those that are not.
    pub client_fields: ClientFields,
    /// The realm of `WWW-Authenticate`.
    pub realm: String,
    /// The handling of request ids and trace contexts.
    pub identifiers: IdentifierConfig,
    /// The certificate and the key of tls:// addresses, as PEM.
    pub tls: Option<CertificateFiles>,
    /// The issuers of tokens.
    pub issuers: Vec<IssuerConfig>,
    /// The backends.
    pub backends: Vec<BackendConfig>,
    /// The routes of requests to backends, never empty.
    pub routes: Vec<RouteConfig>,
    /// The rate limits.
    pub limits: Vec<LimitConfig>,
    /// The access log, if it is on.
    pub access_log: Option<AccessLogConfig>,
    /// The crawlers whose signatures are verified, if any.
    pub crawlers: Option<CrawlerConfig>,
    /// The export of spans, if it is on.
    pub traces: Option<TraceConfig>,
    /// Settings that are probably not meant, in the order of the lines.
    pub warnings: Vec<Problem>,
}

/// A configuration that was read, and the files that it was read from.
#[derive(Debug)]
pub struct ConfigReading {
    /// The configuration, or all of its mistakes.
    pub config: Result<Config, ConfigError>,
    /// The files that it names and whose content is a part of it: secrets, keys, rules and
    /// certificate authorities. The certificate of `tls` is not among them, because the listener
    /// reads it again itself.
    pub sources: Vec<PathBuf>,
}

/// A certificate chain and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain as PEM.
    pub certificate: PathBuf,
    /// The key as PEM.
    pub key: PathBuf,
    /// Which certificates clients present; `None` asks for none.
    pub clients: Option<ClientCertificates>,
}

impl Config {
    /// Reads a file. Relative paths in it start at its folder.
    ///
    /// # Errors
    /// If the file cannot be read, or has mistakes. The error lists all mistakes.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::read_with_sources(path, &[]).config
    }

    /// Like [`read`](Self::read), and also returns the files that the configuration names, even if
    /// it has mistakes. An address that overlaps a reserved one is a mistake.
    pub fn read_with_sources(path: &Path, reserved: &[ReservedAddress]) -> ConfigReading {
        let folder = ConfigFolder::new(path.parent().unwrap_or(Path::new("")));
        let config = read_text(path).and_then(|text| {
            let mistakes = |problems| ConfigError::Mistakes { path: path.to_owned(), problems };
            parse(&text, &folder, reserved).map_err(mistakes)
        });
        ConfigReading { config, sources: folder.into_sources() }
    }

    /// Parses a text. Relative paths in it start at `folder`.
    ///
    /// # Errors
    /// Returns all mistakes in the order of their lines.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Vec<Problem>> {
        parse(text, &ConfigFolder::new(folder), &[])
    }
}

/// Reads the text of a configuration file.
fn read_text(path: &Path) -> Result<String, ConfigError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text));
    let unreadable = |message: String| ConfigError::Unreadable { path: path.to_owned(), message };
    match read {
        Err(error) => Err(unreadable(error.to_string())),
        Ok(bytes) if bytes as u64 > BYTES_MAX => {
            Err(unreadable("it is larger than 16 MiB".to_owned()))
        }
        Ok(_) => Ok(text),
    }
}

fn parse(
    text: &str,
    folder: &ConfigFolder,
    reserved: &[ReservedAddress],
) -> Result<Config, Vec<Problem>> {
    let problems = Problems::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let is_toml = errors.is_empty();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        problems.add(&span, "", format!("this is not valid TOML: {}", error.message()));
    }
    // What follows a mistake of syntax may be read as something else.
    if is_toml {
        let root = TableReader::document(document.get_ref(), &problems);
        let config = read_document(root, folder, reserved);
        return match (config, problems.into_sorted()) {
            (Some(config), (problems, warnings)) if problems.is_empty() => {
                Ok(Config { warnings, ..config })
            }
            (_, (problems, _)) => Err(problems),
        };
    }
    Err(problems.into_sorted().0)
}

fn read_document(
    root: TableReader<'_>,
    folder: &ConfigFolder,
    reserved: &[ReservedAddress],
) -> Option<Config> {
    let listen = listen::read(&root, reserved);
    let threads = read_threads(&root);
    let trusted_networks = read_trusted_networks(&root);
    let client_fields = read_client_fields(&root);
    let mut identifiers = identifiers::read(&root);
    let traces = root.table("traces").and_then(|table| traces::read(table, folder));
    if traces.is_some() {
        // A gateway that exports spans does its own sampling, so that clients cannot decide it.
        identifiers.trace.get_or_insert(TraceMode::Restart);
    }
    let realm = read_realm(&root);
    let tls = root.table("tls").and_then(|table| read_tls(table, folder));
    if let Some(listen) = &listen
        && tls.is_none()
        && listen.iter().any(ListenAddress::has_tls)
    {
        root.complain(
            "a tls:// address needs tls = { certificate = \"cert.pem\", key = \"key.pem\" }",
        );
    }
    let issuer_tables = root.named_tables("issuers");
    let backend_tables = root.named_tables("backends");
    let issuer_names = issuer_tables.iter().map(|(name, table)| NamedIssuer {
        name: name.value,
        claim: table.text("issuer"),
        introspects: table.text("introspection_url").is_some(),
    });
    let issuer_names: Vec<NamedIssuer<'_>> = issuer_names.collect();
    let readings = backend_tables.iter().map(|(name, table)| {
        let stated = backend::read_paths(table);
        let reading = stated.unwrap_or_default();
        NamedReading { name: name.value, reading, is_stated: stated.is_some() }
    });
    let readings: Vec<NamedReading<'_>> = readings.collect();
    let limit_tables = root.tables("limits");
    let limit_names: Vec<&str> = limit_tables.iter().filter_map(|it| it.text("name")).collect();
    let crawlers = root.table("crawlers").and_then(|table| crawlers::read(table, folder));
    let asks_for_certificates = root.is_table_with("tls", "client_ca_file");
    let known = KnownNames {
        issuers: &issuer_names,
        backends: &readings,
        limits: &limit_names,
        asks_for_certificates,
        crawler_field: crawlers.as_ref().and_then(|crawlers| crawlers.field.as_ref()),
    };
    let routes = root.tables("routes").into_iter();
    let routes: Vec<Option<LocatedRoute>> =
        routes.map(|table| route::read(table, known, folder)).collect();
    warnings::warn_unnamed(&limit_tables, &routes);
    warnings::warn_unused(&backend_tables, &routes);
    let trust = tls.as_ref().and_then(|tls| tls.clients.as_ref());
    let all_have_certificates = trust.is_some_and(|it| it.are_required)
        && listen.iter().flatten().all(ListenAddress::has_tls);
    warnings::warn_open(&root, &issuer_tables, &routes, all_have_certificates);
    let routes: Vec<LocatedRoute> = routes.into_iter().flatten().collect();
    route_table::check(&root, &routes, &readings, &client_fields);
    let routes = routes.into_iter().map(|route| route.config).collect();
    if !root.has("routes") {
        root.complain("there is no route; write [[routes]] with `path` and `backend`");
    }
    let issuers = issuer_tables.into_iter();
    let issuers = issuers.filter_map(|(name, table)| issuer::read(name.value, table, folder));
    let issuers = issuers.collect();
    let backends = backend_tables.into_iter().zip(&readings);
    let backends = backends.filter_map(|((name, table), of_paths)| {
        backend::read(name.value, of_paths.reading, table, folder)
    });
    let backends = backends.collect();
    let limits = limit_tables.into_iter();
    let limits = limits.filter_map(|table| limit::read(table, folder)).collect();
    let access_log = root.table("access_log").and_then(|table| access_log::read(table, folder));
    root.finish();
    Some(Config {
        listen: listen?,
        threads,
        trusted_networks,
        client_fields,
        identifiers,
        realm,
        tls,
        issuers,
        backends,
        routes,
        limits,
        access_log,
        crawlers,
        traces,
        warnings: Vec::new(),
    })
}

fn read_threads(root: &TableReader<'_>) -> Option<usize> {
    let threads = root.number("threads", 1)?;
    if threads.value > THREADS_MAX {
        root.complain_at(&threads, format!("write at most {THREADS_MAX}"));
    }
    usize::try_from(threads.value).ok()
}

fn read_trusted_networks(root: &TableReader<'_>) -> TrustedNetworks {
    let list = root.strings("trusted_networks");
    let items = list.map(|list| list.value).unwrap_or_default();
    let network = |item: table::LocatedValue<&str>| match item.value.parse::<TrustedNetwork>() {
        Ok(network) => Some(network),
        Err(error) => {
            root.complain_at(&item, error.to_string());
            None
        }
    };
    items.into_iter().filter_map(network).collect()
}

/// Reads the names of header fields of clients that are removed, and of those that are not.
fn read_client_fields(root: &TableReader<'_>) -> ClientFields {
    let read = |key| {
        let list = root.strings(key);
        let items = list.map(|list| list.value).unwrap_or_default();
        items.into_iter().filter_map(|item| read_client_field(root, &item)).collect()
    };
    ClientFields { removed: read("remove_fields"), kept: read("keep_fields") }
}

fn read_client_field(
    root: &TableReader<'_>,
    item: &table::LocatedValue<&str>,
) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(item.value.as_bytes()).ok();
    let is_free =
        |name: &HeaderName| !header_fields::is_needed(name) && !header_fields::is_identifier(name);
    let name = name.filter(is_free);
    if name.is_none() {
        let message = format!("`{}` is not a header field that can be removed or kept", item.value);
        root.complain_at(item, message);
    }
    name
}

fn read_realm(root: &TableReader<'_>) -> String {
    let Some(realm) = root.string("realm") else { return "weir".to_owned() };
    if Challenges::new(realm.value).is_none() {
        root.complain_at(&realm, "write printable ASCII characters, without \\ and quotes");
    }
    realm.value.to_owned()
}

fn read_tls(table: TableReader<'_>, folder: &ConfigFolder) -> Option<CertificateFiles> {
    let certificate = table.required_string("certificate");
    let key = table.required_string("key");
    let clients = client_certificate::read_trust(&table, folder);
    let files = certificate.zip(key).map(|(certificate, key)| {
        let paths = [&certificate, &key].map(|located| folder.path(located.value));
        check_tls(&table, &certificate, &key, &paths);
        let [certificate, key] = paths;
        CertificateFiles { certificate, key, clients }
    });
    table.finish();
    files
}

/// Checks that the files of a certificate and its key can be used.
fn check_tls(
    table: &TableReader<'_>,
    certificate: &table::LocatedValue<&str>,
    key: &table::LocatedValue<&str>,
    paths: &[PathBuf; 2],
) {
    let [certificate_path, key_path] = paths.clone();
    let files = TlsFiles { certificate: certificate_path, key: key_path };
    if let Err(error) = files.check() {
        let is_of_key = matches!(
            &error,
            BindError::Tls { path, .. } | BindError::Unreadable { path, .. } if *path == files.key
        );
        table.complain_at(if is_of_key { key } else { certificate }, error.to_string());
    }
}

/// Reads the file of certificate authorities that `ca_file` names, if there is one.
fn read_authorities(table: &TableReader<'_>, folder: &ConfigFolder) -> Option<Authorities> {
    let located = table.string("ca_file")?;
    let read = Authorities::read(&folder.source(located.value));
    read.map_err(|error| table.complain_at(&located, error.to_string())).ok()
}
