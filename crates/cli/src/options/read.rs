//! The arguments of the commands that read records into a pipeline.

use clap::Args;
use weir_core::Zone;
use weir_ingest::{FormatChoice, PipelineOptions, Retention};

use super::{DerivedArguments, FormatArguments, PageFields, cores, data_bytes_max, parse_zone};
use crate::outcome::Failure;

/// How lines are read.
#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    #[command(flatten)]
    format: FormatArguments,

    /// Fields that follow from those of the log, such as hour, network or query:utm_source, separated
    /// by commas: each is listed and can be selected as one of the log's own (docs/fields.md)
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    fields: Vec<String>,

    /// The time zone to show times in: an IANA name, UTC, local, or an offset such as +02:00
    /// [default: the log's own offset]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) tz: Option<String>,

    /// The most memory the data may take, such as 512MiB or 2G (K, M, G and T are powers of 1024,
    /// kB, MB, GB and TB of 1000); when it is used up, new values are counted together unless they
    /// are frequent, and the report says so [default: half of what the machine, the container or
    /// `ulimit -v` allows beyond 64MiB, at most 4GiB]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<String>,

    /// Threads that parse [default: one for each core, if there are 64MiB of memory for each]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl ReadArguments {
    /// Arguments that another command takes too.
    pub(crate) fn new(
        format: FormatArguments,
        tz: Option<String>,
        memory: Option<&str>,
        jobs: Option<u16>,
    ) -> Self {
        Self { format, fields: Vec::new(), tz, memory: memory.map(str::to_owned), jobs }
    }

    /// The format of `--format`, or a search for it, with the fields of `--fields`.
    ///
    /// # Errors
    /// If it is not a valid format.
    pub(crate) fn format_choice(&self) -> Result<FormatChoice, Failure> {
        let named = self.fields.iter().map(String::as_str);
        self.derived().check(named.clone())?;
        self.derived().deriving(self.format.choice()?, named, self.zone()?.as_ref())
    }

    /// The derived fields that questions of the page may name.
    ///
    /// # Errors
    /// If a definition is not valid.
    pub(crate) fn page_fields(&self) -> Result<PageFields, Failure> {
        self.derived().page_fields(&self.format.choice()?)
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

    /// The options of a pipeline with this retention of records.
    ///
    /// # Errors
    /// If `--memory` is not a valid size.
    pub(crate) fn pipeline_options(
        &self,
        retention: Retention,
    ) -> Result<PipelineOptions, Failure> {
        let memory_bytes_max = self.memory_bytes_max()?;
        let jobs = self.threads();
        Ok(PipelineOptions { memory_bytes_max, ..PipelineOptions::new(jobs, retention) })
    }

    /// The number of threads that parse, and of inputs that are decompressed at the same time.
    pub(crate) fn threads(&self) -> usize {
        self.jobs.map_or_else(cores, usize::from)
    }

    pub(super) fn memory_bytes_max(&self) -> Result<usize, Failure> {
        data_bytes_max(self.memory.as_deref())
    }
}
