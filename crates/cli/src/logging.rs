//! The log of a command that runs for long. There is one in a process.

use std::fmt;
use std::sync::OnceLock;

use weir_log::{LEVEL_MAX, Log};
use weir_server::CertificateNotice;
use weir_view::LogLevel;

use crate::options::LogArguments;
use crate::outcome::{Failure, say};

static LOG: OnceLock<Log> = OnceLock::new();

/// Writes the events of all crates to standard error from now on.
pub(crate) fn install(arguments: &LogArguments) -> Result<Log, Failure> {
    let format = arguments.log_as.into();
    let log = Log::new(arguments.log.clone(), format, std::io::stderr());
    log.install().map_err(|error| Failure::new(format_args!("--log: {error}")))?;
    let log = LOG.get_or_init(|| log).clone();
    if arguments.log.level_max() > LEVEL_MAX {
        say(format_args!(
            "--log {}: this build has no messages below {LEVEL_MAX}; a debug build has them",
            arguments.log
        ));
    }
    Ok(log)
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

/// Reports each line of a message about a fault, such as the mistakes of a file.
pub(crate) fn warn_lines(message: impl fmt::Display) {
    for line in message.to_string().lines() {
        tracing::warn!("{line}");
    }
}

/// Reports the news of a certificate.
pub(crate) fn report_certificate(notice: CertificateNotice) {
    match notice {
        CertificateNotice::Replaced { .. } => tracing::info!(target: "weir_net", "{notice}"),
        _ => tracing::warn!(target: "weir_net", "{notice}"),
    }
}
