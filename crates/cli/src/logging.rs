//! The log of a long-running command: its installation, and the faults of its files.

use std::fmt;
use std::path::Path;

use weir_log::{Log, LogFilter, MessageFormat};

use crate::outcome::{Failure, say};
use crate::process_log::keep;

/// Writes the events of all crates to standard error from now on.
pub(crate) fn install(filter: &LogFilter, format: MessageFormat) -> Result<Log, Failure> {
    let log = Log::new(filter.clone(), format, std::io::stderr());
    log.install().map_err(|error| Failure::new(format_args!("--log: {error}")))?;
    let log = keep(log);
    for note in filter.notes() {
        say(format_args!("--log {filter}: {note}"));
    }
    Ok(log)
}

/// Reports each line of a message about a fault of a gateway's files, such as their mistakes.
pub(crate) fn warn_lines(file: Option<&Path>, message: impl fmt::Display) {
    let file = file.map(Path::to_string_lossy);
    for line in message.to_string().lines() {
        tracing::warn!(target: "weir_gateway", file = file.as_deref(), "{line}");
    }
}
