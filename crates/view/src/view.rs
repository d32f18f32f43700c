//! The view: what the page draws, a report with the state of its sources.

use serde::{Deserialize, Serialize};

use crate::json::{JsonError, to_json};
use crate::query::NormalFilter;
use crate::report::{Format, FormatCount, Report};
use crate::unread::Unread;

/// A snapshot of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct View {
    /// The id of the query that this answers; 0 before the first query.
    pub query: u64,
    /// The filter of the query in its normal form, if the query has conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub filter: Option<NormalFilter>,
    /// When the session was created, in milliseconds since 1970. If a name has another one than
    /// before, the program was restarted: the data set and the numbers of its sources are new.
    pub started_unix_ms: u64,
    /// Whether every source has ended, so that nothing more changes by itself.
    pub complete: bool,
    /// The sources, in the order in which they were begun.
    pub sources: Vec<Source>,
    /// The report on everything parsed so far.
    pub report: Report,
    /// Samples of unparsed lines, the first few of each source.
    pub samples: Vec<Sample>,
    /// The memory of the data set, in bytes.
    pub memory_bytes: u64,
    /// The memory limit that the user set, in bytes.
    pub memory_bytes_max: u64,
    /// The window of a live feed; `null` if all records are kept.
    pub window: Option<Window>,
    /// Notes for readers of the numbers, such as mixed time offsets.
    pub notes: Vec<String>,
    /// The names of the derived fields that have lists, although no column has their values.
    #[serde(default)]
    pub derived: Vec<String>,
}

/// The members of a view that differ between the connections that share it.
#[derive(Serialize)]
struct ViewStart<'a> {
    query: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a NormalFilter>,
}

/// The members of a view that connections share.
#[derive(Serialize)]
struct ViewRest<'a> {
    started_unix_ms: u64,
    complete: bool,
    sources: &'a [Source],
    report: &'a Report,
    samples: &'a [Sample],
    memory_bytes: u64,
    memory_bytes_max: u64,
    window: &'a Option<Window>,
    notes: &'a [String],
    derived: &'a [String],
}

/// Returns the start of the message with a view: the id of its query, and the filter that the
/// connection sent. [`view_message_rest`] returns the rest.
///
/// # Errors
/// Fails if the filter cannot be serialised.
pub fn view_message_start(query: u64, filter: Option<&NormalFilter>) -> Result<String, JsonError> {
    let members = to_json(&ViewStart { query, filter })?;
    let members = members.strip_suffix('}').unwrap_or_default();
    Ok(format!("{{\"type\":\"view\",\"view\":{members}"))
}

/// Returns the rest of the message with a view, which does not depend on its query and filter.
///
/// # Errors
/// Fails if the view cannot be serialised.
pub fn view_message_rest(view: &View) -> Result<String, JsonError> {
    let View { complete, sources, report, samples, window, notes, derived, .. } = view;
    let View { started_unix_ms, memory_bytes, memory_bytes_max, .. } = *view;
    let mut rest = to_json(&ViewRest {
        started_unix_ms,
        complete: *complete,
        sources,
        report,
        samples,
        memory_bytes,
        memory_bytes_max,
        window,
        notes,
        derived,
    })?;
    // The members continue the object of the start.
    rest.replace_range(..1, ",");
    rest.push('}');
    Ok(rest)
}

/// The records that a live feed keeps. The report is only about these records. Its `records`, like
/// the counts of the sources, includes all records that were ever read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Window {
    /// How far the window reaches back from the newest record, in seconds; `null` if only the
    /// memory limits it.
    pub width_s: Option<f64>,
    /// The number of records in the window, including those that do not match the filter.
    pub records: u64,
    /// The time from which on the window has every record, in the zone of the report, if it does not
    /// reach back by its whole width: older records were never read, were dropped because the memory
    /// was full, or came from a socket before the program began to listen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub complete_since: Option<String>,
}

/// One source of lines and how far it has been read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Source {
    /// Its number in the session, by which it can be removed. Numbers are never reused.
    #[serde(default)]
    pub number: u32,
    /// The page's own id of an uploaded file; empty for other sources.
    pub file: String,
    /// The text that the page computed from an uploaded file's first and last bytes, to recognise
    /// it; `null` for other sources.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The file's name as given.
    pub name: String,
    /// How far it has been read.
    pub state: SourceState,
    /// The number of parsed bytes of the source; for a compressed source, of compressed bytes.
    pub bytes_done: u64,
    /// The size of the source if it is known, in the same unit as `bytes_done`.
    pub bytes_total: Option<u64>,
    /// The number of lines read.
    pub lines: u64,
    /// The number of parsed lines.
    pub records: u64,
    /// Whether its records never were lines, such as those of a gateway. If so, `lines` counts the
    /// records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub records_only: bool,
    /// The number of lines that do not match the format.
    pub unparsed_lines: u64,
    /// The number of lines over the length limit.
    pub too_long_lines: u64,
    /// The format of its lines, if it is known.
    pub format: Option<Format>,
    /// The number of records in each format, in descending order; usually there is one.
    #[serde(default)]
    pub formats: Vec<FormatCount>,
    /// The fraction of the first lines that match the format, 0 to 1.
    pub format_share: Option<f64>,
    /// What it is if it was read to its end and no line is in a known format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub unread: Option<Unread>,
    /// Why it failed, or what is unusual about it.
    pub message: Option<String>,
}

/// The state of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Being read.
    #[default]
    Reading,
    /// Read to its current end, and followed as it grows.
    Following,
    /// Waiting for data from senders, without an end.
    Listening,
    /// Its connection was lost, and can be resumed.
    Interrupted,
    /// Read to its end.
    Done,
    /// Ended early; `message` has the reason. The lines read so far are kept.
    Failed,
    /// Ended by the user. The lines read so far are kept.
    Cancelled,
}

/// A sample of an unparsed line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sample {
    /// Name of the source.
    pub source: String,
    /// Line number in it, from 1.
    pub line: u64,
    /// The first column at which the line does not match the format, in bytes from 1.
    pub column: u64,
    /// The text that the format expects there, as a phrase.
    pub reason: String,
    /// The line, cut to 1 KiB, with U+FFFD for bytes that are not UTF-8.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::{View, Window, view_message_rest, view_message_start};
    use crate::json::to_json;
    use crate::message::LiveReply;
    use crate::query::NormalFilter;

    #[test]
    fn a_message_in_two_parts_is_the_whole_message() {
        let filter = NormalFilter { conditions: vec!["a\"".to_owned()], ..Default::default() };
        for filter in [None, Some(filter)] {
            let view = View {
                query: 17,
                filter: filter.clone(),
                complete: true,
                notes: vec!["}".to_owned()],
                memory_bytes: 1,
                window: Some(Window { width_s: None, records: 2, complete_since: None }),
                ..View::default()
            };
            let start = view_message_start(17, filter.as_ref()).expect("JSON");
            let message = start + &view_message_rest(&view).expect("JSON");
            assert_eq!(message, to_json(&LiveReply::View { view: Box::new(view) }).expect("JSON"));
        }
    }
}
