//! Parses the syntax of Python's `re`, with the tags of fail2ban.
//!
//! Sources: the documentation of Python's module `re`, and `server/failregex.py` of fail2ban 1.0.2
//! for the tags.

mod groups;
mod tags;

use std::fmt;

use super::classes;
use crate::error::RuleError;

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// A pattern, as a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Empty,
    Char {
        char: char,
        ignores_case: bool,
    },
    /// One character of a set: its text for the engine, and the characters if they are few.
    Set {
        text: String,
        few: Option<Vec<char>>,
    },
    /// An assertion, which matches no character, such as a word boundary.
    Assertion(&'static str),
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        /// The suffix that makes the repetition lazy or possessive.
        suffix: &'static str,
    },
    Group {
        name: Option<String>,
        node: Box<Node>,
    },
    /// A non-capturing group, with its opening text.
    Wrapped {
        prefix: String,
        node: Box<Node>,
    },
    /// A look-ahead or look-behind.
    Look {
        prefix: &'static str,
        node: Box<Node>,
    },
    /// A back-reference to a group.
    Reference(usize),
    /// A conditional: one of two patterns, depending on whether a group matched.
    Condition {
        group: usize,
        yes: Box<Node>,
        no: Box<Node>,
    },
}

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) node: Node,
    /// The names of the groups, from number 1.
    pub(super) groups: Vec<Option<String>>,
    /// Whether the pattern refers to groups by number or name.
    pub(super) has_references: bool,
    /// The ends in the text of the elements that follow each other on the outermost level; empty if
    /// the pattern has alternatives there.
    pub(super) ends: Vec<usize>,
}

/// Reads a pattern. The range of an error is in the pattern.
pub(super) fn parse(pattern: &str, host_may_be_name: bool) -> Result<Syntax, RuleError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let message =
            format!("the pattern is longer than {} KiB; split it", PATTERN_BYTES_MAX >> 10);
        return Err(RuleError { range: 0..pattern.len(), message });
    }
    let mut parser = Parser {
        text: pattern,
        position: 0,
        depth: 0,
        groups: Vec::new(),
        open_tags: Vec::new(),
        ends: Vec::new(),
        ignores_case: false,
        has_references: false,
        host_may_be_name,
    };
    let flags = parser.flags("(?", ')')?.unwrap_or_default();
    parser.ignores_case = flags.contains('i');
    let node = parser.alternation()?;
    if parser.position < pattern.len() {
        return Err(parser.error(parser.position, 1, "this parenthesis closes no group"));
    }
    let node = if flags.is_empty() {
        node
    } else {
        Node::Wrapped { prefix: format!("(?{flags}:"), node: Box::new(node) }
    };
    let Parser { groups, has_references, ends, .. } = parser;
    Ok(Syntax { node, groups, has_references, ends })
}

struct Parser<'p> {
    text: &'p str,
    position: usize,
    depth: usize,
    groups: Vec<Option<String>>,
    /// The names of the open tags, such as `F-USER`.
    open_tags: Vec<String>,
    /// See [`Syntax::ends`].
    ends: Vec<usize>,
    ignores_case: bool,
    has_references: bool,
    host_may_be_name: bool,
}

type Parsed = Result<Node, RuleError>;

