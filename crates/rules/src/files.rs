//! Files that rules refer to.

use std::collections::BTreeMap;

use crate::shared_data::SharedData;

/// Files that rules may refer to, by their names without a folder.
#[derive(Debug, Default)]
pub struct RuleFiles {
    texts: BTreeMap<String, String>,
    /// The data that scenarios have parsed from the files.
    scenario_data: SharedData,
}

impl RuleFiles {
    /// Adds a file, or replaces the one of the same name.
    pub fn add(&mut self, name: String, text: String) {
        self.texts.insert(name, text);
        self.scenario_data = SharedData::default();
    }

    /// Returns the text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    pub(crate) fn scenario_data(&self) -> &SharedData {
        &self.scenario_data
    }
}

impl Clone for RuleFiles {
    fn clone(&self) -> Self {
        Self { texts: self.texts.clone(), scenario_data: SharedData::default() }
    }
}
