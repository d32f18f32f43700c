//! `weir grep`: the lines that match a regular expression, in whole lines or in one field, of
//! any source.

mod arguments;
mod columns;
mod context;
mod grouped_lines;
mod lines;
mod pattern;
mod printer;
mod record_lines;
mod records;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{Format, Zone};
use weir_ingest::{FormatChoice, Input, OrderedOutput, is_table_input, run_in_order};
use weir_query::period_text;
use weir_view::RecordKind;

use arguments::ColourChoice;
pub(crate) use arguments::GrepArguments;
use columns::LineColumns;
use context::WithoutFirst;
use pattern::Pattern;
use printer::{Layout, Printer};
pub(crate) use record_lines::{RecordLines, write_record_lines};

use crate::display::safe;
use crate::head::head_of;
use crate::messages::say_all;
use crate::options::OutputKind;
use crate::outcome::{Exit, Failure, say};
use crate::scan::{Conditions, LogFields, RecordPeriod, UnparsedLines, inputs_of, report_unparsed};
use crate::sources::{self, Complaint};
use crate::terminal::Screen;

/// The number of bytes of output that are buffered before they are written.
const OUTPUT_BYTES: usize = 64 << 10;

/// Why a table is not searched.
const TABLE_REFUSAL: &str = "is a Parquet file, which has no lines: add --json or --csv to print its \
    records, --field NAME to search in a field, and -o to print what matches";

/// The search, before the first file is opened.
struct Search {
    pattern: Pattern,
    layout: Layout,
    field: Option<String>,
    conditions: Conditions,
    /// Whether the records that do not meet the conditions are selected.
    negates_conditions: bool,
    scope: Scope,
    /// Whether the period of the records is recorded, because the arguments name a period.
    tracks_period: bool,
    /// The fields of all inputs.
    logs: LogFields,
    /// The columns of CSV, and those of JSON that are named.
    columns: Option<LineColumns>,
    /// The zone of times.
    zone: Option<Zone>,
    format: FormatChoice,
    /// The number of threads that one input may have.
    threads_per_input: usize,
    /// Whether a line was found, if that is all the search is for.
    has_found: AtomicBool,
}

/// The lines that are searched, whether they match or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All lines.
    Lines,
    /// The lines that are records, only of one kind if it is named.
    Records(Option<RecordKind>),
}

/// The result of one input.
#[derive(Default)]
struct InputResult {
    /// The number of lines that matched.
    lines: u64,
    /// Whether some line is a record, if lines were read as records.
    has_records: bool,
    /// The field that a text lacks; a sentence.
    missing: Option<String>,
    /// The fields that CSV lacks, because they appeared after its header.
    missing_fields: BTreeSet<String>,
    /// The lines that could not be parsed, of texts that were read as records.
    unparsed: Vec<UnparsedLines>,
    /// The period of the records that match the pattern, if the arguments name a period.
    period: RecordPeriod,
    complaints: Vec<Complaint>,
}

/// Runs the command.
pub(crate) fn run(arguments: &GrepArguments) -> Result<Exit, Failure> {
    let (patterns, files) = arguments.patterns_and_files(io::stdin().is_terminal())?;
    let inputs = inputs_of(&files)?;
    let format = arguments.logs.format_choice()?;
    let (mut inputs, mut complaints) = sources::find(&inputs, &format);
    let has_several = files.len().max(inputs.len()) > 1;
    if !arguments.count && !arguments.files_with_matches && !arguments.quiet {
        let (others, same) = sources::without_output(inputs);
        inputs = others;
        complaints.extend(same);
    }
    let threads = arguments.logs.threads();
    let has_names = arguments.has_names(has_several, &files);
    let mut search = Search::new(arguments, &patterns, &mut inputs, format, has_names)?;
    if arguments.max_count == Some(0) {
        return Ok(Exit::NoMatch);
    }
    search.threads_per_input = if inputs.len() == 1 { threads } else { 1 };
    let layout = search.layout;
    let output = io::BufWriter::with_capacity(OUTPUT_BYTES, io::stdout());
    let mut output = WithoutFirst::new(output, layout.context.is_some(), layout.has_colour);
    let results = search
        .write_header(&mut output)
        .and_then(|()| {
            run_in_order(threads, inputs.len(), &mut output, |index, output| {
                search.search_input(&inputs[index], output)
            })
        })
        .map_err(|error| Failure::output("standard output", &error))?;
    say_all(&complaints);
    if results.iter().all(|result| result.lines == 0) {
        search.say_no_match(!patterns.is_empty(), &results);
    }
    let are_missing = say_missing_fields(&results);
    match report(&results, are_missing || !complaints.is_empty()) {
        // As in grep, a line that was found counts for more than a file that was not read.
        Exit::Failed if search.is_over() => Ok(Exit::Done),
        exit => Ok(exit),
    }
}

