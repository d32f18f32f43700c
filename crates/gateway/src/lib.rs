//! The gateway: a reverse proxy that checks tokens, routes requests by their claims, limits them, and
//! turns each of them into a record.

mod config;

pub use config::{
    BackendConfig, CertificateFiles, Choice, Config, ConfigError, InvalidOrigin, IssuerConfig,
    IssuerKeys, LimitConfig, LimitMode, Login, Origin, Problem, RouteConfig, Secret, SessionConfig,
    Target, Timeouts,
};

pub mod fetch;
pub mod token;
