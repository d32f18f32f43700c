//! `weir report`: totals, a histogram and top lists of some logs.

mod arguments;
mod blocks;
mod csv;
mod findings;
mod html;
mod records;
mod request;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::Zone;
use weir_ingest::{DataSet, Input, Retention, SourceSnapshot};
use weir_query::{
    Evaluator, ParsedQuery, PeriodError, evaluation_by_kind, log_zone, report_of_fold,
};
use weir_view::{IncompleteSource, KindCount, RecordKind, Report, ReportSource};

pub(crate) use arguments::ReportArguments;
pub(crate) use findings::{field_names, truncated};
pub(crate) use html::page as html_page;

use crate::messages::say_all;
use crate::options::OutputKind;
use crate::outcome::{Exit, Failure, print, print_csv, say};
use crate::output_file::refuse_input;
use crate::scan::{inputs_of, query_failure};
use crate::sources::{self, Complaint};
use crate::terminal::{self, Screen};
use crate::unmatched;
use crate::withheld::Withheld;
use blocks::{Blocks, ReportFold};
use records::Records;
use request::ReportRequest;

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
    let screen = Screen::of_stdout(arguments.wide);
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let output = arguments.output.kind();
    if let Some(file) = &arguments.html {
        if file.as_os_str() == "-" && output != OutputKind::Text {
            return Err(Failure::new(
                "--html: standard output is already used by --json or --csv; name a file",
            ));
        }
        refuse_input("--html", file, &inputs)?;
    }
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    reading.name_sources();
    let Reading { report, sources, .. } = &reading;
    // Standard output has what could be read.
    let file = arguments.html.as_deref();
    let withheld = reading.withheld().filter(|_| file.is_some_and(|file| file.as_os_str() != "-"));
    if let Some(file) = file.filter(|_| withheld.is_none()) {
        html::write(file, report, sources)?;
    }
    match output {
        OutputKind::Json => print(&(weir_view::to_json(report).map_err(Failure::new)? + "\n"))?,
        OutputKind::Csv => print_csv(&csv::write(report, sources))?,
        OutputKind::Text if arguments.html.is_none() && report.lines > 0 => {
            print(&terminal::draw(report, sources, &screen))?;
        }
        OutputKind::Text => {}
    }
    let exit = reading.say();
    if let (Some(file), Some(withheld)) = (file, withheld) {
        withheld.say(&file.to_string_lossy(), Some("--html -"));
    }
    Ok(exit)
}

/// Prints what tripped the rules in force, with what would let an address pass.
///
/// # Errors
/// If an argument is not valid, or no block stands beside the requests.
pub(crate) fn print_blocks(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let screen = Screen::of_stdout(false);
    let inputs = sources::inputs(&arguments.files)?;
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    if let Some(blocks) = &reading.report.blocks {
        print(&terminal::draw_blocks(blocks, &screen))?;
        return Ok(reading.say());
    }
    reading.say();
    Err(Failure::new(
        "no block stands beside the requests of these logs; name an error log of nginx, a fail2ban.log, or \
         a log of CrowdSec or UFW beside the access log, or a rule to try with --rule FILE or --rule-text \
         TEXT",
    ))
}

/// Reads a report for its group, without what tripped the rules. The notes and complaints are printed
/// by the function that is returned, after the report.
///
/// # Errors
/// If an argument is not valid, or a log cannot be read.
pub(crate) fn read_group(
    arguments: &ReportArguments,
) -> Result<(Report, impl FnOnce() -> Exit + use<>), Failure> {
    let screen = Screen::of_stdout(false);
    let inputs = inputs_of(&arguments.files)?;
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    reading.name_sources();
    Ok((reading.report.clone(), move || reading.say()))
}

/// A report, and the notes and complaints about its sources.
struct Reading {
    report: Report,
    sources: Vec<SourceSnapshot>,
    complaints: Vec<Complaint>,
    notes: Vec<String>,
}

impl Reading {
    /// Adds the names of the sources to the report, and those that were not read completely.
    fn name_sources(&mut self) {
        let incomplete = &mut self.report.incomplete;
        for Complaint { name, sentence } in &self.complaints {
            if !incomplete.iter().any(|known| known.source == *name) {
                let (source, reason) = (name.clone(), sentence.clone());
                incomplete.push(IncompleteSource { source, reason });
            }
        }
        let is_complete =
            |name: &str| !self.report.incomplete.iter().any(|source| source.source == name);
        let named = self.sources.iter();
        let named = named.map(|source| ReportSource {
            unread: unmatched::unread(source),
            ..ReportSource::of(source, is_complete(&source.name))
        });
        self.report.sources = named.collect();
    }

    /// Returns why an output file is not written; `None` if it is.
    fn withheld(&self) -> Option<Withheld> {
        Withheld::of_sources(!self.complaints.is_empty(), &self.sources)
    }

    /// Prints the notes and the complaints. Returns how the run ended.
    fn say(&self) -> Exit {
        for note in &self.notes {
            say(note);
        }
        say_all(&self.complaints);
        match (self.complaints.is_empty(), self.report.records > 0) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Done,
            (true, false) => Exit::NoMatch,
        }
    }
}

