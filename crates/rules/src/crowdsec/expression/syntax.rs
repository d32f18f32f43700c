//! The parts of a compiled expression.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use weir_core::BoundedRegex;

use crate::crowdsec::tag_table::TagTable;

use super::function::Function;
use super::text_search::TextSearch;
use super::value::{Kind, Value};

/// A node of an expression's syntax tree, with its position in the text.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) node: Node,
    pub(super) range: Range<usize>,
    /// The type of its values.
    pub(super) kind: Kind,
    /// The nesting depth, which bounds the recursion.
    pub(super) depth: usize,
}

/// The kinds of nodes. Variables and elements are referred to by their position on the evaluation
/// stack.
#[derive(Debug)]
pub(super) enum Node {
    Constant(Value<'static>),
    /// A field of the event, by its number among the fields of the scenario.
    Field(usize),
    /// A field of the event at a stack position: the position and the field.
    ElementField(usize, usize),
    Variable(usize),
    /// The events of the bucket.
    Queue,
    Not(Box<Part>),
    Negate(Box<Part>),
    All(Vec<Part>),
    Any(Vec<Part>),
    Binary(Operator, Box<[Part; 2]>),
    IsOneOf(Box<Part>, Vec<Value<'static>>),
    Matches(Box<Part>, BoundedRegex),
    /// Whether one of the patterns of a data file matches.
    MatchesOneOf(Box<Part>, BoundedRegex),
    /// A text that matches the pattern made from an element of a list, and the patterns by their
    /// texts.
    MatchesElement(Box<[Part; 2]>, HashMap<Vec<u8>, BoundedRegex>),
    /// Whether a text contains, ends with or equals one of many texts.
    HasOneOf(Box<Part>, TextSearch),
    /// The tag of a text in a data file of tags.
    LookUp(Box<Part>, Arc<TagTable>),
    /// The lines of a data file.
    Lines(Arc<[Vec<u8>]>),
    Choice(Box<[Part; 3]>),
    /// A variable's value, and the expression evaluated with it on the stack.
    Let(Box<[Part; 2]>),
    List(Vec<Part>),
    Item(Box<[Part; 2]>),
    /// A list, and the expression evaluated with each of its elements on the stack.
    Over(Quantifier, Box<[Part; 2]>),
    Call(Function, Vec<Part>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    StartsWith,
    EndsWith,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    OrElse,
}

/// A predicate function over the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Any,
    None,
    One,
    Count,
    Filter,
    Map,
}

impl Quantifier {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "any" => Self::Any,
            "none" => Self::None,
            "one" => Self::One,
            "count" => Self::Count,
            "filter" => Self::Filter,
            "map" => Self::Map,
            _ => return None,
        })
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::All | Self::Any | Self::None | Self::One => Kind::Boolean,
            Self::Count => Kind::Number,
            Self::Filter | Self::Map => Kind::List,
        }
    }
}
