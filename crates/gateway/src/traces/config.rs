//! Where spans go, and which.

use std::path::PathBuf;

use hyper::HeaderMap;

use crate::fetch::{FetchClient, FetchLimits, FetchUrl, TrustError};

/// Which requests are traced, and who collects the spans. Two are equal if all that was written of them is.
#[derive(Debug, Clone)]
pub struct TraceConfig {
    /// The URL of the collector, usually with the path `/v1/traces`.
    pub endpoint: FetchUrl,
    /// The share of requests that are traced, from 0 to 1.
    pub share: f64,
    /// The name under which the spans are found: `service.name`.
    pub service_name: String,
    /// Fields of each request to the collector, such as `Authorization`. Their values are not shown.
    pub(super) headers: HeaderMap,
    ca_file: Option<PathBuf>,
    pub(super) client: FetchClient,
}

impl TraceConfig {
    /// Sends the spans of no request, under no name, to a collector. It is trusted by the authorities of a PEM file,
    /// or without one by those of the system.
    ///
    /// # Errors
    /// If the collector is asked over TLS, and there are no authorities.
    pub(crate) fn new(
        endpoint: FetchUrl,
        ca_file: Option<PathBuf>,
        headers: HeaderMap,
    ) -> Result<Self, TrustError> {
        let client = FetchClient::for_url(&endpoint, ca_file.as_deref(), FetchLimits::default())?
            .for_purpose("spans");
        Ok(Self { endpoint, share: 0.0, service_name: String::new(), headers, ca_file, client })
    }
}

impl PartialEq for TraceConfig {
    fn eq(&self, other: &Self) -> bool {
        let written =
            |it: &Self| (it.endpoint.clone(), it.service_name.clone(), it.ca_file.clone());
        written(self) == written(other)
            && self.share == other.share
            && self.headers == other.headers
    }
}
