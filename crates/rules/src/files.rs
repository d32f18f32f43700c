//! Files that rules refer to, and the budget of their patterns.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::PatternBudget;

use crate::shared_data::SharedData;

/// Files that rules may refer to, by their names without a folder, and what the patterns of the rules
/// may take.
#[derive(Debug, Clone, Default)]
pub struct RuleFiles {
    texts: BTreeMap<String, Arc<str>>,
    /// The data that scenarios have parsed from the files. Copies with the same files share it.
    scenario_data: Arc<SharedData>,
    budget: PatternBudget,
}

impl RuleFiles {
    /// Adds a file, or replaces the one of the same name.
    pub fn add(&mut self, name: String, text: impl Into<Arc<str>>) {
        self.texts.insert(name, text.into());
        self.scenario_data = Arc::default();
    }

    /// Sets the budget within which the patterns of the rules are compiled and matched. By default
    /// there is no limit.
    pub fn limit_patterns(&mut self, budget: PatternBudget) {
        self.budget = budget;
        self.scenario_data = Arc::default();
    }

    pub(crate) fn budget(&self) -> &PatternBudget {
        &self.budget
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
