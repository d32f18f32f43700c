//! Receives an uploaded file, from its first byte to the pipeline.
//!
//! `uploaded_file` is one file of a session. It outlives its connections; the connection that locks
//! its receiver owns it. If several connections send the file, `merger` puts their blocks in order.
//! `receiver` detects whether the file is packed, and writes it to the pipeline. `unpacker` unpacks it
//! on a thread. `ack_offsets` counts the parsed bytes.
//!
//! `replay_feed` hands the bytes of a file that is sent again to the replay of a rule, by the same
//! receiver.

mod ack_offsets;
mod merger;
mod receiver;
mod replay_feed;
mod unpacker;
mod uploaded_file;

pub(crate) use ack_offsets::AckOffsets;
pub(crate) use merger::{
    AheadAccount, AheadPermit, AheadPool, BlockMerger, CONNECTIONS_MAX, Chunk, JoinError,
    MergeEvent, MergeInput, MergeOutput, Overlap, ReorderBuffer,
};
pub(crate) use receiver::{FileReceiver, Purpose, ReceiveError};
pub(crate) use replay_feed::{
    CountedSource, FeedError, FeedTurn, FeedingConnection, FileToReplay, ReplayFeed, Replays,
};
pub(crate) use unpacker::{UnpackDestination, UnpackLimits};
pub(crate) use uploaded_file::{FileBegin, ReceiverGuard, UploadedFile};
