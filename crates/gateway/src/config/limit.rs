//! `[[limits]]`: rate limit rules.

use super::file::read_text_file;
use super::folder::ConfigFolder;
use super::table::{LocatedValue, TableReader};
use crate::limits::{Limit, LimitConfig, LimitMode};

/// Larger rule files are refused.
const BYTES_MAX: u64 = 16 << 20;

/// Reads the table of a limit. Notes mistakes, and may return `None` then.
pub(super) fn read(table: TableReader<'_>, folder: &ConfigFolder) -> Option<LimitConfig> {
    let file = table.required_string("rule_file");
    let name = table.string("name").map(|name| name.value.to_owned());
    let mode = match table.string("mode") {
        None => Some(LimitMode::Shadow),
        Some(mode) => read_mode(&table, &mode),
    };
    let config = file.as_ref().and_then(|file| {
        let rule_file = folder.source(file.value);
        let text = read_text_file(&rule_file, BYTES_MAX, "rules");
        let text = text.map_err(|error| table.complain_at(file, error)).ok()?;
        Some(LimitConfig { rule_file, name, text, mode: mode? })
    });
    if let (Some(config), Some(file)) = (&config, &file) {
        for problem in Limit::problems(config) {
            table.complain_at(file, problem);
        }
    }
    table.finish();
    config
}

fn read_mode(table: &TableReader<'_>, mode: &LocatedValue<&str>) -> Option<LimitMode> {
    match mode.value {
        "shadow" => Some(LimitMode::Shadow),
        "enforce" => Some(LimitMode::Enforce),
        other => {
            let message = format!("`{other}` is not a mode; write \"shadow\" or \"enforce\"");
            table.complain_at(mode, message);
            None
        }
    }
}
