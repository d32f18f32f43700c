//! An access log as a person describes it.

use std::path::PathBuf;

/// Where the access log is, and its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogConfig {
    /// The file. Lines are added at its end.
    pub file: PathBuf,
    /// The form of the lines.
    pub format: AccessLogFormat,
}

/// The form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// Apache's combined log format, in which times are whole seconds.
    Combined,
    /// A JSON object with all that a record has, and times in nanoseconds.
    Json,
}
