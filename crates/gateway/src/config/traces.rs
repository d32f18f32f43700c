//! `[traces]`: the export of spans.

use std::fmt;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::folder::ConfigFolder;
use super::read_authorities;
use super::secret::{Secret, SecretError};
use super::table::TableReader;
use crate::fetch::FetchUrl;
use crate::traces::TraceConfig;

/// The default share of requests that are traced.
const SHARE: f64 = 0.01;

/// The default service name.
const SERVICE_NAME: &str = "weir-gateway";

/// Reads the value of a header field from its text in the configuration: a literal, a path or a
/// variable name.
type ReadValue<'a> = &'a dyn Fn(&str) -> Result<Secret, SecretError>;

/// Reads the table. Notes mistakes, and may return `None` then.
pub(super) fn read(table: TableReader<'_>, folder: &ConfigFolder) -> Option<TraceConfig> {
    let endpoint = read_endpoint(&table);
    let share = table.share("share").unwrap_or(SHARE);
    let service_name = table.string("service_name").map_or(SERVICE_NAME, |name| name.value);
    let authorities = read_authorities(&table, folder);
    let headers = read_headers(&table, folder);
    let config = endpoint.and_then(|endpoint| {
        let config = TraceConfig::new(endpoint, authorities, headers);
        let mut config = match config {
            Ok(config) => config,
            Err(error) => {
                if !table.has("ca_file") {
                    table.complain(error.to_string());
                }
                return None;
            }
        };
        config.share = share;
        service_name.clone_into(&mut config.service_name);
        Some(config)
    });
    table.finish();
    config
}

fn read_endpoint(table: &TableReader<'_>) -> Option<FetchUrl> {
    let endpoint = table.required_string("endpoint")?;
    let parsed = endpoint.value.parse();
    parsed
        .map_err(|error: crate::fetch::InvalidFetchUrl| {
            table.complain_at(&endpoint, error.to_string());
        })
        .ok()
}

/// Reads the header fields of requests to the collector: literal values, or files and environment
/// variables that hold them.
fn read_headers(table: &TableReader<'_>, folder: &ConfigFolder) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let plain = |text: &str| Ok(Secret::new(text));
    let file = |text: &str| Secret::read(&folder.source(text));
    let sources: [(&'static str, ReadValue<'_>); 3] =
        [("headers", &plain), ("header_files", &file), ("header_env", &Secret::from_environment)];
    for (key, value_of) in sources {
        let Some(fields) = table.table(key) else { continue };
        for (name, text) in fields.entries() {
            match read_header(name, text.value, value_of) {
                Ok((name, value)) => _ = headers.insert(name, value),
                Err(error) => table.complain_at(&text, error),
            }
        }
    }
    headers
}

fn read_header(
    name: &str,
    text: &str,
    value_of: ReadValue<'_>,
) -> Result<(HeaderName, HeaderValue), HeaderError> {
    let name: HeaderName = name.parse().map_err(|_| HeaderError::Name(name.to_owned()))?;
    let secret = value_of(text).map_err(HeaderError::Secret)?;
    let mut value = HeaderValue::from_bytes(secret.bytes()).map_err(|_| HeaderError::Value)?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Why a header field cannot be sent.
#[derive(Debug)]
enum HeaderError {
    Name(String),
    Value,
    Secret(SecretError),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "`{name}` is not the name of a header field"),
            Self::Value => {
                formatter.write_str("the value has characters that a header field cannot have")
            }
            Self::Secret(error) => error.fmt(formatter),
        }
    }
}
