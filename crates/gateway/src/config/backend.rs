//! `[backends.NAME]`: the servers that answer requests.

use std::time::Duration;

use hyper::http::uri::PathAndQuery;

use super::folder::ConfigFolder;
use super::origin::Origin;
use super::read_authorities;
use super::table::TableReader;
use crate::fetch::{Authorities, ClientCertificate, ClientCertificateError, client_config};
use crate::route::path_reading::PathReading;

/// A group of servers that answer the same requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendConfig {
    /// The name in the configuration.
    pub name: String,
    /// The servers, never empty.
    pub instances: Vec<Origin>,
    /// The path of health checks. Without one, only the answers to requests determine a server's
    /// health.
    pub health: Option<String>,
    /// The time between two health checks.
    pub health_interval: Duration,
    /// The certificate authorities for https servers; the system's if absent.
    pub authorities: Option<Authorities>,
    /// The certificate by which the gateway names itself to https servers.
    pub certificate: Option<ClientCertificate>,
    /// Whether the servers speak HTTP/2, over http with prior knowledge (RFC 9113 section 3.3).
    pub is_http2: bool,
    /// The maximum number of connections to one server.
    pub connections_max: usize,
    /// How long a server may take.
    pub timeouts: Timeouts,
    /// How the servers read paths.
    pub reading: PathReading,
}

impl BackendConfig {
    /// A backend with a single server and default settings. Its name is its address.
    pub(crate) fn single(origin: Origin) -> Self {
        Self {
            name: origin.to_string(),
            instances: vec![origin],
            health: None,
            health_interval: HEALTH_INTERVAL,
            authorities: None,
            certificate: None,
            is_http2: false,
            connections_max: CONNECTIONS_MAX as usize,
            timeouts: Timeouts::default(),
            reading: PathReading::default(),
        }
    }
}

/// How long a backend may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To accept a connection, TLS included. Default 5 s.
    pub connect: Duration,
    /// From the end of the request to the head of the answer. Default 60 s.
    pub first_byte: Duration,
    /// Between two parts of a body or of a tunnel. Default 60 s.
    pub idle: Duration,
    /// From the arrival of the request to the end of the answer; no limit by default.
    pub whole: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        let [connect, rest] = [5, 60].map(Duration::from_secs);
        Self { connect, first_byte: rest, idle: rest, whole: None }
    }
}

/// Reads the table of a backend, whose `paths` have been read. Notes mistakes, and may return `None` then.
pub(super) fn read(
    name: &str,
    reading: PathReading,
    table: TableReader<'_>,
    folder: &ConfigFolder,
) -> Option<BackendConfig> {
    let instances = read_instances(&table);
    let health = table.string("health");
    if let Some(path) = &health
        && !is_request_path(path.value)
    {
        table.complain_at(
            path,
            "this is not a path; write it with a slash at its beginning and without spaces: \"/health\"",
        );
    }
    let health_interval = read_health_interval(&table);
    let authorities = read_authorities(&table, folder);
    let has_tls = instances.iter().flatten().any(Origin::is_tls);
    if has_tls
        && !table.has("ca_file")
        && let Err(error) = client_config(None, None)
    {
        table.complain(error.to_string());
    }
    let certificate = table.table("client_certificate").and_then(|it| read_certificate(it, folder));
    if table.has("client_certificate") && !has_tls {
        table.complain("`client_certificate` has no effect without https instances; leave it out");
    }
    let is_http2 = table.boolean("http2").unwrap_or(false);
    let connections_max = table.number("connections", 1).map_or(CONNECTIONS_MAX, |it| it.value);
    let timeouts = table.table("timeouts").map(read_timeouts).unwrap_or_default();
    table.finish();
    Some(BackendConfig {
        name: name.to_owned(),
        instances: instances?,
        health: health.map(|path| path.value.to_owned()),
        health_interval,
        authorities,
        certificate,
        is_http2,
        connections_max: usize::try_from(connections_max).unwrap_or(usize::MAX),
        timeouts,
        reading,
    })
}

