//! Rules on the page: what a person pastes into a panel, and the answer.

use serde::{Deserialize, Serialize};
use weir_rules::RuleError;

use crate::collateral::Collateral;
use crate::limit_curve::LimitCurve;
use crate::limit_grid::LimitGrid;
use crate::rule_comparison::RuleComparison;
use crate::rules::ReplayedRule;

/// The text of one or several rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleText {
    /// The text, as the rule's own software reads it.
    pub text: String,
    /// The name of a rule whose text has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub name: Option<String>,
    /// The name of the family; recognised by the text if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub family: Option<String>,
}

/// What a question about rules asks beyond the replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(default)]
pub struct RuleDetails {
    /// Whether to try other rates and bursts, if the rule is a single limit of nginx.
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub grid: bool,
    /// Addresses and networks, such as `192.0.2.0/24`, whose clients are good.
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub good_networks: Vec<String>,
    /// Another text of rules, to compare with.
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub against: Option<RuleText>,
}

/// The answer to a panel: what each rule of its text would have done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RulesAnswer {
    /// The rules, in the order of the text.
    pub rules: Vec<RuleAnswer>,
    /// What of the text was not understood. The rules are replayed without it.
    pub notes: Vec<RuleNote>,
    /// The keys that the rules catch beside those of another text, if the question names one that
    /// can be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub comparison: Option<RuleComparison>,
    /// Whether all sources had ended, so that the answer is the last one.
    pub complete: bool,
}

/// What a rule would have done with the records of a data set.
///
/// The line of a request is its byte offset in its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleAnswer {
    /// The report.
    pub rule: ReplayedRule,
    /// What other bursts would have caught, if the rule is a single limit of nginx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub curve: Option<LimitCurve>,
    /// What other rates and bursts would have caught, if it was asked for and the rule is a single
    /// limit of nginx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grid: Option<LimitGrid>,
    /// The good clients that it catches. Left out if its keys are not addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub collateral: Option<Collateral>,
    /// The records with values that were not kept, which were left out.
    pub unknown_records: u64,
}

impl RuleAnswer {
    /// Keeps the first `max` trips, other keys, bans and alerts each. The counts stay as they are.
    pub fn truncate(&mut self, max: usize) {
        self.rule.trips.truncate(max);
        self.rule.closest.truncate(max);
        self.rule.bans.truncate(max);
        self.rule.alerts.truncate(max);
    }
}

/// A remark on a place in the text of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleNote {
    /// A sentence.
    pub message: String,
    /// The place that it is about.
    pub place: RulePlace,
}

/// A part of the text of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RulePlace {
    /// Its line, from 1.
    pub line: usize,
    /// Its first character in the line, from 1.
    pub column: usize,
    /// Its first character in the text, counted in Unicode characters from 0.
    pub start: usize,
    /// The character after it. It is `start` if something is missing there.
    pub end: usize,
    /// The line, or the part of it around the place, and below it a mark at the place.
    pub excerpt: String,
}

impl RulePlace {
    /// The place that an error in a text is about.
    pub fn new(error: &RuleError, text: &str) -> Self {
        let characters = |end: usize| text.char_indices().take_while(|(at, _)| *at < end).count();
        let (start, end) = (characters(error.range.start), characters(error.range.end));
        let line_start = text.char_indices().take(start).filter(|(_, found)| *found == '\n').last();
        let before = line_start.map_or(0, |(at, _)| characters(at + 1));
        Self {
            line: error.line(text),
            column: 1 + start - before,
            start,
            end: end.max(start),
            excerpt: error.excerpt(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_rules::{RuleFiles, parse_rules};

    use super::RulePlace;

    #[test]
    fn places_count_characters() {
        let text = "# é\nlimit_req_zone $uri zone=é:1m rate=1r/s;\nlimit_req zone=é brust=5;\n";
        let error = parse_rules(text, "test", None, &RuleFiles::default()).expect_err("a mistake");
        let place = RulePlace::new(&error, text);
        let part: String = text.chars().skip(place.start).take(place.end - place.start).collect();
        assert_eq!((&part[..5], place.line, place.column), ("brust", 3, 18));
        assert!(place.excerpt.ends_with(&format!("\n{}^^^^^^^", " ".repeat(17))), "{place:?}");
    }

    #[test]
    fn a_place_at_the_end_is_empty() {
        let error = parse_rules("", "test", None, &RuleFiles::default()).expect_err("no rule");
        let place = RulePlace::new(&error, "");
        assert_eq!((place.line, place.column, place.start, place.end), (1, 1, 0, 0));
    }
}
