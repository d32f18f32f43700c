//! Parses operators by precedence climbing.

use super::parse::{Parser, require};
use super::syntax::{Node, Operator, Part};
use super::token::TokenKind;
use super::value::{Kind, Value};
use crate::error::RuleError;

/// A binary operator as written.
enum Infix {
    And,
    Or,
    Operator(Operator),
    Matches,
}

impl Parser<'_> {
    /// Reads `condition ? first : second`, or `if condition { first } else { second }`.
    pub(super) fn choice(&mut self) -> Result<Part, RuleError> {
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
}
