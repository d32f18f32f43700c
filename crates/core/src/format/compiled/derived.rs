//! The derived fields that a format takes over from its options.

use super::Format;
use crate::derived::{BoundInput, DERIVED_INPUTS_MAX, DerivedField, DerivedInput, DerivedPart};
use crate::field::Field;
use crate::record::FieldAccessor;

impl Format {
    /// The derived fields, in the order of their values among the extra fields.
    pub(crate) fn derived(&self) -> &[DerivedPart] {
        &self.derived
    }

    /// Whether a field is derived from the name of the source.
    pub(crate) fn derives_from_source(&self) -> bool {
        self.derived.iter().any(|part| part.inputs.contains(&BoundInput::Source))
    }

    /// The names of the fields that the lines have themselves, without those of
    /// [`Self::fields`].
    pub fn logged_extra_fields(&self) -> &[String] {
        let logged = self.derived.first().map_or(self.extra_fields.len(), |first| first.extra);
        &self.extra_fields[..logged]
    }

    /// Adds the derived fields whose first input the format has. What the lines have themselves
    /// goes before.
    pub(super) fn add_derived(&mut self, fields: &[DerivedField]) {
        for (number, field) in fields.iter().enumerate() {
            let name = field.name();
            if self.accessor(name).is_ok() {
                continue;
            }
            let mut inputs = [BoundInput::Missing; DERIVED_INPUTS_MAX];
            for (place, input) in inputs.iter_mut().zip(field.inputs()) {
                *place = self.bind(input);
            }
            if inputs[0] != BoundInput::Missing {
                let extra = self.add_extra_field(name);
                self.derived.push(DerivedPart { field: field.clone(), number, extra, inputs });
            }
        }
    }

    /// Where an input is. Derived fields are no inputs.
    fn bind(&self, input: &DerivedInput) -> BoundInput {
        match input {
            DerivedInput::Text(name) => {
                let logged = FieldAccessor::new(name, &self.fields, self.logged_extra_fields());
                logged.map_or(BoundInput::Missing, BoundInput::Text)
            }
            DerivedInput::Time if self.fills(Field::Time) => BoundInput::Time,
            DerivedInput::Time => BoundInput::Missing,
            DerivedInput::Source => BoundInput::Source,
        }
    }
}