impl Search {
    fn new(
        arguments: &GrepArguments,
        patterns: &[String],
        inputs: &mut [Input],
        format: FormatChoice,
        has_names: bool,
    ) -> Result<Self, Failure> {
        let zone = arguments.logs.zone()?;
        let output = arguments.output_kind()?;
        let negates_conditions =
            arguments.invert_match && patterns.is_empty() && arguments.field.is_none();
        let conditions = Conditions::parse(&arguments.logs, zone.as_ref(), inputs, &format)?;
        let shown = arguments.field.iter().chain(&arguments.columns).map(String::as_str);
        let names = shown.chain(conditions.field_names());
        let format = arguments.logs.derived().deriving(format, names, zone.as_ref())?;
        let layout = Layout {
            has_names,
            has_member_names: !arguments.no_filename,
            has_numbers: arguments.line_number,
            is_only_matching: arguments.only_matching,
            is_count: arguments.count && !arguments.quiet,
            is_list: arguments.files_with_matches && !arguments.quiet,
            is_quiet: arguments.quiet,
            is_inverted: arguments.invert_match && !negates_conditions,
            lines_max: arguments.max_count,
            context: arguments.context(),
            is_line_buffered: arguments.line_buffered || io::stdout().is_terminal(),
            output,
            is_terminal: io::stdout().is_terminal(),
            has_colour: match arguments.color {
                Some(ColourChoice::Always) => true,
                Some(ColourChoice::Never) => false,
                Some(ColourChoice::Auto) | None => Screen::of_stdout(false).colour,
            },
        };
        if output != OutputKind::Text {
            read_starts(inputs);
        }
        let logs = LogFields::new(inputs, &format);
        let columns = LineColumns::new(output, &arguments.columns, &logs)
            .map_err(|error| Failure::new(format_args!("--columns: {error}")))?;
        Ok(Self {
            pattern: Pattern::new(patterns, arguments)?,
            layout,
            field: arguments.field.clone(),
            negates_conditions,
            scope: Scope::Lines,
            tracks_period: conditions.has_time_condition(),
            conditions,
            logs,
            columns,
            zone,
            format,
            threads_per_input: 1,
            has_found: AtomicBool::new(false),
        })
    }

    /// Prints the period of the records, if none of them is in the requested period. With a
    /// pattern, these are the records that it matches.
    fn say_no_match(&self, has_pattern: bool, results: &[InputResult]) {
        let mut period = RecordPeriod::default();
        results.iter().for_each(|result| period.merge(result.period));
        let Some((range_ns, own_zone)) = period.range_ns() else { return };
        let log = if has_pattern { "the lines that match the pattern run" } else { "the log runs" };
        let period = period_text(range_ns, self.zone.as_ref().unwrap_or(&own_zone));
        say(format_args!("no record meets the conditions; {log} {period}"));
    }

