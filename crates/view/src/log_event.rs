//! A message of a running program to its operator: a line of `--log-as json`.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEvent {
    /// When it was written, by UTC (RFC 3339).
    pub time: String,
    /// How much it matters.
    pub level: LogLevel,
    /// The crate and the module that it comes from, such as `weir_gateway::backend`.
    pub target: String,
    /// A sentence. It may hold any character, as may texts among the fields.
    pub message: String,
    /// What it is about, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, LogValue>,
    /// Absent for a message that was just written. Otherwise the message was written before, and came this many
    /// more times in the last ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<u64>,
    /// The same for different messages of one place in the code, of which this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<u64>,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Something was not done.
    Error,
    /// Something is not as it should be.
    Warn,
    /// Something that happens now and then.
    Info,
    /// Something that happens for each request or connection.
    Debug,
    /// The same in detail.
    Trace,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LogValue {
    /// Yes or no.
    Flag(bool),
    /// A number that is not negative.
    Unsigned(u64),
    /// A negative number.
    Signed(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text.
    Text(String),
}

/// The filter of a running program and its last messages, which `GET /log.json` of `--admin` answers with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogTail {
    /// The filter, as `--log` takes it.
    pub filter: String,
    /// The most detailed level that is compiled into the program.
    pub level_max: String,
    /// The number of the next message; what comes next is asked for by `?from=` with it.
    pub next: u64,
    /// The messages, the oldest first.
    pub events: Vec<LogEvent>,
}

impl LogEvent {
    /// A message without fields.
    pub fn new(time: String, level: LogLevel, target: &str, message: String) -> Self {
        let (target, fields) = (target.to_owned(), BTreeMap::new());
        Self { time, level, target, message, fields, repeated: None, similar: None }
    }

    /// The bytes of its texts.
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
    /// The word for it, as filters have it.
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
        // JSON has no other numbers (RFC 8259 section 6).
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
