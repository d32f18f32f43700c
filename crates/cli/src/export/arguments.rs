//! The arguments of `weir export`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weir_query::ExportFormat;

use crate::display::safe;
use crate::options::{AnonymizeArguments, KindArgument};
use crate::outcome::Failure;
use crate::scan::LogArguments;

/// Write records as Parquet, Arrow, CSV, JSON lines or lines of the log, for other programs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// The file to write; `-` is standard output. It is complete or as it was before: if a log
    /// cannot be read to its end, only standard output has what can be read
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// The form of the output [default: by the ending of FILE]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<FormatArgument>,

    /// The records of this kind [default: requests if the logs have some; for lines, all kinds]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArgument>,

    /// The columns to write, in this order; `*` stands for those that are written by default, and
    /// `other_fields` has what no other column has
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,

    #[command(flatten)]
    pub(crate) anonymize: AnonymizeArguments,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The fields of the records.
    Fields(ExportFormat),
    /// The lines of the records as they are in the logs.
    Lines,
}

/// The form of the output, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArgument {
    /// A table for DuckDB, pandas, DataFusion and others
    Parquet,
    /// A stream of record batches in memory's own layout, for pyarrow, Polars and others
    Arrow,
    /// CSV with a header, safe to open in a spreadsheet
    Csv,
    /// A JSON object on a line of its own for each record
    Jsonl,
    /// The lines of the records as they are in the logs
    Lines,
}

impl Form {
    /// Returns the name as an argument.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fields(format) => format.name(),
            Self::Lines => "lines",
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  weir export --output access.parquet access.log access.log.*.gz
  weir export --output errors.csv --where status=5xx --since -7d access.log
  weir export --output errors.log --where status=5xx --since -7d access.log
  zcat access.log.*.gz | weir export --to jsonl | jq .path
  weir export --output slow.csv --columns time,client,path,request_time access.log
  duckdb -c \"select status, count(*) from 'access.parquet' group by 1\"

Memory does not grow with the logs. docs/exports.md describes the columns. Lines that do not
match the format are counted and left out.
Exit codes: 0 something was read; 1 no line matched the format; 2 wrong usage, or a file could
not be read to its end. FILE is written only with 0, or if the logs have no lines.";

impl ExportArguments {
    /// Returns the form of the output that the arguments name.
    ///
    /// # Errors
    /// If they name none, or one that a terminal cannot show.
    pub(crate) fn form(&self) -> Result<Form, Failure> {
        let form = match self.to {
            Some(FormatArgument::Parquet) => Form::Fields(ExportFormat::Parquet),
            Some(FormatArgument::Arrow) => Form::Fields(ExportFormat::Arrow),
            Some(FormatArgument::Csv) => Form::Fields(ExportFormat::Csv),
            Some(FormatArgument::Jsonl) => Form::Fields(ExportFormat::JsonLines),
            Some(FormatArgument::Lines) => Form::Lines,
            None => self.form_of_output()?,
        };
        if form == Form::Lines && !self.columns.is_empty() {
            return Err(Failure::new(
                "--columns: lines are written as they are in the logs; choose another form with \
                 --to, such as csv",
            ));
        }
        match form {
            Form::Fields(format) if self.is_terminal() && !format.is_text() => Err(Failure::new(
                format_args!("a terminal cannot show {}; name a file with --output", format.name()),
            )),
            form => Ok(form),
        }
    }

    /// Whether the output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_stdout() && io::stdout().is_terminal()
    }

    /// Whether the output is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    fn form_of_output(&self) -> Result<Form, Failure> {
        if self.is_stdout() {
            return Err(Failure::new(
                "name the form of the output with --to, or a file such as access.parquet with \
                 --output",
            ));
        }
        form_of_path(&self.output).ok_or_else(|| {
            let nearest = nearest_of(&self.output);
            let nearest = nearest.map_or_else(String::new, |form| format!(", such as --to {form}"));
            Failure::new(format_args!(
                "--output: the ending of `{}` is not one of .parquet, .arrows, .arrow, .csv, \
                 .jsonl, .ndjson, .log and .txt; name the form of the output with --to{nearest}",
                safe(&self.output.to_string_lossy())
            ))
        })
    }
}

/// Returns the form for the extension of a file name.
fn form_of_path(path: &Path) -> Option<Form> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "log" | "txt" => Some(Form::Lines),
        "ndjson" => Some(Form::Fields(ExportFormat::JsonLines)),
        "arrows" => Some(Form::Fields(ExportFormat::Arrow)),
        ending => ExportFormat::by_name(ending).map(Form::Fields),
    }
}

/// Returns the form that is nearest to an ending without a form.
fn nearest_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name =
        [".gz", ".zst", ".xz", ".bz2"].iter().find_map(|it| name.strip_suffix(it)).unwrap_or(&name);
    if let Some(form) = form_of_path(Path::new(name)) {
        return Some(form.name());
    }
    match Path::new(name).extension()?.to_str()? {
        "json" | "jsonlines" => Some("jsonl"),
        "tsv" | "xlsx" | "xls" | "ods" => Some("csv"),
        "feather" | "ipc" => Some("arrow"),
        "pq" | "parq" | "orc" => Some("parquet"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_query::ExportFormat;

    use super::{Form, form_of_path, nearest_of};

    #[test]
    fn another_ending_is_near_to_a_form() {
        for (path, form) in [
            ("a.json", Some("jsonl")),
            ("a.tsv", Some("csv")),
            ("a.csv.gz", Some("csv")),
            ("a.LOG.GZ", Some("lines")),
            ("a.feather", Some("arrow")),
            ("a.pq", Some("parquet")),
            ("a.gz", None),
            ("a.pdf", None),
            ("a", None),
        ] {
            assert_eq!(nearest_of(Path::new(path)), form, "{path}");
        }
    }

    #[test]
    fn the_ending_of_a_file_names_its_form() {
        let fields = |format| Some(Form::Fields(format));
        for (path, form) in [
            ("a.parquet", fields(ExportFormat::Parquet)),
            ("a.arrows", fields(ExportFormat::Arrow)),
            ("a.arrow", fields(ExportFormat::Arrow)),
            ("/x.csv/a.CSV", fields(ExportFormat::Csv)),
            ("a.jsonl", fields(ExportFormat::JsonLines)),
            ("a.ndjson", fields(ExportFormat::JsonLines)),
            ("a.log", Some(Form::Lines)),
            ("a.csv.txt", Some(Form::Lines)),
            ("a.json", None),
            ("parquet", None),
            (".csv", None),
        ] {
            assert_eq!(form_of_path(Path::new(path)), form, "{path}");
        }
    }
}
