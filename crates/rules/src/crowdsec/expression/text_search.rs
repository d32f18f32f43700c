//! Searches a text for many others at once.
//!
//! `any(File("name"), {text contains #})` asks the same of each line of a data file. The lines are
//! known when the expression is parsed, so one automaton or one table answers for all of them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::NoFields;
use super::evaluate::Evaluation;
use super::syntax::{Node, Operator, Part};
use super::value::Value;

/// The most bytes of texts in one search. A state of the automaton takes about 20 bytes, so this is
/// 20 MiB; more texts are compared one by one.
const TEXTS_BYTES_MAX: usize = 1 << 20;

/// A search for some texts.
#[derive(Debug)]
pub(super) enum TextSearch {
    Within(AhoCorasick),
    /// The texts, and their different lengths.
    AtEnd(HashSet<Vec<u8>>, BTreeSet<usize>),
    Whole(HashSet<Vec<u8>>),
}

impl TextSearch {
    /// Makes the search of a closure over `texts`, which are at a position of the stack, and the part
    /// whose text is searched. Returns the closure if it is of another form.
    pub(super) fn of_closure(
        test: Part,
        texts: &[Vec<u8>],
        position: usize,
    ) -> Result<(Part, Self), Box<Part>> {
        let search = match &test.node {
            Node::Binary(operator, sides) if !texts.is_empty() && !reads(&sides[0], position) => {
                values_of(&sides[1], texts, position)
                    .and_then(|values| Self::new(*operator, values))
            }
            _ => None,
        };
        match (search, test.node) {
            (Some(search), Node::Binary(_, sides)) => {
                let [text, _] = *sides;
                Ok((text, search))
            }
            (_, node) => Err(Box::new(Part { node, ..test })),
        }
    }

    fn new(operator: Operator, texts: Vec<Vec<u8>>) -> Option<Self> {
        if texts.iter().map(Vec::len).sum::<usize>() > TEXTS_BYTES_MAX {
            return None;
        }
        match operator {
            Operator::Contains => AhoCorasick::new(&texts).ok().map(Self::Within),
            Operator::EndsWith => {
                let lengths = texts.iter().map(Vec::len).collect();
                Some(Self::AtEnd(texts.into_iter().collect(), lengths))
            }
            Operator::Equal => Some(Self::Whole(texts.into_iter().collect())),
            _ => None,
        }
    }

    /// Whether one of the texts is found.
    pub(super) fn finds(&self, text: &[u8]) -> bool {
        match self {
            Self::Within(automaton) => automaton.is_match(text),
            Self::AtEnd(texts, lengths) => lengths
                .range(..=text.len())
                .any(|length| texts.contains(&text[text.len() - length..])),
            Self::Whole(texts) => texts.contains(text),
        }
    }
}

/// The texts of a list that do not depend on an event.
pub(super) fn known_texts(list: &Part) -> Option<Arc<[Vec<u8>]>> {
    let text = |part: &Part| match &part.node {
        Node::Constant(value) => value.text().map(<[u8]>::to_vec),
        _ => None,
    };
    match &list.node {
        Node::Lines(lines) => Some(Arc::clone(lines)),
        Node::List(parts) => parts.iter().map(text).collect(),
        _ => None,
    }
}

/// The values of a part for the texts that may be at a position of the stack; `None` if it depends
/// on more, or is not a text.
pub(super) fn values_of(part: &Part, texts: &[Vec<u8>], position: usize) -> Option<Vec<Vec<u8>>> {
    if !depends_only_on(part, position) {
        return None;
    }
    let value = |text: &Vec<u8>| {
        let element = Value::Text(text.as_slice().into());
        match Evaluation::with_value(&NoFields, position, element).value(part) {
            Ok(Value::Text(value)) => Some(value.into_owned()),
            _ => None,
        }
    };
    texts.iter().map(value).collect()
}

fn depends_only_on(part: &Part, position: usize) -> bool {
    match &part.node {
        Node::Constant(_) => true,
        Node::Variable(other) => *other == position,
        Node::Call(_, parts) => parts.iter().all(|part| depends_only_on(part, position)),
        Node::Binary(_, sides) => sides.iter().all(|part| depends_only_on(part, position)),
        _ => false,
    }
}

/// Whether a part may read the value at a position of the stack.
fn reads(part: &Part, position: usize) -> bool {
    match &part.node {
        Node::Constant(_) | Node::Field(_) => false,
        Node::Variable(other) => *other == position,
        Node::Call(_, parts) => parts.iter().any(|part| reads(part, position)),
        Node::Binary(_, sides) => sides.iter().any(|part| reads(part, position)),
        _ => true,
    }
}