    fn write_header(&self, output: &mut impl Write) -> io::Result<()> {
        match &self.columns {
            Some(columns) if self.layout.output == OutputKind::Csv && !self.layout.is_quiet => {
                output.write_all(columns.header().as_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Whether lines have to be read as records.
    fn reads_records(&self) -> bool {
        self.scope != Scope::Lines
            || self.field.is_some()
            || !self.conditions.is_empty()
            || self.layout.output != OutputKind::Text
    }

    /// Whether whole lines are searched or printed, which a table does not have.
    fn needs_lines(&self) -> bool {
        let layout = &self.layout;
        let is_of_field = self.field.is_some();
        let prints_lines = layout.output == OutputKind::Text
            && !(layout.is_count || layout.is_list || layout.is_quiet)
            && !(is_of_field && layout.is_only_matching);
        !self.reads_records() || prints_lines || !(is_of_field || self.pattern.is_empty())
    }

    /// Searches one input. An error is one of the output; errors of the input are in the result.
    fn search_input(
        &self,
        input: &Input,
        output: &mut OrderedOutput<'_>,
    ) -> io::Result<InputResult> {
        if self.needs_lines() && is_table_input(input) {
            let complaint = Complaint { name: input.name(), sentence: TABLE_REFUSAL.to_owned() };
            return Ok(InputResult { complaints: vec![complaint], ..InputResult::default() });
        }
        match self.reads_records() {
            true => self.search_records(input, output),
            false => self.search_lines(input, output),
        }
    }

    /// Notes that a line was found, after which a quiet search is over.
    fn note_found(&self) {
        self.has_found.store(self.layout.is_quiet, Ordering::Relaxed);
    }

    /// Whether no further line of any input can change the result.
    fn is_over(&self) -> bool {
        self.has_found.load(Ordering::Relaxed)
    }

    /// Whether the lines of a block of an input are written at once, because the next may come much
    /// later.
    fn is_line_buffered(&self, input: &Input) -> bool {
        self.layout.is_line_buffered || input.is_live()
    }

    /// Whether the name of a text of an input is printed before its lines. An archive has texts with
    /// names of their own.
    fn has_names(&self, input: &Input, text: &str) -> bool {
        self.layout.has_names || (self.layout.has_member_names && text != input.name())
    }

    fn printer<'a, W: Write>(
        &'a self,
        name: &'a str,
        has_names: bool,
        output: &'a mut W,
    ) -> Printer<'a, W> {
        Printer::new(&self.layout, &self.pattern, name, has_names, output)
    }
}

impl Scope {
    /// Whether the scope includes the records of a format.
    fn includes(self, format: &Format) -> bool {
        match self {
            Self::Records(Some(kind)) => format.kind() == kind.into(),
            Self::Records(None) | Self::Lines => true,
        }
    }
}

/// Reads the first bytes that standard input has, because the columns of CSV are those of the first lines.
/// An error is reported when it is searched.
fn read_starts(inputs: &mut [Input]) {
    for input in inputs.iter_mut().filter(|input| matches!(input, Input::Stdin(_))) {
        let _ = head_of(input, |text| text.contains(&b'\n'));
    }
}

/// Prints the names of the fields that CSV lacks. Returns whether there are some.
fn say_missing_fields(results: &[InputResult]) -> bool {
    let names: BTreeSet<&String> =
        results.iter().flat_map(|result| &result.missing_fields).collect();
    if !names.is_empty() {
        let names: Vec<_> = names.iter().map(|name| safe(name)).collect();
        say(format_args!(
            "these fields have no column, because they appeared after the header was written: {}; \
             --columns '*,other_fields' adds a column with them",
            names.join(", ")
        ));
    }
    !names.is_empty()
}

/// Prints the unparsed lines and the complaints. Returns how the run ended.
fn report(results: &[InputResult], mut has_failed: bool) -> Exit {
    report_unparsed(results.iter().flat_map(|result| &result.unparsed));
    let complaints: Vec<&Complaint> =
        results.iter().flat_map(|result| &result.complaints).collect();
    has_failed |= !complaints.is_empty();
    say_all(complaints);
    let has_matches = results.iter().any(|result| result.lines > 0);
    match (has_failed, has_matches) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Done,
        (false, false) => Exit::NoMatch,
    }
}
