//! The value of `--admin`: the address that shows the state of the running program.

use clap::Args;
use weir_ingest::RequestsBy;
use weir_inside::AdminAddress;

/// The address that shows the state of the running program.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AdminArguments {
    /// Show at this address what the program does: a page, `weir top`, and GET /metrics for
    /// Prometheus. PORT, localhost:PORT, `[::1]:PORT` or unix:PATH; with --token-file, for those
    /// alone who have the token
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<AdminAddress>,

    /// With --admin: count the requests of /metrics by this field too, such as host, user or one that
    /// only the log's format has, or by source. The first 100 values that come have series of their
    /// own, as long as the process runs; all other values are one series, (others)
    #[arg(long, value_name = "FIELD", requires = "admin")]
    pub(crate) metrics_by: Option<RequestsBy>,
}
