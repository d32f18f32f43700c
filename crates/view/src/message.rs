//! The messages of `docs/protocol.md`.

use serde::{Deserialize, Serialize};

use crate::blocks::{BlocksAnswer, BlocksQuestion};
use crate::field_list::{FieldList, Series};
use crate::json::from_json;
use crate::kind::RecordKind;
use crate::lines::{LineOrder, LineStart, LinesAnswer};
use crate::panel::{LinesNeeded, RuleDetails, RulePlace, RuleText, RulesAnswer};
use crate::query::Query;
use crate::view::View;

/// The answer to `POST /api/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SessionCreated {
    /// The session's id; its page is `/s/ID`.
    pub id: String,
    /// The id of the session that was ended to make room, if the limit of sessions was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub displaced: Option<String>,
}

/// The answer to `GET /api/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionList {
    /// The session that the program serves, if there is one, and then the others, the oldest first.
    pub sessions: Vec<SessionSummary>,
}

/// What a session has read so far: the answer to `GET /api/sessions/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The id in the addresses of the session: its name, or 128 random bits.
    pub id: String,
    /// The path of its page.
    pub path: String,
    /// Whether it is what the program was started for. Its id is then a name, which stays the same
    /// after a restart.
    pub is_served: bool,
    /// When it was created, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The number of its sources.
    pub sources: u64,
    /// Whether every source has been read to its end.
    pub complete: bool,
    /// The number of lines read.
    pub lines: u64,
    /// The number of parsed lines.
    pub records: u64,
    /// The memory of its data set, in bytes.
    pub memory_bytes: u64,
    /// The number of pages and uploads that use it.
    pub users: u64,
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
    /// Asks for the number of records that a query selects, while the user types its conditions. It
    /// replaces the previous `count`, and does not affect the query of the views.
    Count {
        /// The query; null cancels the previous one.
        query: Option<Query>,
    },
    /// Asks what rules would have done with the records that a query selects. It replaces the
    /// question of the same panel, and affects nothing else. It is answered again while the data
    /// grows.
    Rules {
        /// The number of the panel, which the answer repeats.
        panel: u32,
        /// The query.
        #[serde(default)]
        query: Query,
        /// The rules; null cancels the previous question.
        rule: Option<RuleText>,
        /// Further parts of the question.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional, as = "Option<RuleDetails>"))]
        details: RuleDetails,
    },
    /// Asks for some of the lines of the records that a query selects. It replaces the question of
    /// the same panel, and affects nothing else. It is answered once.
    Lines {
        /// The number of the panel of lines, which the answer repeats.
        panel: u32,
        /// The query; null cancels the previous question.
        query: Option<Query>,
        /// The number of lines to skip.
        #[serde(default)]
        from: u64,
        /// The maximum number of lines to return.
        #[serde(default)]
        count: u32,
        /// Their order.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional, as = "Option<LineOrder>"))]
        order: LineOrder,
        /// A line around which lines are requested, instead of `from`: in the order of the sources
        /// those of its source alone.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional))]
        around: Option<LineStart>,
        /// Whether each line has all of its fields.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
        fields: bool,
    },
    /// Asks for the values of a field, which may be derived from others: of the query's `group`, the
    /// first `top` in the order of `sort`. It replaces the question of the same list, and affects
    /// nothing else. It is answered again while the data grows.
    List {
        /// The number of the list, which the answer repeats.
        panel: u32,
        /// The query; null cancels the previous question.
        query: Option<Query>,
        /// The number of values to skip.
        #[serde(default)]
        from: u32,
        /// A text that the values contain, in upper or lower case; empty for all values.
        #[serde(default)]
        search: String,
        /// The bounds of spans of time in which the records of each value are counted too, in seconds
        /// since 1970 and in ascending order.
        #[serde(default)]
        #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<i64>>"))]
        bounds: Vec<i64>,
    },
    /// Asks for the query's `measures` of the records in spans of time. It replaces the previous
    /// `series`, and affects nothing else. It is answered again while the data grows.
    Series {
        /// The query; null cancels the previous question.
        query: Option<Query>,
        /// The bounds of the spans, in seconds since 1970 and in ascending order.
        #[serde(default)]
        bounds: Vec<i64>,
        /// The field of a duration by which the records of each span are counted too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        map: Option<String>,
    },
    /// Asks for the blocks in the logs, in a panel as for `rules`.
    Blocks {
        /// The number of the panel, which the answer repeats.
        panel: u32,
        /// The query.
        #[serde(default)]
        query: Query,
        /// The question; null cancels the previous one.
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
    /// The list with this number.
    List(u32),
    /// The series.
    Series,
}

