//! The value of `--admin`: where the running program can be looked into.

use clap::Args;
use weir_inside::AdminAddress;

/// Where the running program can be looked into.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AdminArguments {
    /// Show at this address what the program does: a page, `weir top`, and GET /metrics for Prometheus.
    /// 127.0.0.1:PORT, `[::1]:PORT` or unix:/PATH; with --token-file, for those alone who have the token
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<AdminAddress>,
}
