//! Patterns that are ready to match.

use std::fmt::Write;

use fancy_regex::{Captures, Regex, RegexBuilder};

use super::classes::write_char;
use super::literals::{self, Texts};
use super::syntax::{Node, PatternError, Syntax, parse};

/// The most steps of a pattern that backtracks over one line: some tenths of a second.
const STEPS_MAX: usize = 1_000_000;

/// The most lists of texts that are searched before a pattern.
const REQUIRED_MAX: usize = 2;

/// Groups that a failure is made of; others are captured only if the pattern refers to them.
const KEPT: [&str; 7] = ["fid", "ip4", "ip6", "dns", "cidr", "content", "mlfid"];

/// Which groups can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fail2ban) enum Groups {
    /// Those that a failure is made of.
    Failure,
    /// All.
    All,
}

/// A pattern that is ready to match.
#[derive(Debug, Clone)]
pub(in crate::fail2ban) struct Pattern {
    regex: Regex,
    names: Vec<String>,
    /// Lists of texts, of each of which one must occur.
    pub(super) required: Vec<Texts>,
}

/// What came of a search.
#[derive(Debug)]
pub(in crate::fail2ban) enum Found<'t> {
    Match(Captures<'t, str>),
    Nothing,
    /// The pattern took too many steps.
    TooSlow,
}

impl Pattern {
    /// Reads a pattern. `host_may_be_name` is whether `<HOST>` matches host names.
    ///
    /// # Errors
    /// If it is not one, or cannot be translated.
    pub(in crate::fail2ban) fn new(
        pattern: &str,
        groups: Groups,
        host_may_be_name: bool,
    ) -> Result<Self, PatternError> {
        let syntax = parse(pattern, host_may_be_name)?;
        let translated = translate(&syntax, groups);
        let builder = RegexBuilder::new(&translated).backtrack_limit(STEPS_MAX).build();
        let regex = builder.map_err(|error| PatternError {
            range: 0..pattern.len(),
            message: format!("the pattern cannot be translated: {error}"),
        })?;
        let required = literals::required(&syntax.node, REQUIRED_MAX);
        Ok(Self { regex, names: syntax.groups.into_iter().flatten().collect(), required })
    }

    /// Whether it has a group with a name.
    pub(in crate::fail2ban) fn has_group(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The names of its groups.
    pub(in crate::fail2ban) fn group_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Finds the first match.
    pub(in crate::fail2ban) fn find<'t>(&self, text: &'t str) -> Found<'t> {
        match self.regex.captures(text) {
            Ok(Some(captures)) => Found::Match(captures),
            Ok(None) => Found::Nothing,
            Err(_) => Found::TooSlow,
        }
    }

    /// Whether there is a match; `None` if it took too many steps.
    pub(in crate::fail2ban) fn is_match(&self, text: &str) -> Option<bool> {
        self.regex.is_match(text).ok()
    }
}

fn translate(syntax: &Syntax, groups: Groups) -> String {
    let keeps_all = groups == Groups::All || syntax.has_references;
    let mut text = String::new();
    write(&syntax.node, keeps_all, &mut text);
    text
}

fn write(node: &Node, keeps_all: bool, text: &mut String) {
    let inside = |prefix: &str, node: &Node, text: &mut String| {
        *text += prefix;
        write(node, keeps_all, text);
        text.push(')');
    };
    match node {
        Node::Empty => {}
        Node::Char { char, .. } => write_char(*char, text),
        Node::Set { text: set, .. } => *text += set,
        Node::Assertion(assertion) => *text += assertion,
        Node::Concat(nodes) => nodes.iter().for_each(|node| write(node, keeps_all, text)),
        Node::Alternation(nodes) => {
            for (number, node) in nodes.iter().enumerate() {
                if number > 0 {
                    text.push('|');
                }
                write(node, keeps_all, text);
            }
        }
        Node::Repeat { node, min, max, suffix } => {
            inside("(?:", node, text);
            _ = match max {
                None if *min == 0 => write!(text, "*{suffix}"),
                None if *min == 1 => write!(text, "+{suffix}"),
                None => write!(text, "{{{min},}}{suffix}"),
                Some(max) => write!(text, "{{{min},{max}}}{suffix}"),
            };
        }
        Node::Group { name: Some(name), node } if keeps_all || KEPT.contains(&&**name) => {
            inside(&format!("(?P<{name}>"), node, text);
        }
        Node::Group { node, .. } if keeps_all => inside("(", node, text),
        Node::Group { node, .. } => inside("(?:", node, text),
        Node::Wrapped { prefix, node } => inside(prefix, node, text),
        Node::Look { prefix, node } => inside(prefix, node, text),
        Node::Reference(group) => _ = write!(text, "(?:\\{group})"),
        Node::Condition { group, yes, no } => {
            _ = write!(text, "(?({group})(?:");
            write(yes, keeps_all, text);
            *text += ")|(?:";
            write(no, keeps_all, text);
            *text += "))";
        }
    }
}