/// Reads the records, and again if their offsets from UTC have told the zone of the report.
fn read(
    arguments: &ReportArguments,
    records: &mut Records,
    request: ReportRequest,
    screen: &Screen,
) -> Result<Reading, Failure> {
    let (reading, zone) = read_once(arguments, records, &request)?;
    let may_read_again = arguments.read.tz.is_none() && records.are_files();
    let Some(zone) = zone.filter(|zone| may_read_again && zone.name() != reading.report.time.zone)
    else {
        return Ok(reading);
    };
    let request = ReportRequest::in_zone(arguments, records, screen, Some(zone))?;
    Ok(read_once(arguments, records, &request)?.0)
}

/// Reads the records. Also returns the zone of a log that has several offsets from UTC.
fn read_once(
    arguments: &ReportArguments,
    records: &Records,
    request: &ReportRequest,
) -> Result<(Reading, Option<Zone>), Failure> {
    // The periods are known only after all records are read, so the records have to be kept.
    let retention = if arguments.compare { Retention::Segments } else { Retention::ValuesOnly };
    let options = arguments.read.pipeline_options(retention)?;
    let data = records.data_set(&options, &request.query.extra_columns());
    let evaluations = evaluation_by_kind(&request.query, &data.values()).map_err(query_failure)?;
    let census = blocks::census(arguments, request, &data.values())?;
    let visitors = blocks::visitors(arguments, request, &data.values())?;
    let robots = blocks::robots(arguments, request, &data.values())?;
    let all = blocks::all(arguments, request, &data.values())?;
    let fold = ReportFold { evaluations, census, visitors, robots, all };
    data.charge_answers(fold.list_bytes_of_each());
    let (answer, faults) = records.fold(&options, &data, &request.format, fold)?;
    let mut complaints = sources::complaints(faults);

    let ReportFold { evaluations: answer, census, visitors, robots, all } = answer;
    let snapshot = data.snapshot();
    let written = &request.written;
    let formats = records.formats(&snapshot.formats, &request.format);
    findings::check_fields(arguments, written, &snapshot.sources, &formats)?;
    complaints.extend(findings::truncated(&snapshot.sources));
    let compared = if arguments.compare { compared(&data, request, options.jobs)? } else { None };
    let mut report = compared
        .unwrap_or_else(|| report_of_fold(&answer, &data.values(), &snapshot, &request.query));
    let kind = report.kind.into();
    if let (Some(selected), Some(all)) =
        (answer.of(kind), all.as_ref().and_then(|all| all.of(kind)))
    {
        report.different =
            Some(weir_query::differences(&request.query, &data.values(), selected, all));
    }
    // Lines of error logs and packets have no visitors.
    let visitors = visitors.filter(|_| report.kind == RecordKind::Request);
    report.visitors = visitors.map(|visitors| (&visitors.counts()).into());
    if let Some(robots) = robots.filter(|_| report.kind == RecordKind::Request) {
        let declares = arguments.read.declares_robot()?;
        report.robots = Some(robots.robots(&data.values(), arguments.top() as usize, declares));
    }
    let log_ns = answer.time_range_ns(report.kind.into());
    let mut notes = findings::notes(&snapshot.sources, &report, log_ns);
    let zone = data.values().offset_days().is_some().then(|| log_zone(&data.values()));
    notes.extend(findings::mixed_offsets(answer.offset_range_s(), &report, zone.as_ref()));
    if let Some(census) = census {
        match blocks::read(&census, &data.values(), arguments, records, request)? {
            Some(Blocks::Report(blocks)) => report.blocks = Some(*blocks),
            Some(Blocks::Note(note)) => notes.push(note),
            None => {}
        }
    }
    Ok((Reading { report, sources: snapshot.sources, complaints, notes }, zone))
}

/// Returns the report that compares two periods, with the reports about the other kinds of records;
/// `None` if no record has a time.
fn compared(
    data: &Arc<DataSet>,
    request: &ReportRequest,
    jobs: usize,
) -> Result<Option<Report>, Failure> {
    let answer = |query: ParsedQuery| {
        let evaluator = Evaluator::new(data.clone(), query, jobs);
        let answer = evaluator.map_err(query_failure)?.answer(&AtomicBool::new(false));
        answer.ok_or_else(|| Failure::new("the periods could not be counted"))
    };
    let mut answered = answer(request.query.clone())?;
    match answered.period_error {
        None => {
            let kinds = answered.report.kinds.clone();
            for KindCount { kind, .. } in kinds {
                if request.query.kind().is_some() || kind == answered.report.kind {
                    continue;
                }
                // All kinds are compared over the periods of the main kind.
                let selected = answered.selected_period.unwrap_or_default();
                let other = answer(request.query.clone().of_kind(kind).comparing(selected))?;
                // A record without a time is in no period.
                if other.period_error.is_none() {
                    answered.report.other_kinds.push(other.report);
                }
            }
            Ok(Some(answered.report))
        }
        Some(PeriodError::NoTime) => Ok(None),
        Some(PeriodError::Empty) => Err(Failure::new(
            "--compare: no request was logged at --since or later; set an earlier time",
        )),
        Some(PeriodError::TooShort) => Err(Failure::new(
            "--compare: the log has no period to divide; set its start with --since",
        )),
    }
}
