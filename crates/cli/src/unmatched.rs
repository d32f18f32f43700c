//! Explains why a source without a single record has none.

use weir_ingest::{SourceEnd, SourceSnapshot};
use weir_view::Unread;

use crate::messages::{all_too_long, format_option, none_matches};
use crate::sources::Complaint;

/// Returns a complaint about each source that was read completely and has no record.
pub(crate) fn without_records(sources: &[SourceSnapshot]) -> Vec<Complaint> {
    let is_without =
        |source: &&SourceSnapshot| source.records == 0 && source.end == Some(SourceEnd::Done);
    let complaint = |source: &SourceSnapshot| Complaint {
        name: source.name.clone(),
        sentence: reason_without_records(source),
    };
    sources.iter().filter(is_without).map(complaint).collect()
}

/// Describes why a source has no record, and what to do.
fn reason_without_records(source: &SourceSnapshot) -> String {
    if source.bytes_parsed == 0 {
        return "is empty".to_owned();
    }
    if source.lines == 0 {
        return "has no lines, only NUL bytes".to_owned();
    }
    let (lines, too_long) = (source.lines, source.too_long_lines);
    match &source.format {
        _ if source.empty_lines == source.lines => "has empty lines only".to_owned(),
        // Directives are lines, but neither records nor unparsed.
        Some(format) if source.unparsed_lines + source.too_long_lines == 0 => {
            format!("has the directives of the format {} and no requests", format.name())
        }
        Some(format) if source.parsed_share.is_none() && too_long < lines => {
            let none_matches = none_matches(lines, too_long);
            format!("{none_matches} the format {}; see why with weir formats FILE", format.name())
        }
        _ => no_known_format(source),
    }
}

/// Returns what a source is of which no line is in a known format; `None` if some line is.
pub(crate) fn unread(source: &SourceSnapshot) -> Option<Unread> {
    let is_unread = source.format.is_none() && source.unparsed_lines > 0;
    let lines = source.samples.iter().map(|sample| sample.text.as_slice());
    is_unread.then(|| Unread::of(lines))
}

/// Returns the sentence about a source whose lines match no known format.
pub(crate) fn no_known_format(source: &SourceSnapshot) -> String {
    let (lines, too_long) = (source.unparsed_lines + source.too_long_lines, source.too_long_lines);
    let Some(unread) = unread(source) else { return all_too_long(lines) };
    if !unread.is_log {
        let remedy = "Weir reads logs, plain, packed or in archives; if it is one, give its format \
                      with --format";
        return format!("{}; {remedy}", unread.reason);
    }
    if unread.has_colours() {
        return unread.reason;
    }
    let none_matches = none_matches(lines, too_long);
    match unread.suggestion {
        None => format!(
            "{none_matches} a known format; see why with weir formats FILE, or give one with --format"
        ),
        Some(definition) => format!(
            "{none_matches} a known format; this one was made from the first lines: {}",
            format_option(&definition)
        ),
    }
}
