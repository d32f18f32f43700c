//! The messages of `docs/protocol.md`.

use serde::{Deserialize, Serialize};

use crate::blocks::{BlocksAnswer, BlocksQuestion};
use crate::json::from_json;
use crate::kind::RecordKind;
use crate::lines::LinesAnswer;
use crate::panel::{RuleDetails, RulePlace, RuleText, RulesAnswer};
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
    /// Asks for the number of records that a query selects, while its conditions are typed. It
    /// replaces the one before, and leaves the query of the views as it is.
    Count {
        /// The query; null ends the work on the one before.
        query: Option<Query>,
    },
    /// Asks what rules would have done with the records that a query selects. It replaces the
    /// question of the same panel, and leaves everything else as it is. It is answered again while
    /// the data grows.
    Rules {
        /// The number of the panel, which the answer repeats.
        panel: u32,
        /// The query.
        #[serde(default)]
        query: Query,
        /// The rules; null ends the work on the question before.
        rule: Option<RuleText>,
        /// What else is asked.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional, as = "Option<RuleDetails>"))]
        details: RuleDetails,
    },
    /// Asks for some of the lines of the records that a query selects. It replaces the question of
    /// the same panel, and leaves everything else as it is. It is answered once.
    Lines {
        /// The number of the panel of lines, which the answer repeats.
        panel: u32,
        /// The query; null ends the work on the question before.
        query: Option<Query>,
        /// The number of lines before the first one.
        #[serde(default)]
        from: u64,
        /// The most lines to return.
        #[serde(default)]
        count: u32,
    },
    /// Asks what tripped the rules that were in force, in a panel as for `rules`.
    Blocks {
        /// The number of the panel, which the answer repeats.
        panel: u32,
        /// The query.
        #[serde(default)]
        query: Query,
        /// What is asked; null ends the work on the question before.
        question: Option<BlocksQuestion>,
    },
}

/// The question that a message replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveTopic {
    /// The query of the views, or a message that cannot be read.
    Query,
    /// The count.
    Count,
    /// The rules or the blocks of the panel with this number.
    Panel(u32),
    /// The lines of the panel of lines with this number.
    Lines(u32),
}

impl LiveRequest {
    /// Returns the question that a message replaces. Does not check the rest of it.
    pub fn topic(text: &str) -> LiveTopic {
        match from_json::<Tag>(text) {
            Ok(Tag { name, .. }) if name == "count" => LiveTopic::Count,
            Ok(Tag { name, panel: Some(panel) }) if name == "rules" || name == "blocks" => {
                LiveTopic::Panel(panel)
            }
            Ok(Tag { name, panel: Some(panel) }) if name == "lines" => LiveTopic::Lines(panel),
            _ => LiveTopic::Query,
        }
    }

    /// The query of the message, if it has one.
    pub fn into_query(self) -> Option<Query> {
        match self {
            Self::Query { query } | Self::Rules { query, .. } | Self::Blocks { query, .. } => {
                Some(query)
            }
            Self::Count { query } | Self::Lines { query, .. } => query,
        }
    }
}

/// The members of a message that tell what it is about.
#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    name: String,
    #[serde(default)]
    panel: Option<u32>,
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
    /// The answer to a `count`: either the numbers or why there are none.
    Count {
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The numbers; left out if the query was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        count: Option<SelectionCount>,
        /// Why the query was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
    },
    /// The answer to `rules`: either what the rules would have done or why that is not known.
    Rules {
        /// The number of the panel.
        panel: u32,
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The answer; left out if the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        answer: Option<Box<RulesAnswer>>,
        /// Why the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
        /// The part of the text of the rule that the error is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        place: Option<RulePlace>,
    },
    /// The answer to `lines`: either the lines or why there are none.
    Lines {
        /// The number of the panel of lines.
        panel: u32,
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The lines; left out if the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        answer: Option<Box<LinesAnswer>>,
        /// Why the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
    },
    /// The answer to `blocks`: either what tripped the rules or why that is not known.
    Blocks {
        /// The number of the panel.
        panel: u32,
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The answer; left out if the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        answer: Option<Box<BlocksAnswer>>,
        /// Why the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
    },
}

/// The number of records that a query selects, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SelectionCount {
    /// The kind of records, as in a report of the same query.
    pub kind: RecordKind,
    /// The records of the kind that match the filter.
    pub matching: u64,
    /// All records of the kind.
    pub records: u64,
    /// Whether `matching` is an estimate, because memory ran out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub estimated: bool,
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
