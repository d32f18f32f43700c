//! What a scenario looked at, and why it has no event.

use std::sync::LazyLock;

use regex::Regex;
use weir_core::RecordKind;

use super::scenario::Scenario;
use crate::evidence::{LineTally, LogCounts, LookedAt, log_of};

/// The log types of the parsers of web logs.
const ACCESS_LOG: &str = "http_access-log";
const ERROR_LOG: &str = "http_error-log";

/// The most names of log types in a sentence.
const NAMES_MAX: usize = 3;

/// A comparison of a filter with the type of the log or with the program that writes it.
static COMPARISON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let field = r"evt\.(?:Meta\.(log_type|service)|Parsed\.(program))";
    Regex::new(&format!(
        r#"{field}\s*(?:==|in|contains|startsWith)\s*(\[[^\]]*\]|"[^"]*"|'[^']*')"#
    ))
    .ok()
});

/// The kinds of lines that a filter names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamedLines {
    /// The types of log, in their order; empty if it names none.
    log_types: Vec<String>,
    /// The services and programs.
    services: Vec<String>,
}

impl NamedLines {
    /// Finds the kinds of lines in the text of a filter.
    pub(super) fn of(filter: &str) -> Self {
        let mut named = Self::default();
        let Some(comparison) = &*COMPARISON else { return named };
        for groups in comparison.captures_iter(filter) {
            let is_log_type = groups.get(1).is_some_and(|field| field.as_str() == "log_type");
            let names = if is_log_type { &mut named.log_types } else { &mut named.services };
            for name in groups[3].split(['[', ']', ',']) {
                let name = name.trim().trim_matches(['"', '\'']);
                if !name.is_empty() && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        named
    }

    /// The kind of records that the filter names, if it names one; `None` if any may be meant.
    fn kind(&self) -> Option<RecordKind> {
        let names = |name| self.log_types.iter().any(|known| known == name);
        match (names(ACCESS_LOG), names(ERROR_LOG)) {
            (true, false) => Some(RecordKind::Request),
            (false, true) => Some(RecordKind::ErrorLogLine),
            (_, _) => None,
        }
    }

    /// Whether the filter names other lines than those of web servers.
    fn are_others(&self) -> bool {
        let is_web = |name: &String| name.starts_with("http_");
        let has_types = !self.log_types.is_empty();
        (has_types && !self.log_types.iter().any(is_web))
            || (!has_types
                && !self.services.is_empty()
                && !self.services.iter().any(|name| name == "http"))
    }

    fn words(&self) -> String {
        let names = self.log_types.iter().chain(&self.services);
        let names: Vec<String> = names.take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}

impl Scenario {
    /// Returns what a replay of the scenario looked at.
    pub(super) fn evidence(&self, log: &LogCounts, tally: &LineTally, evaluated: u64) -> LookedAt {
        let reads_services = !self.services.is_empty();
        let of_kind = |kind| log.records[kind as usize];
        let records = match self.named_lines.kind() {
            _ if reads_services => tally.read,
            _ if self.named_lines.are_others() => 0,
            Some(kind) => of_kind(kind),
            None => of_kind(RecordKind::Request) + of_kind(RecordKind::ErrorLogLine),
        };
        LookedAt {
            lines: log.lines,
            unparsed: if reads_services { 0 } else { log.unparsed },
            records,
            evaluated,
            nothing: (evaluated == 0).then(|| self.nothing(log, records)),
            ..LookedAt::default()
        }
    }

    /// Explains why no event was counted.
    fn nothing(&self, log: &LogCounts, records: u64) -> String {
        if log.lines == 0 {
            return "The log has no lines.".to_owned();
        }
        if records > 0 {
            let lines = if self.services.is_empty() { "records" } else { "lines of its service" };
            return format!("The filter of the scenario selects none of the {records} {lines}.");
        }
        let named = self.named_lines.words();
        if !self.services.is_empty() {
            return format!(
                "The scenario needs lines of {named}, and this log has none that Weir reads as \
                 such. Name the log of that service."
            );
        }
        if self.named_lines.are_others() {
            return format!(
                "The scenario needs lines of {named}. Weir reads for CrowdSec the logs of web \
                 servers, and of the services in docs/rules.md, so it cannot replay this scenario."
            );
        }
        let wanted = log_of(self.named_lines.kind().unwrap_or_default());
        match log.main_kind() {
            Some(kind) => format!(
                "The scenario needs {wanted}, and this log is {}. Name {wanted}.",
                log_of(kind)
            ),
            None => {
                "No line is a record in a known format; name the format with --format.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NamedLines;
    use weir_core::RecordKind;

    #[test]
    fn a_filter_names_its_lines() {
        for (filter, words, kind, are_others) in [
            ("evt.Meta.log_type == 'ssh_failed-auth'", "`ssh_failed-auth`", None, true),
            ("evt.Meta.service == \"ssh\"", "`ssh`", None, true),
            (
                "evt.Meta.service == 'http' && evt.Meta.log_type in ['http_access-log', \
                 \"http_error-log\"]",
                "`http_access-log`, `http_error-log`, `http`",
                None,
                false,
            ),
            (
                "evt.Meta.log_type == 'http_error-log'",
                "`http_error-log`",
                Some(RecordKind::ErrorLogLine),
                false,
            ),
            ("evt.Meta.http_status == '404'", "", None, false),
        ] {
            let named = NamedLines::of(filter);
            assert_eq!(named.words(), words, "{filter}");
            assert_eq!((named.kind(), named.are_others()), (kind, are_others), "{filter}");
        }
    }
}
