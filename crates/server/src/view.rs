//! Builds live views: a report with the state of its sources.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_core::{DerivedFrom, REMAINDER, Timestamp, format_rfc3339};
use weir_ingest::{DataSet, Phase, Retention, SourceEnd, SourceSnapshot, WindowReach};
use weir_query::{Answer, find_zone, log_zone, no_match_note};
use weir_view::{Format, FormatCount, Sample, Source, SourceState, Unread, View, Window};

use crate::file::UploadedFile;
use crate::options::Remedies;

/// The maximum number of samples of all sources together.
const SAMPLES_MAX: usize = 100;

/// The derived fields that have lists, if the data has what they are derived from.
const DERIVED_LISTS: [&str; 17] = [
    "network",
    "country",
    "city",
    "asn_name",
    "path/1",
    "extension",
    "agent_family",
    "system",
    "device",
    "crawler",
    "crawler_kind",
    "referer_host",
    "referer_kind",
    "campaign",
    "hour",
    "weekday",
    "date",
];

/// What a view tells of its session beside the data.
#[derive(Debug)]
pub(crate) struct SessionState<'a> {
    pub(crate) files: &'a [Arc<UploadedFile>],
    pub(crate) remedies: &'a Remedies,
    /// When the session was created, since 1970.
    pub(crate) created: Duration,
}

/// Builds the view of an answer, without the id of a query.
pub(crate) fn view(
    answer: Answer<SourceSnapshot>,
    data: &DataSet,
    session: &SessionState<'_>,
) -> View {
    let by_number: HashMap<u32, _> =
        session.files.iter().map(|file| (file.progress().number(), file)).collect();
    let file_of = |snapshot: &SourceSnapshot| by_number.get(&snapshot.number);
    let sources: Vec<Source> =
        answer.sources.iter().map(|snapshot| source(snapshot, file_of(snapshot))).collect();
    let complete = !sources.is_empty() && answer.sources.iter().all(|source| source.end.is_some());
    View {
        query: 0,
        filter: None,
        started_unix_ms: u64::try_from(session.created.as_millis()).unwrap_or(u64::MAX),
        complete,
        sources,
        samples: answer.sources.iter().flat_map(samples).take(SAMPLES_MAX).collect(),
        window: window(&answer, data, session.created),
        memory_bytes: data.memory_bytes() as u64,
        memory_bytes_max: data.memory_bytes_max() as u64,
        notes: notes(&answer, complete, data, session.remedies),
        derived: derived_lists(data),
        report: answer.report,
    }
}

/// Returns the names of the derived fields that the data can have and that are worth a list.
fn derived_lists(data: &DataSet) -> Vec<String> {
    let values = data.values();
    let has_values = |name: &str| {
        values.derived_field(name, None).is_some_and(|(_, from)| match from {
            DerivedFrom::Column(column) => values.dictionary(column).ids() > REMAINDER as usize + 1,
            DerivedFrom::Time => values.first_offset_s().is_some(),
        })
    };
    let names = DERIVED_LISTS.iter().filter(|name| has_values(name));
    names.map(|name| (*name).to_owned()).collect()
}

fn window(answer: &Answer<SourceSnapshot>, data: &DataSet, created: Duration) -> Option<Window> {
    let Retention::Window { width } = data.retention() else { return None };
    let width_s = width.map(|width| width.as_secs_f64());
    let since_ns = complete_since_ns(answer, data.reach(), created);
    let complete_since = since_ns.and_then(|unix_ns| {
        let zone = find_zone(&answer.report.time.zone).ok()?;
        let offset_s = zone.offset_s(unix_ns.div_euclid(1_000_000_000));
        Some(format_rfc3339(Timestamp { unix_ns, offset_s }))
    });
    Some(Window { width_s, records: answer.rows_kept, complete_since })
}

/// Returns the time from which on a window has every record, in nanoseconds since 1970, if that is
/// after the beginning of its width.
fn complete_since_ns(
    answer: &Answer<SourceSnapshot>,
    reach: WindowReach,
    started: Duration,
) -> Option<i64> {
    // Senders do not repeat what they sent while nobody listened.
    let is_live = answer.sources.iter().any(|source| source.phase == Phase::Listening);
    let started_ns = is_live.then(|| i64::try_from(started.as_nanos()).unwrap_or(i64::MAX));
    let since_ns = [reach.oldest_ns, reach.dropped_ns, started_ns].into_iter().flatten().max()?;
    (Some(since_ns) > reach.floor_ns).then_some(since_ns)
}

