//! The settings of a text in JSON, YAML, Terraform, or the source of a program that makes them, as
//! a tree.
//!
//! The same settings have other spellings in each of them: `ScopeDownStatement`,
//! `scope_down_statement` and `scopeDownStatement`. Names are compared by their letters and digits.

use std::ops::Range;

use crate::error::RuleError;
use crate::windows::Limit;
use crate::yaml::{self, Yaml, YamlValue};

/// The deepest nesting of values. Those below are left out.
const DEPTH_MAX: usize = 64;

/// A setting, a block or an item of a list.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The letters and digits of its name, in lower case. Empty for an item of a list.
    pub(super) name: String,
    /// The value of a setting, without quotation marks and escapes. `None` for a block or a list.
    pub(super) value: Option<String>,
    /// The place of the value without quotation marks, or of the name of a block.
    pub(super) range: Range<usize>,
    /// What is in a block or a list.
    pub(super) members: Vec<Node>,
}

impl Node {
    /// The first member of a name.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The value of the first of these members.
    pub(super) fn value_of(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.member(name)?.value.as_deref())
    }

    /// The blocks within: the items of a list, or the one block or several of a name that stand
    /// where a list could.
    pub(super) fn blocks(&self) -> Vec<&Self> {
        let is_item = |member: &&Self| member.name.is_empty();
        match self.members.iter().any(|member| is_item(&member)) {
            true => self.members.iter().filter(is_item).collect(),
            false => vec![self],
        }
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> RuleError {
        RuleError::new(self.range.clone(), message)
    }

    /// The value as a number from 0 to the highest count.
    pub(super) fn number(&self) -> Result<u64, RuleError> {
        let value = self.value.as_deref().unwrap_or_default();
        let number = value.parse().ok().filter(|number| *number <= Limit::COUNT_MAX);
        number.ok_or_else(|| {
            let max = Limit::COUNT_MAX;
            self.error(format_args!("`{value}` is not a number from 0 to {max}"))
        })
    }
}

