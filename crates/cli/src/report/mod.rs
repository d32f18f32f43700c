//! `weir report`: totals, a histogram and top lists of some logs.

mod findings;
mod request;
mod zone;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use weir_ingest::{DataSet, Input, Keep, Pipeline, SourceSnapshot};
use weir_view::{Format, Report};

use crate::arguments::ReportArguments;
use crate::outcome::{Exit, Failure, print, say};
use crate::sources::{self, Complaint};
use crate::terminal::{self, Progress, Screen};
use request::Request;

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let mut inputs = sources::inputs(&arguments.files)?;
    if inputs.is_empty() && !io::stdin().is_terminal() {
        inputs.push(Input::Stdin(Vec::new()));
    }
    if inputs.is_empty() {
        return Err(Failure::new(
            "name a log file to report on, or - for standard input; see weir report --help",
        ));
    }
    let screen = Screen::of_stdout();
    let format = arguments.read.format_choice()?;
    let (mut inputs, complaints) = sources::found(&inputs, &format);
    let request = Request::new(arguments, &mut inputs, &screen)?;
    let mut reading = read(arguments, &inputs, request)?;
    reading.complaints.splice(0..0, complaints);
    if arguments.json {
        let json = serde_json::to_string(&reading.report).map_err(Failure::new)?;
        print(&format!("{json}\n"))?;
    } else if reading.report.lines > 0 {
        print(&terminal::draw(&reading.report, &reading.sources, &screen))?;
    }
    Ok(reading.say())
}

/// All that was found out.
struct Reading {
    report: Report,
    sources: Vec<SourceSnapshot>,
    complaints: Vec<Complaint>,
    notes: Vec<String>,
}

impl Reading {
    /// Says what a person should know beside the numbers.
    fn say(&self) -> Exit {
        for note in &self.notes {
            say(note);
        }
        for complaint in &self.complaints {
            say(complaint);
        }
        match (self.complaints.is_empty(), self.report.records > 0) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Done,
            (true, false) => Exit::NothingFitted,
        }
    }
}

fn read(
    arguments: &ReportArguments,
    inputs: &[Input],
    request: Request,
) -> Result<Reading, Failure> {
    let options = arguments.read.pipeline_options(Keep::ValuesOnly)?;
    let columns = request.query.extra_columns();
    let data = DataSet::new(Keep::ValuesOnly, options.memory_bytes_max, &columns);
    let question = request.query.question(&data.values()).map_err(Failure::new)?;
    let pipeline = Pipeline::start(&options, data.clone(), Some(&question));

    let progress = Progress::of_reading(data.clone(), sources::bytes_total(inputs));
    let mut complaints = sources::read_all(&pipeline, inputs, &request.format, options.jobs);
    let answer = pipeline.finish();
    progress.end();

    let answer = answer.ok_or_else(|| {
        Failure::new("the parser threads could not be started; try fewer with -j 1")
    })?;
    let sources = snapshots(&data);
    findings::check_fields(arguments, &sources)?;
    complaints.extend(findings::truncated(&sources));
    let counts = weir_server::read_counts(&sources);
    let format = format_of(&sources);
    let report = Report::new(&answer, &data.values(), &counts, format, request.query.top as usize);
    let mut notes = findings::notes(&sources, &report);
    notes.extend(findings::mixed_offsets(answer.totals().offset_range_s, &report));
    Ok(Reading { report, sources, complaints, notes })
}

fn snapshots(data: &Arc<DataSet>) -> Vec<SourceSnapshot> {
    data.sources().iter().map(|source| source.snapshot()).collect()
}

/// The one format of all sources, or `mixed` with the names of all.
fn format_of(sources: &[SourceSnapshot]) -> Format {
    let mut formats: Vec<Format> = Vec::new();
    for format in sources.iter().filter_map(|source| source.format.as_ref()) {
        let format =
            Format { name: format.name().to_owned(), definition: format.definition().to_owned() };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    if formats.len() <= 1 {
        return formats.pop().unwrap_or_default();
    }
    let describe = |format: &Format| format!("{}: {}", format.name, format.definition);
    let definition = formats.iter().map(describe).collect::<Vec<_>>().join("\n");
    Format { name: "mixed".to_owned(), definition }
}
