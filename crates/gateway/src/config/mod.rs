//! The configuration: a TOML file, checked as a whole.
//!
//! Every mistake is noted with its line and key, and all of them are returned together, so that a person
//! corrects a file once.

mod access_log;
mod backend;
mod duration;
mod identifiers;
mod issuer;
mod limit;
mod listen;
mod origin;
mod problem;
mod reading;
mod route;
mod secret;
mod table;
mod traces;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use weir_net::socket::Address;

pub use self::backend::{BackendConfig, Timeouts};
pub use self::issuer::IssuerConfig;
pub use self::listen::ListenAddress;
pub use self::origin::{InvalidOrigin, Origin};
pub use self::problem::Problem;
use self::problem::Problems;
use self::reading::Reading;
pub use self::route::{Choice, Login, RouteConfig, SessionConfig, Target};
pub use self::secret::Secret;
use self::table::TableReader;
use crate::access_log::AccessLogConfig;
use crate::challenge::Challenges;
use crate::identifiers::{IdentifierConfig, TraceMode};
use crate::limits::LimitConfig;
use crate::traces::TraceConfig;
use crate::trusted_networks::{TrustedNetwork, TrustedNetworks};

/// Larger files are not read, because no configuration is this long.
const BYTES_MAX: u64 = 16 << 20;

/// More threads than any machine has processors.
const THREADS_MAX: u64 = 1_024;

/// What a gateway does.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens, never empty.
    pub listen: Vec<ListenAddress>,
    /// The threads that serve connections; `None` for one for each processor.
    pub threads: Option<usize>,
    /// The proxies before the gateway: what they say of a client is believed.
    pub trusted_networks: TrustedNetworks,
    /// What a client without a token is asked for: the realm of `WWW-Authenticate`.
    pub realm: String,
    /// What becomes of request ids and traces.
    pub identifiers: IdentifierConfig,
    /// The certificate and the key of tls:// addresses, as PEM.
    pub tls: Option<CertificateFiles>,
    /// Who signs tokens.
    pub issuers: Vec<IssuerConfig>,
    /// The servers that answer.
    pub backends: Vec<BackendConfig>,
    /// Which requests go to which backend, never empty.
    pub routes: Vec<RouteConfig>,
    /// The rules that requests have to keep.
    pub limits: Vec<LimitConfig>,
    /// The file with a line for each request.
    pub access_log: Option<AccessLogConfig>,
    /// Where the spans of requests go.
    pub traces: Option<TraceConfig>,
}

/// A certificate chain and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain as PEM.
    pub certificate: PathBuf,
    /// The key as PEM.
    pub key: PathBuf,
}

impl Config {
    /// Reads a file. Paths in it begin at its folder.
    ///
    /// # Errors
    /// If the file cannot be read, or has mistakes: all of them.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut text = String::new();
        let read =
            File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text));
        let unreadable =
            |message: String| ConfigError::Unreadable { path: path.to_owned(), message };
        match read {
            Err(error) => return Err(unreadable(error.to_string())),
            Ok(bytes) if bytes as u64 > BYTES_MAX => {
                return Err(unreadable("it is larger than 16 MiB".to_owned()));
            }
            Ok(_) => {}
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder)
            .map_err(|problems| ConfigError::Mistakes { path: path.to_owned(), problems })
    }

    /// Parses a text. Paths in it begin at `folder`.
    ///
    /// # Errors
    /// If it has mistakes: all of them, in the order of their lines.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Vec<Problem>> {
        let problems = Problems::new(text);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            problems.add(&span, "", format!("this is not valid TOML: {}", error.message()));
        }
        let root = TableReader::document(document.get_ref(), &problems);
        let config = read_document(root, &Reading::new(folder));
        match (config, problems.into_sorted()) {
            (Some(config), problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(problems),
        }
    }
}

fn read_document(root: TableReader<'_>, reading: &Reading) -> Option<Config> {
    let listen = listen::read(&root);
    let threads = read_threads(&root);
    let trusted_networks = read_trusted_networks(&root);
    let mut identifiers = identifiers::read(&root);
    let traces = root.table("traces").and_then(|table| traces::read(table, reading));
    if traces.is_some() {
        // Whoever reports spans decides which ones, and strangers do not.
        identifiers.trace.get_or_insert(TraceMode::Restart);
    }
    let realm = read_realm(&root);
    let tls = root.table("tls").and_then(|table| read_tls(table, reading));
    if let Some(listen) = &listen
        && tls.is_none()
        && listen
            .iter()
            .any(|listen| matches!(listen.address, Address::Tls(_) | Address::PassedTls(_)))
    {
        root.complain(
            "a tls:// address needs tls = { certificate = \"cert.pem\", key = \"key.pem\" }",
        );
    }
    let issuer_tables = root.named_tables("issuers");
    let backend_tables = root.named_tables("backends");
    let issuer_names: Vec<&str> = issuer_tables.iter().map(|(name, _)| name.value).collect();
    let backend_names: Vec<&str> = backend_tables.iter().map(|(name, _)| name.value).collect();
    let names = (&issuer_names[..], &backend_names[..]);
    let routes = root.tables("routes").into_iter();
    let routes: Vec<_> = routes.filter_map(|table| route::read(table, names, reading)).collect();
    if !root.has("routes") {
        root.complain("there is no route; write [[routes]] with `path` and `backend`");
    }
    let issuers = issuer_tables.into_iter();
    let issuers = issuers.filter_map(|(name, table)| issuer::read(name.value, table, reading));
    let issuers = issuers.collect();
    let backends = backend_tables.into_iter();
    let backends = backends.filter_map(|(name, table)| backend::read(name.value, table, reading));
    let backends = backends.collect();
    let limits = root.tables("limits").into_iter();
    let limits = limits.filter_map(|table| limit::read(table, reading)).collect();
    let access_log = root.table("access_log").and_then(|table| access_log::read(table, reading));
    root.finish();
    Some(Config {
        listen: listen?,
        threads,
        trusted_networks,
        identifiers,
        realm,
        tls,
        issuers,
        backends,
        routes,
        limits,
        access_log,
        traces,
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
    let network = |item: table::Located<&str>| match item.value.parse::<TrustedNetwork>() {
        Ok(network) => Some(network),
        Err(error) => {
            root.complain_at(&item, error.to_string());
            None
        }
    };
    items.into_iter().filter_map(network).collect()
}

fn read_realm(root: &TableReader<'_>) -> String {
    let Some(realm) = root.string("realm") else { return "weir".to_owned() };
    if Challenges::new(realm.value).is_none() {
        root.complain_at(
            &realm,
            "write letters, digits, spaces and signs of ASCII, without \\ and quotes",
        );
    }
    realm.value.to_owned()
}

fn read_tls(table: TableReader<'_>, reading: &Reading) -> Option<CertificateFiles> {
    let certificate = table.required_string("certificate");
    let key = table.required_string("key");
    table.finish();
    let path = |located: table::Located<&str>| reading.path(located.value);
    Some(CertificateFiles { certificate: path(certificate?), key: path(key?) })
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file has mistakes.
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All of them, in the order of their lines.
        problems: Vec<Problem>,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, message } => {
                write!(formatter, "{}: the configuration cannot be read: {message}", path.display())
            }
            Self::Mistakes { path, problems } => {
                for (index, problem) in problems.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "\n" };
                    write!(formatter, "{separator}{}: {problem}", path.display())?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ConfigError {}
