//! Parses the tokens of an expression; [`super::operators`] those of operators.

use std::ops::Range;
use std::sync::Arc;

use super::Names;
use super::function::Function;
use super::syntax::{Node, Part, Quantifier};
use super::text_search::{self, TextSearch};
use super::token::{Token, TokenKind, tokens};
use super::value::{Kind, Value};
use crate::error::RuleError;

/// The deepest nesting of parts.
const DEPTH_MAX: usize = 100;

/// The compile-time description of a value on the evaluation stack.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of a variable; `None` for an element of a list.
    pub(super) name: Option<String>,
    pub(super) kind: Kind,
    /// The texts that an element may be, if the list is known when the expression is parsed.
    pub(super) texts: Option<Arc<[Vec<u8>]>>,
}

/// Reads an expression.
pub(super) struct Parser<'n> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    /// The number of open brackets and operators; it bounds the recursion of the parser.
    pub(super) open: usize,
    pub(super) stack: Vec<Entry>,
    pub(super) names: &'n mut dyn Names,
}

impl<'n> Parser<'n> {
    pub(super) fn new(text: &str, names: &'n mut dyn Names) -> Result<Self, RuleError> {
        Ok(Self { tokens: tokens(text)?, at: 0, open: 0, stack: Vec::new(), names })
    }

    /// Reads the whole expression.
    pub(super) fn program(mut self) -> Result<Part, RuleError> {
        let part = self.sequence()?;
        match self.peek() {
            TokenKind::End => Ok(part),
            _ => Err(self.error_here("an operator or the end of the expression is missing here")),
        }
    }

    /// Reads variable definitions, and the expression after them.
    pub(super) fn sequence(&mut self) -> Result<Part, RuleError> {
        if !self.is_name("let") {
            return self.expression();
        }
        let start = self.next().range.start;
        let name = self.name("the name of the variable is missing")?;
        self.expect("=")?;
        let value = self.expression()?;
        self.expect(";")?;
        self.enter()?;
        self.stack.push(Entry { name: Some(name), kind: value.kind, texts: None });
        let body = self.sequence()?;
        self.stack.pop();
        self.open -= 1;
        let (kind, range) = (body.kind, start..body.range.end);
        self.part(Node::Let(Box::new([value, body])), kind, range)
    }

    pub(super) fn expression(&mut self) -> Result<Part, RuleError> {
        self.enter()?;
        let part = self.choice()?;
        self.open -= 1;
        Ok(part)
    }

