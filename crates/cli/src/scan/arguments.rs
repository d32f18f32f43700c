//! The arguments that the commands which scan lines share.

use std::path::PathBuf;

use clap::Args;
use weir_core::Zone;
use weir_ingest::{FormatChoice, Input};

use crate::options::{
    DerivedArguments, FormatArguments, PeriodArguments, ReadArguments, cores, parse_zone,
};
use crate::outcome::Failure;
use crate::sources;

/// Which logs are scanned, and which of their records.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The logs, plain or compressed; `-` is standard input, which is also read if no file is
    /// named
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Only records that meet this condition; see `weir report --help`
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,

    #[command(flatten)]
    pub(crate) period: PeriodArguments,

    /// The time zone of dates and times without an offset, and of the times that are printed: an
    /// IANA name, UTC, local, or an offset such as +02:00 [default: the log's own offset]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,

    #[command(flatten)]
    format: FormatArguments,

    /// Threads, for files and for the parts of large ones [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

/// Returns the inputs to read: standard input if no file is named.
///
/// # Errors
/// If standard input is named twice.
pub(crate) fn inputs_of(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = sources::inputs(files)?;
    if inputs.is_empty() {
        inputs.push(Input::Stdin(Vec::new()));
    }
    Ok(inputs)
}

impl LogArguments {
    /// The same arguments for a command that counts all records, with its `--memory`.
    pub(crate) fn read_arguments(&self, memory: Option<&str>) -> ReadArguments {
        ReadArguments::new(self.format.clone(), self.tz.clone(), memory, self.jobs)
    }

    /// The format that the command line names, or a search for it.
    ///
    /// # Errors
    /// If it is not a valid format.
    pub(crate) fn format_choice(&self) -> Result<FormatChoice, Failure> {
        self.format.choice()
    }

    /// The fields that are derived from others.
    pub(crate) fn derived(&self) -> &DerivedArguments {
        self.format.derived()
    }

    /// The zone of `--tz`.
    ///
    /// # Errors
    /// If it is not a known zone.
    pub(crate) fn zone(&self) -> Result<Option<Zone>, Failure> {
        parse_zone(self.tz.as_deref())
    }

    /// Whether the arguments select records.
    pub(crate) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty() || !self.period.is_empty()
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.jobs.map_or_else(cores, usize::from)
    }
}
