//! What a condition is when only some fields of the event are known.
//!
//! Most scenarios begin with the type of the log. A whole log can be skipped if that is another one,
//! and need not be compared again if it is the same.

use std::borrow::Cow;

use super::evaluate::Evaluation;
use super::syntax::{Node, Operator, Part};
use super::{Expression, Failure, Fields};

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlook {
    /// It is false for every event.
    False,
    /// It is true for every event.
    True,
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

    /// Returns the condition for events in which these fields are known: without the parts of a
    /// conjunction that are then true.
    pub(in super::super) fn with_known(
        &self,
        known: &dyn Fn(usize) -> Option<&'static [u8]>,
    ) -> KnownCondition<'_> {
        let parts = match &self.0.node {
            Node::All(parts) => &parts[..],
            _ => std::slice::from_ref(&self.0),
        };
        let fields = KnownFields(known);
        let is_open = |part: &&Part| outlook(part, &fields) != Outlook::True;
        KnownCondition(parts.iter().filter(is_open).collect())
    }
}

/// What is left of a condition when some fields are known: a conjunction.
#[derive(Debug)]
pub(in super::super) struct KnownCondition<'e>(Vec<&'e Part>);

impl KnownCondition<'_> {
    /// Whether the condition holds.
    ///
    /// # Errors
    /// If it has no value for the event.
    pub(in super::super) fn holds(&self, fields: &dyn Fields) -> Result<bool, Failure> {
        let mut evaluation = Evaluation::new(fields);
        for part in &self.0 {
            if !evaluation.boolean(part)? {
                return Ok(false);
            }
        }
        Ok(true)
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
            let differs = outlooks.find(|outlook| *outlook != Outlook::True);
            let Some(Outlook::Open) = differs else { return differs.unwrap_or(Outlook::True) };
            // A later part may be false, and is evaluated if the open one is true.
            let decides = |outlook: &Outlook| matches!(outlook, Outlook::False | Outlook::MayFail);
            outlooks.find(decides).unwrap_or(Outlook::Open)
        }
        Node::Any(parts) => {
            let mut outlooks = parts.iter().map(|part| outlook(part, fields));
            let differs = outlooks.find(|outlook| *outlook != Outlook::False);
            match differs {
                None | Some(Outlook::False) => Outlook::False,
                Some(Outlook::True) => Outlook::True,
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
                    Ok(Some(true)) => Outlook::True,
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
