//! The data files that scenarios name: lists of texts or of patterns.
//!
//! As in CrowdSec (pkg/exprhelpers), empty lines and lines that begin with `#` are left out.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes::RegexSet;

use super::expression::compile_set;
use super::yaml::{Yaml, YamlValue};
use crate::error::RuleError;
use crate::files::RuleFiles;

/// The data files of the scenarios of a text.
pub(super) struct DataFiles<'d> {
    files: &'d RuleFiles,
    /// Where CrowdSec downloads a file from.
    addresses: HashMap<String, String>,
    lines: HashMap<String, Arc<[Vec<u8>]>>,
    patterns: HashMap<String, Arc<RegexSet>>,
}

impl<'d> DataFiles<'d> {
    pub(super) fn new(files: &'d RuleFiles) -> Self {
        let (addresses, lines, patterns) = Default::default();
        Self { files, addresses, lines, patterns }
    }

    /// Takes note of the files that a scenario declares.
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
    /// A sentence, if it cannot be read.
    pub(super) fn lines(&mut self, file: &str) -> Result<Arc<[Vec<u8>]>, String> {
        if let Some(lines) = self.lines.get(file) {
            return Ok(Arc::clone(lines));
        }
        let lines = self.text(file)?.lines();
        let kept = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines: Arc<[Vec<u8>]> = kept.map(|line| line.as_bytes().to_vec()).collect();
        self.lines.insert(file.to_owned(), Arc::clone(&lines));
        Ok(lines)
    }

    /// The patterns of a file.
    ///
    /// # Errors
    /// A sentence, if it cannot be read or has a wrong pattern.
    pub(super) fn patterns(&mut self, file: &str) -> Result<Arc<RegexSet>, String> {
        if let Some(patterns) = self.patterns.get(file) {
            return Ok(Arc::clone(patterns));
        }
        let lines = self.lines(file)?;
        let set = compile_set(&lines).map_err(|(position, reason)| match position {
            Some(position) => {
                let pattern = String::from_utf8_lossy(&lines[position]).into_owned();
                format!("the data file `{file}` has a wrong pattern, `{pattern}`: {reason}")
            }
            None => format!("the patterns of the data file `{file}` cannot be used: {reason}"),
        })?;
        let set = Arc::new(set);
        self.patterns.insert(file.to_owned(), Arc::clone(&set));
        Ok(set)
    }

    fn text(&self, file: &str) -> Result<&'d str, String> {
        let missing = || {
            let from = self.addresses.get(file);
            let from = from.map(|address| format!(" (CrowdSec has it from {address})"));
            let from = from.unwrap_or_default();
            format!("the data file `{file}` is missing{from}; put it into the folder of data files")
        };
        self.files.text(file).ok_or_else(missing)
    }
}
