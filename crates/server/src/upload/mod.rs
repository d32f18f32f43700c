//! Uploads: the way of a file's bytes from a connection into the pipeline.
//!
//! Over WebSockets, in the order in which a byte passes them:
//!
//! 1. `connection` serves one WebSocket, which sends files one after another.
//! 2. `uploaded_file` is one file of a session. It outlives its connections; the connection
//!    that locks its receiver owns it.
//! 3. `transfer` runs one file over the connection that owns it. Other connections may join:
//!    `joined_connection` reads their blocks, and `merger` puts all blocks in order.
//! 4. `receiver` detects what the file is, decompresses it and cuts it into lines. `unpacker`
//!    gives the members of an archive to a thread.
//! 5. `acks` tells the page which bytes are parsed.
//!
//! `put` receives a file as the body of a request. `bench` is for measurements.

mod acks;
mod bench;
mod connection;
mod joined_connection;
mod merger;
mod put;
mod receiver;
mod transfer;
mod unpacker;
mod uploaded_file;

pub(crate) use bench::count;
pub(crate) use connection::run;
pub(crate) use put::receive;
pub(crate) use receiver::Purpose;
pub(crate) use unpacker::MemberDestination;
pub(crate) use uploaded_file::UploadedFile;
