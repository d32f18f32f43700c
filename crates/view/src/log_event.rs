//! The operator's log messages: a line of `--log-as json`.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A log message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LogEvent {
    /// The time when it was written, in UTC (RFC 3339).
    pub time: String,
    /// The level.
    pub level: LogLevel,
    /// The crate and module that wrote it, such as `weir_gateway::backend`.
    pub target: String,
    /// A sentence. It may contain any character, as may texts in the fields.
    pub message: String,
    /// The fields by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<BTreeMap<String, LogValue>>"))]
    pub fields: BTreeMap<String, LogValue>,
    /// Absent for a new message. Otherwise the message was written before, and this is how many
    /// more times it occurred in the last ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub repeated: Option<u64>,
    /// As `repeated`, for different messages from one place in the code. This message is the last
    /// of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub similar: Option<u64>,
}

/// The level of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// An operation failed.
    Error,
    /// Something needs attention.
    Warn,
    /// An event that happens occasionally.
    Info,
    /// An event of each request or connection.
    Debug,
    /// The details of such an event.
    Trace,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(untagged)]
pub enum LogValue {
    /// A boolean.
    Flag(bool),
    /// A non-negative integer.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text.
    Text(String),
}

/// The log filter of a running program and its last messages: the answer to `GET /log.json` of
/// `--admin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LogTail {
    /// The filter, as `--log` takes it.
    pub filter: String,
    /// The most detailed level that is compiled into the program.
    pub level_max: String,
    /// The number of the next message, for a request of later messages with `?from=`.
    pub next: u64,
    /// The messages, the oldest first.
    pub events: Vec<LogEvent>,
}

impl LogEvent {
    /// Creates a message without fields.
    pub fn new(time: String, level: LogLevel, target: &str, message: String) -> Self {
        let (target, fields) = (target.to_owned(), BTreeMap::new());
        Self { time, level, target, message, fields, repeated: None, similar: None }
    }

    /// Returns the total length of its texts, in bytes.
    pub fn text_bytes(&self) -> usize {
        let value = |value: &LogValue| match value {
            LogValue::Text(text) => text.len(),
            _ => size_of::<LogValue>(),
        };
        let fields = self.fields.iter().map(|(name, it)| name.len() + value(it)).sum::<usize>();
        self.time.len() + self.target.len() + self.message.len() + fields
    }
}

impl LogLevel {
    /// Returns the word for the level, as filters use it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl From<u64> for LogValue {
    fn from(number: u64) -> Self {
        Self::Unsigned(number)
    }
}

impl From<i64> for LogValue {
    fn from(number: i64) -> Self {
        u64::try_from(number).map_or(Self::Signed(number), Self::Unsigned)
    }
}

impl From<f64> for LogValue {
    fn from(number: f64) -> Self {
        // JSON has only finite numbers (RFC 8259 section 6).
        if number.is_finite() { Self::Fraction(number) } else { Self::Text(number.to_string()) }
    }
}

impl Hash for LogValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Flag(flag) => flag.hash(state),
            Self::Unsigned(number) => number.hash(state),
            Self::Signed(number) => number.hash(state),
            Self::Fraction(number) => number.to_bits().hash(state),
            Self::Text(text) => text.hash(state),
        }
    }
}

impl fmt::Display for LogValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Unsigned(number) => number.fmt(formatter),
            Self::Signed(number) => number.fmt(formatter),
            Self::Fraction(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}
