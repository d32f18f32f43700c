//! The settings of the export of spans.

use hyper::HeaderMap;

use crate::fetch::{Authorities, FetchClient, FetchLimits, FetchUrl, TrustError};

/// The share of traced requests, and the collector of their spans. Two are equal if all settings in
/// the configuration are equal.
#[derive(Debug, Clone)]
pub struct TraceConfig {
    /// The URL of the collector, usually with the path `/v1/traces`.
    pub endpoint: FetchUrl,
    /// The share of requests that are traced, from 0 to 1.
    pub share: f64,
    /// The attribute `service.name` of the spans.
    pub service_name: String,
    /// Header fields of each request to the collector, such as `Authorization`. `Debug` does not
    /// show their values.
    pub(super) headers: HeaderMap,
    authorities: Option<Authorities>,
    pub(super) client: FetchClient,
}

impl TraceConfig {
    /// Creates settings with a share of 0 and an empty service name. The collector is verified with
    /// these authorities, by default with those of the system.
    ///
    /// # Errors
    /// If the collector's URL is https, and those of the system cannot be read.
    pub(crate) fn new(
        endpoint: FetchUrl,
        authorities: Option<Authorities>,
        headers: HeaderMap,
    ) -> Result<Self, TrustError> {
        let client = FetchClient::for_url(&endpoint, authorities.as_ref(), FetchLimits::default())?
            .for_purpose("spans");
        Ok(Self { endpoint, share: 0.0, service_name: String::new(), headers, authorities, client })
    }
}

impl PartialEq for TraceConfig {
    fn eq(&self, other: &Self) -> bool {
        let settings =
            |it: &Self| (it.endpoint.clone(), it.service_name.clone(), it.authorities.clone());
        settings(self) == settings(other)
            && self.share == other.share
            && self.headers == other.headers
    }
}
