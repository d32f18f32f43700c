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

mod access_log;
mod address_text;
mod answer;
mod answer_fields;
mod authorize;
mod backend;
mod capture;
mod challenge;
mod choice;
mod clock_watch;
mod config;
mod cors;
mod counts;
pub mod fetch;
mod forward;
mod forwarded_claims;
mod gateway;
mod header_fields;
mod http_version;
mod identifiers;
mod identity_fields;
mod limits;
mod meter;
mod path_reading;
mod record;
mod refusal;
mod request_head;
mod request_target;
mod requirement;
mod route_match;
mod routing;
mod sender;
mod session;
mod shared_cache;
mod tls_error;
pub mod token;
mod token_place;
mod traces;
mod trusted_networks;
mod upload_body;

pub use access_log::{AccessLog, AccessLogConfig, AccessLogError, AccessLogFormat};
pub use capture::TunnelCaptures;
pub use config::{
    BackendConfig, CertificateFiles, Choice, Config, ConfigError, ConfigReading, InvalidOrigin,
    IssuerConfig, ListenAddress, Login, Origin, Problem, ReservedAddress, RouteConfig, RouteTarget,
    Secret, SessionConfig, Timeouts,
};
pub use cors::{AllowedOrigins, CorsConfig};
pub use counts::{BackendCounts, GatewayCounts, ServerCounts};
pub use forwarded_claims::ForwardedClaims;
pub use gateway::{Gateway, GatewayHandle};
pub use header_fields::ClientFields;
pub use identifiers::{IdentifierConfig, TraceMode};
pub use limits::{LimitConfig, LimitMode};
pub use meter::{
    BUCKET_BOUNDS_S, DurationCounts, DurationExemplar, EventCounts, InProgressCounts,
    STATUS_CLASSES,
};
pub use path_reading::PathReading;
pub use record::Recorder;
pub use requirement::Requirement;
pub use token_place::TokenPlaces;
pub use traces::{SpanCounts, TraceConfig};
pub use trusted_networks::{InvalidNetwork, TrustedNetwork, TrustedNetworks};
pub use weir_net::Shutdown;
