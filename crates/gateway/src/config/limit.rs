//! `[[limits]]`: rules that requests have to keep.

use std::path::PathBuf;

use super::reading::Reading;
use super::table::TableReader;

/// A file of rules, and what follows from them.
#[derive(Debug, Clone)]
pub struct LimitConfig {
    /// The file, in a language of `weir rules`.
    pub rule_file: PathBuf,
    /// What becomes of requests that the rules reject.
    pub mode: LimitMode,
}

/// What becomes of requests that a rule rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitMode {
    /// They are counted and let through.
    Shadow,
    /// They are refused with `429 Too Many Requests`.
    Enforce,
}

/// Reads the table of a limit. Mistakes are noted, and then there may be no limit.
pub(super) fn read(table: TableReader<'_>, reading: &Reading) -> Option<LimitConfig> {
    let file = table.required_string("rule_file");
    let mode = match table.string("mode") {
        None => Some(LimitMode::Shadow),
        Some(mode) => match mode.value {
            "shadow" => Some(LimitMode::Shadow),
            "enforce" => Some(LimitMode::Enforce),
            other => {
                let message = format!("`{other}` is not a mode; write \"shadow\" or \"enforce\"");
                table.complain_at(&mode, message);
                None
            }
        },
    };
    table.finish();
    Some(LimitConfig { rule_file: reading.path(file?.value), mode: mode? })
}
