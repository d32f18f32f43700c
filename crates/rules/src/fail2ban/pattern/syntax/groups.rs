//! Groups: captured, named, with flags, assertions and conditions.

use super::{Node, Parsed, Parser};
use crate::error::RuleError;

/// The deepest nesting of groups.
const DEPTH_MAX: usize = 100;

impl Parser<'_> {
    fn group_number(&self, name: &str) -> Option<usize> {
        let number = name.parse().ok().filter(|number| (1..=self.groups.len()).contains(number));
        let named = || self.groups.iter().position(|known| known.as_deref() == Some(name));
        number.or_else(|| named().map(|position| position + 1))
    }

    /// Reads a group after its opening parenthesis.
    pub(super) fn group(&mut self, start: usize) -> Parsed {
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
    pub(super) fn flags(&mut self, prefix: &str, end: char) -> Result<Option<String>, RuleError> {
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

    pub(super) fn named_group(&mut self, start: usize, name: String) -> Parsed {
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
}
