//! The log's own offset from UTC, before the log is read: `--since 2025-12-17` means the day
//! that the log's times show.

use weir_core::{LineParser, Lines, Record, Zone, detect};
use weir_ingest::FormatChoice;

use crate::head::Head;
use crate::sources::Input;

/// A log whose first lines have no time in so many bytes is taken to be in UTC.
const BYTES_MAX: usize = 256 << 10;

/// The zone of the first record that has a time, as a report shows it too; UTC where there is
/// none. `stdin_start` takes what had to be read of standard input.
pub(super) fn of_log(inputs: &[Input], format: &FormatChoice, stdin_start: &mut Vec<u8>) -> Zone {
    for input in inputs {
        let is_enough =
            |text: &[u8]| text.len() >= BYTES_MAX || first_offset_s(text, format).is_some();
        // What cannot be read is said when it is read for good.
        let Ok(head) = Head::read(input, is_enough) else { continue };
        let offset_s = first_offset_s(head.lines(), format);
        if *input == Input::Stdin {
            *stdin_start = head.raw;
        }
        if let Some(offset_s) = offset_s {
            return Zone::fixed(offset_s);
        }
    }
    Zone::utc()
}

fn first_offset_s(text: &[u8], format: &FormatChoice) -> Option<i32> {
    let format = match format {
        FormatChoice::Forced(format) => format.clone(),
        FormatChoice::Detect => detect(text).best()?.format.clone(),
    };
    let mut parser = LineParser::new(format);
    let mut record = Record::new();
    for line in Lines::new(text) {
        if parser.parse(line.bytes, &mut record).is_ok()
            && let Some(time) = record.time
        {
            return Some(time.offset_s);
        }
    }
    None
}
