//! `weir grep`: the lines that match a regular expression, in whole lines or in one field, of
//! any source.

mod arguments;
mod lines;
mod pattern;
mod printer;
mod record_lines;
mod records;

use std::io::{self, IsTerminal, Write};

use weir_core::{Format, Zone};
use weir_ingest::{FormatChoice, Input, OrderedOutput, Text, TextScan, run_in_order};
use weir_view::{RecordKind, line_csv_header, period_text};

pub(crate) use arguments::GrepArguments;
use pattern::Pattern;
use printer::{Layout, Printer};
pub(crate) use record_lines::{RecordLines, write_record_lines};
use records::PartRecords;

use crate::display::separated;
use crate::messages::say_all;
use crate::options::OutputKind;
use crate::outcome::{Exit, Failure, say};
use crate::scan::{
    Conditions, LogFields, RecordPeriod, ScanError, UnparsedLines, for_each_text, inputs_of,
    report_unparsed,
};
use crate::sources::{self, Complaint};
use crate::terminal::Screen;

/// The number of bytes of output that are buffered before they are written.
const OUTPUT_BYTES: usize = 64 << 10;

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
    /// The zone of times.
    zone: Option<Zone>,
    format: FormatChoice,
    /// The number of threads that one file may have.
    threads_per_text: usize,
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
    /// The lines that could not be parsed, of texts that were read as records.
    unparsed: Vec<UnparsedLines>,
    /// The period of the records that match the pattern, if the arguments name a period.
    period: RecordPeriod,
    complaints: Vec<Complaint>,
}

/// Runs the command.
pub(crate) fn run(arguments: &GrepArguments) -> Result<Exit, Failure> {
    let (pattern, files) = arguments.pattern_and_files(io::stdin().is_terminal())?;
    let inputs = inputs_of(&files)?;
    let format = arguments.logs.format_choice()?;
    let (mut inputs, mut complaints) = sources::find(&inputs, &format);
    let has_several = files.len().max(inputs.len()) > 1;
    if !arguments.count && !arguments.files_with_matches {
        let (others, same) = sources::without_output(inputs);
        inputs = others;
        complaints.extend(same);
    }
    let threads = arguments.logs.threads();
    let mut search =
        Search::new((arguments, pattern.as_deref()), &mut inputs, format, has_several)?;
    search.threads_per_text = if inputs.len() == 1 { threads } else { 1 };
    let mut output = io::BufWriter::with_capacity(OUTPUT_BYTES, io::stdout());
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
        search.say_no_match(pattern.is_some(), &results);
    }
    Ok(report(&results, !complaints.is_empty()))
}

impl Search {
    fn new(
        (arguments, pattern): (&GrepArguments, Option<&str>),
        inputs: &mut [Input],
        format: FormatChoice,
        has_several: bool,
    ) -> Result<Self, Failure> {
        let zone = arguments.logs.zone()?;
        let negates_conditions =
            arguments.invert_match && pattern.is_none() && arguments.field.is_none();
        let conditions = Conditions::parse(&arguments.logs, zone.as_ref(), inputs, &format)?;
        let layout = Layout {
            has_names: has_several && !arguments.no_filename,
            has_member_names: !arguments.no_filename,
            has_numbers: arguments.line_number,
            is_only_matching: arguments.only_matching,
            is_count: arguments.count,
            is_list: arguments.files_with_matches,
            is_inverted: arguments.invert_match && !negates_conditions,
            output: arguments.output.kind(),
            is_terminal: io::stdout().is_terminal(),
            has_colour: Screen::of_stdout(false).colour,
        };
        Ok(Self {
            pattern: Pattern::new(pattern.unwrap_or_default(), arguments)?,
            layout,
            field: arguments.field.clone(),
            negates_conditions,
            scope: Scope::Lines,
            tracks_period: conditions.has_time_condition(),
            conditions,
            logs: LogFields::new(inputs, &format),
            zone,
            format,
            threads_per_text: 1,
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
        match self.layout.output {
            OutputKind::Csv => output.write_all(line_csv_header(true).as_bytes()),
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

    /// Whether the parts of a text can be searched at the same time, because the output for a line
    /// does not depend on earlier lines.
    fn is_divisible(&self) -> bool {
        !self.layout.has_numbers && !self.layout.is_list && self.layout.output == OutputKind::Text
    }

    /// Searches one input. An error is one of the output; errors of the input are in the result.
    fn search_input(
        &self,
        input: &Input,
        output: &mut OrderedOutput<'_>,
    ) -> io::Result<InputResult> {
        let mut result = InputResult::default();
        let search = |text: &mut Text<'_>| self.search_text(input, text, output, &mut result);
        let complaints = for_each_text(input, search)?;
        result.complaints.extend(complaints);
        Ok(result)
    }

    /// Searches one text of an input. Lines that were printed before an error count.
    fn search_text(
        &self,
        input: &Input,
        text: &mut Text<'_>,
        output: &mut OrderedOutput<'_>,
        result: &mut InputResult,
    ) -> Result<(), ScanError> {
        let (name, is_member) = (text.name().to_owned(), text.is_member());
        let scan = TextScan {
            threads: self.threads_per_text,
            is_divisible: self.is_divisible(),
            reads_records: self.reads_records(),
            format: &self.format,
            has_fields: &|format| self.check_fields(format).is_ok(),
        };
        let scanned = scan.run(input, text, output, |part, output| {
            let mut printer = Printer::new(&self.layout, &self.pattern, &name, is_member, output);
            let mut seen = PartRecords::default();
            let searched = match self.reads_records() {
                true => self.search_records(part, &mut seen, &mut printer),
                false => self.search_lines(part, &mut printer),
            };
            match searched {
                Err(ScanError::Output(error)) => Err(error),
                searched => Ok((printer.lines(), seen, searched)),
            }
        });
        let scanned = scanned.map_err(ScanError::Output)?;
        let lines = scanned.parts.iter().map(|(lines, ..)| lines).sum();
        for (_, seen, _) in &scanned.parts {
            result.period.merge(seen.period);
            result.has_records |= seen.has_records;
        }
        let unparsed = UnparsedLines::of_records(&name, &scanned);
        let searched = scanned.parts.into_iter().try_for_each(|(.., searched)| searched);
        let lacks_field = matches!(searched, Err(ScanError::Field(_)));
        if !self.reads_records() {
            result.add_too_long(&name, scanned.too_long_lines);
        } else if !(lacks_field && scanned.is_format_known) {
            result.unparsed.extend(unparsed);
        }
        if let Err(ScanError::Field(sentence)) = &searched {
            result.missing = Some(sentence.clone());
            return searched;
        }
        result.lines += lines;
        let printer = Printer::new(&self.layout, &self.pattern, &name, is_member, output);
        printer.end_text(lines).map_err(ScanError::Output)?;
        searched
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

impl InputResult {
    /// Adds a complaint about the lines of a text that were too long to be searched.
    fn add_too_long(&mut self, name: &str, too_long_lines: u64) {
        if too_long_lines > 0 {
            let lines = separated(too_long_lines);
            let sentence = format!("{lines} lines are longer than 256 MiB and were not searched");
            self.complaints.push(Complaint { name: name.to_owned(), sentence });
        }
    }
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
