//! The arguments of `weir report`.

use clap::Args;
use std::error::Error;
use std::path::PathBuf;
use weir_core::{AddressBlock, cycle_len};
use weir_view::{BlocksQuestion, Measure};

use crate::options::{
    AnonymizeArguments, KindArgument, OutputArguments, PeriodArguments, ReadArguments,
    parse_duration,
};
use crate::scan::LogArguments;

use super::step;

/// Print totals, a histogram and top lists
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArguments {
    /// The logs, or directories of them: plain, compressed with gzip, zstd, bzip2, xz or lz4,
    /// in tar or zip archives; `-` is standard input, which is also read if no file is named
    /// and it is not a terminal
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Write the report to this file as one self-contained HTML page; `-` is standard output. If a
    /// log cannot be read to its end, the file stays as it was, and only `-` has what can be read
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Add the requests, bytes and errors of the --top most frequent values of this field, or
    /// combinations of the values of several; the others are summed
    #[arg(long, value_name = "FIELD[,FIELD...]")]
    pub(crate) group: Option<String>,

    /// Add the visitors and visits of the requests by day: a visitor is a client with an agent on
    /// one date, and a visit ends after 30 minutes without a request
    #[arg(long, conflicts_with = "compare")]
    pub(crate) visitors: bool,

    /// Add the clients that behave as robots and do not call themselves so, and cohorts of many clients
    /// of few requests each that share an agent and a pattern of paths, with what they cost
    /// (docs/crawlers.md has the rules)
    #[arg(long, conflicts_with_all = ["compare", "anonymize"])]
    pub(crate) robots: bool,

    /// Order the values of --group by this measure, the largest or latest first, and show it: see
    /// --measure. With --compare, a duration orders them by the rate of its change
    #[arg(long, value_name = "MEASURE", requires = "group")]
    pub(crate) sort: Option<Measure>,

    /// Show these measures of the values of --group: requests, share, visitors, visits, clients, bytes,
    /// errors, error_rate, first_seen, last_seen; mean, sum, max or a percentile such as p95, of the
    /// time to serve the request or of another number, as in p95:upstream_time or max:bytes
    #[arg(long, value_name = "MEASURE[,MEASURE...]", requires = "group", value_delimiter = ',')]
    pub(crate) measure: Vec<Measure>,

    /// Leave out the values of --group with fewer requests
    #[arg(long, value_name = "N", requires = "group")]
    pub(crate) min: Option<u64>,

    /// Add the values of all fields that separate the requests that match best from all others, by
    /// G-squared: what is different during a time or with a condition
    #[arg(long, conflicts_with = "compare")]
    pub(crate) different: bool,

    /// Compare with the previous period: the period from --since to --until with the one of the
    /// same length before it; without --since, the second half of the log with the first. Values
    /// that are new and gone come first, and then the largest changes of share
    #[arg(long)]
    pub(crate) compare: bool,

    #[command(flatten)]
    pub(crate) period: PeriodArguments,

    /// Count only requests that meet this condition, such as status=404,403 or
    /// 'status=5xx and not path^=/health'; several are joined by and, several with = on one field
    /// by or. See below
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,

    /// Report on the records of this kind only [default: all kinds, requests first]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArgument>,

    /// How far the clock of the error logs and firewall logs is ahead of that of the access logs,
    /// such as 2h or -30s, for the list of what tripped your rules [default: estimated]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true,
        value_parser = parse_clock_offset)]
    pub(crate) clock_offset: Option<i64>,

    /// Print values whole on a terminal too, as in a pipe, instead of cutting them to its width
    #[arg(long)]
    pub(crate) wide: bool,

    /// Rows of each top list, and of --group [default: 10; all 24 hours or 7 weekdays]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(0..))]
    pub(crate) top: Option<u32>,

    /// The most buckets the histogram may have [default: as many as fit the terminal; 400 in
    /// JSON, CSV and HTML]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) buckets: Option<u32>,

    /// The step of the histogram: 1s, 5s, 15s, 30s, 1m, 5m, 15m, 30m, 1h, 3h, 6h, 12h, 1d, 1w, 1month or 1y
    /// [default: the shortest that fits into --buckets]
    #[arg(long, value_name = "STEP", value_parser = step::parse, conflicts_with = "buckets")]
    pub(crate) step: Option<u64>,

    /// The field by which the histogram is stacked
    #[arg(long, value_name = "FIELD", default_value = "status_class")]
    pub(crate) stack: String,

    #[command(flatten)]
    pub(crate) anonymize: AnonymizeArguments,

    #[command(flatten)]
    pub(crate) read: ReadArguments,

    /// The option that names the fields of the group.
    #[arg(skip = "--group")]
    pub(crate) group_option: &'static str,

    /// The networks whose clients are good.
    #[arg(skip)]
    pub(crate) good_networks: Vec<AddressBlock>,
}

