//! The integration tests of this crate, in one binary: it is linked once.

mod bodies;
mod common;
mod connection_threads;
mod decoder;
mod http2;
mod http2_client;
mod interim;
mod limits;
mod linger;
mod passing;
mod proxy_protocol;
mod raw_queries;
mod refused_heads;
mod resource;
mod serve;
mod socket;
mod strace;
mod transports;
mod unread;
mod websocket;
