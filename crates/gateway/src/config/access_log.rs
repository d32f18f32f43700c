//! `access_log`: a file with a line for each request.

use std::path::Path;

use super::folder::ConfigFolder;
use super::table::{LocatedValue, TableReader};
use crate::access_log::{AccessLogConfig, AccessLogFormat};

/// Checks that the folder of the file exists. The gateway creates the file, but no folder.
fn check_folder(table: &TableReader<'_>, file: &LocatedValue<&str>, path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let message = format!("there is no folder {}; create it", folder.display());
        table.complain_at(file, message);
    }
}

/// Reads the table. Returns `None` if it has mistakes, which are noted.
pub(super) fn read(table: TableReader<'_>, folder: &ConfigFolder) -> Option<AccessLogConfig> {
    let file = table.required_string("file");
    let format = table.string("format");
    let format = match format.as_ref().map(|format| format.value) {
        None | Some("combined") => Some(AccessLogFormat::Combined),
        Some("json") => Some(AccessLogFormat::Json),
        Some(other) => {
            let message = format!("`{other}` is not a format; write \"combined\" or \"json\"");
            format.iter().for_each(|format| table.complain_at(format, message.clone()));
            None
        }
    };
    let file = file.and_then(|file| match file.value {
        "" => {
            table.complain_at(&file, "the path is empty; write one such as \"access.log\"");
            None
        }
        path => {
            let path = folder.path(path);
            check_folder(&table, &file, &path);
            Some(path)
        }
    });
    table.finish();
    Some(AccessLogConfig { file: file?, format: format? })
}
