//! The log of a command that runs for long: beginning it, and what is reported into it.

use std::fmt;

use weir_log::{Filter, Format, LEVEL_MAX, Log};
use weir_server::CertificateNotice;

use crate::outcome::{Failure, say};
use crate::process_log::keep;

/// Writes the events of all crates to standard error from now on.
pub(crate) fn install(filter: &Filter, format: Format) -> Result<Log, Failure> {
    let log = Log::new(filter.clone(), format, std::io::stderr());
    log.install().map_err(|error| Failure::new(format_args!("--log: {error}")))?;
    let log = keep(log);
    if filter.level_max() > LEVEL_MAX {
        say(format_args!(
            "--log {filter}: this build has no messages below {LEVEL_MAX}; a debug build has them"
        ));
    }
    Ok(log)
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
