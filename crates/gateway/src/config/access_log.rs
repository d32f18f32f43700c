//! `access_log`: a file with a line for each request.

use super::reading::Reading;
use super::table::TableReader;
use crate::access_log::{AccessLogConfig, AccessLogFormat};

/// Reads the table. Mistakes are noted, and then there is no log.
pub(super) fn read(table: TableReader<'_>, reading: &Reading) -> Option<AccessLogConfig> {
    let file = table.required_string("file");
    let format = table.string("format");
    let format = match format.as_ref().map(|format| format.value) {
        None | Some("combined") => Some(AccessLogFormat::Combined),
        Some("json") => Some(AccessLogFormat::Json),
        Some(other) => {
            let message = format!("`{other}` is not a form; write \"combined\" or \"json\"");
            format.iter().for_each(|format| table.complain_at(format, message.clone()));
            None
        }
    };
    let file = file.and_then(|file| match file.value {
        "" => {
            table.complain_at(&file, "the path is empty; write one such as \"access.log\"");
            None
        }
        path => Some(reading.path(path)),
    });
    table.finish();
    Some(AccessLogConfig { file: file?, format: format? })
}
