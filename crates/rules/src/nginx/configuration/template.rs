//! Texts with variables, such as the key of a zone.

use super::tokens::Word;
use crate::error::RuleError;

/// A text in which variables are replaced by their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    /// The text itself.
    Text(String),
    /// The value of the variable with this name, without `$`.
    Variable(String),
}

impl Template {
    /// Reads `$name` and `${name}` in a word.
    ///
    /// # Errors
    /// If a `$` is not followed by a name.
    pub(crate) fn parse(word: &Word) -> Result<Self, RuleError> {
        let mut parts = Vec::new();
        let mut rest = &*word.text;
        while let Some((text, after)) = rest.split_once('$') {
            if !text.is_empty() {
                parts.push(TemplatePart::Text(text.to_owned()));
            }
            let (name, after) = match after.strip_prefix('{') {
                Some(after) => {
                    after.split_once('}').ok_or_else(|| word.error("`}` is missing after `${`"))?
                }
                None => after.split_at(name_length(after)),
            };
            if name.is_empty() || name_length(name) != name.len() {
                return Err(word.error("the name of a variable is missing after `$`"));
            }
            parts.push(TemplatePart::Variable(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Makes a template of one variable.
    pub(super) fn variable(name: &str) -> Self {
        Self { parts: vec![TemplatePart::Variable(name.to_owned())] }
    }
}

/// The length of the variable name at the start of a text.
fn name_length(text: &str) -> usize {
    let is_other = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
    text.bytes().position(|byte| is_other(&byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::super::tokens::Word;
    use super::{Template, TemplatePart};

    fn parse(text: &str) -> Option<Vec<String>> {
        let word = Word { text: text.to_owned(), range: 0..text.len() };
        let shown = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Variable(name) => format!("<{name}>"),
        };
        Some(Template::parse(&word).ok()?.parts.iter().map(shown).collect())
    }

    #[test]
    fn variables_are_found_with_and_without_braces() {
        let parts = |parts: &[&str]| Some(parts.iter().map(|part| (*part).to_owned()).collect());
        assert_eq!(parse("$binary_remote_addr"), parts(&["<binary_remote_addr>"]));
        assert_eq!(parse("a$b.${c}d"), parts(&["a", "<b>", ".", "<c>", "d"]));
        assert_eq!(parse("plain"), parts(&["plain"]));
        for wrong in ["$", "a$-b", "${a", "${}", "${a-b}"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
