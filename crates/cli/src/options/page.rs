//! The arguments of the commands that serve the page.

use std::net::SocketAddr;

use clap::Args;

use super::ReadArguments;

/// How the page is served.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Where to listen [default: 127.0.0.1:7878, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}