/// Reads a text, in whose tree `is_mark` has to find a name. Returns why it is not YAML, too, if it
/// may be meant to be.
pub(super) fn read(text: &str, is_mark: &dyn Fn(&str) -> bool) -> (Node, Option<RuleError>) {
    let (documents, error) = match yaml::documents(text) {
        Ok(documents) => (documents, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let members = documents.iter().map(|document| of_yaml(text, String::new(), document));
    let root = Node { members: members.collect(), ..Node::default() };
    match has(&root, is_mark) {
        true => (root, None),
        // Neither Terraform nor a text that is cut off is YAML.
        false => (of_braces(text), error),
    }
}

fn has(node: &Node, is_mark: &dyn Fn(&str) -> bool) -> bool {
    is_mark(&node.name) || node.members.iter().any(|member| has(member, is_mark))
}

/// The letters and digits of a name, in lower case.
fn normal(name: &str) -> String {
    let is_kept = |next: &char| next.is_alphanumeric();
    name.chars().filter(is_kept).flat_map(char::to_lowercase).collect()
}

fn of_yaml(text: &str, name: String, yaml: &Yaml) -> Node {
    let range = yaml.range.clone();
    match &yaml.value {
        YamlValue::Scalar(value) => {
            let is_quoted = text[range.start..].starts_with(['"', '\'']) && range.len() > 1;
            let inner = usize::from(is_quoted);
            let range = range.start + inner..range.end - inner;
            Node { name, value: Some(value.clone()), range, members: Vec::new() }
        }
        YamlValue::Sequence(items) => {
            let members = items.iter().map(|item| of_yaml(text, String::new(), item)).collect();
            Node { name, value: None, range: range.start..range.start, members }
        }
        YamlValue::Mapping(pairs) => {
            let member = |(key, value): &(Yaml, Yaml)| {
                let mut node = of_yaml(text, normal(key.scalar().unwrap_or_default()), value);
                if node.value.is_none() {
                    node.range = key.range.clone();
                }
                node
            };
            let members = pairs.iter().map(member).collect();
            Node { name, value: None, range: range.start..range.start, members }
        }
    }
}

/// Reads blocks in braces, whatever separates their settings. It goes on after what it cannot
/// read, and closes what is open at the end.
fn of_braces(text: &str) -> Node {
    let mut reader = Reader { text, at: 0 };
    let mut open = vec![Node::default()];
    let mut too_deep = 0_usize;
    // The name that a value or a block belongs to.
    let mut name: Option<Range<usize>> = None;
    while let Some(token) = reader.next() {
        match token {
            Token::Open if open.len() > DEPTH_MAX => too_deep += 1,
            Token::Open => {
                let range = name.take().unwrap_or(reader.at..reader.at);
                let name = normal(&text[range.clone()]);
                open.push(Node { name, range, ..Node::default() });
            }
            Token::Close if too_deep > 0 => too_deep -= 1,
            Token::Close => {
                name = None;
                close(&mut open);
            }
            Token::Text { .. } if too_deep > 0 => {}
            Token::Text { value, range } => match (&name, reader.next_is_value()) {
                // `name: value`, and labels of a block: `resource "type" "name" {`. A name without a
                // value, as in YAML, is left out.
                (None, Some(_)) | (Some(_), Some(Next::Value)) => name = Some(range),
                (Some(_), Some(Next::Block)) => {}
                _ => {
                    let named = name.take().map(|name| normal(&text[name])).unwrap_or_default();
                    if let Some(block) = open.last_mut() {
                        let members = Vec::new();
                        block.members.push(Node {
                            name: named,
                            value: Some(value),
                            range,
                            members,
                        });
                    }
                }
            },
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().unwrap_or_default()
}

fn close(open: &mut Vec<Node>) {
    if open.len() > 1
        && let Some(node) = open.pop()
        && let Some(block) = open.last_mut()
    {
        block.members.push(node);
    }
}

enum Token {
    /// `{`, `[` or `(`.
    Open,
    /// `}`, `]` or `)`.
    Close,
    Text {
        value: String,
        range: Range<usize>,
    },
}

/// What follows a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// `:` or `=`.
    Value,
    /// A block, or a label of it.
    Block,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            let first = self.rest().chars().next()?;
            match first {
                '{' | '[' | '(' => {
                    self.at += 1;
                    return Some(Token::Open);
                }
                '}' | ']' | ')' => {
                    self.at += 1;
                    return Some(Token::Close);
                }
                '#' => self.pass("\n"),
                '/' if self.rest().starts_with("//") => self.pass("\n"),
                '/' if self.rest().starts_with("/*") => self.pass("*/"),
                '"' | '\'' | '`' => return Some(self.quoted(first)),
                '<' if self.rest().starts_with("<<") => return Some(self.heredoc()),
                next if is_word(next) => return Some(self.word()),
                next => self.at += next.len_utf8(),
            }
        }
    }

    /// Passes over the text up to the end of a mark.
    fn pass(&mut self, mark: &str) {
        let length = self.rest().find(mark).map_or(self.rest().len(), |at| at + mark.len());
        self.at += length;
    }

    fn word(&mut self) -> Token {
        let length = self.rest().find(|next| !is_word(next)).unwrap_or(self.rest().len());
        let range = self.at..self.at + length;
        self.at = range.end;
        Token::Text { value: self.text[range.clone()].to_owned(), range }
    }

    fn quoted(&mut self, quote: char) -> Token {
        let start = self.at + 1;
        let mut value = String::new();
        let mut characters = self.text[start..].char_indices();
        let mut end = self.text.len();
        while let Some((at, next)) = characters.next() {
            match next {
                _ if next == quote => {
                    end = start + at;
                    break;
                }
                '\\' => match characters.next().map(|(_, escaped)| escaped) {
                    Some('n' | 't' | 'r') => value.push(' '),
                    Some(escaped @ ('"' | '\'' | '`' | '\\' | '/')) => value.push(escaped),
                    other => value.extend(['\\'].into_iter().chain(other)),
                },
                _ => value.push(next),
            }
        }
        self.at = (end + 1).min(self.text.len());
        Token::Text { value, range: start..end }
    }

    /// A text of several lines in Terraform: `<<EOT`, its lines, and `EOT`.
    fn heredoc(&mut self) -> Token {
        let line_end = self.rest().find('\n').map_or(self.text.len(), |length| self.at + length);
        let mark = self.text[self.at..line_end].trim_start_matches(['<', '-']).trim();
        let start = (line_end + 1).min(self.text.len());
        let mut end = start;
        for line in self.text[start..].split_inclusive('\n') {
            if line.trim() == mark {
                break;
            }
            end += line.len();
        }
        let value = self.text[start..end].trim().to_owned();
        self.at = self.text[end..].find('\n').map_or(self.text.len(), |length| end + length);
        Token::Text { value, range: start..end }
    }

    /// What follows the text that was just read.
    fn next_is_value(&self) -> Option<Next> {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        match rest.chars().next()? {
            ':' => Some(Next::Value),
            '=' if !rest.starts_with("==") => Some(Next::Value),
            '{' | '"' => Some(Next::Block),
            _ => None,
        }
    }
}

fn is_word(next: char) -> bool {
    next.is_alphanumeric() || "_-.$%*".contains(next)
}

#[cfg(test)]
mod tests {
    use super::{Node, of_braces, read};

    /// The tree in one line.
    fn shown(node: &Node) -> String {
        let members: Vec<String> = node.members.iter().map(shown).collect();
        match &node.value {
            Some(value) => format!("{}={value}", node.name),
            None => format!("{}({})", node.name, members.join(" ")),
        }
    }

    #[test]
    fn every_spelling_is_the_same_tree() {
        for text in [
            r#"{"RateLimit": {"Limit": 5, "Keys": ["a/b", "c"], "Header": {"Name": "x"}}}"#,
            "RateLimit:\n  Limit: 5\n  Keys: [a/b, c]\n  Header:\n    Name: x\n",
        ] {
            let (root, _) = read(text, &|name| name == "ratelimit");
            assert_eq!(
                shown(&root),
                "((ratelimit(limit=5 keys(=a/b =c) header(name=x))))",
                "{text}"
            );
        }
        for text in [
            "rate_limit {\n  limit = 5 # five\n  keys = [\"a/b\", \"c\"]\n  header { name = \"x\" }\n}",
            "rate_limit = {\n  limit = 5\n  keys = [\n    \"a/b\",\n    \"c\",\n  ]\n  header = { name = \"x\" }\n}",
            "rateLimit: { limit: 5, keys: ['a/b', 'c'], header: { name: 'x' } }, // the end",
            r#""RateLimit": {"Limit": 5, "Keys": ["a/b", "c"], "Header": {"Name": "x""#,
        ] {
            let (root, _) = read(text, &|_| false);
            assert_eq!(shown(&root), "(ratelimit(limit=5 keys(=a/b =c) header(name=x)))", "{text}");
        }
    }

    #[test]
    fn blocks_of_terraform_have_labels_and_long_texts() {
        let text =
            "resource \"a_b\" \"c\" {\n  x = <<-EOT\n    one {\n    two\n  EOT\n  y = var.z\n}\n";
        assert_eq!(shown(&of_braces(text)), "(resource(x=one {\n    two y=var.z))");
        let place = of_braces(text).members[0].members[1].range.clone();
        assert_eq!(&text[place], "var.z");
    }

    #[test]
    fn no_text_breaks_it() {
        let deep = "{".repeat(100_000);
        for text in [
            "", "}", "{", "\"", "\"\\", "<<", "<<EOT", "a =", "a = =", "/*", "ü{é:ö", "a: {b",
            &deep,
        ] {
            let _ = read(text, &|_| false);
        }
    }
}
