//! The arguments of the commands that serve the page.

use std::time::Duration;

use clap::Args;
use weir_server::PublicUrl;

use super::{ListenAddress, ReadArguments, parse_duration};

/// How the page is served.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Where to serve the page: a port of this machine such as 7999, localhost:7999 or
    /// `[::1]:7999` [default: 127.0.0.1:7878, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<ListenAddress>,

    /// The address at which a reverse proxy serves the page, such as `https://logs.example.com`;
    /// the proxy must ask for a log-in, because the page does not
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Keep a data set for this long after the last page that shows it was closed, such as 90s,
    /// 10m, 1h or 7d; an upload that broke off can be resumed for as long
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = kept_session)]
    pub(crate) keep_session: Duration,

    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// Parses the value of `--keep-session`.
fn kept_session(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "write it as 90s, 10m, 1h or 7d".to_owned())
}
