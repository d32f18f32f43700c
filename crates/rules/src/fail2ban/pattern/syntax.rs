//! Parses the syntax of Python's `re`, with the tags of fail2ban.
//!
//! Sources: the documentation of Python's module `re`, and `server/failregex.py` of fail2ban 1.0.2
//! for the tags.

use std::fmt;

use super::classes;
use crate::error::RuleError;

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// The deepest nesting of groups.
const DEPTH_MAX: usize = 100;

/// An IPv4 address, `<IP4>`, optionally mapped to IPv6.
const IP4: &str = r"(?:::f{4,6}:)?(?P<ip4>(?:\d{1,3}\.){3}\d{1,3})";

/// An IPv6 address, `<IP6>`. The original has a look-behind for another colon before the last one,
/// which is always there.
const IP6: &str = r"(?P<ip6>(?:[0-9a-fA-F]{1,4}::?|::){1,7}(?:[0-9a-fA-F]{1,4}|:))";

/// A host name, `<DNS>`.
const DNS: &str = r"(?P<dns>[\w\-.^_]*\w)";

/// The prefix length of a network, `<CIDR>`.
const CIDR: &str = r"(?P<cidr>\d+)";

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

    fn group_number(&self, name: &str) -> Option<usize> {
        let number = name.parse().ok().filter(|number| (1..=self.groups.len()).contains(number));
        let named = || self.groups.iter().position(|known| known.as_deref() == Some(name));
        number.or_else(|| named().map(|position| position + 1))
    }

    /// Reads a group after its opening parenthesis.
    fn group(&mut self, start: usize) -> Parsed {
        if self.eat("?#") {
            let Some(length) = self.rest().find(')') else {
                return Err(self.error(start, 1, "this comment is not closed"));
            };
            self.position += length + 1;
            return Ok(Node::Empty);
        }
        for (token, prefix) in [("?=", "(?="), ("?!", "(?!"), ("?<=", "(?<="), ("?<!", "(?<!")] {
            if self.eat(token) {
                let node = Box::new(self.inside(start)?);
                return Ok(Node::Look { prefix, node });
            }
        }
        if self.eat("?>") {
            let node = Box::new(self.inside(start)?);
            return Ok(Node::Wrapped { prefix: "(?>".to_owned(), node });
        }
        if self.eat("?P=") {
            let Some(length) = self.rest().find(')') else {
                return Err(self.error(start, 1, "this group is not closed"));
            };
            let name = &self.rest()[..length];
            self.position += length + 1;
            let number = self.group_number(name);
            return self.reference(start, number.unwrap_or(usize::MAX));
        }
        if self.eat("?(") {
            return self.condition(start);
        }
        if self.eat("?P<") {
            let name = self.group_name(start)?;
            return self.named_group(start, name);
        }
        let is_captured = !self.eat("?:");
        if is_captured && let Some(flags) = self.flags("?", ':')? {
            return self.flag_group(start, &flags);
        }
        // fail2ban reads `((?i)x)` as `(?i:x)`.
        if let Some(flags) = self.flags("(?", ')')? {
            return self.flag_group(start, &flags);
        }
        if is_captured && self.flags("?", ')')?.is_some() {
            let message = "flags belong at the start of the pattern, or as (?i:...) before a part";
            return Err(self.error(start, self.position - start, message));
        }
        if is_captured && self.peek() == Some('?') {
            return Err(self.error(start, 2, "a group of this kind is not supported"));
        }
        if !is_captured {
            let node = Box::new(self.inside(start)?);
            return Ok(Node::Wrapped { prefix: "(?:".to_owned(), node });
        }
        self.groups.push(None);
        let node = Box::new(self.inside(start)?);
        Ok(Node::Group { name: None, node })
    }

    fn flag_group(&mut self, start: usize, flags: &str) -> Parsed {
        let outside = self.ignores_case;
        match flags.split_once('-') {
            Some((_, off)) if off.contains('i') => self.ignores_case = false,
            _ => self.ignores_case |= flags.contains('i'),
        }
        let node = Box::new(self.inside(start)?);
        self.ignores_case = outside;
        Ok(Node::Wrapped { prefix: format!("(?{flags}:"), node })
    }

    /// Reads flags between a prefix and an end, if they are next. `u`, which is the default, is
    /// dropped.
    fn flags(&mut self, prefix: &str, end: char) -> Result<Option<String>, RuleError> {
        let Some(rest) = self.rest().strip_prefix(prefix) else { return Ok(None) };
        let is_flag = |char: &char| char.is_ascii_lowercase() || *char == '-';
        let flags: String = rest.chars().take_while(is_flag).collect();
        if flags.is_empty() || !rest[flags.len()..].starts_with(end) {
            return Ok(None);
        }
        if let Some(at) = flags.find(|flag| !"isu-".contains(flag)) {
            let start = self.position + prefix.len() + at;
            return Err(self.error(start, 1, "this flag is not supported (i, s and u are)"));
        }
        self.position += prefix.len() + flags.len() + end.len_utf8();
        Ok(Some(flags.replace('u', "")))
    }

    fn condition(&mut self, start: usize) -> Parsed {
        let Some(length) = self.rest().find(')') else {
            return Err(self.error(start, 1, "this group is not closed"));
        };
        let name = &self.rest()[..length];
        let Some(group) = self.group_number(name) else {
            let message = format!("there is no group `{name}` before it");
            return Err(self.error(self.position, length, message));
        };
        self.position += length + 1;
        self.has_references = true;
        let (yes, no) = match self.inside(start)? {
            Node::Alternation(mut branches) if branches.len() == 2 => {
                let no = branches.pop().unwrap_or(Node::Empty);
                (branches.pop().unwrap_or(Node::Empty), no)
            }
            Node::Alternation(_) => {
                return Err(self.error(start, 2, "a condition has two branches at most"));
            }
            node => (node, Node::Empty),
        };
        Ok(Node::Condition { group, yes: Box::new(yes), no: Box::new(no) })
    }

    fn group_name(&mut self, start: usize) -> Result<String, RuleError> {
        let name = self.rest().split_once('>').map(|(name, _)| name);
        let is_name = |name: &&str| {
            name.starts_with(|char: char| char.is_alphabetic() || char == '_')
                && name.chars().all(|char| char.is_alphanumeric() || char == '_')
        };
        let Some(name) = name.filter(is_name) else {
            return Err(self.error(start, 4, "this group has no valid name"));
        };
        self.position += name.len() + 1;
        Ok(name.to_owned())
    }

    fn named_group(&mut self, start: usize, name: String) -> Parsed {
        if self.groups.iter().flatten().any(|known| *known == name) {
            let length = self.position - start;
            let message = format!("the group `{name}` is there twice; a pattern names it once");
            return Err(self.error(start, length, message));
        }
        self.groups.push(Some(name.clone()));
        let node = Box::new(self.inside(start)?);
        Ok(Node::Group { name: Some(name), node })
    }

    /// Reads the inside of a group and its closing parenthesis.
    fn inside(&mut self, start: usize) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("groups are nested more than {DEPTH_MAX} deep");
            return Err(self.error(start, 1, message));
        }
        let node = self.alternation()?;
        self.depth -= 1;
        if self.closes_tag() {
            self.position += self.rest().find('>').map_or(0, |length| length + 1);
            return Ok(node);
        }
        if self.eat(")") { Ok(node) } else { Err(self.error(start, 1, "this group is not closed")) }
    }

    /// Whether the closing tag of an open tag, such as `</F-USER>`, is next.
    fn closes_tag(&self) -> bool {
        let Some((tag, _)) = self.rest().strip_prefix("</").and_then(|rest| rest.split_once('>'))
        else {
            return false;
        };
        self.open_tags.iter().any(|open| open == tag)
    }

    /// Reads a tag of fail2ban after `<`, or else a literal `<`.
    fn tag(&mut self, start: usize) -> Parsed {
        let tag = self.rest().split_once('>').map_or("", |(tag, _)| tag);
        let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
        if tag.is_empty() || !tag.bytes().all(is_tag) {
            return Ok(self.char('<'));
        }
        let addresses = format!("{IP4}|{IP6}");
        let pattern = match tag {
            "HOST" if self.host_may_be_name => format!(r"(?:\[?(?:{addresses})\]?|{DNS})"),
            "HOST" | "ADDR" | "F-ADDR/" => format!(r"\[?(?:{addresses})\]?"),
            "SUBNET" | "F-SUBNET/" => format!(r"\[?(?:{addresses})(?:/{CIDR})?\]?"),
            "IP4" | "F-IP4/" => IP4.to_owned(),
            "IP6" | "F-IP6/" => IP6.to_owned(),
            "DNS" | "F-DNS/" => DNS.to_owned(),
            "CIDR" | "F-CIDR/" => CIDR.to_owned(),
            "F-ID/" => r"(?P<fid>\S+)".to_owned(),
            "F-PORT/" => r"(?P<fport>\w+)".to_owned(),
            "SKIPLINES" => {
                let message = "<SKIPLINES> is not supported: lines are matched one at a time";
                return Err(self.error(start, tag.len() + 2, message));
            }
            tag => return self.custom_tag(start, tag),
        };
        self.position += tag.len() + 1;
        let length = self.position - start;
        self.included(&pattern).map_err(|error| self.error(start, length, error.message))
    }

    /// Reads the pattern of a tag. Its groups become groups of the whole pattern.
    fn included(&mut self, pattern: &str) -> Parsed {
        let mut parser = Parser {
            text: pattern,
            position: 0,
            depth: self.depth,
            groups: std::mem::take(&mut self.groups),
            open_tags: Vec::new(),
            ends: Vec::new(),
            ignores_case: self.ignores_case,
            has_references: false,
            host_may_be_name: self.host_may_be_name,
        };
        let node = parser.alternation();
        self.groups = parser.groups;
        Ok(Node::Wrapped { prefix: "(?:".to_owned(), node: Box::new(node?) })
    }

    /// Reads a tag such as `<F-USER>`, which begins a group.
    fn custom_tag(&mut self, start: usize, tag: &str) -> Parsed {
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let name = tag.strip_prefix("F-").filter(|name| name.bytes().all(is_name));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(self.char('<'));
        };
        self.position += tag.len() + 1;
        self.open_tags.push(tag.to_owned());
        let name = match name {
            "ID" => "fid".to_owned(),
            "PORT" => "fport".to_owned(),
            name => name.to_ascii_lowercase(),
        };
        self.named_group(start, name)
    }
}
