//! Files that rules refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::shared_data::SharedData;

/// Files that rules may refer to, by their names without a folder.
#[derive(Debug, Clone, Default)]
pub struct RuleFiles {
    texts: BTreeMap<String, Arc<str>>,
    /// The data that scenarios have parsed from the files. Copies with the same files share it.
    scenario_data: Arc<SharedData>,
}

impl RuleFiles {
    /// Adds a file, or replaces the one of the same name.
    pub fn add(&mut self, name: String, text: impl Into<Arc<str>>) {
        self.texts.insert(name, text.into());
        self.scenario_data = Arc::default();
    }

    /// Returns the text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(|text| &**text)
    }

    /// Returns the text of a file, shared.
    pub(crate) fn shared_text(&self, name: &str) -> Option<Arc<str>> {
        self.texts.get(name).cloned()
    }

    pub(crate) fn scenario_data(&self) -> &SharedData {
        &self.scenario_data
    }
}
