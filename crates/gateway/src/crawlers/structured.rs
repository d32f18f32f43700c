//! The structured fields (RFC 9651) that signatures of requests need: dictionaries of lists, strings,
//! whole numbers, tokens, bytes and booleans.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Longer fields are refused. Those of crawlers have about 300 bytes.
pub(super) const FIELD_BYTES_MAX: usize = 4 << 10;

/// Dictionaries of more members are refused. Each look for a name goes through all of them.
const MEMBERS_MAX: usize = 64;

/// A value without parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Token(String),
    Bytes(Vec<u8>),
    Boolean(bool),
}

/// Names with their values, in order.
pub(super) type Parameters = Vec<(String, Value)>;

/// A value with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) parameters: Parameters,
}

/// A list of values in parentheses, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InnerList {
    pub(super) items: Vec<Item>,
    pub(super) parameters: Parameters,
}

/// The value of a name in a dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Member {
    Item(Item),
    List(InnerList),
}

/// Parses a dictionary. Returns `None` if it is not one, has a name twice or more than 64 of them, or
/// has values of other types.
pub(super) fn parse_dictionary(text: &str) -> Option<Vec<(String, Member)>> {
    let mut parser = Parser::new(text)?;
    let mut members: Vec<(String, Member)> = Vec::new();
    while !parser.rest.is_empty() {
        let name = parser.key()?;
        let member = if parser.take("=") {
            parser.member()?
        } else {
            let parameters = parser.parameters()?;
            Member::Item(Item { value: Value::Boolean(true), parameters })
        };
        // Readers differ in which of two counts.
        if members.len() == MEMBERS_MAX || members.iter().any(|(other, _)| *other == name) {
            return None;
        }
        members.push((name, member));
        parser.skip(&[' ', '\t']);
        if !parser.rest.is_empty() {
            parser.take(",").then_some(())?;
            parser.skip(&[' ', '\t']);
            if parser.rest.is_empty() {
                return None;
            }
        }
    }
    Some(members)
}

/// Reads a dictionary as the gateway reads those of signatures, and writes it in its only spelling.
/// Returns `None` if it is not one that the gateway reads. For tests of such fields.
pub fn canonical_dictionary(text: &str) -> Option<String> {
    let mut written = String::new();
    for (name, member) in parse_dictionary(text)? {
        written.push_str(if written.is_empty() { "" } else { ", " });
        written.push_str(&name);
        match member {
            Member::Item(Item { value: Value::Boolean(true), parameters }) => {
                write_parameters(&parameters, &mut written);
            }
            Member::Item(item) => {
                written.push('=');
                item.write(&mut written);
            }
            Member::List(list) => {
                written.push('=');
                list.write(&mut written);
            }
        }
    }
    Some(written)
}

/// Parses a single value with its parameters.
pub(super) fn parse_item(text: &str) -> Option<Item> {
    let mut parser = Parser::new(text)?;
    let item = parser.item()?;
    parser.rest.is_empty().then_some(item)
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let is_read = text.len() <= FIELD_BYTES_MAX && text.is_ascii();
        is_read.then(|| Self { rest: text.trim_matches(' ') })
    }

    fn skip(&mut self, characters: &[char]) {
        self.rest = self.rest.trim_start_matches(characters);
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes all characters for which a function returns true.
    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|it| !is_part(it)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn key(&mut self) -> Option<String> {
        let begins = self.rest.starts_with(|it: char| it.is_ascii_lowercase() || it == '*');
        let is_part = |it: char| {
            it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, '_' | '-' | '.' | '*')
        };
        begins.then(|| self.take_while(is_part).to_owned())
    }

    fn member(&mut self) -> Option<Member> {
        if !self.take("(") {
            return self.item().map(Member::Item);
        }
        let mut items = Vec::new();
        loop {
            self.skip(&[' ']);
            if self.take(")") {
                let parameters = self.parameters()?;
                return Some(Member::List(InnerList { items, parameters }));
            }
            items.push(self.item()?);
            if !self.rest.starts_with([' ', ')']) {
                return None;
            }
        }
    }

    fn item(&mut self) -> Option<Item> {
        let value = self.value()?;
        Some(Item { value, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> Option<Parameters> {
        let mut parameters: Parameters = Vec::new();
        while self.take(";") {
            self.skip(&[' ']);
            let name = self.key()?;
            let value = if self.take("=") { self.value()? } else { Value::Boolean(true) };
            if parameters.iter().any(|(other, _)| *other == name) {
                return None;
            }
            parameters.push((name, value));
        }
        Some(parameters)
    }

    fn value(&mut self) -> Option<Value> {
        match self.rest.bytes().next()? {
            b'"' => self.string(),
            b':' => {
                let (text, rest) = self.rest[1..].split_once(':')?;
                self.rest = rest;
                STANDARD.decode(text).ok().map(Value::Bytes)
            }
            b'?' => match (self.take("?0"), self.take("?1")) {
                (true, _) => Some(Value::Boolean(false)),
                (false, true) => Some(Value::Boolean(true)),
                (false, false) => None,
            },
            b'-' | b'0'..=b'9' => self.integer(),
            b'A'..=b'Z' | b'a'..=b'z' | b'*' => {
                let is_part =
                    |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(it);
                Some(Value::Token(self.take_while(is_part).to_owned()))
            }
            _ => None,
        }
    }

    fn integer(&mut self) -> Option<Value> {
        let is_negative = self.take("-");
        let digits = self.take_while(|it| it.is_ascii_digit());
        // A decimal would go on with a point.
        let is_integer = (1..=15).contains(&digits.len()) && !self.rest.starts_with('.');
        let number: i64 = digits.parse().ok().filter(|_| is_integer)?;
        Some(Value::Integer(if is_negative { -number } else { number }))
    }

    fn string(&mut self) -> Option<Value> {
        let mut text = String::new();
        let mut characters = self.rest[1..].chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => text.push(characters.next().filter(|it| matches!(it, '"' | '\\'))?),
                it @ ' '..='~' => text.push(it),
                _ => return None,
            }
        }
        self.rest = characters.as_str();
        Some(Value::String(text))
    }
}

