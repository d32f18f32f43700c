//! Derived fields: values that a log implies.
//!
//! A line has a time, and so an hour of the day; it has an address, and so a network. A
//! [`DerivedField`] says how such a value follows from others. A format takes the derived fields
//! that a question names ([`LineOptions::derived`](crate::LineOptions)), and has them from then on
//! as it has its own: conditions, lists, rules and exports cannot tell the difference. A field that
//! the log itself has goes before a derived one of the same name.
//!
//! A value is derived once for each distinct input that a reader meets, not for each line. So a
//! [`Derivation`] may be slow, but its value may depend on nothing but its inputs.

mod catalog;
mod extract;
mod memo;
mod network;
mod parameter;
mod part;
mod path;
mod source;
mod time;

use std::fmt;
use std::sync::Arc;

pub use catalog::derived_field;
pub use extract::Extract;
pub use source::SourceName;

pub(crate) use memo::DerivedMemo;
pub(crate) use part::{BoundInput, DerivedPart};

use crate::field::Field;
use crate::value::{Timestamp, Zone};

/// The most inputs of a derived field.
pub const DERIVED_INPUTS_MAX: usize = 3;

/// Times within a step of this length usually have the same derived values: the difference of any two
/// zones since 1972 is a multiple of it. In seconds.
pub(crate) const TIME_STEP_S: i64 = 900;

/// How a value follows from other values.
pub trait Derivation: fmt::Debug + Send + Sync {
    /// Appends the derived value. Returns false, and appends nothing, if there is none.
    ///
    /// The same inputs always give the same value.
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool;
}

/// What a derived field is derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DerivedInput {
    /// A text field, by its name in this crate or in the format.
    Text(String),
    /// The time, rounded down to a quarter of an hour or to the step of the field.
    Time,
    /// The name of the source.
    Source,
}

/// The inputs of one value.
#[derive(Debug, Clone, Copy, Default)]
pub struct DerivedInputs<'a> {
    pub(crate) texts: [Option<&'a [u8]>; DERIVED_INPUTS_MAX],
    pub(crate) time: Option<Timestamp>,
    pub(crate) source: &'a str,
}

impl<'a> DerivedInputs<'a> {
    /// The inputs of a field that is derived from these texts.
    pub fn of_texts(texts: &[Option<&'a [u8]>]) -> Self {
        let mut inputs = Self::default();
        for (place, text) in inputs.texts.iter_mut().zip(texts) {
            *place = *text;
        }
        inputs
    }

    /// These inputs at a time.
    #[must_use]
    pub fn at(self, time: Timestamp) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The value of the input at this position in [`DerivedField::inputs`]; `None` if the line
    /// lacks it, or if it is no text.
    pub fn text(&self, position: usize) -> Option<&'a [u8]> {
        self.texts.get(position).copied().flatten()
    }

    /// The time, rounded down to a quarter of an hour or to the step of the field.
    pub fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// The name of the source.
    pub fn source(&self) -> &'a str {
        self.source
    }
}

/// Finds the derived fields that a data set can have, by name.
pub trait DerivedCatalog: fmt::Debug + Send + Sync {
    /// The field of this name; `None` if there is none. Times are told in the zone, or as they were
    /// logged.
    fn field(&self, name: &str, zone: Option<&Zone>) -> Option<DerivedField>;
}

/// A field whose values follow from others.
///
/// A format has it if it fills the first input.
#[derive(Debug, Clone)]
pub struct DerivedField {
    name: String,
    inputs: Vec<DerivedInput>,
    derivation: Arc<dyn Derivation>,
    /// Times within a step of this length have the same value.
    time_step_s: i64,
}

impl DerivedField {
    /// A field of this name. Inputs after [`DERIVED_INPUTS_MAX`] are not read.
    pub fn new(
        name: impl Into<String>,
        inputs: Vec<DerivedInput>,
        derivation: Arc<dyn Derivation>,
    ) -> Self {
        Self { name: name.into(), inputs, derivation, time_step_s: TIME_STEP_S }
    }

    /// The field with values that are the same for all times in a step of this length, which divides
    /// a quarter of an hour.
    fn with_time_step_s(self, time_step_s: i64) -> Self {
        Self { time_step_s, ..self }
    }

    /// A field that is derived from one known text field.
    pub fn of_field(
        name: impl Into<String>,
        field: Field,
        derivation: impl Derivation + 'static,
    ) -> Self {
        let inputs = vec![DerivedInput::Text(field.name().to_owned())];
        Self::new(name, inputs, Arc::new(derivation))
    }

    /// The name in conditions and JSON.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is derived from, the required input first.
    pub fn inputs(&self) -> &[DerivedInput] {
        &self.inputs
    }

    /// The length of the steps to which times are rounded down, in nanoseconds.
    pub(crate) fn time_step_ns(&self) -> i64 {
        self.time_step_s * 1_000_000_000
    }

    /// Returns what all times have in common that are the same input of this field.
    pub(crate) fn time_key(&self, time: Timestamp) -> (i64, i32) {
        (time.unix_ns.div_euclid(self.time_step_ns()), time.offset_s)
    }

    /// Returns a time as it is an input of this field.
    pub(crate) fn rounded(&self, time: Timestamp) -> Timestamp {
        let step_ns = self.time_step_ns();
        Timestamp { unix_ns: time.unix_ns.div_euclid(step_ns).saturating_mul(step_ns), ..time }
    }

    /// Appends the value. Returns false if there is none.
    pub fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        self.derivation.derive(inputs, value)
    }
}

/// Fields of one name are the same: a process has one definition of each.
impl PartialEq for DerivedField {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DerivedField {}

#[cfg(test)]
mod tests;
