//! Reads expressions.

use std::collections::HashSet;

use weir_core::PatternBudget;

use super::token::{Token, tokens};
use super::{Expression, Function, Node, Operator, Value};
use crate::error::Reason;
use crate::go_pattern;

/// The most parts that lie in each other.
const DEPTH_MAX: usize = 64;

/// The operators between `&&` and a value, by how strongly they bind.
const LEVELS: [&[(&str, Operator)]; 3] = [
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("in", Operator::In),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// If it is not well formed, or has a function that is not supported.
    pub(in crate::anubis) fn parse(text: &str, budget: &PatternBudget) -> Result<Self, Reason> {
        let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), budget, depth: 0 };
        let node = parser.expression()?;
        match parser.tokens.next() {
            None => Ok(Self(node)),
            Some(token) => {
                Err(format!("there is something after the expression: `{}`", shown(&token)).into())
            }
        }
    }
}

/// The values of a list, if all of them are written in the expression; otherwise its parts.
fn constant(nodes: Vec<Node>) -> Result<Vec<Value>, Vec<Node>> {
    if !nodes.iter().all(|node| matches!(node, Node::Literal(_))) {
        return Err(nodes);
    }
    let value = |node| match node {
        Node::Literal(value) => Some(value),
        _ => None,
    };
    Ok(nodes.into_iter().filter_map(value).collect())
}

/// Whether a node is one of some values.
fn one_of(node: Box<Node>, values: Vec<Value>) -> Node {
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    match values.iter().map(text).collect::<Option<HashSet<_>>>() {
        Some(texts) if !texts.is_empty() => Node::OneOf(node, texts),
        _ => Node::Binary(Operator::In, node, Box::new(Node::Literal(Value::List(values)))),
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Name(name) => name.clone(),
        Token::Integer(number) => number.to_string(),
        Token::Float(number) => number.to_string(),
        Token::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Token::Mark(mark) => (*mark).to_owned(),
    }
}

struct Parser<'b> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    budget: &'b PatternBudget,
    depth: usize,
}