impl LiveRequest {
    /// Returns the question that a message replaces. The rest of the message is not checked.
    pub fn topic(text: &str) -> LiveTopic {
        match from_json::<Tag>(text) {
            Ok(Tag { name, .. }) if name == "count" => LiveTopic::Count,
            Ok(Tag { name, .. }) if name == "series" => LiveTopic::Series,
            Ok(Tag { name, panel: Some(panel) }) if name == "rules" || name == "blocks" => {
                LiveTopic::Panel(panel)
            }
            Ok(Tag { name, panel: Some(panel) }) if name == "lines" => LiveTopic::Lines(panel),
            Ok(Tag { name, panel: Some(panel) }) if name == "list" => LiveTopic::List(panel),
            _ => LiveTopic::Query,
        }
    }

    /// Returns the query of the message, if it has one.
    pub fn query_mut(&mut self) -> Option<&mut Query> {
        match self {
            Self::Query { query } | Self::Rules { query, .. } | Self::Blocks { query, .. } => {
                Some(query)
            }
            Self::Count { query }
            | Self::Lines { query, .. }
            | Self::List { query, .. }
            | Self::Series { query, .. } => query.as_mut(),
        }
    }
}

/// The members of a message that identify its question.
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
        /// The problem.
        error: Failure,
    },
    /// The answer to a `count`: the numbers, or why there are none.
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
    /// The answer to `rules`: what the rules would have done, or why that is unknown.
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
        /// The part of the rule's text that caused the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        place: Option<RulePlace>,
        /// The lines that the page has to send again before there is an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        lines: Option<Box<LinesNeeded>>,
    },
    /// The answer to `lines`: the lines, or why there are none.
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
    /// The answer to `list`: the values, or why there are none.
    List {
        /// The number of the list.
        panel: u32,
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The values; left out if the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        answer: Option<Box<FieldList>>,
        /// Why the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
    },
    /// The answer to `series`: the measures of each span, or why there are none.
    Series {
        /// The id of the query; null if the message had none.
        query: Option<u64>,
        /// The measures; left out if the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        answer: Option<Series>,
        /// Why the question was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        error: Option<Failure>,
    },
    /// The answer to `blocks`: the report, or why there is none.
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

/// The number of records that a query selects at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SelectionCount {
    /// The kind of records, as in a report of the same query.
    pub kind: RecordKind,
    /// The number of records of the kind that match the filter.
    pub matching: u64,
    /// The number of all records of the kind.
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
        /// The file's name, for display.
        name: String,
        /// Its size in bytes; null if the file is growing, until `end` states its size.
        bytes_total: Option<u64>,
        /// The file that this one continues. Its lines have the same format, even if it does not
        /// begin with the lines that describe the format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        continues: Option<String>,
        /// A short text computed from the file's first and last bytes, by which the page recognises
        /// the file later: at most 64 bytes. It is returned in [`crate::Source`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        fingerprint: Option<String>,
        /// The id of the replay for which the file is sent again; see [`LinesNeeded`]. Nothing of it
        /// is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        replay: Option<String>,
        /// The format of its lines: a name or a definition. Otherwise it is detected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        format: Option<String>,
    },
    /// Blocks of the file are also sent on this connection.
    Join {
        /// The file, which another connection has begun.
        file: String,
    },
    /// States the position of the bytes that follow on this connection.
    Block {
        /// The file.
        file: String,
        /// The offset of the next byte in the file. It never decreases on one connection.
        offset: u64,
    },
    /// All bytes of the file are sent.
    End {
        /// The file.
        file: String,
    },
    /// The user cancelled the file.
    Cancel {
        /// The file.
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
        /// The file.
        file: String,
        /// Where to start, in bytes.
        offset: u64,
        /// The maximum number of bytes that may be sent and not yet acknowledged.
        window_bytes: u64,
    },
    /// Blocks of the file may also be sent on this connection.
    Joined {
        /// The file.
        file: String,
    },
    /// Every byte before `offset` is parsed.
    Ack {
        /// The file.
        file: String,
        /// The offset in bytes.
        offset: u64,
    },
    /// The whole file is parsed.
    Done {
        /// The file.
        file: String,
        /// The file's size in bytes.
        offset: u64,
    },
    /// The upload of the file failed; the whole connection, if `file` is null.
    Error {
        /// The error.
        error: Failure,
    },
}

/// An error: a name for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Failure {
    /// A fixed name in snake case.
    pub name: String,
    /// The problem, and what to do about it.
    pub message: String,
    /// The file that it concerns.
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
    /// The position after the part. It equals `start` if something is missing there.
    pub end: usize,
}
