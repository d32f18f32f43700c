//! The messages of `docs/protocol.md`.

use serde::{Deserialize, Serialize};

use crate::query::Query;
use crate::view::View;

/// The answer to `POST /api/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct SessionCreated {
    /// The session's id; its page is `/s/ID`.
    pub id: String,
}

/// From the page, on the live socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveRequest {
    /// Asks another question; the older one's answer is no longer wanted.
    Query {
        /// The question.
        query: Query,
    },
}

/// To the page, on the live socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveReply {
    /// The newest view.
    View {
        /// The view.
        view: Box<View>,
    },
    /// The last request could not be followed.
    Error {
        /// What went wrong.
        error: Failure,
    },
}

/// From the page, on an upload socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UploadRequest {
    /// Starts a file, or takes it up again.
    Begin {
        /// The page's id of the file, unique in the session.
        file: String,
        /// The file's name, to show.
        name: String,
        /// Its size in bytes; null where it goes on growing, until `end` says where it ends.
        bytes_total: Option<u64>,
        /// The file that this one goes on from: its lines have the same format, though they do
        /// not begin with those that tell it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        continues: Option<String>,
    },
    /// Blocks of the file come on this connection, too.
    Join {
        /// Which file; another connection has begun it.
        file: String,
    },
    /// Says where the bytes that follow on this connection belong.
    Block {
        /// Which file.
        file: String,
        /// Where the next byte lies in it; on one connection this never falls.
        offset: u64,
    },
    /// All bytes are sent.
    End {
        /// Which file.
        file: String,
    },
    /// The user gave the file up.
    Cancel {
        /// Which file.
        file: String,
    },
}

/// To the page, on an upload socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UploadReply {
    /// Send from `offset` on.
    Ready {
        /// Which file.
        file: String,
        /// Where to start, in bytes.
        offset: u64,
        /// The most bytes that may be sent and not acknowledged.
        window_bytes: u64,
    },
    /// Blocks of the file may be sent on this connection, too.
    Joined {
        /// Which file.
        file: String,
    },
    /// Every byte before `offset` is parsed.
    Ack {
        /// Which file.
        file: String,
        /// In bytes.
        offset: u64,
    },
    /// The whole file is parsed.
    Done {
        /// Which file.
        file: String,
        /// The file's size in bytes.
        offset: u64,
    },
    /// The file, or the connection where `file` is null, ends here.
    Error {
        /// What went wrong.
        error: Failure,
    },
}

/// A refusal or a failure: a name for programs, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct Failure {
    /// A fixed name in snake case.
    pub name: String,
    /// What happened and what to do.
    pub message: String,
    /// The file it concerns.
    pub file: Option<String>,
}
