//! The log's own offset from UTC, before the log is read: `--since 2025-12-17`, as
//! `--where time>=2025-12-17`, means the day that the log's times show.

use weir_core::Zone;
use weir_ingest::{FormatChoice, Input, first_time};

use crate::head::head_of;

/// A log whose first lines have no time in so many bytes is taken to be in UTC.
const BYTES_MAX: usize = 256 << 10;

/// The zone of the first record that has a time, as a report shows it too; UTC where there is
/// none. What has to be read of standard input stays with it.
pub(crate) fn of_log(inputs: &mut [Input], format: &FormatChoice) -> Zone {
    for input in inputs {
        let is_enough = |text: &[u8]| text.len() >= BYTES_MAX || first_time(text, format).is_some();
        // What comes from elsewhere than a file comes once; what cannot be read is said when
        // it is read for good.
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
