//! Uploads: the connections over which files arrive.
//!
//! The path of a byte over WebSockets:
//!
//! 1. `connection` serves one WebSocket, which sends files one after another. `file_request` is what
//!    a page requests between them.
//! 2. `transfer` runs one file over the connection that owns it; `input` is what it waits for.
//!    `joined_connection` reads the blocks of other connections that join it. `file_end` ends a file
//!    from outside.
//! 3. The [`file`](crate::file) takes the bytes.
//! 4. `acks` tells the page which bytes are parsed.
//!
//! `replayed_file` receives a file that the page sends again for the replay of a rule. `put` receives
//! a file as the body of a request. `bench` is for measurements.

mod acks;
mod bench;
mod connection;
mod file_end;
mod file_request;
mod input;
mod joined_connection;
mod put;
mod replayed_file;
mod transfer;

pub(crate) use bench::count;
pub(crate) use connection::run;
pub(crate) use put::receive;