/// Reads how servers read paths, if `paths` says it.
pub(super) fn read_paths(table: &TableReader<'_>) -> Option<PathReading> {
    let name = table.string("paths")?;
    let found = PathReading::ALL.into_iter().find(|(known, _)| *known == name.value);
    if found.is_none() {
        let names = PathReading::ALL.map(|(known, _)| format!("\"{known}\"")).join(", ");
        table.complain_at(&name, format!("`{}` is not one of {names}", name.value));
    }
    found.map(|(_, reading)| reading)
}

/// Reads the certificate by which the gateway names itself to the servers.
fn read_certificate(table: TableReader<'_>, folder: &ConfigFolder) -> Option<ClientCertificate> {
    let certificate = table.required_string("certificate");
    let key = table.required_string("key");
    let read = certificate.zip(key).and_then(|(certificate, key)| {
        let [path, key_path] = [&certificate, &key].map(|it| folder.source(it.value));
        let read = ClientCertificate::read(&path, &key_path);
        let is_of_key = matches!(
            &read, Err(ClientCertificateError::Unusable { path, .. }) if *path == key_path
        );
        read.map_err(|error| {
            table.complain_at(if is_of_key { &key } else { &certificate }, error.to_string());
        })
        .ok()
    });
    table.finish();
    read
}

const HEALTH_INTERVAL: Duration = Duration::from_secs(5);
/// The least time between two checks of a server.
const HEALTH_INTERVAL_MIN: Duration = Duration::from_millis(10);
const CONNECTIONS_MAX: u64 = 1_024;

fn read_health_interval(table: &TableReader<'_>) -> Duration {
    let Some(interval) = table.located_duration("health_interval") else { return HEALTH_INTERVAL };
    if interval.value < HEALTH_INTERVAL_MIN {
        let message =
            format!("this is too short; write \"{}ms\" or more", HEALTH_INTERVAL_MIN.as_millis());
        table.complain_at(&interval, message);
    }
    interval.value
}

/// Whether a text can be the path of a request, with or without a query.
pub(super) fn is_request_path(text: &str) -> bool {
    let is_visible = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    text.starts_with('/') && text.bytes().all(is_visible) && text.parse::<PathAndQuery>().is_ok()
}

fn read_instances(table: &TableReader<'_>) -> Option<Vec<Origin>> {
    let Some(list) = table.strings("instances") else {
        if !table.has("instances") {
            table.complain("`instances` is missing: [\"http://127.0.0.1:9001\"]");
        }
        return None;
    };
    if list.value.is_empty() {
        table.complain_at(&list, "the list is empty; name at least one server");
        return None;
    }
    let mut origins = Vec::new();
    for item in &list.value {
        match item.value.parse::<Origin>() {
            Ok(origin) => {
                if origins.iter().any(|other: &Origin| other.is_same_server(&origin)) {
                    table.complain_at(item, "this server is already in the list; leave it out");
                }
                origins.push(origin);
            }
            Err(error) => table.complain_at(item, error.to_string()),
        }
    }
    (origins.len() == list.value.len()).then_some(origins)
}

fn read_timeouts(table: TableReader<'_>) -> Timeouts {
    let default = Timeouts::default();
    let timeouts = Timeouts {
        connect: table.duration("connect").unwrap_or(default.connect),
        first_byte: table.duration("first_byte").unwrap_or(default.first_byte),
        idle: table.duration("idle").unwrap_or(default.idle),
        whole: table.duration("whole"),
    };
    let all =
        [Some(timeouts.connect), Some(timeouts.first_byte), Some(timeouts.idle), timeouts.whole];
    if all.into_iter().flatten().any(|timeout| timeout.is_zero()) {
        table.complain("a timeout must not be zero; write at least \"1ms\"");
    }
    table.finish();
    timeouts
}
