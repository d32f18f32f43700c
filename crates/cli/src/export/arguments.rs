//! The arguments of `weir export`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weir_query::ExportFormat;

use crate::display::safe;
use crate::options::KindArgument;
use crate::outcome::Failure;
use crate::scan::LogArguments;

/// Write records as Parquet, CSV or JSON lines, for other programs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// The file to write; `-` is standard output. It is complete or as it was before
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// The form of the output [default: by the ending of FILE]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<FormatArgument>,

    /// The records of this kind [default: requests if the logs have some]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArgument>,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

/// The form of the output, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArgument {
    /// A table for DuckDB, pandas, DataFusion and others
    Parquet,
    /// CSV with a header, safe to open in a spreadsheet
    Csv,
    /// A JSON object on a line of its own for each record
    Jsonl,
}

const EXAMPLES: &str = "\
Examples:
  weir export --output access.parquet access.log access.log.*.gz
  weir export --output errors.csv --where status=5xx --since -7d access.log
  zcat access.log.*.gz | weir export --to jsonl | jq .path
  duckdb -c \"select status, count(*) from 'access.parquet' group by 1\"

Memory does not grow with the logs. docs/exports.md describes the columns. Lines that do not
match the format are counted and left out; weir grep prints whole lines.
Exit codes: 0 something was read; 1 no line matched the format; 2 wrong usage, or a file could
not be read to its end.";

impl ExportArguments {
    /// The format that the arguments name.
    ///
    /// # Errors
    /// If they name none, or one that a terminal cannot show.
    pub(crate) fn format(&self) -> Result<ExportFormat, Failure> {
        let format = match self.to {
            Some(FormatArgument::Parquet) => ExportFormat::Parquet,
            Some(FormatArgument::Csv) => ExportFormat::Csv,
            Some(FormatArgument::Jsonl) => ExportFormat::JsonLines,
            None => self.format_of_ending()?,
        };
        if self.is_stdout() && !format.is_text() && io::stdout().is_terminal() {
            return Err(Failure::new(format_args!(
                "a terminal cannot show {}; name a file with --output",
                format.name()
            )));
        }
        Ok(format)
    }

    /// Whether the output is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    fn format_of_ending(&self) -> Result<ExportFormat, Failure> {
        if self.is_stdout() {
            return Err(Failure::new(
                "name the form of the output with --to, or a file such as access.parquet with \
                 --output",
            ));
        }
        let format = format_of(&self.output);
        format.ok_or_else(|| {
            Failure::new(format_args!(
                "--output: the ending of `{}` is not one of .parquet, .csv and .jsonl; name the \
                 form of the output with --to",
                safe(&self.output.to_string_lossy())
            ))
        })
    }
}

/// The format that the ending of a file stands for.
fn format_of(path: &Path) -> Option<ExportFormat> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "ndjson" => Some(ExportFormat::JsonLines),
        ending => ExportFormat::by_name(ending),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_query::ExportFormat;

    use super::format_of;

    #[test]
    fn the_ending_of_a_file_names_its_format() {
        for (path, format) in [
            ("a.parquet", Some(ExportFormat::Parquet)),
            ("/x.csv/a.CSV", Some(ExportFormat::Csv)),
            ("a.jsonl", Some(ExportFormat::JsonLines)),
            ("a.ndjson", Some(ExportFormat::JsonLines)),
            ("a.json", None),
            ("parquet", None),
            (".csv", None),
        ] {
            assert_eq!(format_of(Path::new(path)), format, "{path}");
        }
    }
}
