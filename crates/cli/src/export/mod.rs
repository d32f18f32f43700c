//! `weir export`: the records of some logs as a file for other programs.

mod arguments;
mod late_fields;
mod outcome;
mod output;
mod request;

use std::borrow::Cow;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::{Arc, Weak};
use std::thread;

use weir_ingest::{
    DataSet, FormatChoice, Input, OrderedSegments, Pipeline, PipelineOptions, Retention,
};
use weir_query::{ExportError, SegmentExport};

pub(crate) use arguments::ExportArguments;

use self::arguments::Form;
use self::late_fields::LateFields;
use self::outcome::{ExportOutcome, missing_of};
use self::output::Output;
use self::request::Request;
use crate::grep::{RecordLines, write_record_lines};
use crate::messages::say_all;
use crate::outcome::{Exit, Failure};
use crate::output_file::{OutputFile, refuse_input};
use crate::scan::{inputs_of, query_failure};
use crate::sources::{self, Complaint};
use crate::terminal::Progress;
use crate::withheld::Withheld;

/// The parsers pause while more segments than this wait for the encoder.
const SEGMENTS_WAITING_MAX: usize = 16;

/// The number of bytes of lines that are buffered before they are written.
const OUTPUT_BYTES: usize = 64 << 10;

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let form = arguments.form()?;
    let inputs = inputs_of(&arguments.logs.files)?;
    if form == Form::Lines && arguments.anonymize.is_on() {
        return Err(Failure::new(
            "--anonymize: --to lines copies the lines as they are; write --to csv, or another form",
        ));
    }
    let choice = arguments.anonymize.hiding(arguments.logs.format_choice()?)?;
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
    let mut exported = export(arguments, &request, &inputs, &mut output)?;
    if request.is_repeatable && !exported.late_fields.is_empty() {
        output.restart().map_err(|error| arguments.output_failure(&error))?;
        request.late_fields = exported.late_fields;
        exported = export(arguments, &request, &inputs, &mut output)?;
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
            withheld.say(&self.name(), Some(&format!("--output - --to {form}")));
        }
        Ok(())
    }
}

/// Reads the inputs and writes their records, at the same time.
fn export(
    arguments: &ExportArguments,
    request: &Request,
    inputs: &[Input],
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
            let complaints = sources::read_all(&pipeline, inputs, &request.choice, 1);
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