impl Parser<'_> {
    /// Takes the next token if it is this operator, bracket or word.
    fn take(&mut self, mark: &str) -> bool {
        let is_it = |token: &Token| match token {
            Token::Mark(next) => *next == mark,
            Token::Name(name) => name == mark,
            _ => false,
        };
        self.tokens.next_if(is_it).is_some()
    }

    fn expect(&mut self, mark: &str) -> Result<(), Reason> {
        if self.take(mark) { Ok(()) } else { Err(format!("`{mark}` is missing").into()) }
    }

    /// Reads a part that lies in another one.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Node, Reason>,
    ) -> Result<Node, Reason> {
        self.deepen()?;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn deepen(&mut self) -> Result<(), Reason> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} parts lie in each other").into());
        }
        Ok(())
    }

    fn expression(&mut self) -> Result<Node, Reason> {
        self.nested(|parser| {
            let condition = parser.any()?;
            if !parser.take("?") {
                return Ok(condition);
            }
            let then = parser.any()?;
            parser.expect(":")?;
            Ok(Node::Conditional(Box::new([condition, then, parser.expression()?])))
        })
    }

    fn any(&mut self) -> Result<Node, Reason> {
        let first = self.all()?;
        let mut nodes = vec![first];
        while self.take("||") {
            nodes.push(self.all()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
    }

    fn all(&mut self) -> Result<Node, Reason> {
        let mut nodes = vec![self.binary(&LEVELS)?];
        while self.take("&&") {
            nodes.push(self.binary(&LEVELS)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
    }

    /// Reads operators of the first level, between those of the others.
    fn binary(&mut self, levels: &[&[(&str, Operator)]]) -> Result<Node, Reason> {
        let Some((operators, tighter)) = levels.split_first() else { return self.unary() };
        let mut node = self.binary(tighter)?;
        let before = self.depth;
        loop {
            let Some((_, operator)) = operators.iter().find(|(mark, _)| self.take(mark)) else {
                self.depth = before;
                return Ok(node);
            };
            // Each makes the tree deeper.
            self.deepen()?;
            let right = self.binary(tighter)?;
            node = match (operator, right) {
                (Operator::In, Node::Literal(Value::List(values))) => {
                    one_of(Box::new(node), values)
                }
                (operator, right) => Node::Binary(*operator, Box::new(node), Box::new(right)),
            };
        }
    }

    fn unary(&mut self) -> Result<Node, Reason> {
        if self.take("!") {
            return Ok(Node::Not(Box::new(self.nested(Self::unary)?)));
        }
        if self.take("-") {
            return Ok(Node::Negated(Box::new(self.nested(Self::unary)?)));
        }
        let mut node = self.primary()?;
        let before = self.depth;
        loop {
            if self.take("[") {
                self.deepen()?;
                let index = self.expression()?;
                self.expect("]")?;
                node = Node::Index(Box::new(node), Box::new(index));
            } else if self.take(".") {
                self.deepen()?;
                let Some(Token::Name(name)) = self.tokens.next() else {
                    return Err("a name is missing after `.`".into());
                };
                if !self.take("(") {
                    let message = format!("write `(` and the arguments after `{name}`");
                    return Err(message.into());
                }
                let mut arguments = vec![node];
                self.list(")", &mut arguments)?;
                node = self.call(&name, arguments)?;
            } else {
                self.depth = before;
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Reason> {
        match self.tokens.next() {
            None => Err("the expression ends where a value belongs".into()),
            Some(Token::Integer(number)) => Ok(Node::Literal(Value::Integer(number))),
            Some(Token::Float(number)) => Ok(Node::Literal(Value::Float(number))),
            Some(Token::Text(text)) => Ok(Node::Literal(Value::Text(text))),
            Some(Token::Mark("(")) => {
                let node = self.expression()?;
                self.expect(")")?;
                Ok(node)
            }
            Some(Token::Mark("[")) => {
                let mut nodes = Vec::new();
                self.list("]", &mut nodes)?;
                Ok(constant(nodes).map_or_else(Node::List, |it| Node::Literal(Value::List(it))))
            }
            Some(Token::Mark(mark)) => Err(format!("`{mark}` is where a value belongs").into()),
            Some(Token::Name(name)) => match name.as_str() {
                "true" => Ok(Node::Literal(Value::Bool(true))),
                "false" => Ok(Node::Literal(Value::Bool(false))),
                _ if self.take("(") => {
                    let mut arguments = Vec::new();
                    self.list(")", &mut arguments)?;
                    self.call(&name, arguments)
                }
                _ => Ok(Node::Variable(name)),
            },
        }
    }

    /// Reads expressions with commas between them, up to a bracket.
    fn list(&mut self, end: &str, nodes: &mut Vec<Node>) -> Result<(), Reason> {
        while !self.take(end) {
            nodes.push(self.expression()?);
            if !self.take(",") {
                return self.expect(end);
            }
        }
        Ok(())
    }

    fn call(&mut self, name: &str, mut arguments: Vec<Node>) -> Result<Node, Reason> {
        if name == "matches" && arguments.len() == 2 {
            let Some(Node::Literal(Value::Text(pattern))) = arguments.pop() else {
                return Err("`matches` is only supported with a text".into());
            };
            let pattern = String::from_utf8_lossy(&pattern);
            let (regex, _) = go_pattern::compile(&pattern, self.budget).map_err(|reason| {
                Reason::from(format!("`{pattern}` is not a regular expression: {reason}"))
            })?;
            return Ok(Node::Matches(Box::new(arguments.remove(0)), regex));
        }
        let (function, count) = Function::named(name)
            .ok_or_else(|| Reason::from(format!("the function `{name}` is not supported")))?;
        if !count.contains(&arguments.len()) {
            return Err(format!("`{name}` has another number of arguments").into());
        }
        Ok(Node::Call(function, arguments))
    }
}
