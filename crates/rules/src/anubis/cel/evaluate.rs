//! Evaluates expressions.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem;

use super::{Expression, Function, Node, Operator, Value, Variables};

/// The most bytes of a text that an expression makes.
const TEXT_BYTES_MAX: usize = 64 << 10;

impl Expression {
    /// Whether the expression is true; `None` if that is not known.
    pub(in crate::anubis) fn evaluate(&self, variables: &impl Variables) -> Option<bool> {
        truth(&value(&self.0, variables))
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_true) => Some(*is_true),
        _ => None,
    }
}

fn bool_or_unknown(result: Option<bool>) -> Value {
    result.map_or(Value::Unknown, Value::Bool)
}

fn value<'n>(node: &'n Node, variables: &impl Variables) -> Cow<'n, Value> {
    if let Node::Literal(literal) = node {
        return Cow::Borrowed(literal);
    }
    let value = |node: &'n Node| value(node, variables);
    Cow::Owned(match node {
        Node::Literal(literal) => literal.clone(),
        Node::Variable(name) => variables.variable(name),
        Node::List(nodes) => {
            Value::List(nodes.iter().map(|node| value(node).into_owned()).collect())
        }
        Node::Not(node) => bool_or_unknown(truth(&value(node)).map(|is_true| !is_true)),
        Node::Negated(node) => match &*value(node) {
            Value::Integer(number) => number.checked_neg().map_or(Value::Unknown, Value::Integer),
            Value::Float(number) => Value::Float(-number),
            _ => Value::Unknown,
        },
        Node::All(nodes) => decided_by(false, nodes.iter().map(|node| truth(&value(node)))),
        Node::Any(nodes) => decided_by(true, nodes.iter().map(|node| truth(&value(node)))),
        Node::Binary(operator, left, right) => {
            binary(*operator, &value(left), &value(right), variables)
        }
        Node::OneOf(node, texts) => match &*value(node) {
            Value::Text(text) => Value::Bool(texts.contains(text)),
            _ => Value::Unknown,
        },
        Node::Conditional(parts) => match truth(&value(&parts[0])) {
            Some(true) => return value(&parts[1]),
            Some(false) => return value(&parts[2]),
            None => Value::Unknown,
        },
        Node::Index(of, at) => index(&value(of), &value(at), variables),
        Node::Call(function, arguments) => {
            let arguments: Vec<_> = arguments.iter().map(value).collect();
            let arguments: Vec<&Value> = arguments.iter().map(|it| &**it).collect();
            call(*function, &arguments, variables)
        }
        Node::Matches(text, regex) => match &*value(text) {
            Value::Text(text) => Value::Bool(regex.is_match(text)),
            _ => Value::Unknown,
        },
    })
}

/// The result of `&&`, which is decided by one false part, or of `||`.
fn decided_by(deciding: bool, parts: impl Iterator<Item = Option<bool>>) -> Value {
    let mut is_known = true;
    for part in parts {
        if part == Some(deciding) {
            return Value::Bool(deciding);
        }
        is_known &= part.is_some();
    }
    bool_or_unknown(is_known.then_some(!deciding))
}

