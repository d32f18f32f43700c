//! Reads the logs for a report, with the notes and complaints about them.

use weir_core::Zone;
use weir_ingest::{Retention, SourceSnapshot};
use weir_query::{log_zone, report_of_fold};
use weir_view::{IncompleteSource, RecordKind, Report, ReportSource};

use super::blocks::Blocks;
use super::compared::compared;
use super::fold::ReportFold;
use super::records::Records;
use super::request::ReportRequest;
use super::{ReportArguments, blocks, findings};
use crate::messages::say_all;
use crate::outcome::{Exit, Failure, say};
use crate::sources::{self, Complaint};
use crate::terminal::Screen;
use crate::unmatched;
use crate::withheld::Withheld;

/// A report, and the notes and complaints about its sources.
pub(super) struct Reading {
    pub(super) report: Report,
    pub(super) sources: Vec<SourceSnapshot>,
    pub(super) complaints: Vec<Complaint>,
    pub(super) notes: Vec<String>,
}

impl Reading {
    /// Adds the names of the sources to the report, and those that were not read completely.
    pub(super) fn name_sources(&mut self) {
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
    pub(super) fn withheld(&self) -> Option<Withheld> {
        Withheld::of_sources(!self.complaints.is_empty(), &self.sources)
    }

    /// Prints the notes and the complaints. Returns how the run ended.
    pub(super) fn say(&self) -> Exit {
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
pub(super) fn read(
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
    let fold = ReportFold::new(arguments, request, &data.values())?;
    data.charge_answers(fold.list_bytes_of_each());
    let (answer, faults) = records.fold(&options, &data, &request.format, fold)?;
    let mut complaints = sources::complaints(faults);

    let ReportFold { evaluations: answer, census, visitors, robots, all } = answer;
    let snapshot = data.snapshot();
    let written = &request.written;
    let formats = records.formats(&snapshot.formats, &request.format);
    findings::check_fields(arguments, written, &snapshot.sources, &formats)?;
    complaints.extend(findings::truncated(&snapshot.sources));
    let compared = match arguments.compare {
        true => compared(&data, request, &formats, options.jobs)?,
        false => None,
    };
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
    if let Some(visitors) = visitors {
        let declares = arguments.read.derived().declares_robot()?;
        report.visitors = Some(weir_query::visitors_answer(&visitors, &data.values(), declares));
    }
    if let Some(robots) = robots.filter(|_| report.kind == RecordKind::Request) {
        let declares = arguments.read.derived().declares_robot()?;
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
