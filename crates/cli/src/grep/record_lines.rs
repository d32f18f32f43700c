//! The lines of the records that conditions select, for `weir export --to lines`.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use weir_ingest::{FormatChoice, Input, run_in_order};
use weir_view::RecordKind;

use super::pattern::Pattern;
use super::printer::Layout;
use super::{InputResult, Scope, Search};
use crate::options::OutputKind;
use crate::outcome::{Exit, Failure};
use crate::scan::{Conditions, LogArguments, LogFields, UnparsedLines};
use crate::withheld::Withheld;

/// The records whose lines are written.
pub(crate) struct RecordLines<'a> {
    /// The conditions.
    pub(crate) logs: &'a LogArguments,
    /// The kind of the records; `None` for all kinds.
    pub(crate) kind: Option<RecordKind>,
    pub(crate) format: FormatChoice,
    /// Whether the output is a terminal, which must not interpret control characters of the log.
    pub(crate) is_terminal: bool,
}

/// The results of the inputs that were read.
pub(crate) struct WrittenLines(Vec<InputResult>);

/// Writes the lines of these records, in the order of the inputs. `name` is the name of the output.
///
/// # Errors
/// If a condition is not valid, no log has its field, or the output cannot be written.
pub(crate) fn write_record_lines(
    records: RecordLines<'_>,
    inputs: &mut [Input],
    name: &str,
    output: &mut (dyn Write + Send),
) -> Result<WrittenLines, Failure> {
    let threads = records.logs.threads();
    let search = Search {
        threads_per_input: if inputs.len() == 1 { threads } else { 1 },
        ..Search::of_records(records, inputs)?
    };
    let results = run_in_order(threads, inputs.len(), output, |index, output| {
        search.search_input(&inputs[index], output)
    });
    let results = results.map_err(|error| Failure::output(name, &error))?;
    match results.iter().find_map(|result| result.missing.as_ref()) {
        Some(sentence) => Err(Failure::new(sentence)),
        None => Ok(WrittenLines(results)),
    }
}

impl Search {
    fn of_records(records: RecordLines<'_>, inputs: &mut [Input]) -> Result<Self, Failure> {
        let RecordLines { logs, kind, format, is_terminal } = records;
        let zone = logs.zone()?;
        let conditions = Conditions::parse(logs, zone.as_ref(), inputs, &format)?;
        let format = logs.derived().deriving(format, conditions.field_names(), zone.as_ref())?;
        let layout = Layout {
            has_names: false,
            has_member_names: false,
            has_numbers: false,
            is_only_matching: false,
            is_count: false,
            is_list: false,
            is_quiet: false,
            is_inverted: false,
            lines_max: None,
            context: None,
            is_line_buffered: is_terminal,
            output: OutputKind::Text,
            is_terminal,
            has_colour: false,
        };
        Ok(Self {
            pattern: Pattern::of_every_line()?,
            layout,
            field: None,
            negates_conditions: false,
            scope: Scope::Records(kind),
            tracks_period: false,
            conditions,
            logs: LogFields::new(inputs, &format),
            columns: None,
            zone,
            format,
            threads_per_input: 1,
            has_found: AtomicBool::new(false),
        })
    }
}

impl WrittenLines {
    /// Returns why an output file is not written; `None` if it is. `has_failed` states whether
    /// there were other complaints.
    pub(crate) fn withheld(&self, has_failed: bool) -> Option<Withheld> {
        let has_failed = has_failed || self.0.iter().any(|result| !result.complaints.is_empty());
        let records = self.0.iter().filter(|result| result.has_records).count() as u64;
        let not_records = self.0.iter().flat_map(|result| &result.unparsed);
        Withheld::of(has_failed, records, not_records.map(UnparsedLines::count).sum())
    }

    /// Prints the unparsed lines and the complaints. `has_failed` states whether there were other
    /// complaints. Returns the exit of the run, which depends on whether there were records, not on
    /// whether some were selected.
    pub(crate) fn say(&self, has_failed: bool) -> Exit {
        match super::report(&self.0, has_failed) {
            Exit::NoMatch if self.0.iter().any(|result| result.has_records) => Exit::Done,
            exit => exit,
        }
    }
}
