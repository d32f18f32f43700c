//! Uploads: a file's bytes on their way from a connection into the pipeline.
//!
//! A [`Slot`] is one file of a session, sent over one connection after another; its `Intake`
//! decompresses and cuts. `connection` speaks the protocol on a WebSocket and has `transfer`
//! carry each file; where others help to send it, they `join`, and `order` puts right what
//! they bring. `put` takes a file that comes as the body of a request; `bench` is for measuring.

mod acks;
mod bench;
mod connection;
mod intake;
mod join;
mod junction;
mod marks;
mod order;
mod put;
mod slot;
mod transfer;
mod unpacker;

pub(crate) use bench::count;
pub(crate) use connection::run;
pub(crate) use intake::Purpose;
pub(crate) use put::receive;
pub(crate) use slot::Slot;
pub(crate) use unpacker::Place;
