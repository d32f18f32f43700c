//! Reads policies: YAML or JSON with `bots` and `thresholds`, or a list of rules alone.

mod reader;

use std::collections::HashSet;
use std::sync::Arc;

use weir_core::BoundedRegex;

use self::reader::{Place, Reader};
use super::cel::Expression;
use crate::error::{Reason, RuleError};
use crate::files::RuleFiles;
use crate::networks::Networks;
use crate::yaml::{Yaml, documents};

/// The most imports of a policy.
const IMPORTS_MAX: usize = 1_000;

/// The weight of a rule that does not say it.
const ADJUSTMENT: i64 = 5;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Deny,
    Challenge,
    /// A page for tests, in place of the answer.
    Benchmark,
    /// Adds this to the weight of the request.
    Weigh(i64),
    /// What the rules of an imported file do that is missing.
    Import,
}

/// A rule about requests.
#[derive(Debug)]
pub(super) struct Bot {
    pub(super) name: String,
    pub(super) action: Action,
    /// What a request has to fulfil.
    pub(super) conditions: Vec<Condition>,
    /// The reason why the rule cannot be evaluated on a log.
    pub(super) obstacle: Option<Reason>,
}

#[derive(Debug)]
pub(super) enum Condition {
    Path(BoundedRegex),
    /// A header by its name; without an expression, it has to be sent.
    Header(String, Option<BoundedRegex>),
    Addresses(Networks),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

/// A rule about weights.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) condition: Condition,
}

#[derive(Debug, Default)]
pub(super) struct Policy {
    pub(super) bots: Vec<Bot>,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) notes: Vec<RuleError>,
}

/// Whether a text has rules of Anubis.
pub(crate) fn looks_like(text: &str) -> bool {
    // The value of a key, which may be in quotation marks.
    let value = |line: &str, key: &str| {
        let rest = line.split_once(key)?.1.trim_start_matches(['"', '\'']);
        let value = rest.trim_start().strip_prefix(':')?.trim_start_matches([' ', '"', '\'']);
        Some(value.to_owned())
    };
    let has_action = |line: &str| {
        let action = value(line, "action").unwrap_or_default();
        let end = action.find(|next: char| !next.is_ascii_uppercase() && next != '_');
        self::action(&action[..end.unwrap_or(action.len())]).is_some()
    };
    let imports = |line: &str| {
        let path = value(line, "import").unwrap_or_default();
        let path = path.split(['"', '\'', ' ', '}']).next().unwrap_or_default();
        path.starts_with("(data)") || path.ends_with(".yaml") || path.ends_with(".yml")
    };
    let tests =
        ["user_agent_regex", "path_regex", "headers_regex", "remote_addresses", "expression"];
    let is_test = |line: &str| tests.iter().any(|key| value(line, key).is_some());
    text.lines().any(imports) || text.lines().any(has_action) && text.lines().any(is_test)
}

/// Looks up the files that a policy imports, and those that these import. Returns the names of those
/// that are missing.
pub(crate) fn missing_files(
    text: &str,
    find: &mut dyn FnMut(&str) -> Option<Arc<str>>,
) -> Vec<String> {
    let (mut seen, mut missing) = (HashSet::new(), Vec::new());
    let mut texts: Vec<Arc<str>> = vec![Arc::from(text)];
    while let Some(text) = texts.pop() {
        // What is not well formed is refused when it is read.
        let parsed = documents(&text).unwrap_or_default();
        let bots = parsed.first().map(|first| first.member("bots").unwrap_or(first).items());
        let imports = bots.unwrap_or_default().iter().filter_map(|item| item.member("import"));
        for name in imports.filter_map(|import| import.scalar().map(file_name)) {
            if seen.len() >= IMPORTS_MAX || !seen.insert(name.to_owned()) {
                continue;
            }
            match find(name) {
                Some(text) => texts.push(text),
                None => missing.push(name.to_owned()),
            }
        }
    }
    missing
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn action(text: &str) -> Option<Action> {
    Some(match text {
        "ALLOW" => Action::Allow,
        "DENY" => Action::Deny,
        "CHALLENGE" => Action::Challenge,
        "DEBUG_BENCHMARK" => Action::Benchmark,
        "WEIGH" => Action::Weigh(ADJUSTMENT),
        _ => return None,
    })
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// If it is not well formed, or has no rule.
    pub(super) fn parse(text: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        let documents = documents(text)?;
        let first = documents.first().ok_or_else(|| RuleError::new(0..0, "the policy is empty"))?;
        let mut reader = Reader { files, policy: Self::default(), imports: 0, imported_bytes: 0 };
        let bots = first.member("bots").unwrap_or(first);
        reader.read_bots(bots.items(), &Place::default(), 0)?;
        for threshold in first.member("thresholds").map_or(&[][..], Yaml::items) {
            let threshold = reader.threshold(threshold)?;
            reader.policy.thresholds.push(threshold);
        }
        if reader.policy.bots.is_empty() && reader.policy.thresholds.is_empty() {
            let message = "the policy has no rule: write `bots:` and a list of rules with `name`, \
                           `action` and what they match";
            return Err(RuleError::new(bots.range.clone(), message));
        }
        if first.member("dnsbl").and_then(Yaml::scalar) == Some("true") {
            let message = "`dnsbl` asks the network, so what it denies is not known from a log";
            reader.note(RuleError::new(first.range.start..first.range.start, message));
        }
        Ok(reader.policy)
    }
}