impl<'p> Parser<'p> {
    fn rest(&self) -> &'p str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.position += if is_next { token.len() } else { 0 };
        is_next
    }

    fn error(&self, start: usize, length: usize, message: impl fmt::Display) -> RuleError {
        RuleError::new(start..start + length, message)
    }

    fn alternation(&mut self) -> Parsed {
        let mut branches = vec![self.concatenation()?];
        while self.eat("|") {
            branches.push(self.concatenation()?);
        }
        if self.depth == 0 && branches.len() > 1 {
            self.ends.clear();
        }
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => Node::Alternation(branches),
        })
    }

    fn concatenation(&mut self) -> Parsed {
        let mut nodes = Vec::new();
        while let Some(next) = self.peek() {
            if next == '|' || next == ')' || self.closes_tag() {
                break;
            }
            let start = self.position;
            let node = self.atom(next)?;
            nodes.push(self.repeated(node, start)?);
            if self.depth == 0 && self.open_tags.is_empty() {
                self.ends.push(self.position);
            }
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        })
    }

    fn atom(&mut self, next: char) -> Parsed {
        let start = self.position;
        self.position += next.len_utf8();
        match next {
            '(' => self.group(start),
            '[' => self.set(start),
            '\\' => self.escape(start),
            '.' => Ok(Node::Set { text: ".".to_owned(), few: None }),
            '^' => Ok(Node::Assertion("^")),
            // It also matches before a final line feed; the text has at most one line feed.
            '$' => Ok(Node::Assertion("(?m:$)")),
            '<' => self.tag(start),
            '*' | '+' | '?' => {
                Err(self.error(start, 1, format!("there is nothing before `{next}` to repeat")))
            }
            char => Ok(self.char(char)),
        }
    }

    fn char(&self, char: char) -> Node {
        Node::Char { char, ignores_case: self.ignores_case && char.is_alphabetic() }
    }

    /// Reads the repetition after a node.
    fn repeated(&mut self, node: Node, start: usize) -> Parsed {
        let Some((min, max)) = self.count(start)? else { return Ok(node) };
        if matches!(node, Node::Assertion(_)) {
            let length = self.position - start;
            return Err(self.error(start, length, "an assertion cannot be repeated"));
        }
        let suffix = match self.peek() {
            Some('?') => "?",
            Some('+') => "+",
            _ => "",
        };
        self.position += suffix.len();
        let again = self.position;
        if self.count(start)?.is_some() {
            return Err(self.error(again, 1, "this repeats a repetition; put it in (?:...)"));
        }
        Ok(Node::Repeat { node: Box::new(node), min, max, suffix })
    }

    /// Reads a quantifier, such as `*` or `{2,5}`; `None` if there is none.
    fn count(&mut self, start: usize) -> Result<Option<(u32, Option<u32>)>, RuleError> {
        let simple = match self.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('{') => None,
            _ => return Ok(None),
        };
        if simple.is_some() {
            self.position += 1;
            return Ok(simple);
        }
        let Some((inside, _)) = self.rest()[1..].split_once('}') else { return Ok(None) };
        let (min, max) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        // Braces without a valid count are literal.
        if inside.is_empty() || !is_number(min) || !is_number(max) {
            return Ok(None);
        }
        let length = inside.len() + 2;
        let number = |text: &str| text.parse().ok().filter(|number| *number <= 10_000);
        let min = if min.is_empty() { Some(0) } else { number(min) };
        let max = if max.is_empty() { Some(None) } else { number(max).map(Some) };
        self.position += length;
        match (min, max) {
            (Some(min), Some(max)) if max.is_none_or(|max| max >= min) => Ok(Some((min, max))),
            _ => Err(self.error(start, self.position - start, "this cannot be counted")),
        }
    }

    fn set(&mut self, start: usize) -> Parsed {
        let set = classes::set(&self.text[start..]);
        let (length, text, few) = set.map_err(|error| error.moved_by(start))?;
        self.position = start + length;
        Ok(Node::Set { text, few: few.filter(|_| !self.ignores_case) })
    }

    fn escape(&mut self, start: usize) -> Parsed {
        let Some(next) = self.peek() else {
            return Err(self.error(start, 1, "the pattern ends in a backslash"));
        };
        if let Some(text) = classes::class(next) {
            self.position += 1;
            return Ok(Node::Set { text: text.to_owned(), few: None });
        }
        let assertion = match next {
            'b' => Some(r"\b"),
            'B' => Some(r"\B"),
            'A' => Some("^"),
            'Z' => Some(r"\z"),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.position += 1;
            return Ok(Node::Assertion(assertion));
        }
        if let '1'..='9' = next {
            let digits: String =
                self.rest().chars().take(2).take_while(char::is_ascii_digit).collect();
            self.position += digits.len();
            return self.reference(start, digits.parse().unwrap_or(usize::MAX));
        }
        let (length, char) = classes::escaped_char(self.rest())
            .map_err(|message| self.error(start, 2.min(self.text.len() - start), message))?;
        self.position += length;
        Ok(self.char(char))
    }

    fn reference(&mut self, start: usize, group: usize) -> Parsed {
        if group > self.groups.len() {
            let length = self.position - start;
            return Err(self.error(start, length, "there is no such group before it"));
        }
        self.has_references = true;
        Ok(Node::Reference(group))
    }
}
