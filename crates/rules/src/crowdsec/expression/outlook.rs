//! What a condition is when only some fields of the event are known.
//!
//! Most scenarios begin with the type of the log. A whole log can be skipped if that is another one.

use std::borrow::Cow;

use super::evaluate::Evaluation;
use super::syntax::{Node, Operator, Part};
use super::{Expression, Fields};

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlook {
    /// It is false for every event.
    False,
    /// It is true or false.
    Open,
    /// It may have no value.
    MayFail,
}

impl Expression {
    /// Whether the condition is false for every event, and always has a value. `known` returns the
    /// value of a field if it is the same in all events.
    pub(in super::super) fn is_never_true(
        &self,
        known: &dyn Fn(usize) -> Option<&'static [u8]>,
    ) -> bool {
        outlook(&self.0, &KnownFields(known)) == Outlook::False
    }
}

/// The fields of which the values are known.
struct KnownFields<'k>(&'k dyn Fn(usize) -> Option<&'static [u8]>);

impl Fields for KnownFields<'_> {
    fn value(&self, field: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed((self.0)(field).unwrap_or_default())
    }
}

fn outlook(part: &Part, fields: &KnownFields<'_>) -> Outlook {
    match &part.node {
        Node::All(parts) => {
            let mut outlooks = parts.iter().map(|part| outlook(part, fields));
            outlooks.find(|outlook| *outlook != Outlook::Open).unwrap_or(Outlook::Open)
        }
        Node::Any(parts) => {
            let mut outlooks = parts.iter().map(|part| outlook(part, fields));
            let differs = outlooks.find(|outlook| *outlook != Outlook::False);
            match differs {
                None => Outlook::False,
                Some(Outlook::Open) if outlooks.all(|outlook| outlook != Outlook::MayFail) => {
                    Outlook::Open
                }
                Some(_) => Outlook::MayFail,
            }
        }
        _ => match compared_field(part) {
            None => Outlook::MayFail,
            Some(field) => match (fields.0)(field) {
                None => Outlook::Open,
                Some(_) => match Evaluation::new(fields).value(part).map(|value| value.boolean()) {
                    Ok(Some(false)) => Outlook::False,
                    Ok(Some(true)) => Outlook::Open,
                    _ => Outlook::MayFail,
                },
            },
        },
    }
}

/// The field of a comparison with constants, which has a value for every event.
fn compared_field(part: &Part) -> Option<usize> {
    use Operator::{Contains, EndsWith, Equal, StartsWith, Unequal};
    let field = match &part.node {
        Node::IsOneOf(field, _) | Node::Matches(field, _) => field,
        Node::Binary(Equal | Unequal | Contains | StartsWith | EndsWith, sides)
            if matches!(sides[1].node, Node::Constant(_)) =>
        {
            &sides[0]
        }
        _ => return None,
    };
    match field.node {
        Node::Field(field) => Some(field),
        _ => None,
    }
}
