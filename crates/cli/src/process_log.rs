//! The log of the process. A long-running command sets it when it starts.

use std::sync::OnceLock;

use weir_log::Log;
use weir_view::LogLevel;

static LOG: OnceLock<Log> = OnceLock::new();

/// Makes `log` the log of the process, unless it already has one. Returns the log of the process.
pub(crate) fn keep(log: Log) -> Log {
    LOG.get_or_init(|| log).clone()
}

/// Writes a message of the command to the log; `line` is its form in a text log. Returns whether
/// there is a log.
pub(crate) fn announce(level: LogLevel, message: &str, line: &str) -> bool {
    let Some(log) = LOG.get() else { return false };
    log.announce(level, "weir", message, line);
    true
}

/// Writes the counts that are still pending. Call it before the process ends.
pub(crate) fn flush() {
    if let Some(log) = LOG.get() {
        log.flush();
    }
}
