//! `--log` and `--log-as`: the messages of a running command, and their form.

use clap::{Args, ValueEnum};
use weir_log::{LogFilter, MessageFormat};

/// The messages of a running command, and their form.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArguments {
    /// The messages on standard error: off, error, warn, info, debug or trace, for all or for
    /// single crates, such as info,weir_net=warn. Release builds have none below info
    #[arg(long, value_name = "FILTER", default_value_t)]
    pub(crate) log: LogFilter,

    /// How they are written
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) log_as: LogFormat,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for people
    #[default]
    Text,
    /// A line of JSON, for programs. What the command prints for a person is written in the same
    /// way
    Json,
}

impl From<LogFormat> for MessageFormat {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}
