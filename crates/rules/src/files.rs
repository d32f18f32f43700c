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
    merged: MergedTexts,
    /// The data that scenarios have parsed from the files. Copies with the same files share it.
    scenario_data: Arc<SharedData>,
    budget: PatternBudget,
}

/// Files that are merged with a text of jails or with a filter, by name, in the order in which fail2ban
/// reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct MergedTexts {
    /// Those that are read before the text.
    pub(crate) earlier: Vec<(String, Arc<str>)>,
    /// Those that are read after it, whose options take precedence.
    pub(crate) later: Vec<(String, Arc<str>)>,
    /// Those in the folders of filters, by names such as `sshd.d/own.conf`.
    of_filters: BTreeMap<String, Arc<str>>,
}

impl MergedTexts {
    /// The files with this ending in the folder of a filter.
    pub(crate) fn of_filter<'m>(
        &'m self,
        filter: &'m str,
        ending: &'m str,
    ) -> impl Iterator<Item = (&'m str, &'m Arc<str>)> {
        let is_one = move |name: &str| {
            let file = name.strip_prefix(filter).and_then(|rest| rest.strip_prefix(".d/"));
            let stem = file.and_then(|file| file.strip_suffix(ending));
            stem.is_some_and(|stem| stem.ends_with('.'))
        };
        let files = self.of_filters.iter().filter(move |(name, _)| is_one(name));
        files.map(|(name, text)| (&**name, text))
    }
}

impl RuleFiles {
    /// Adds a file that fail2ban reads before a text of jails, as `jail.conf` before `jail.local`,
    /// and after those that were added before. Other languages have no such files.
    pub fn add_earlier(&mut self, name: String, text: impl Into<Arc<str>>) {
        self.merged.earlier.push((name, text.into()));
    }

    /// Adds a file that fail2ban reads after a text of jails, as those in `jail.d` after `jail.conf`.
    pub fn add_later(&mut self, name: String, text: impl Into<Arc<str>>) {
        self.merged.later.push((name, text.into()));
    }

    /// Adds a file of the folder of a filter, such as `own.conf` in `sshd.d`, which fail2ban merges
    /// with `sshd.conf` or `sshd.local`.
    pub fn add_of_filter(&mut self, folder: &str, name: &str, text: impl Into<Arc<str>>) {
        self.merged.of_filters.insert(format!("{folder}/{name}"), text.into());
    }

    pub(crate) fn merged(&self) -> &MergedTexts {
        &self.merged
    }

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
