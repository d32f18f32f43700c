//! Explains why a source without a single record has none.

use weir_ingest::{SourceEnd, SourceSnapshot};

use crate::messages::{no_known_format, none_matches};
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
    if source.samples.iter().any(|sample| looks_binary(&sample.text)) {
        return "is not a text file; Weir reads logs, plain or compressed with gzip or zstd"
            .to_owned();
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
        _ => no_known_format(lines, too_long),
    }
}

/// Whether a line is binary: more than a tenth of it is control characters or not UTF-8.
fn looks_binary(text: &[u8]) -> bool {
    let controls = text.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    let shown = String::from_utf8_lossy(text);
    let replaced = shown.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    controls + replaced > text.len() / 10
}

#[cfg(test)]
mod tests {
    use super::looks_binary;

    #[test]
    fn text_does_not_look_binary() {
        assert!(!looks_binary("größe\tund [31m\x1b[0m 日本".as_bytes()));
        assert!(!looks_binary(b""));
        assert!(looks_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    }
}
