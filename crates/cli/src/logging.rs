//! The log of a long-running command: its installation, and the events that are reported to it.

use std::fmt;
use std::path::Path;

use weir_gateway::Notice;
use weir_log::{Filter, Format, Log};
use weir_server::CertificateNotice;

use crate::outcome::{Failure, say};
use crate::process_log::keep;

/// Writes the events of all crates to standard error from now on.
pub(crate) fn install(filter: &Filter, format: Format) -> Result<Log, Failure> {
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

/// Logs a notice of the gateway.
pub(crate) fn report_gateway(notice: &Notice) {
    let left_out = (notice.left_out > 0).then_some(notice.left_out);
    tracing::warn!(
        target: "weir_gateway",
        backend = notice.backend.as_deref(),
        server = notice.server.as_deref(),
        peer = notice.peer.as_deref(),
        endpoint = notice.endpoint.as_deref(),
        lines_lost = notice.lines_lost,
        spans_lost = notice.spans_lost,
        clock_change_s = notice.clock_change_s,
        left_out,
        "{}", notice.sentence
    );
}

/// Logs a change or an error of a certificate.
pub(crate) fn report_certificate(notice: CertificateNotice) {
    let file = &*notice.path().to_string_lossy();
    match notice {
        CertificateNotice::Replaced { .. } => {
            tracing::info!(target: "weir_net", file, "{notice}");
        }
        _ => tracing::warn!(target: "weir_net", file, "{notice}"),
    }
}