fn source(snapshot: &SourceSnapshot, file: Option<&&Arc<UploadedFile>>) -> Source {
    let (state, why) = match &snapshot.end {
        Some(SourceEnd::Done) => (SourceState::Done, None),
        Some(SourceEnd::Failed(why)) => (SourceState::Failed, Some(why.to_string())),
        Some(SourceEnd::Cancelled) => (SourceState::Cancelled, None),
        None if file.is_some_and(|file| file.is_interrupted()) => (SourceState::Interrupted, None),
        None => (state(snapshot.phase), None),
    };
    let format = snapshot.format.as_deref().map(Format::from);
    Source {
        number: snapshot.number,
        fingerprint: file.and_then(|file| file.fingerprint().map(str::to_owned)),
        file: file.map(|file| file.id().to_owned()).unwrap_or_default(),
        name: snapshot.name.clone(),
        state,
        bytes_done: snapshot.bytes_done,
        bytes_total: snapshot.bytes_total,
        lines: snapshot.lines,
        records: snapshot.records,
        records_only: snapshot.format.as_deref().is_some_and(weir_core::Format::is_packed),
        unparsed_lines: snapshot.unparsed_lines,
        too_long_lines: snapshot.too_long_lines,
        format,
        formats: FormatCount::of_sources(std::slice::from_ref(snapshot)),
        format_share: snapshot.parsed_share,
        unread: unread(snapshot),
        message: why.or_else(|| snapshot.note.clone()),
    }
}

/// Returns what a source is that was read to its end and has no line in a known format.
fn unread(snapshot: &SourceSnapshot) -> Option<Unread> {
    let is_unread = snapshot.format.is_none() && snapshot.unparsed_lines > 0;
    let has_ended = snapshot.end == Some(SourceEnd::Done);
    let lines = snapshot.samples.iter().map(|sample| sample.text.as_slice());
    (is_unread && has_ended).then(|| Unread::of(lines))
}

/// Returns the state of a source that has not ended.
fn state(phase: Phase) -> SourceState {
    match phase {
        Phase::Reading => SourceState::Reading,
        Phase::Following => SourceState::Following,
        Phase::Listening => SourceState::Listening,
    }
}

fn samples(source: &SourceSnapshot) -> impl Iterator<Item = Sample> {
    source.samples.iter().map(|sample| Sample {
        source: source.name.clone(),
        line: sample.line,
        column: sample.column,
        reason: sample.reason.clone(),
        text: String::from_utf8_lossy(&sample.text).into_owned(),
    })
}

/// Returns notes on limits of the report that its readers should know.
fn notes(
    answer: &Answer<SourceSnapshot>,
    complete: bool,
    data: &DataSet,
    remedies: &Remedies,
) -> Vec<String> {
    let mut notes = Vec::new();
    // While more data is read, the note would change with every view.
    let no_match = no_match_note(&answer.report, answer.log_ns).filter(|_| complete);
    notes.extend(no_match.map(|note| sentence(&note)));
    if answer.offsets_s.len() > 1 {
        let offsets: Vec<String> =
            answer.offsets_s.iter().map(|offset| offset_text(*offset)).collect();
        let time = &answer.report.time;
        let is_own = log_zone(&data.values()).name() == time.zone
            && !time.offsets.is_empty()
            && !time.offsets.contains(&time.zone);
        let how = match is_own {
            true => {
                format!("They are shown in {}, the zone with those of the requests.", time.zone)
            }
            false => {
                format!("All are shown in {}; choose another zone above the chart.", time.zone)
            }
        };
        notes.push(format!(
            "The time stamps have different offsets from UTC: {}. {how}",
            offsets.join(", ")
        ));
    }
    if let Some(error) = answer.period_error {
        notes.push(format!("There is no comparison: {error}."));
    }
    // What is no log, and why, stands beside the name of the file.
    let unparsed = answer.sources.iter().filter(|source| {
        source.format.is_none() && source.lines > 0 && unread(source).is_none_or(|it| it.is_log)
    });
    // The page takes the format of a source that has been read.
    let (read, growing): (Vec<_>, Vec<_>) = unparsed.partition(|source| source.end.is_some());
    let on_page = "Give the format with “Format…” beside the name.";
    for (sources, remedy) in [(read, on_page), (growing, &remedies.unknown_format)] {
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        if !names.is_empty() {
            let names = enumerate(&names);
            notes.push(format!("No line of {names} could be parsed in a known format. {remedy}"));
        }
    }
    if data.is_full() {
        notes.push(format!(
            "The memory limit of {} MiB is reached; the lines read before are kept. {}",
            data.memory_bytes_max() >> 20,
            remedies.memory_limit
        ));
    }
    if let Some(note) = answer.report.memory_note() {
        notes.push(format!("{} {}", sentence(&note), remedies.memory_limit));
    }
    notes.extend(answer.report.rounding_note().map(|note| sentence(&note)));
    notes
}

/// Formats a clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), letters.as_str())
}

/// Formats an offset as `+02:00`.
fn offset_text(offset_s: i32) -> String {
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Joins the names: the first three, and the number of the others.
fn enumerate(names: &[&str]) -> String {
    const NAMED_MAX: usize = 3;
    let named = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
