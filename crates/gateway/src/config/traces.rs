//! `[traces]`: where the spans of requests go.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::reading::Reading;
use super::secret::Secret;
use super::table::{Located, TableReader};
use crate::fetch::FetchUrl;
use crate::traces::TraceConfig;

/// The share of requests that are traced by default.
const SHARE: f64 = 0.01;

/// The name of the service by default.
const SERVICE_NAME: &str = "weir-gateway";

/// Reads the value that a text stands for.
type ReadValue<'a> = &'a dyn Fn(&str) -> Result<Secret, String>;

/// Reads the table. Mistakes are noted, and then there are no traces.
pub(super) fn read(table: TableReader<'_>, reading: &Reading) -> Option<TraceConfig> {
    let endpoint = read_endpoint(&table);
    let share = table.share("share").unwrap_or(SHARE);
    let service_name = table.string("service_name").map_or(SERVICE_NAME, |name| name.value);
    let ca_file = table.string("ca_file").map(|file| reading.path(file.value));
    let headers = read_headers(&table, reading);
    let config = endpoint.and_then(|endpoint| {
        let config = TraceConfig::new(endpoint, ca_file, headers);
        let mut config = config.map_err(|error| table.complain(error.to_string())).ok()?;
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

/// The fields of the requests to the collector: their texts, or where their secrets are.
fn read_headers(table: &TableReader<'_>, reading: &Reading) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let plain = |text: &str| Ok(Secret::new(text));
    let file = |text: &str| Secret::read(&reading.path(text));
    let sources: [(&'static str, ReadValue<'_>); 3] =
        [("headers", &plain), ("header_files", &file), ("header_env", &Secret::from_environment)];
    for (key, value_of) in sources {
        let Some(fields) = table.table(key) else { continue };
        for (name, text) in fields.entries() {
            match read_header(name, &text, value_of) {
                Ok((name, value)) => _ = headers.insert(name, value),
                Err(message) => table.complain_at(&text, message),
            }
        }
    }
    headers
}

fn read_header(
    name: &str,
    text: &Located<&str>,
    value_of: ReadValue<'_>,
) -> Result<(HeaderName, HeaderValue), String> {
    let name: HeaderName =
        name.parse().map_err(|_| format!("`{name}` is not the name of a header field"))?;
    let secret = value_of(text.value)?;
    let mut value = HeaderValue::from_bytes(secret.bytes())
        .map_err(|_| "the value has characters that a header field cannot have".to_owned())?;
    value.set_sensitive(true);
    Ok((name, value))
}