    pub(super) fn primary(&mut self) -> Result<Part, RuleError> {
        let Token { kind, range } = self.next();
        let constant = match kind {
            TokenKind::Integer(number) => Value::Integer(number),
            TokenKind::Float(number) => Value::Float(number),
            TokenKind::Text(text) => Value::Text(text.into()),
            TokenKind::Symbol("(") => {
                let inner = self.sequence()?;
                self.expect(")")?;
                return Ok(inner);
            }
            TokenKind::Symbol("[") => return self.list(range.start),
            TokenKind::Symbol("#") => return self.element(range),
            TokenKind::Symbol(".") => {
                // `.name` is short for `#.name`.
                self.at -= 1;
                return self.element(range);
            }
            TokenKind::Name(name) => match name.as_str() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                "nil" => Value::Nil,
                _ => return self.named(name, range),
            },
            _ => {
                self.at = self.at.saturating_sub(1);
                return Err(self.error_here("a value is missing here"));
            }
        };
        let kind = constant.kind();
        self.part(Node::Constant(constant), kind, range)
    }

    fn list(&mut self, start: usize) -> Result<Part, RuleError> {
        let mut parts = Vec::new();
        while !self.takes("]") {
            parts.push(self.expression()?);
            if !self.takes(",") {
                self.expect("]")?;
                break;
            }
        }
        self.part(Node::List(parts), Kind::List, start..self.end())
    }

    /// A variable, a function or a field.
    fn named(&mut self, name: String, range: Range<usize>) -> Result<Part, RuleError> {
        let is_variable = |entry: &Entry| entry.name.as_ref() == Some(&name);
        if let Some(position) = self.stack.iter().rposition(is_variable) {
            let kind = self.stack[position].kind;
            return self.part(Node::Variable(position), kind, range);
        }
        if name == "evt" {
            return self.event_member(None, range);
        }
        if name == "queue" {
            return self.queue(range);
        }
        if !self.is_symbol("(") {
            return Err(RuleError::new(
                range,
                format_args!("`{name}` is not known; the fields of an event are in `evt`"),
            ));
        }
        if let Some(quantifier) = Quantifier::by_name(&name) {
            return self.quantified(quantifier, range.start);
        }
        if ["File", "RegexpInFile", "LookupFile"].contains(&&*name) {
            return self.data_file(&name, range);
        }
        let Some(function) = Function::by_name(&name) else {
            return Err(RuleError::new(range, Function::refusal(&name)));
        };
        let arguments = self.arguments()?;
        self.call(function, arguments, range.start)
    }

    /// Reads the arguments of a function.
    pub(super) fn arguments(&mut self) -> Result<Vec<Part>, RuleError> {
        self.expect("(")?;
        let mut parts = Vec::new();
        while !self.takes(")") {
            parts.push(self.expression()?);
            if !self.takes(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(parts)
    }

    fn quantified(&mut self, quantifier: Quantifier, start: usize) -> Result<Part, RuleError> {
        self.expect("(")?;
        let list = self.expression()?;
        require(&list, Kind::List)?;
        self.expect(",")?;
        let texts = text_search::known_texts(&list);
        let kind = match list.node {
            Node::Queue => Kind::Event,
            _ if texts.is_some() => Kind::Text,
            _ => Kind::Any,
        };
        self.stack.push(Entry { name: None, kind, texts });
        let has_braces = self.takes("{");
        let test = self.sequence()?;
        if has_braces {
            self.expect("}")?;
        }
        let texts = self.stack.pop().and_then(|entry| entry.texts);
        if quantifier != Quantifier::Map {
            require(&test, Kind::Boolean)?;
        }
        self.expect(")")?;
        let range = start..self.end();
        if quantifier == Quantifier::Any
            && let Some(texts) = texts
        {
            let position = self.stack.len();
            return match TextSearch::of_closure(test, &texts, position) {
                Ok((text, search)) => {
                    self.part(Node::HasOneOf(Box::new(text), search), Kind::Boolean, range)
                }
                Err(test) => {
                    let parts = Box::new([list, *test]);
                    self.part(Node::Over(quantifier, parts), Kind::Boolean, range)
                }
            };
        }
        self.part(Node::Over(quantifier, Box::new([list, test])), quantifier.kind(), range)
    }

    /// Makes a part, unless its nesting is too deep.
    pub(super) fn part(
        &self,
        node: Node,
        kind: Kind,
        range: Range<usize>,
    ) -> Result<Part, RuleError> {
        let inner = |parts: &[Part]| parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let depth = 1 + match &node {
            Node::Not(part) | Node::Negate(part) => part.depth,
            Node::IsOneOf(part, _) | Node::Matches(part, _) | Node::MatchesOneOf(part, _) => {
                part.depth
            }
            Node::HasOneOf(part, _) | Node::LookUp(part, _) => part.depth,
            Node::All(parts) | Node::Any(parts) | Node::List(parts) | Node::Call(_, parts) => {
                inner(parts)
            }
            Node::Binary(_, parts)
            | Node::Let(parts)
            | Node::Item(parts)
            | Node::MatchesElement(parts, _)
            | Node::Over(_, parts) => inner(&parts[..]),
            Node::Choice(parts) => inner(&parts[..]),
            _ => 0,
        };
        if depth > DEPTH_MAX {
            return Err(too_deep(range));
        }
        Ok(Part { node, range, kind, depth })
    }

    pub(super) fn enter(&mut self) -> Result<(), RuleError> {
        self.open += 1;
        if self.open > DEPTH_MAX {
            return Err(too_deep(self.range()));
        }
        Ok(())
    }

    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn next(&mut self) -> Token {
        let range = self.range();
        let kind = self.peek().clone();
        self.at += 1;
        Token { kind, range }
    }

    pub(super) fn range(&self) -> Range<usize> {
        let last = self.tokens.last();
        self.tokens.get(self.at).or(last).map_or(0..0, |token| token.range.clone())
    }

    /// The end of the last token.
    pub(super) fn end(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|before| self.tokens.get(before));
        last.map_or(0, |token| token.range.end)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), TokenKind::Name(found) if found == name)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    pub(super) fn takes(&mut self, symbol: &str) -> bool {
        let is_next = self.is_symbol(symbol);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), RuleError> {
        if self.takes(symbol) {
            Ok(())
        } else {
            Err(self.error_here(&format!("`{symbol}` is missing here")))
        }
    }

    pub(super) fn name(&mut self, missing: &str) -> Result<String, RuleError> {
        match self.peek().clone() {
            TokenKind::Name(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.error_here(missing)),
        }
    }

    pub(super) fn error_here(&self, message: &str) -> RuleError {
        RuleError::new(self.range(), message)
    }
}

/// Returns an error if a part cannot be of a kind.
pub(super) fn require(part: &Part, kind: Kind) -> Result<(), RuleError> {
    if part.kind.may_be(kind) {
        return Ok(());
    }
    let (found, needed) = (part.kind.noun(), kind.noun());
    let message = format_args!("this is {found}, and {needed} is needed here");
    Err(RuleError::new(part.range.clone(), message))
}

fn too_deep(range: Range<usize>) -> RuleError {
    let message = format_args!("more than {DEPTH_MAX} parts lie in each other; write it flatter");
    RuleError::new(range, message)
}
