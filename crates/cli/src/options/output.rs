//! `--json` and `--csv`: how a result is printed.

use clap::{Args, ValueEnum};

/// How a result is printed; the same in every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputArguments {
    /// Print JSON: one object, or with grep one for each line; docs/json.md describes it
    #[arg(long)]
    json: bool,

    /// Print CSV with a header, safe to open in a spreadsheet
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// The spelling of earlier versions.
    #[arg(long, value_enum, value_name = "KIND", hide = true, conflicts_with_all = ["json", "csv"])]
    output: Option<OutputKind>,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputKind {
    /// For a person; of grep, the lines themselves
    #[default]
    #[value(alias = "raw")]
    Text,
    /// CSV with a header
    Csv,
    /// JSON
    #[value(alias = "jsonl")]
    Json,
}

impl OutputArguments {
    /// The kind of output.
    pub(crate) fn kind(&self) -> OutputKind {
        match (self.output, self.json, self.csv) {
            (Some(kind), ..) => kind,
            (None, true, _) => OutputKind::Json,
            (None, false, true) => OutputKind::Csv,
            (None, false, false) => OutputKind::Text,
        }
    }
}
