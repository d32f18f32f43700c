//! The name of the source of a line.

use std::sync::Arc;

use super::extract::{append_group, with_group};
use super::{Derivation, DerivedField, DerivedInput, DerivedInputs};
use crate::pattern::BoundedRegex;

/// The name of the source, or the part of it that tells sources apart.
#[derive(Debug, Default)]
pub struct SourceName {
    part: Option<BoundedRegex>,
}

impl SourceName {
    /// The part of the name that the first group of an expression matches. A name that does not
    /// match stands as a whole.
    ///
    /// # Errors
    /// If the expression is not valid or too large, or has no group.
    pub fn part(expression: &str) -> Result<Self, String> {
        let part = with_group(expression)?;
        Ok(Self { part: Some(part) })
    }

    /// The field.
    pub fn into_field(self) -> DerivedField {
        DerivedField::new("source", vec![DerivedInput::Source], Arc::new(self))
    }
}

impl Derivation for SourceName {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let name = inputs.source().as_bytes();
        let has_part = self.part.as_ref().is_some_and(|part| append_group(part, name, value));
        if !has_part {
            value.extend_from_slice(name);
        }
        true
    }
}
