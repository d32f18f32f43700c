//! The arguments of `weir gateway`.

use std::path::PathBuf;

use clap::Args;

use crate::options::{KeepArguments, PageArguments};

/// Stand in front of web services: check tokens, route by their claims, and show the traffic on the
/// page
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GatewayArguments {
    /// The configuration, a TOML file. It is read again on SIGHUP and when it changes
    #[arg(value_name = "CONFIG")]
    pub(crate) config: PathBuf,

    /// Check the configuration, print every mistake with its line, and exit
    #[arg(long)]
    pub(crate) check: bool,

    /// Take over the sockets of the process that has started this one
    #[cfg(target_os = "linux")]
    #[arg(long, hide = true)]
    pub(crate) take_over: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) page: PageArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir gateway --check gateway.toml
  weir gateway --keep 1h gateway.toml

The smallest configuration:
  listen = [\"127.0.0.1:8080\"]
  [backends.one]
  instances = [\"http://127.0.0.1:9001\"]
  [[routes]]
  path = \"/\"
  backend = \"one\"

The page is at --listen, which is for the browser alone. docs/gateway.md explains every key.";
