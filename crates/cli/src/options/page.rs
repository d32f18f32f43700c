//! The arguments of the commands that serve the page.

use clap::Args;
use weir_server::PublicUrl;

use super::{ListenAddress, ReadArguments};

/// How the page is served.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Where to serve the page: a port of this machine such as 7999, localhost:7999 or
    /// [::1]:7999 [default: 127.0.0.1:7878, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<ListenAddress>,

    /// The address at which a reverse proxy serves the page, such as https://logs.example.com;
    /// the proxy must ask for a log-in, because the page does not
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}
