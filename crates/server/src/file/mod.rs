//! Receives an uploaded file, from its first byte to the pipeline.
//!
//! `uploaded_file` is one file of a session. It outlives its connections; the connection that locks
//! its receiver owns it. If several connections send the file, `merger` puts their blocks in order.
//! `receiver` detects the file's type, decompresses it and cuts it into lines. `unpacker` passes
//! the members of an archive to a thread. `ack_offsets` counts the parsed bytes.

mod ack_offsets;
mod merger;
mod receiver;
mod unpacker;
mod uploaded_file;

pub(crate) use ack_offsets::AckOffsets;
pub(crate) use merger::{
    AheadAccount, AheadPermit, AheadPool, CONNECTIONS_MAX, Chunk, JoinError, MergeEvent,
    MergeInput, MergeOutput, Overlap, ReorderBuffer,
};
pub(crate) use receiver::{FileReceiver, Purpose, ReceiveError};
pub(crate) use unpacker::MemberDestination;
pub(crate) use uploaded_file::{ReceiverGuard, UploadedFile};
