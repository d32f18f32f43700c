//! Files that rules refer to.

use std::collections::BTreeMap;

/// Files that rules may refer to, by their names without a folder.
#[derive(Debug, Clone, Default)]
pub struct RuleFiles {
    texts: BTreeMap<String, String>,
}

impl RuleFiles {
    /// Adds a file; one of the same name is replaced.
    pub fn add(&mut self, name: String, text: String) {
        self.texts.insert(name, text);
    }

    /// Returns the text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}
