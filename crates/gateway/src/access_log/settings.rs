//! The settings of the access log.

use std::path::PathBuf;

/// The file and format of the access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogConfig {
    /// The file. Lines are appended.
    pub file: PathBuf,
    /// The format of the lines.
    pub format: AccessLogFormat,
}

/// The format of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// Apache's combined log format, in which times are whole seconds.
    Combined,
    /// A JSON object with all that a record has, and times in nanoseconds.
    Json,
}
