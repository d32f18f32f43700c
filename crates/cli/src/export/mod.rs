//! `weir export`: the records of some logs as a file for other programs.

mod arguments;
mod late_fields;

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::{Arc, Weak};
use std::thread;

use weir_core::{Field, Format, RecordFields, Segment, Zone};
use weir_ingest::{
    DataSet, FormatChoice, Input, OrderedSegments, Pipeline, PipelineOptions, Retention,
    SourceSnapshot,
};
use weir_query::{
    ExportColumns, ExportCounts, ExportError, ExportFormat, Now, ParsedQuery, SegmentExport,
    WrittenQuery,
};
use weir_view::{Query, RecordKind};

pub(crate) use arguments::ExportArguments;
use arguments::Form;
use late_fields::LateFields;

use crate::display::separated;
use crate::grep::{RecordLines, write_record_lines};
use crate::messages::say_all;
use crate::outcome::{Exit, Failure, say};
use crate::output_file::{OutputFile, refuse_input};
use crate::scan::{
    LogFields, UnparsedLines, check_client, inputs_of, parse_query, query_failure, report_unparsed,
};
use crate::sources::{self, Complaint};
use crate::terminal::Progress;
use crate::unmatched::without_records;
use crate::withheld::Withheld;
use crate::zone;

/// The parsers pause while more segments than this wait for the encoder.
const SEGMENTS_WAITING_MAX: usize = 16;

/// The number of bytes of lines that are buffered before they are written.
const OUTPUT_BYTES: usize = 64 << 10;

/// The request, before the first line is read.
struct Request {
    written: WrittenQuery,
    query: ParsedQuery,
    /// The first option that selects a period.
    period_option: Option<&'static str>,
    kind: Option<RecordKind>,
    zone: Option<Zone>,
    format: ExportFormat,
    /// The names of the columns; empty for the default ones.
    columns: Vec<String>,
    logs: LogFields,
    /// Whether the logs can be read a second time, and the output written.
    is_repeatable: bool,
    /// The fields that appeared after the header, if the logs are read a second time.
    late_fields: LateFields,
    /// The number of threads that parse, and of those that encode.
    jobs: usize,
}

/// The destination of the output.
enum Output {
    Stdout(io::Stdout),
    File(OutputFile),
}

/// The result of an export.
struct ExportOutcome {
    /// About inputs that were not read to their end.
    complaints: Vec<Complaint>,
    counts: ExportCounts,
    late_fields: LateFields,
    /// About values that the output lacks.
    missing: Vec<Complaint>,
    sources: Vec<SourceSnapshot>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let form = arguments.form()?;
    let inputs = inputs_of(&arguments.logs.files)?;
    let choice = arguments.logs.format_choice()?;
    let (mut inputs, mut complaints) = sources::find(&inputs, &choice);
    let mut output = if arguments.is_stdout() {
        let (others, same) = sources::without_output(inputs);
        inputs = others;
        complaints.extend(same);
        Output::Stdout(io::stdout())
    } else {
        refuse_input("--output", &arguments.output, &inputs)?;
        let file = OutputFile::create(&arguments.output);
        Output::File(file.map_err(|error| arguments.output_failure(&error))?)
    };
    let format = match form {
        Form::Fields(format) => format,
        Form::Lines => return export_lines(arguments, inputs, choice, output, &complaints),
    };
    let mut request = Request::new(arguments, &mut inputs, &choice, format)?;
    request.is_repeatable = output.is_repeatable() && inputs.iter().all(Input::is_file);
    let mut exported = export(arguments, &request, &inputs, &choice, &mut output)?;
    if request.is_repeatable && !exported.late_fields.is_empty() {
        output.restart().map_err(|error| arguments.output_failure(&error))?;
        request.late_fields = exported.late_fields;
        exported = export(arguments, &request, &inputs, &choice, &mut output)?;
    }
    exported.missing = missing_of(&exported, &arguments.name());
    exported.complaints.splice(0..0, complaints);
    let withheld = output.finish_unless(exported.withheld());
    let withheld = withheld.map_err(|error| arguments.output_failure(&error))?;
    let exit = exported.say();
    arguments.say_withheld(withheld)?;
    Ok(exit)
}