impl ReportArguments {
    /// The arguments of a report about what tripped the rules in force. Clients in `good_networks`
    /// are good.
    pub(crate) fn of_blocks(
        logs: &LogArguments,
        memory: Option<&str>,
        top: u32,
        good_networks: Vec<AddressBlock>,
    ) -> Self {
        Self {
            files: logs.files.clone(),
            output: OutputArguments::default(),
            html: None,
            group: None,
            visitors: false,
            robots: false,
            sort: None,
            measure: Vec::new(),
            min: None,
            different: false,
            compare: false,
            period: logs.period.clone(),
            conditions: logs.conditions.clone(),
            kind: None,
            clock_offset: None,
            wide: false,
            top: Some(top),
            buckets: None,
            step: None,
            stack: "status_class".to_owned(),
            anonymize: AnonymizeArguments::default(),
            read: logs.read_arguments(memory),
            group_option: "--group",
            good_networks,
        }
    }
}

impl ReportArguments {
    /// The number of rows of a list.
    pub(super) fn top(&self) -> u32 {
        self.top.unwrap_or(TOP)
    }

    /// The number of rows of the group, if it is another than that of the lists: all values of a field
    /// that has few.
    pub(super) fn group_rows(&self) -> Option<usize> {
        let group = self.group.as_ref().filter(|_| self.top.is_none())?;
        cycle_len(group)
    }
}

/// The number of rows of a list, if the arguments name none.
const TOP: u32 = 10;

/// Parses a duration of whole seconds that may be negative.
fn parse_clock_offset(text: &str) -> Result<i64, Box<dyn Error + Send + Sync>> {
    let (is_behind, length) = match text.strip_prefix('-') {
        Some(length) => (true, length),
        None => (false, text),
    };
    let max_s = BlocksQuestion::CLOCK_OFFSET_S_MAX;
    let length = parse_duration(length)?;
    let seconds = i64::try_from(length.as_secs()).ok().filter(|_| length.subsec_nanos() == 0);
    match seconds.filter(|seconds| *seconds <= max_s) {
        Some(seconds) if is_behind => Ok(-seconds),
        Some(seconds) => Ok(seconds),
        None => Err("write whole seconds such as 90s, 15m or -2h, up to 48h".into()),
    }
}

const REPORT_EXAMPLES: &str = "\
Examples:
  weir report access.log access.log.1.gz
  zcat access.log.*.gz | weir report --since -3d --where status=404
  weir report --where 'user_agent~(?i)bot' --where client!=192.0.2.0/24 access.log
  weir report --json access.log | jq '.top.client[0]'
  weir report --group host --since -7d --compare access.log
  weir report --visitors --where 'status!=4xx' access.log
  weir report --robots access.log
  weir report --group path --sort p95 --min 100 access.log
  weir report --group time/1m --top 1 access.log
  weir report --different --since 14:10 --until 14:20 access.log
  weir report --html report.html access.log

Conditions:
  status=404,403  status=4xx  status!=200  bytes>1MB  request_time>=200ms
  client=192.0.2.0/24  path^=/api (begins with)  path~'\\.php$' (regular expression)  path!~^/a
  referer=(none)  referer=(empty)  time>=2025-12-17  time>=-2h  googlebot (in any text field)
They are joined by and, or, not and brackets. Text in quotation marks stands for itself.

Exit codes: 0 something was read; 1 no line matched the format; 2 wrong usage, or a file could
not be read to its end.";

#[cfg(test)]
mod tests {
    use super::parse_clock_offset;

    #[test]
    fn offsets_of_clocks_may_be_negative() {
        for (text, seconds) in [("0", 0), ("90s", 90), ("-2h", -7_200), ("48h", 172_800)] {
            assert_eq!(parse_clock_offset(text).unwrap(), seconds, "{text}");
        }
        for text in ["", "-", "5", "--5s", "49h", "1x"] {
            assert!(parse_clock_offset(text).is_err(), "{text}");
        }
    }
}