/// Values in their only spelling (RFC 9651 section 4.1).
impl InnerList {
    pub(super) fn write(&self, text: &mut String) {
        text.push('(');
        for (index, item) in self.items.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { " " });
            item.write(text);
        }
        text.push(')');
        write_parameters(&self.parameters, text);
    }
}

impl Item {
    pub(super) fn write(&self, text: &mut String) {
        self.value.write(text);
        write_parameters(&self.parameters, text);
    }
}

impl Value {
    fn write(&self, text: &mut String) {
        match self {
            Self::String(value) => {
                text.push('"');
                for it in value.chars() {
                    text.push_str(if matches!(it, '"' | '\\') { "\\" } else { "" });
                    text.push(it);
                }
                text.push('"');
            }
            Self::Integer(number) => text.push_str(&number.to_string()),
            Self::Token(token) => text.push_str(token),
            Self::Bytes(bytes) => {
                text.push(':');
                STANDARD.encode_string(bytes, text);
                text.push(':');
            }
            Self::Boolean(value) => text.push_str(if *value { "?1" } else { "?0" }),
        }
    }
}

fn write_parameters(parameters: &Parameters, text: &mut String) {
    for (name, value) in parameters {
        text.push(';');
        text.push_str(name);
        if *value != Value::Boolean(true) {
            text.push('=');
            value.write(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Member, parse_dictionary, parse_item};

    fn rewritten(text: &str) -> Option<String> {
        let mut all = String::new();
        for (index, (name, member)) in parse_dictionary(text)?.iter().enumerate() {
            all.push_str(if index == 0 { "" } else { ", " });
            all.push_str(name);
            all.push('=');
            match member {
                Member::Item(item) => item.write(&mut all),
                Member::List(list) => list.write(&mut all),
            }
        }
        Some(all)
    }

    #[test]
    fn dictionaries_have_one_spelling() {
        for (text, expected) in [
            ("", Some("")),
            ("a=1", Some("a=1")),
            ("a", Some("a=?1")),
            ("a=(  \"b\"  \"c\";x ) ; y=1,\tb=:AA==:", Some("a=(\"b\" \"c\";x);y=1, b=:AA==:")),
            ("a=\"x\\\"\\\\\"", Some("a=\"x\\\"\\\\\"")),
            ("a=tok/en;q=?0;r=?1", Some("a=tok/en;q=?0;r")),
            ("a=-3", Some("a=-3")),
            ("a=()", Some("a=()")),
        ] {
            let text = text.replace(") ;", ");");
            assert_eq!(rewritten(&text).as_deref(), expected, "{text}");
        }
        for text in [
            "a=1, a=2",
            "a=1,",
            ",a",
            "A=1",
            "a=1.5",
            "a=(1",
            "a=(1\t2)",
            "a=(1\"b\")",
            "a=\"x",
            "a=\"\\n\"",
            "a=:A:",
            "a=:AA==",
            "a=?2",
            "a=@1",
            "a=1;b=1;b=2",
            "a=1 b=2",
            "a=é",
            "a=1234567890123456",
            "a=-",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
        assert!(parse_item("\"a\";b=1").is_some() && parse_item("\"a\", \"b\"").is_none());
        assert!(parse_item(&format!("\"{}\"", "x".repeat(5_000))).is_none());
    }

    proptest! {
        #[test]
        fn what_is_parsed_is_parsed_again(text in "[a-c=();:,?\"\\\\ \t0-9A*-]{0,40}") {
            let once = rewritten(&text);
            if let Some(once) = once {
                prop_assert_eq!(rewritten(&once), Some(once.clone()), "{}", text);
            }
            let _item = parse_item(&text);
        }
    }
}