/// Writes the lines of the records, as `weir grep` does.
fn export_lines(
    arguments: &ExportArguments,
    mut inputs: Vec<Input>,
    format: FormatChoice,
    output: Output,
    complaints: &[Complaint],
) -> Result<Exit, Failure> {
    let (kind, is_terminal) = (arguments.kind.map(Into::into), arguments.is_terminal());
    let records = RecordLines { logs: &arguments.logs, kind, format, is_terminal };
    let mut buffered = io::BufWriter::with_capacity(OUTPUT_BYTES, output);
    let written = write_record_lines(records, &mut inputs, &arguments.name(), &mut buffered)?;
    let finished = buffered.into_inner().map_err(io::IntoInnerError::into_error);
    let withheld = written.withheld(!complaints.is_empty());
    let withheld = finished.and_then(|output| output.finish_unless(withheld));
    let withheld = withheld.map_err(|error| arguments.output_failure(&error))?;
    say_all(complaints);
    let exit = written.say(!complaints.is_empty());
    arguments.say_withheld(withheld)?;
    Ok(exit)
}

impl ExportArguments {
    /// The name of the output in messages.
    fn name(&self) -> Cow<'_, str> {
        match self.is_stdout() {
            true => "standard output".into(),
            false => self.output.to_string_lossy(),
        }
    }

    fn output_failure(&self, error: &io::Error) -> Failure {
        Failure::output(&self.name(), error)
    }

    /// Prints why the output was not written.
    fn say_withheld(&self, withheld: Option<Withheld>) -> Result<(), Failure> {
        if let Some(withheld) = withheld {
            let form = self.form()?.name();
            withheld.say(&self.name(), &format!("--output - --to {form}"));
        }
        Ok(())
    }
}

impl Request {
    fn new(
        arguments: &ExportArguments,
        inputs: &mut [Input],
        choice: &FormatChoice,
        format: ExportFormat,
    ) -> Result<Self, Failure> {
        let logs = LogFields::new(inputs, choice);
        let zone = arguments.logs.zone()?;
        let own_zone = std::cell::LazyCell::new(|| {
            zone.clone().unwrap_or_else(|| zone::of_log(inputs, choice))
        });
        let (now, own_zone) = (Now::read(), || own_zone.clone());
        let conditions = arguments.logs.conditions.clone();
        let query = Query { conditions, ..Query::default() };
        let (written, query) = parse_query(&query, &now, &own_zone)?;
        let query = query.within(arguments.logs.period.period(&now, &own_zone)?);
        let (kind, jobs) = (arguments.kind.map(Into::into), arguments.logs.threads());
        let period_option = arguments.logs.period.options().next();
        Ok(Self {
            written,
            query,
            period_option,
            kind,
            zone,
            format,
            columns: arguments.columns.clone(),
            logs,
            is_repeatable: false,
            late_fields: LateFields::default(),
            jobs,
        })
    }

    /// Begins the export of a data set whose first records have these formats. The formats that the
    /// parsers have found by now depend on timing. So the kind and the columns are decided here, by
    /// the formats of the first records and of the first lines of all files, in the order of the
    /// inputs. `first` are the first records.
    fn begin(
        &self,
        data: &Arc<DataSet>,
        first: Option<&Segment>,
    ) -> Result<SegmentExport, Failure> {
        let source = first.and_then(|segment| data.source(segment.source()));
        let mut formats = source.map_or_else(Vec::new, |source| source.first_formats());
        formats.extend(self.logs.formats().iter().cloned());
        let has_kind = |kind: &RecordKind| formats.iter().any(|it| it.kind() == (*kind).into());
        let kinds = weir_core::RecordKind::ALL.into_iter().map(RecordKind::from);
        let kind = self.kind.or_else(|| kinds.into_iter().find(has_kind)).unwrap_or_default();
        // Fields that came late do not change which records are written.
        formats.extend(self.late_fields.formats.iter().cloned());
        let columns = self.columns(data, first, &formats, kind)?;
        let data = data.clone();
        let name_of = move |number| {
            data.source(number).map_or_else(String::new, |source| source.name().to_owned())
        };
        let (query, zone) = ((self.query.clone(), kind), self.zone.clone());
        let export = SegmentExport::new(query, zone, self.format, columns, name_of);
        Ok(export.map_err(Failure::new)?.with_jobs(self.jobs))
    }

