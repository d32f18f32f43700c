//! A derived field of a format, and where its inputs are.

use super::{DERIVED_INPUTS_MAX, DerivedField};
use crate::record::FieldAccessor;

/// A derived field of a format.
#[derive(Debug, Clone)]
pub(crate) struct DerivedPart {
    pub(crate) field: DerivedField,
    /// Its number among the fields of the options: the same for all formats of a reader.
    pub(crate) number: usize,
    /// The position of its values among the extra fields.
    pub(crate) extra: usize,
    /// Where its inputs are, the required one first.
    pub(crate) inputs: [BoundInput; DERIVED_INPUTS_MAX],
}

/// Where an input of a derived field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoundInput {
    Text(FieldAccessor),
    Time,
    Source,
    /// The format lacks it, or there is no further one.
    Missing,
}
