//! Rules on the page: the text that a user pastes into a panel, and the answer.

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
    /// The text, in the notation of the rule's own software.
    pub text: String,
    /// The name for a rule whose text has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub name: Option<String>,
    /// The name of the family. If left out, the text determines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub family: Option<String>,
    /// Files that the text refers to, such as the filters of a jail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<RuleFile>>"))]
    pub files: Vec<RuleFile>,
}

/// A file that a text of rules refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The parts of a question about rules beyond the replay.
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
    /// Another text of rules to compare with.
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub against: Option<Box<RuleText>>,
    /// Why the page cannot send the lines that the rules look at, as a clause. Rules that look at
    /// records are replayed nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub lines_gone: Option<String>,
}

/// The answer to a question about rules: what each rule would have done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RulesAnswer {
    /// The rules, in the order of the text.
    pub rules: Vec<RuleAnswer>,
    /// The parts of the text that were not understood. The rules are replayed without them.
    pub notes: Vec<RuleNote>,
    /// The comparison with the keys of another text, if the question has one that can be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub comparison: Option<RuleComparison>,
    /// Whether all sources had ended, so that the answer is the last one.
    pub complete: bool,
}

/// The lines that rules look at, which the page has to send again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinesNeeded {
    /// The id of the replay, which [`crate::UploadRequest::Begin`] names.
    pub replay: String,
    /// The files, in the order in which they are to be sent. None while files of the session are
    /// still being uploaded; they are named after that.
    pub files: Vec<NeededFile>,
    /// A sentence for a person whose page does not have the files: what to do instead.
    pub remedy: String,
}

/// A file that the page has to send again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NeededFile {
    /// The page's id of the file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// The number of bytes to send, from the first that was uploaded.
    pub bytes: u64,
}

/// What a rule would have done with the records of a data set.
///
/// The line of a request is its byte offset in its source, or, for a rule that looks at lines, its
/// number from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleAnswer {
    /// The report.
    pub rule: ReplayedRule,
    /// What other bursts would have caught, if the rule is a single limit of nginx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub curve: Option<LimitCurve>,
    /// What other rates and bursts would have caught, if the question asks for it and the rule is a
    /// single limit of nginx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub grid: Option<LimitGrid>,
    /// The good clients that it catches. Left out if its keys are not addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub collateral: Option<Collateral>,
    /// The number of bans, of which `rule` lists the first.
    pub bans: u64,
    /// The number of alerts, of which `rule` lists the first.
    pub alerts: u64,
    /// The number of records that were left out, because a value of theirs was not kept.
    pub unknown_records: u64,
}

impl RuleAnswer {
    /// Truncates the trips, other keys, bans and alerts to `max` each. The counts are unchanged.
    pub fn truncate(&mut self, max: usize) {
        self.rule.trips.truncate(max);
        self.rule.closest.truncate(max);
        self.rule.bans.truncate(max);
        self.rule.alerts.truncate(max);
    }
}

/// A note on a part of a rule's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuleNote {
    /// A sentence.
    pub message: String,
    /// The part of the text.
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
    /// The position of its first character in the text, counted in Unicode characters from 0.
    pub start: usize,
    /// The position after its last character. It equals `start` if something is missing there.
    pub end: usize,
    /// The line, or the part of it around the place, and below it a marker.
    pub excerpt: String,
}

impl RulePlace {
    /// Returns the place of an error in a text.
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
