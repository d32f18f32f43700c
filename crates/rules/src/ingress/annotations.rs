//! Annotations in a text: in YAML, JSON or Terraform, or as arguments of `kubectl annotate`.

use std::fmt::Display;
use std::ops::Range;

use crate::error::RuleError;

/// The names of the annotations that make a limit.
const LIMITS: [&str; 3] = ["limit-rps", "limit-rpm", "limit-connections"];

/// The beginnings of the names of all annotations that are looked for.
const NAMES: [&str; 10] = [
    "limit-rps",
    "limit-rpm",
    "limit-connections",
    "limit-burst-multiplier",
    "limit-whitelist",
    "limit-allowlist",
    "whitelist-source-range",
    "allowlist-source-range",
    "denylist-source-range",
    "global-rate-limit",
];

/// An annotation with its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annotation<'t> {
    /// Without its prefix.
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    /// The position of the value in the text.
    start: usize,
}

impl Annotation<'_> {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.value.len()
    }

    pub(super) fn error(&self, message: impl Display) -> RuleError {
        RuleError::new(self.range(), message)
    }

    /// The value as a number from 0 to a highest one.
    pub(super) fn number(&self, max: u32) -> Result<u32, RuleError> {
        let is_number = self.value.bytes().all(|byte| byte.is_ascii_digit());
        let number = self.value.parse().ok().filter(|number| is_number && *number <= max);
        number.ok_or_else(|| {
            self.error(format_args!(
                "`{}` is not a number from 0 to {max}; write {}: \"10\"",
                self.value, self.name
            ))
        })
    }
}

/// Whether a text has an annotation that makes a limit.
pub(crate) fn looks_like(text: &str) -> bool {
    // A template, which is an error, is one too.
    annotations(text, 0)
        .map_or(true, |found| found.iter().any(|annotation| LIMITS.contains(&annotation.name)))
}

/// The annotations of a document that begins at `offset` of its text.
///
/// # Errors
/// If a value is a template.
pub(super) fn annotations(document: &str, offset: usize) -> Result<Vec<Annotation<'_>>, RuleError> {
    let mut found = Vec::new();
    let mut start = offset;
    for line in document.split_inclusive('\n') {
        for annotation in in_line(line, start) {
            if let Some(range) = template(&annotation) {
                return Err(RuleError::new(
                    range,
                    format_args!(
                        "this is a template: write the value that it stands for, such as {}: \"10\"",
                        annotation.name
                    ),
                ));
            }
            found.push(annotation);
        }
        start += line.len();
    }
    Ok(found)
}

/// The place of a template in a value: `{{ .Values.x }}` of Helm, or `${x}` of other tools.
fn template(annotation: &Annotation<'_>) -> Option<Range<usize>> {
    let value = annotation.value;
    (value.contains("{{") || value.contains("${")).then(|| annotation.range())
}

/// The most names of annotations that are looked at in a line; a line of JSON may have all of them.
const HITS_MAX: usize = 100;

fn in_line(line: &str, start: usize) -> Vec<Annotation<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    // Each hit is a search in the rest of the line.
    for _ in 0..HITS_MAX {
        let next = NAMES.iter().filter_map(|name| line[at..].find(name)).min();
        let Some(next) = next else { break };
        let from = at + next;
        if is_in_comment(line, from) {
            break;
        }
        let is_name = |next: char| next.is_ascii_alphanumeric() || next == '-';
        let length = line[from..].find(|next| !is_name(next)).unwrap_or(line.len() - from);
        let name = &line[from..from + length];
        at = from + length;
        let before = line[..from].chars().next_back();
        if before.is_some_and(|before| is_name(before) || before == '.') {
            continue;
        }
        let after = line[at..].trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
        let Some(after) = after.strip_prefix([':', '=']) else { continue };
        let value = value(after.trim_start_matches([' ', '\t', '=']));
        let value_at = line.len() - after.len() + offset_in(after, value);
        found.push(Annotation { name, value, start: start + value_at });
        at = value_at + value.len();
    }
    found
}

/// The position of a part of a text in it.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Whether a place in a line is after a `#` that begins a comment.
fn is_in_comment(line: &str, at: usize) -> bool {
    let begins = |(place, _): (usize, &str)| {
        line[..place].chars().next_back().is_none_or(char::is_whitespace)
    };
    line[..at].match_indices('#').any(begins)
}

/// The value at the beginning of a text, without quotation marks.
fn value(text: &str) -> &str {
    if let Some(quote @ ('"' | '\'')) = text.chars().next() {
        let inner = &text[1..];
        return &inner[..inner.find(quote).unwrap_or(inner.trim_end().len())];
    }
    if text.starts_with("{{") {
        return &text[..text.find("}}").map_or(text.trim_end().len(), |end| end + 2)];
    }
    // A list may have spaces after its commas.
    let is_end = |(at, next): (usize, char)| {
        let follows = text[at..].trim_start().starts_with(|next: char| next.is_ascii_hexdigit());
        "\"'}]".contains(next) || next.is_whitespace() && !(text[..at].ends_with(',') && follows)
    };
    let end = text.char_indices().find(|place| is_end(*place)).map_or(text.len(), |(at, _)| at);
    text[..end].trim_end_matches(',')
}
