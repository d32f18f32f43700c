//! What the page draws: the report with the state of its sources.

use std::collections::HashMap;
use std::sync::Arc;

use weir_ingest::{DataSet, Keep, Phase, SourceEnd, SourceSnapshot};
use weir_query::Answer;
use weir_view::{Format, Sample, Source, SourceState, View, Window};

use crate::upload::Slot;

/// Samples of all sources together, at the most.
const SAMPLES_MAX: usize = 100;

/// The view of an answer to the query of that id.
pub(crate) fn view(
    query: u64,
    answer: Answer<SourceSnapshot>,
    data: &DataSet,
    slots: &[Arc<Slot>],
) -> View {
    let by_source: HashMap<_, _> =
        slots.iter().map(|slot| (Arc::as_ptr(slot.progress()), slot)).collect();
    // Sources are only ever added, so the first ones are those of the answer.
    let progress = data.sources();
    let sources: Vec<Source> = answer
        .sources
        .iter()
        .zip(&progress)
        .map(|(snapshot, progress)| source(snapshot, by_source.get(&Arc::as_ptr(progress))))
        .collect();
    View {
        query,
        complete: !sources.is_empty() && answer.sources.iter().all(|source| source.end.is_some()),
        sources,
        samples: answer.sources.iter().flat_map(samples).take(SAMPLES_MAX).collect(),
        window: window(&answer, data),
        memory_bytes: data.memory_bytes() as u64,
        memory_bytes_max: data.memory_bytes_max() as u64,
        notes: notes(&answer, data),
        report: answer.report,
    }
}

fn window(answer: &Answer<SourceSnapshot>, data: &DataSet) -> Option<Window> {
    let Keep::Window { width } = data.keep() else { return None };
    let width_s = width.map(|width| width.as_secs_f64());
    Some(Window { width_s, records: answer.rows_kept })
}

fn source(snapshot: &SourceSnapshot, slot: Option<&&Arc<Slot>>) -> Source {
    let (state, why) = match &snapshot.end {
        Some(SourceEnd::Done) => (SourceState::Done, None),
        Some(SourceEnd::Failed(why)) => (SourceState::Failed, Some(why.to_string())),
        Some(SourceEnd::Cancelled) => (SourceState::Cancelled, None),
        None if slot.is_some_and(|slot| slot.is_interrupted()) => (SourceState::Interrupted, None),
        None => (going_on(snapshot.phase), None),
    };
    let format = snapshot.format.as_deref().map(Format::from);
    Source {
        file: slot.map(|slot| slot.file().to_owned()).unwrap_or_default(),
        name: snapshot.name.clone(),
        state,
        bytes_done: snapshot.bytes_done,
        bytes_total: snapshot.bytes_total,
        lines: snapshot.lines,
        records: snapshot.records,
        unmatched: snapshot.unmatched,
        too_long: snapshot.too_long,
        format,
        fits: snapshot.fits,
        message: why.or_else(|| snapshot.note.clone()),
    }
}

fn going_on(phase: Phase) -> SourceState {
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

/// What the reader of the numbers should know.
fn notes(answer: &Answer<SourceSnapshot>, data: &DataSet) -> Vec<String> {
    let mut notes = Vec::new();
    if answer.offsets_s.len() > 1 {
        let offsets: Vec<String> =
            answer.offsets_s.iter().map(|offset| offset_text(*offset)).collect();
        notes.push(format!(
            "The time stamps have different offsets from UTC: {}.",
            offsets.join(", ")
        ));
    }
    if let Some(error) = answer.period_error {
        notes.push(format!("Nothing is compared: {error}."));
    }
    let unfit = answer.sources.iter().filter(|source| source.format.is_none() && source.lines > 0);
    let unfit: Vec<&str> = unfit.map(|source| source.name.as_str()).collect();
    if !unfit.is_empty() {
        notes.push(format!(
            "No line of {} fits a known format. `weir formats FILE` says why; --format takes \
             the definition from the server's configuration.",
            listed(&unfit)
        ));
    }
    if data.is_full() {
        notes.push(format!(
            "The memory limit of {} MiB is reached; what was read before stands. --memory \
             raises it.",
            data.memory_bytes_max() >> 20
        ));
    }
    if !answer.report.estimated.is_empty() {
        notes.push(format!(
            "More distinct values than the memory holds, so these are estimates: {}. --memory \
             raises the limit.",
            answer.report.estimated.join(", ")
        ));
    }
    notes
}

/// `+02:00`.
fn offset_text(offset_s: i32) -> String {
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Names in a sentence: the first few, and how many more.
fn listed(names: &[&str]) -> String {
    const NAMED_MAX: usize = 3;
    let named = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
