//! The messages of `docs/protocol.md`.

use serde::{Deserialize, Serialize};

use crate::query::Query;
use crate::view::View;

/// The answer to `POST /api/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SessionCreated {
    /// The session's id; its page is `/s/ID`.
    pub id: String,
    /// The id of the session that made room for it, if the limit of sessions was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub displaced: Option<String>,
}

/// The body of a response that refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalBody {
    /// The name of the refusal, see `docs/protocol.md`.
    pub error: String,
    /// A sentence: what happened and what to do.
    pub message: String,
}

/// A message from the page on the live socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveRequest {
    /// Replaces the query; answers to the previous one are no longer sent.
    Query {
        /// The query.
        query: Query,
    },
}

/// A message to the page on the live socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveReply {
    /// The newest view.
    View {
        /// The view.
        view: Box<View>,
    },
    /// A query was refused.
    Error {
        /// The id of the query; null if the message had none, or if the session has ended.
        query: Option<u64>,
        /// What went wrong.
        error: Failure,
    },
}

/// A message from the page on an upload socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UploadRequest {
    /// Starts or resumes the upload of a file.
    Begin {
        /// The page's id of the file, unique in the session.
        file: String,
        /// The file's name, to show.
        name: String,
        /// Its size in bytes; null if the file is growing, until `end` gives its size.
        bytes_total: Option<u64>,
        /// The file that this one continues. Its lines have the same format, even if it does not
        /// begin with the lines that describe the format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        continues: Option<String>,
        /// A short text made of the file's first and last bytes, by which the page recognises the
        /// file later: at most 64 bytes. It is returned in [`crate::Source`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        fingerprint: Option<String>,
    },
    /// Blocks of the file are also sent on this connection.
    Join {
        /// Which file; another connection has started it.
        file: String,
    },
    /// Gives the position of the bytes that follow on this connection.
    Block {
        /// Which file.
        file: String,
        /// The offset of the next byte in the file. It never decreases on one connection.
        offset: u64,
    },
    /// All bytes of the file are sent.
    End {
        /// Which file.
        file: String,
    },
    /// The user cancelled the file.
    Cancel {
        /// Which file.
        file: String,
    },
}

/// A message to the page on an upload socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UploadReply {
    /// The file can be sent from `offset` on.
    Ready {
        /// Which file.
        file: String,
        /// Where to start, in bytes.
        offset: u64,
        /// The maximum number of bytes that may be sent and not yet acknowledged.
        window_bytes: u64,
    },
    /// Blocks of the file may also be sent on this connection.
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
    /// The upload of the file has failed; of the whole connection, if `file` is null.
    Error {
        /// What went wrong.
        error: Failure,
    },
}

/// An error: a name for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Failure {
    /// A fixed name in snake case.
    pub name: String,
    /// What went wrong and what to do.
    pub message: String,
    /// The file it concerns.
    pub file: Option<String>,
    /// The part of a condition that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub place: Option<ConditionPlace>,
}

/// A part of the text of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ConditionPlace {
    /// The condition's number among the conditions of the query, from 0.
    pub condition: usize,
    /// The part's first character in the text, counted in Unicode characters from 0.
    pub start: usize,
    /// The character after the part. It is `start` if something is missing there.
    pub end: usize,
}
