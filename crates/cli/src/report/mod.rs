//! `weir report`: totals, a histogram and top lists of some logs.

mod arguments;
mod compare;
mod csv;
mod findings;
mod group;
mod html;
mod json;
mod request;
mod tallies;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use weir_core::{Evaluation, Question};
use weir_ingest::{DataSet, Input, Keep, Pipeline, SourceSnapshot};
use weir_view::{Format, Report};

pub(crate) use arguments::ReportArguments;
pub(crate) use compare::{Changes, Comparison, Range, difference, percent};
pub(crate) use group::{Group, GroupRow};

use crate::outcome::{Exit, Failure, print, print_csv, say};
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
    if let Some(file) = &arguments.html {
        if file.as_os_str() == "-" && (arguments.json || arguments.csv) {
            return Err(Failure::new(
                "--html -: standard output is taken by --json or --csv; name a file",
            ));
        }
        html::refuse_input(file, &inputs)?;
    }
    let mut reading = read(arguments, &inputs, &request)?;
    reading.complaints.splice(0..0, complaints);
    let Reading { contents, sources, .. } = &reading;
    if let Some(file) = &arguments.html {
        html::write(file, contents, sources)?;
    }
    if arguments.json {
        print(&json::write(contents)?)?;
    } else if arguments.csv {
        print_csv(&csv::write(contents, sources))?;
    } else if arguments.html.is_none() && contents.report.lines > 0 {
        print(&terminal::draw(contents, sources, &screen))?;
    }
    Ok(reading.say())
}

/// What is printed.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) report: Report,
    pub(crate) group: Option<Group>,
    pub(crate) comparison: Option<Comparison>,
}

/// All that was found out.
struct Reading {
    contents: Contents,
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
        match (self.complaints.is_empty(), self.contents.report.records > 0) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Done,
            (true, false) => Exit::NothingFitted,
        }
    }
}

fn read(
    arguments: &ReportArguments,
    inputs: &[Input],
    request: &Request,
) -> Result<Reading, Failure> {
    // Which ranges are compared is known when all is read, so the records have to be kept.
    let keep = if arguments.compare { Keep::Segments } else { Keep::ValuesOnly };
    let options = arguments.read.pipeline_options(keep)?;
    let columns = request.query.extra_columns();
    let data = DataSet::new(keep, options.memory_bytes_max, &columns);
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
    findings::check_fields(arguments, &sources, &data.formats())?;
    complaints.extend(findings::truncated(&sources));
    let answers = if arguments.compare { compared(&data, request)? } else { None };
    let contents = contents(arguments, &data, &sources, (&answer, answers.as_ref()));
    let mut notes = findings::notes(&sources, &contents.report);
    notes.extend(findings::mixed_offsets(answer.totals().offset_range_s, &contents.report));
    Ok(Reading { contents, sources, complaints, notes })
}

/// Answers about two ranges of time.
struct Compared {
    now_range: Range,
    now: Evaluation,
    before_range: Range,
    before: Evaluation,
}

/// Asks about the range and the one before it; `None` where no record has a time.
fn compared(data: &DataSet, request: &Request) -> Result<Option<Compared>, Failure> {
    let segments = data.segments_from(0);
    let ranges = segments.iter().filter_map(|segment| segment.time_range_ns());
    let range = ranges.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
    let Some(range) = range else { return Ok(None) };
    let (since_ns, until_ns) = request.range_ns;
    let (now_range, before_range) = Range::now_and_before(since_ns, until_ns, range)?;
    let question = |range| request.within(range).question(&data.values()).map_err(Failure::new);
    let (now, before) = (question(now_range)?, question(before_range)?);
    let answer = |question: &Question| {
        let mut answer = Evaluation::new(question);
        answer.learn(&data.values());
        segments.iter().for_each(|segment| answer.update(segment));
        answer
    };
    let (now, before) = std::thread::scope(|scope| {
        let now = scope.spawn(|| answer(&now));
        let before = answer(&before);
        (now.join(), before)
    });
    let now = now.map_err(|_| Failure::new("the range could not be counted"))?;
    Ok(Some(Compared { now_range, now, before_range, before }))
}

/// What is printed of an answer about all, or of those about two ranges.
fn contents(
    arguments: &ReportArguments,
    data: &DataSet,
    sources: &[SourceSnapshot],
    (answer, compared): (&Evaluation, Option<&Compared>),
) -> Contents {
    let values = &*data.values();
    let (counts, format) = (weir_server::read_counts(sources), format_of(sources));
    let top = arguments.top as usize;
    let now = compared.map_or(answer, |compared| &compared.now);
    let formats = data.formats();
    let report =
        |answer| Report::new(answer, values, &counts, format.clone(), top).of_formats(&formats);
    let group = arguments.group.as_ref().and_then(|field| {
        Group::new(field, values, now, compared.map(|compared| &compared.before), top)
    });
    let comparison = compared.map(|Compared { now_range, now, before_range, before }| {
        let names = values.schema().text_columns().map(|(_, name)| name);
        let lists = names.filter_map(|name| Changes::new(name, values, now, before, top));
        Comparison {
            now_range: *now_range,
            before_range: *before_range,
            before: report(before),
            lists: lists.collect(),
        }
    });
    Contents { report: report(now), group, comparison }
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