    /// Returns the columns of records with these formats. `first` are the first records.
    fn columns(
        &self,
        data: &DataSet,
        first: Option<&Segment>,
        formats: &[Arc<Format>],
        kind: RecordKind,
    ) -> Result<ExportColumns, Failure> {
        let heads = self.logs.records();
        let times = first.and_then(Segment::times);
        let has_nanoseconds =
            heads.have_nanoseconds || times.is_some_and(|it| it.has_nanoseconds());
        let filled = first.map(|segment| filled_fields(segment, data)).unwrap_or_default();
        let fields = |is_filled: &dyn Fn(&str) -> bool| {
            RecordFields::of(formats.iter().map(Arc::as_ref), kind.into(), is_filled)
        };
        let is_filled = |name: &str| {
            heads.filled.contains(name)
                || filled.contains(name)
                || self.late_fields.names.contains(name)
        };
        let all = fields(&|_| true);
        let filled = if self.format.is_text() { fields(&is_filled) } else { all.clone() };
        let columns_of = |fields| ExportColumns::new(self.format, fields, has_nanoseconds);
        if !self.columns.is_empty() {
            // A field that no record had so far can be named too.
            let named = columns_of(&filled).select(&self.columns);
            let named = named.or_else(|_| columns_of(&all).select(&self.columns));
            return named.map_err(|error| Failure::new(format_args!("--columns: {error}")));
        }
        let columns = columns_of(&filled);
        if self.format != ExportFormat::Csv {
            return Ok(columns);
        }
        // Objects may have further members in any later line.
        let may_have_others = filled != all && !(self.logs.are_all_inputs() && heads.are_all);
        Ok(match may_have_others && !self.is_repeatable {
            true => columns.with_other_fields(),
            false => columns,
        })
    }

    /// Checks that some log has the fields of the conditions.
    fn check_fields(
        &self,
        sources: &[SourceSnapshot],
        formats: &[Arc<Format>],
    ) -> Result<(), Failure> {
        if sources.iter().all(|source| source.format.is_none()) {
            // No line matched a format. That is reported elsewhere.
            return Ok(());
        }
        check_client(formats)?;
        self.written.check_fields(formats.iter().map(Arc::as_ref)).map_err(query_failure)?;
        let Some(option) = self.period_option else { return Ok(()) };
        let times = formats.iter().map(|format| format.accessor(Field::Time.name()));
        // `Ok` if a format has times, or if no line has a format yet.
        let time = times.reduce(|one, other| one.or(other)).transpose();
        time.map(drop).map_err(|error| Failure::new(format_args!("{option}: {error}")))
    }
}

/// Reads the inputs and writes their records, at the same time.
fn export(
    arguments: &ExportArguments,
    request: &Request,
    inputs: &[Input],
    choice: &FormatChoice,
    output: &mut Output,
) -> Result<ExportOutcome, Failure> {
    let retention = Retention::UntilConsumed;
    let memory_bytes_max = Retention::consumed_bytes(request.jobs);
    let options =
        PipelineOptions { memory_bytes_max, ..PipelineOptions::new(request.jobs, retention) };
    let data = DataSet::new(retention, memory_bytes_max, &request.query.extra_columns());
    let segments = data.subscribe(SEGMENTS_WAITING_MAX);
    let pipeline = Arc::new(Pipeline::start(&options, data.clone()));
    let canceller = Arc::downgrade(&pipeline);
    let progress = Progress::of_reading(data.clone(), sources::bytes_total(inputs));
    let (complaints, written) = thread::scope(|scope| {
        let reading = scope.spawn(move || {
            // The inputs are read one after the other, so that the records are in their order.
            let complaints = sources::read_all(&pipeline, inputs, choice, 1);
            if let Some(pipeline) = Arc::into_inner(pipeline) {
                pipeline.finish();
            }
            complaints
        });
        let written = write(request, &data, segments, output);
        if written.is_err()
            && let Some(pipeline) = Weak::upgrade(&canceller)
        {
            pipeline.cancel();
        }
        // After a panic it is unknown which inputs were read.
        (reading.join().unwrap_or_else(|panic| resume_unwind(panic)), written)
    });
    progress.end();
    let export = written.map_err(|error| match error {
        WriteError::Output(error) => arguments.output_failure(&error),
        WriteError::Failure(failure) => failure,
    })?;
    let sources: Vec<_> = data.sources().iter().map(|source| source.snapshot()).collect();
    request.check_fields(&sources, &data.formats())?;
    let late_fields = LateFields::of(&export, &data);
    Ok(ExportOutcome {
        complaints,
        counts: export.counts(),
        late_fields,
        missing: Vec::new(),
        sources,
    })
}

