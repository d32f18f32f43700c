//! The integration tests of this crate, in one binary: it is linked once.

mod access_log;
mod backends;
mod bad_input;
mod configuration;
mod connections;
mod edge;
mod forwarding;
mod gate;
mod glass;
mod glass_calls;
mod glass_tunnels;
mod http2;
mod identifiers;
mod key_servers;
mod limits;
mod lookups;
mod misbehaviour;
mod services;
mod sessions;
mod timings;
mod tokens;
mod traces;
