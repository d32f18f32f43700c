//! The gateway: a reverse proxy that verifies tokens, routes requests by their claims, applies rate
//! limits, and turns each request into a record.
//!
//! ```text
//! request -> route -> token -> limits -> backend by claim -> session -> forward -> record
//! ```
//!
//! A [`Config`] is read from TOML and checked as a whole. A [`Gateway`] listens on its addresses.
//! The [`Recorder`] of a gateway passes records to a source of a [`weir_ingest::Pipeline`], without
//! formatting them as text.

mod access;
mod access_log;
mod answer;
mod backend;
mod capture;
mod choice;
mod clock_watch;
mod config;
mod counts;
mod crawlers;
pub mod fetch;
mod forward;
mod gateway;
mod header_fields;
mod identifiers;
mod limits;
mod meter;
mod record;
mod refusal;
mod request;
mod route;
mod routing;
mod session;
mod shared_cache;
mod tls_error;
pub mod token;
mod traces;

pub use access::client_certificate::{CertificatePart, CertificateRule, ClientName};
pub use access::cors::{AllowedOrigins, CorsConfig};
pub use access::forwarded_claims::ForwardedClaims;
pub use access::requirement::Requirement;
pub use access::token_place::TokenPlaces;
pub use access_log::{AccessLog, AccessLogConfig, AccessLogError, AccessLogFormat};
pub use capture::TunnelCaptures;
pub use config::{
    BackendConfig, CertificateFiles, Choice, Config, ConfigError, ConfigReading, InvalidOrigin,
    IssuerConfig, ListenAddress, ListenAddressError, Login, Origin, Problem, ReservedAddress,
    RouteConfig, RouteTarget, Secret, SessionConfig, Timeouts,
};
pub use counts::{BackendCounts, GatewayCounts, ServerCounts};
pub use crawlers::{CrawlerConfig, canonical_dictionary};
pub use gateway::{Gateway, GatewayHandle};
pub use header_fields::ClientFields;
pub use header_fields::trusted_networks::{InvalidNetwork, TrustedNetwork, TrustedNetworks};
pub use identifiers::{IdentifierConfig, TraceMode};
pub use limits::{LimitConfig, LimitMode};
pub use meter::{
    BUCKET_BOUNDS_S, DurationCounts, DurationExemplar, EventCounts, FailureCounts,
    InProgressCounts, STATUS_CLASSES,
};
pub use record::Recorder;
pub use route::path_reading::PathReading;
pub use route::weight::BackendShare;
pub use traces::{SpanCounts, TraceConfig};
pub use weir_net::Shutdown;
