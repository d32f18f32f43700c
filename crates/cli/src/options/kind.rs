//! `--kind`: the kind of records.

use clap::ValueEnum;
use weir_view::RecordKind;

/// A kind of records, as an argument. Its name in JSON and CSV is accepted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArgument {
    /// Requests that a server answered
    Request,
    /// Lines of an error log
    #[value(alias = "error_log_line")]
    ErrorLogLine,
    /// Packets and connections that a firewall logged
    #[value(alias = "firewall_event")]
    FirewallEvent,
}

impl From<KindArgument> for RecordKind {
    fn from(kind: KindArgument) -> Self {
        match kind {
            KindArgument::Request => Self::Request,
            KindArgument::ErrorLogLine => Self::ErrorLogLine,
            KindArgument::FirewallEvent => Self::FirewallEvent,
        }
    }
}
