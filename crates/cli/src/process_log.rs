//! The log of the process. It has one from the moment that a command which runs for long begins it.

use std::sync::OnceLock;

use weir_log::Log;
use weir_view::LogLevel;

static LOG: OnceLock<Log> = OnceLock::new();

/// Makes a log that of the process, unless it has one already. Returns that of the process.
pub(crate) fn keep(log: Log) -> Log {
    LOG.get_or_init(|| log).clone()
}

/// Writes a message of the command, and its line in a log of text, if there is a log. Returns whether there is.
pub(crate) fn announce(level: LogLevel, message: &str, line: &str) -> bool {
    let Some(log) = LOG.get() else { return false };
    log.announce(level, "weir", message, line);
    true
}

/// Writes what is still to be counted. Call it before the process ends.
pub(crate) fn flush() {
    if let Some(log) = LOG.get() {
        log.flush();
    }
}
