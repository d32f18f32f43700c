//! Finds the rules that are excluded, by their ids and tags.

use std::collections::BTreeMap;

use super::exclusion::Selection;
use super::expression::Search;
use super::sec_rule::SecRule;

/// The most rules that all exclusions of a set find together, and tags that they are compared with.
const WORK_MAX: usize = 4_000_000;

/// The numbers of rules by their ids and tags.
#[derive(Debug, Default)]
pub(super) struct RuleIndex {
    by_id: BTreeMap<u64, Vec<u32>>,
    by_tag: BTreeMap<String, Vec<u32>>,
    work: usize,
}

impl RuleIndex {
    pub(super) fn add(&mut self, number: u32, rule: &SecRule) {
        if let Ok(id) = rule.id.parse() {
            self.by_id.entry(id).or_default().push(number);
        }
        for tag in &rule.tags {
            match self.by_tag.get_mut(tag) {
                Some(numbers) => numbers.push(number),
                None => drop(self.by_tag.insert(tag.clone(), vec![number])),
            }
        }
    }

    /// The numbers of the rules of a selection; `None` if the exclusions find too many.
    pub(super) fn find(&mut self, selection: &Selection) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        match selection {
            Selection::Ids(ranges) => {
                for (first, last) in ranges.iter().filter(|(first, last)| first <= last) {
                    for (_, numbers) in self.by_id.range(first..=last) {
                        self.work += numbers.len();
                        if self.work > WORK_MAX {
                            return None;
                        }
                        found.extend(numbers);
                    }
                }
            }
            Selection::Tag(expression) => {
                self.work += self.by_tag.len();
                for (tag, numbers) in &self.by_tag {
                    if matches!(expression.search(tag.as_bytes(), false), Search::Match(_)) {
                        self.work += numbers.len();
                        found.extend(numbers);
                    }
                    if self.work > WORK_MAX {
                        return None;
                    }
                }
            }
        }
        Some(found)
    }
}
