//! The zone of times: the log's own offset from UTC. It is needed before the log is read, because a
//! date in `--since` or `--where` is a day in that zone.

use weir_core::Zone;
use weir_ingest::{FormatChoice, Input, first_time};

use crate::head::head_of;

/// The number of bytes in which a time is searched for. A log without one there is taken to be in
/// UTC.
const BYTES_MAX: usize = 256 << 10;

/// Returns the zone of the first record that has a time, which a report shows too; UTC if there is
/// none. Bytes read from standard input are kept, so that they can be read again.
pub(crate) fn of_log(inputs: &mut [Input], format: &FormatChoice) -> Zone {
    for input in inputs {
        let is_enough = |text: &[u8]| text.len() >= BYTES_MAX || first_time(text, format).is_some();
        // Pipes and sockets can be read only once. An input that cannot be read is reported
        // when it is scanned.
        let is_readable = matches!(input, Input::Stdin(_)) || input.is_file();
        let Some(head) = is_readable.then(|| head_of(input, is_enough).ok()).flatten() else {
            continue;
        };
        if let Some(time) = head.first_time(format) {
            return Zone::fixed(time.offset_s);
        }
    }
    Zone::utc()
}
