//! The data files that scenarios refer to: lists of texts or of patterns.
//!
//! As in CrowdSec (pkg/exprhelpers), empty lines and lines that begin with `#` are left out.

use std::collections::HashMap;
use std::sync::Arc;

use weir_core::{BoundedRegex, PatternBudget};

use super::tag_table::TagTable;
use crate::error::{Reason, RuleError};
use crate::files::RuleFiles;
use crate::go_pattern::{self, SetError};
use crate::shared_data::Shared;
use crate::yaml::{Yaml, YamlValue};

/// The most memory that the patterns of all scenarios may take, in bytes.
const PATTERNS_BYTES_MAX: usize = 1 << 30;

impl Shared {
    fn pattern(&mut self, text: &str, budget: &PatternBudget) -> Result<BoundedRegex, Reason> {
        if let Some(pattern) = self.patterns.get(text) {
            return Ok(pattern.clone());
        }
        let (pattern, bytes) = go_pattern::compile(text, budget)?;
        if self.patterns_bytes + bytes > PATTERNS_BYTES_MAX {
            return Err("the patterns of the scenarios before it take all memory; \
                        replay fewer scenarios at once"
                .into());
        }
        self.patterns_bytes += bytes;
        self.patterns.insert(text.to_owned(), pattern.clone());
        Ok(pattern)
    }
}

/// The data files of the scenarios in one text.
pub(super) struct DataFiles<'d> {
    files: &'d RuleFiles,
    /// The URL from which CrowdSec downloads each file, by file name.
    addresses: HashMap<String, String>,
}

impl<'d> DataFiles<'d> {
    pub(super) fn new(files: &'d RuleFiles) -> Self {
        Self { files, addresses: HashMap::new() }
    }

    /// Records the files that a scenario declares.
    ///
    /// # Errors
    /// If one has no name.
    pub(super) fn declare(&mut self, data: Option<&Yaml>) -> Result<(), RuleError> {
        let Some(Yaml { value: YamlValue::Sequence(entries), .. }) = data else { return Ok(()) };
        for entry in entries {
            let YamlValue::Mapping(pairs) = &entry.value else { continue };
            let get = |key| {
                let found = pairs.iter().find(|(name, _)| name.scalar() == Some(key));
                found.and_then(|(_, value)| value.scalar())
            };
            let Some(file) = get("dest_file") else {
                let message = "a data file needs a `dest_file`, its name in the folder";
                return Err(RuleError::new(entry.range.clone(), message));
            };
            if let Some(address) = get("source_url") {
                self.addresses.insert(file.to_owned(), address.to_owned());
            }
        }
        Ok(())
    }

    /// The texts of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn lines(&self, file: &str) -> Result<Arc<[Vec<u8>]>, Reason> {
        let mut shared = self.files.scenario_data().lock();
        if let Some(lines) = shared.lines.get(file) {
            return Ok(Arc::clone(lines));
        }
        let lines = self.text(file)?.lines();
        let kept = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines: Arc<[Vec<u8>]> = kept.map(|line| line.as_bytes().to_vec()).collect();
        shared.lines.insert(file.to_owned(), Arc::clone(&lines));
        Ok(lines)
    }

    /// A pattern that is written in a scenario.
    ///
    /// # Errors
    /// If it is not a valid pattern or too large.
    pub(super) fn pattern(&self, text: &str) -> Result<BoundedRegex, Reason> {
        self.files.scenario_data().lock().pattern(text, self.files.budget())
    }

    /// The patterns of a file.
    ///
    /// # Errors
    /// If it cannot be read or has a wrong pattern.
    pub(super) fn patterns(&self, file: &str) -> Result<BoundedRegex, Reason> {
        let known = self.files.scenario_data().lock().sets.get(file).cloned();
        if let Some(set) = known {
            return Ok(set);
        }
        let lines = self.lines(file)?;
        let set = go_pattern::compile_set(&lines, self.files.budget()).map_err(
            |SetError { index, reason }| {
                Reason::from(match index {
                    Some(index) => {
                        let pattern = String::from_utf8_lossy(&lines[index]);
                        format!("the data file `{file}` has a wrong pattern, `{pattern}`: {reason}")
                    }
                    None => {
                        format!("the patterns of the data file `{file}` cannot be used: {reason}")
                    }
                })
            },
        )?;
        self.files.scenario_data().lock().sets.insert(file.to_owned(), set.clone());
        Ok(set)
    }

    /// The tags of a file.
    ///
    /// # Errors
    /// If it cannot be read or has a wrong line.
    pub(super) fn tags(&self, file: &str) -> Result<Arc<TagTable>, Reason> {
        let lines = self.lines(file)?;
        let table = TagTable::new(&lines, |pattern| self.pattern(pattern));
        let table = table.map_err(|error| format!("the data file `{file}`: {error}"))?;
        Ok(Arc::new(table))
    }

    fn text(&self, file: &str) -> Result<&'d str, Reason> {
        let missing = || {
            let from = self.addresses.get(file);
            let from = from.map(|address| format!(" (CrowdSec has it from {address})"));
            let from = from.unwrap_or_default();
            format!("the data file `{file}` is missing{from}; put it into the folder of data files")
                .into()
        };
        self.files.text(file).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::{DataFiles, PATTERNS_BYTES_MAX};
    use crate::files::RuleFiles;

    #[test]
    fn scenarios_share_what_is_read() {
        let mut files = RuleFiles::default();
        files.add("agents".to_owned(), "# agents\ncurl\n".to_owned());
        let (one, other) = (DataFiles::new(&files), DataFiles::new(&files));
        for data in [one, other] {
            assert!(data.patterns("agents").expect("a set").is_match(b"curl/8"));
            assert!(data.pattern("a+").expect("a pattern").is_match(b"caat"));
        }
        let shared = files.scenario_data().lock();
        let known = (shared.patterns.len(), shared.lines.len(), shared.sets.len());
        assert_eq!(known, (1, 1, 1));
    }

    #[test]
    fn a_file_that_is_replaced_is_read_again() {
        let mut files = RuleFiles::default();
        for words in ["one", "other"] {
            files.add("words".to_owned(), words.to_owned());
            let lines = DataFiles::new(&files).lines("words").expect("the lines");
            assert_eq!(lines[0], words.as_bytes());
        }
    }

    #[test]
    fn the_memory_of_patterns_is_bounded() {
        let files = RuleFiles::default();
        let data = DataFiles::new(&files);
        data.pattern("a").expect("a pattern");
        files.scenario_data().lock().patterns_bytes = PATTERNS_BYTES_MAX;
        data.pattern("a").expect("it is known");
        assert!(
            data.pattern("b").is_err_and(|reason| reason.to_string().contains("fewer scenarios"))
        );
    }
}
