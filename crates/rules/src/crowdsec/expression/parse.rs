//! Parses the tokens of an expression by precedence climbing.

use std::ops::Range;
use std::sync::Arc;

use super::Names;
use super::function::Function;
use super::syntax::{Node, Operator, Part, Quantifier};
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
    tokens: Vec<Token>,
    at: usize,
    /// The number of open brackets and operators; it bounds the recursion of the parser.
    open: usize,
    pub(super) stack: Vec<Entry>,
    pub(super) names: &'n mut dyn Names,
}

/// A binary operator as written.
enum Infix {
    And,
    Or,
    Operator(Operator),
    Matches,
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
    fn sequence(&mut self) -> Result<Part, RuleError> {
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

    /// Reads `condition ? first : second`, or `if condition { first } else { second }`.
    fn choice(&mut self) -> Result<Part, RuleError> {
        if self.is_name("if") {
            let start = self.next().range.start;
            let condition = self.binary(0)?;
            self.expect("{")?;
            let first = self.sequence()?;
            self.expect("}")?;
            if !self.is_name("else") {
                return Err(self.error_here("`else` is missing after the `if`"));
            }
            self.next();
            let second = if self.is_name("if") {
                self.expression()?
            } else {
                self.expect("{")?;
                let second = self.sequence()?;
                self.expect("}")?;
                second
            };
            return self.choice_of(condition, first, second, start);
        }
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Ok(condition);
        }
        let start = condition.range.start;
        let first = self.expression()?;
        self.expect(":")?;
        let second = self.expression()?;
        self.choice_of(condition, first, second, start)
    }

    fn choice_of(
        &mut self,
        condition: Part,
        first: Part,
        second: Part,
        start: usize,
    ) -> Result<Part, RuleError> {
        require(&condition, Kind::Boolean)?;
        let constant = |part: &Part| match part.node {
            Node::Constant(Value::Boolean(value)) => Some(value),
            _ => None,
        };
        // As a conjunction it can be skipped by its first parts.
        match (constant(&first), constant(&second)) {
            (Some(true), Some(false)) => return Ok(condition),
            (_, Some(false)) if first.kind == Kind::Boolean => {
                return self.junction(condition, first, true);
            }
            _ => {}
        }
        let kind = if first.kind == second.kind { first.kind } else { Kind::Any };
        let range = start..self.end();
        self.part(Node::Choice(Box::new([condition, first, second])), kind, range)
    }

    /// Reads operands joined by operators whose precedence is at least `least`.
    fn binary(&mut self, least: u8) -> Result<Part, RuleError> {
        let mut left = self.unary()?;
        while let Some((infix, precedence, is_negated, words)) = self.infix() {
            if precedence < least {
                break;
            }
            self.at += words;
            self.enter()?;
            let is_power = matches!(infix, Infix::Operator(Operator::Power));
            let right = self.binary(if is_power { precedence } else { precedence + 1 })?;
            self.open -= 1;
            let range = left.range.start..right.range.end;
            left = match infix {
                Infix::And => self.junction(left, right, true)?,
                Infix::Or => self.junction(left, right, false)?,
                Infix::Matches => self.matches(left, right)?,
                Infix::Operator(operator) => self.operation(operator, left, right)?,
            };
            if is_negated {
                left = self.part(Node::Not(Box::new(left)), Kind::Boolean, range)?;
            }
        }
        Ok(left)
    }

    /// The next operator, its precedence, whether `not` precedes it, and its length in tokens.
    fn infix(&self) -> Option<(Infix, u8, bool, usize)> {
        let is_negated = self.is_name("not");
        let word = &self.tokens.get(self.at + usize::from(is_negated))?.kind;
        let text = match word {
            TokenKind::Name(name) => name.as_str(),
            TokenKind::Symbol(symbol) if !is_negated => symbol,
            _ => return None,
        };
        let (infix, precedence) = match text {
            "or" | "||" => (Infix::Or, 10),
            "and" | "&&" => (Infix::And, 15),
            "==" => (Infix::Operator(Operator::Equal), 20),
            "!=" => (Infix::Operator(Operator::Unequal), 20),
            "<" => (Infix::Operator(Operator::Less), 20),
            "<=" => (Infix::Operator(Operator::LessOrEqual), 20),
            ">" => (Infix::Operator(Operator::Greater), 20),
            ">=" => (Infix::Operator(Operator::GreaterOrEqual), 20),
            "in" => (Infix::Operator(Operator::In), 20),
            "matches" => (Infix::Matches, 20),
            "contains" => (Infix::Operator(Operator::Contains), 20),
            "startsWith" => (Infix::Operator(Operator::StartsWith), 20),
            "endsWith" => (Infix::Operator(Operator::EndsWith), 20),
            "+" => (Infix::Operator(Operator::Add), 30),
            "-" => (Infix::Operator(Operator::Subtract), 30),
            "*" => (Infix::Operator(Operator::Multiply), 60),
            "/" => (Infix::Operator(Operator::Divide), 60),
            "%" => (Infix::Operator(Operator::Remainder), 60),
            "**" | "^" => (Infix::Operator(Operator::Power), 100),
            "??" => (Infix::Operator(Operator::OrElse), 120),
            _ => return None,
        };
        let may_be_negated = ["in", "matches", "contains", "startsWith", "endsWith"];
        if is_negated && !may_be_negated.contains(&text) {
            return None;
        }
        Some((infix, precedence, is_negated, 1 + usize::from(is_negated)))
    }

    fn unary(&mut self) -> Result<Part, RuleError> {
        let start = self.range().start;
        if self.is_name("not") || self.is_symbol("!") {
            self.next();
            self.enter()?;
            let operand = self.binary(50)?;
            self.open -= 1;
            require(&operand, Kind::Boolean)?;
            let range = start..operand.range.end;
            return self.part(Node::Not(Box::new(operand)), Kind::Boolean, range);
        }
        if self.is_symbol("-") || self.is_symbol("+") {
            let is_negative = self.is_symbol("-");
            self.next();
            self.enter()?;
            let operand = self.binary(90)?;
            self.open -= 1;
            require(&operand, Kind::Number)?;
            if !is_negative {
                return Ok(operand);
            }
            let range = start..operand.range.end;
            return self.part(Node::Negate(Box::new(operand)), Kind::Number, range);
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn primary(&mut self) -> Result<Part, RuleError> {
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

    fn enter(&mut self) -> Result<(), RuleError> {
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

    fn is_name(&self, name: &str) -> bool {
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
