//! The arguments of `weir count`.

use clap::Args;
use weir_view::Measure;

use crate::options::{AnonymizeArguments, KindArgument, OutputArguments};
use crate::scan::LogArguments;

/// Count lines, or requests by the values of fields
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArguments {
    /// Count requests by the values of this field; of two, `status,method`, in a table with a
    /// row for each value of the first; of three or more, with a line for each combination
    #[arg(long, value_name = "FIELD[,FIELD...]", value_delimiter = ',')]
    pub(crate) by: Vec<String>,

    /// Print the most frequent values only, of each field or of three together. A table has a row
    /// and a column for the others
    #[arg(long, value_name = "N", requires = "by", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(0..))]
    pub(crate) top: Option<u32>,

    /// Order the values by this measure, the largest or latest first, and show it, such as bytes,
    /// visitors, p95 or p95:upstream_time: the measures of `weir report --group`. Fields of text only
    #[arg(long, value_name = "MEASURE", requires = "by")]
    pub(crate) sort: Option<Measure>,

    /// Show these measures of the values
    #[arg(long, value_name = "MEASURE[,MEASURE...]", requires = "by", value_delimiter = ',')]
    pub(crate) measure: Vec<Measure>,

    /// Leave out the values of fewer requests
    #[arg(long, value_name = "N", requires = "by")]
    pub(crate) min: Option<u64>,

    /// Count the records of this kind [default: requests, if there are any]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArgument>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// The most memory that values may take, such as 512MiB or 2G; new values after that are
    /// counted together unless they are frequent, which is reported [default: half of what the
    /// machine, the container or `ulimit -v` allows beyond 64MiB, at most 4GiB]
    #[arg(long, value_name = "SIZE", requires = "by")]
    pub(crate) memory: Option<String>,

    #[command(flatten)]
    pub(crate) anonymize: AnonymizeArguments,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

impl CountArguments {
    /// Whether the values have measures besides their number.
    pub(super) fn has_measures(&self) -> bool {
        self.sort.is_some() || !self.measure.is_empty() || self.min.is_some()
    }
}

const EXAMPLES: &str = "\
Examples:
  weir count access.log access.log.*.gz
  weir count --by path --where status=404 --top 20 access.log
  weir count --by client,status_class --csv access.log
  weir count --by client,path,status --top 20 access.log
  weir count --by client,host --sort bytes --top 20 access.log
  weir count --by time/1h --measure requests,p95,visitors access.log
  weir count --by status --since yesterday --until yesterday access.log

Without --by and --where it counts lines as `wc -l` does, and also a last line without a line
end. NUL bytes after the last line end are not a line.
Exit codes: 0 something was counted; 1 nothing was; 2 wrong usage, or a file could not be read
to its end.";