fn binary(operator: Operator, left: &Value, right: &Value, variables: &impl Variables) -> Value {
    if operator == Operator::In {
        return contains(right, left, variables);
    }
    let order = match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (left, right) => match (float(left), float(right)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => None,
        },
    };
    let is = |accepts: fn(Ordering) -> bool| bool_or_unknown(order.map(accepts));
    match operator {
        Operator::Equal => is(Ordering::is_eq),
        Operator::NotEqual => is(Ordering::is_ne),
        Operator::Less => is(Ordering::is_lt),
        Operator::LessOrEqual => is(Ordering::is_le),
        Operator::Greater => is(Ordering::is_gt),
        Operator::GreaterOrEqual => is(Ordering::is_ge),
        _ => arithmetic(operator, left, right),
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => {
            let result = match operator {
                Operator::Add => left.checked_add(*right),
                Operator::Subtract => left.checked_sub(*right),
                Operator::Multiply => left.checked_mul(*right),
                Operator::Divide => left.checked_div(*right),
                Operator::Remainder => left.checked_rem(*right),
                _ => None,
            };
            result.map_or(Value::Unknown, Value::Integer)
        }
        (Value::Float(left), Value::Float(right)) => match operator {
            Operator::Add => Value::Float(left + right),
            Operator::Subtract => Value::Float(left - right),
            Operator::Multiply => Value::Float(left * right),
            Operator::Divide => Value::Float(left / right),
            _ => Value::Unknown,
        },
        (Value::Text(left), Value::Text(right))
            if operator == Operator::Add && left.len() + right.len() <= TEXT_BYTES_MAX =>
        {
            Value::Text([&left[..], right].concat())
        }
        _ => Value::Unknown,
    }
}

/// Whether a collection has a member.
fn contains(collection: &Value, member: &Value, variables: &impl Variables) -> Value {
    match (collection, member) {
        (Value::List(values), member) => {
            let parts = values
                .iter()
                .map(|value| truth(&binary(Operator::Equal, value, member, variables)));
            decided_by(true, parts)
        }
        (Value::Headers, Value::Text(name)) => {
            bool_or_unknown(variables.header(name).map(|value| !value.is_empty()))
        }
        (Value::Query, Value::Text(name)) => Value::Bool(variables.parameter(name).is_some()),
        _ => Value::Unknown,
    }
}

/// The member of a collection. It is unknown if there is none, which is an error in CEL.
fn index(collection: &Value, at: &Value, variables: &impl Variables) -> Value {
    let text = |value: Option<Vec<u8>>| value.map_or(Value::Unknown, Value::Text);
    match (collection, at) {
        (Value::Headers, Value::Text(name)) => {
            text(variables.header(name).filter(|value| !value.is_empty()))
        }
        (Value::Query, Value::Text(name)) => text(variables.parameter(name)),
        (Value::List(values), Value::Integer(at)) => {
            let value = usize::try_from(*at).ok().and_then(|at| values.get(at));
            value.cloned().unwrap_or(Value::Unknown)
        }
        _ => Value::Unknown,
    }
}

fn call(function: Function, arguments: &[&Value], variables: &impl Variables) -> Value {
    match (function, arguments) {
        (Function::StartsWith, [Value::Text(text), Value::Text(start)]) => {
            Value::Bool(text.starts_with(start))
        }
        (Function::EndsWith, [Value::Text(text), Value::Text(end)]) => {
            Value::Bool(text.ends_with(end))
        }
        (Function::Contains, [Value::Text(text), Value::Text(part)]) => {
            Value::Bool(memmem::find(text, part).is_some())
        }
        (Function::Size, [Value::Text(text)]) => {
            Value::Integer(String::from_utf8_lossy(text).chars().count() as i64)
        }
        (Function::Size, [Value::List(values)]) => Value::Integer(values.len() as i64),
        (Function::Size, [Value::Query]) => Value::Integer(variables.parameters() as i64),
        (Function::LowerAscii, [Value::Text(text)]) => Value::Text(text.to_ascii_lowercase()),
        (Function::UpperAscii, [Value::Text(text)]) => Value::Text(text.to_ascii_uppercase()),
        (Function::MissingHeader, [Value::Headers, Value::Text(name)]) => {
            bool_or_unknown(variables.header(name).map(|value| value.is_empty()))
        }
        (Function::Segments, [Value::Text(path)]) => match path.strip_prefix(b"/") {
            Some(path) => {
                let parts = path.split(|byte| *byte == b'/');
                Value::List(parts.map(|part| Value::Text(part.to_vec())).collect())
            }
            None => Value::Unknown,
        },
        _ => Value::Unknown,
    }
}