/// Why the output ended early.
enum WriteError {
    Output(io::Error),
    Failure(Failure),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Failure> for WriteError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<ExportError> for WriteError {
    fn from(error: ExportError) -> Self {
        Self::Failure(match error {
            ExportError::Query(error) => query_failure(error),
            error => Failure::new(error),
        })
    }
}

/// Writes the records of all segments.
fn write(
    request: &Request,
    data: &Arc<DataSet>,
    mut segments: OrderedSegments,
    output: &mut Output,
) -> Result<SegmentExport, WriteError> {
    let mut begun: Option<SegmentExport> = None;
    loop {
        let some = segments.next_some(request.jobs);
        if some.is_empty() {
            break;
        }
        let export = match &mut begun {
            Some(export) => export,
            None => {
                // Lines without records have no format yet.
                let Some(first) = some.iter().find(|it| it.rows() > 0) else { continue };
                begun.insert(request.begin(data, Some(first))?)
            }
        };
        output.write_all(export.push(&some, &data.formats(), &**data)?)?;
    }
    let mut export = match begun {
        Some(export) => export,
        None => request.begin(data, None)?,
    };
    output.write_all(export.finish()?)?;
    Ok(export)
}

/// Returns the names of the fields that some record of a segment has.
fn filled_fields(segment: &Segment, data: &DataSet) -> HashSet<String> {
    let values = data.values();
    let columns = segment.columns().filter_map(|(id, _)| values.schema().column(id));
    columns.map(|column| column.name.clone()).collect()
}

/// Returns complaints about values that are missing in the output, and prints a note about records
/// of other kinds.
fn missing_of(exported: &ExportOutcome, output: &str) -> Vec<Complaint> {
    let counts = exported.counts;
    if counts.other_kinds > 0 {
        say(format_args!(
            "{} records of other kinds were left out; choose a kind with --kind",
            separated(counts.other_kinds)
        ));
    }
    let unknown = (counts.unknown_values > 0).then(|| {
        format!(
            "{} values are missing, because so many distinct ones follow each other that their \
             memory was used up",
            separated(counts.unknown_values)
        )
    });
    let sentences = unknown.into_iter().chain(exported.late_fields.sentence());
    sentences.map(|sentence| Complaint { name: output.to_owned(), sentence }).collect()
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Output {
    /// Whether the output can be written a second time.
    fn is_repeatable(&self) -> bool {
        matches!(self, Self::File(file) if file.is_replacement())
    }

    /// Drops what was written so far.
    fn restart(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(_) => Ok(()),
            Self::File(file) => file.restart(),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(file) => file.finish(),
        }
    }

    /// Finishes the output, unless it is a file that is still as it was and is to stay so. Returns
    /// why it was left.
    fn finish_unless(self, withheld: Option<Withheld>) -> io::Result<Option<Withheld>> {
        match (&self, withheld) {
            (Self::File(file), Some(_)) if file.is_replacement() => Ok(withheld),
            _ => self.finish().map(|()| None),
        }
    }
}

impl ExportOutcome {
    /// Returns why an output file is not written; `None` if it is.
    fn withheld(&self) -> Option<Withheld> {
        let lacks_values = || (!self.missing.is_empty()).then_some(Withheld::LacksValues);
        Withheld::of_sources(!self.complaints.is_empty(), &self.sources).or_else(lacks_values)
    }

    /// Prints the complaints. Returns how the run ended.
    fn say(&self) -> Exit {
        let without = without_records(&self.sources);
        let has_reason = |name: &str| without.iter().any(|complaint| complaint.name == name);
        let others = self.sources.iter().filter(|source| !has_reason(&source.name));
        let unparsed: Vec<_> = others.filter_map(UnparsedLines::of_source).collect();
        report_unparsed(&unparsed);
        say_all(&without);
        say_all(self.complaints.iter().chain(&self.missing));
        let has_records = self.sources.iter().any(|source| source.records > 0);
        match (self.complaints.is_empty() && self.missing.is_empty(), has_records) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Done,
            (true, false) => Exit::NoMatch,
        }
    }
}
