//! The format of a single line.

use std::sync::Arc;

use super::catalog::detected_formats;
use super::companions::can_join;
use super::compiled::Format;
use super::detect::fields_filled;
use super::program::needs::LineMarks;
use super::program::wrapper::Wrapper;
use super::read::line_parser::LineParser;
use super::surroundings::Labels;

/// Longer lines are not examined. Servers refuse heads of requests over 8 KiB by default, and a line
/// has few parts of a head.
const LINE_BYTES_MAX: usize = 8 << 10;

/// Detects the format of single lines, by the rule of [`crate::detect`] for a log of one line.
///
/// The parsers of all known formats are made when the first line needs them: about 200 KiB, and as
/// much for each wrapper. A line takes some microseconds, because most formats refuse a foreign
/// line within its first bytes.
///
/// # Examples
///
/// ```
/// use weir_core::LineDetector;
///
/// let mut detector = LineDetector::default();
/// let line = br#"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 5"#;
/// assert_eq!(detector.detect(line).unwrap().name(), "COMMON");
/// assert!(detector.detect(b"not a record").is_none());
/// ```
#[derive(Debug, Default)]
pub struct LineDetector {
    /// Without a wrapper, then within each one.
    parsers: [Option<Vec<LineParser>>; 1 + Wrapper::ALL.len()],
    /// The last unwrapped line.
    text: Vec<u8>,
}

impl LineDetector {
    /// The known format that reads the most fields of a line, without its line end. `None` if no
    /// format matches it that a companion may have, and for lines over 8 KiB.
    pub fn detect(&mut self, line: &[u8]) -> Option<Arc<Format>> {
        if line.trim_ascii().is_empty() || line.len() > LINE_BYTES_MAX {
            return None;
        }
        let wrapper = Wrapper::ALL.into_iter().find(|wrapper| wrapper.is_around(line));
        wrapper.and_then(|wrapper| self.best(Some(wrapper), line)).or_else(|| self.best(None, line))
    }

    fn best(&mut self, wrapper: Option<Wrapper>, line: &[u8]) -> Option<Arc<Format>> {
        let Self { parsers, text, .. } = self;
        let at = |wrapper| Wrapper::ALL.iter().position(|one| *one == wrapper);
        let index = wrapper.and_then(at).map_or(0, |at| at + 1);
        let parsers = parsers[index].get_or_insert_with(|| parsers_in(wrapper));
        let marks = LineMarks::of(line);
        let mut best: Option<(u64, &LineParser)> = None;
        for parser in parsers.iter_mut().filter(|parser| marks.meet(&parser.format().needs())) {
            let Some(fields) = fields_of(parser, line, text) else { continue };
            if best.is_none_or(|(most, _)| fields > most) {
                best = Some((fields, parser));
            }
        }
        best.map(|(_, parser)| parser.format().clone())
    }
}

/// The parsers of all formats that may be companions.
fn parsers_in(wrapper: Option<Wrapper>) -> Vec<LineParser> {
    let formats = detected_formats(wrapper).iter().filter(|format| can_join(format));
    formats.cloned().map(LineParser::new).collect()
}

/// The number of fields that a format reads of a line; `None` if the line does not match.
fn fields_of(parser: &mut LineParser, line: &[u8], text: &mut Vec<u8>) -> Option<u64> {
    let extra_fields = parser.format().extra_fields().len();
    let mut labels = Labels::of(parser.format());
    parser.read_line(line, text, |record| {
        labels.add(record);
        labels.contradiction().is_none().then(|| fields_filled(record, extra_fields))
    })?
}
