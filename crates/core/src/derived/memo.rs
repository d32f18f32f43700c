//! Derived values of records that are read one by one, remembered by their inputs.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{BoundInput, DerivedInputs, DerivedPart, step_of};
use crate::record::Record;

/// The most memory that is taken by what is remembered, in bytes. After that, all is forgotten.
const REMEMBERED_BYTES_MAX: usize = 16 << 20;

/// The derived values of one reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct DerivedMemo {
    /// By the name of the field and the inputs.
    known: HashMap<Box<[u8]>, Option<Range<usize>>, RandomState>,
    /// All values, one behind the other.
    values: Vec<u8>,
    key_bytes: usize,
    /// The inputs of a value, as one text.
    key: Vec<u8>,
    /// The values of the record that was derived last.
    found: Vec<Option<Range<usize>>>,
    source: String,
}

impl DerivedMemo {
    /// Sets the name of the source of the next records.
    pub(crate) fn set_source(&mut self, source: &str) {
        if self.source != source {
            source.clone_into(&mut self.source);
        }
    }

    /// Derives the values of a record, for [`Self::put`].
    pub(crate) fn derive(&mut self, parts: &[DerivedPart], record: &Record<'_>) {
        if self.values.len() + self.key_bytes > REMEMBERED_BYTES_MAX {
            self.known.clear();
            self.values.clear();
            self.key_bytes = 0;
        }
        self.found.clear();
        let source = std::mem::take(&mut self.source);
        for part in parts {
            let texts = part.inputs.map(|input| match input {
                BoundInput::Text(accessor) => accessor.value(record),
                _ => None,
            });
            let has = |input| part.inputs.contains(&input);
            let inputs = DerivedInputs {
                texts: texts.each_ref().map(Option::as_deref),
                time: record.time.filter(|_| has(BoundInput::Time)).map(step_of),
                source: if has(BoundInput::Source) { &source } else { "" },
            };
            let found = self.value(part, &inputs);
            self.found.push(found);
        }
        self.source = source;
    }

    /// The place of a value.
    fn value(&mut self, part: &DerivedPart, inputs: &DerivedInputs<'_>) -> Option<Range<usize>> {
        self.key.clear();
        push_text(&mut self.key, Some(part.field.name().as_bytes()));
        inputs.texts.iter().for_each(|text| push_text(&mut self.key, *text));
        if let Some(time) = inputs.time {
            self.key.extend(time.unix_ns.to_le_bytes());
            self.key.extend(time.offset_s.to_le_bytes());
        }
        self.key.extend(inputs.source.as_bytes());
        if let Some(known) = self.known.get(&*self.key) {
            return known.clone();
        }
        let start = self.values.len();
        let found = part.field.derive(inputs, &mut self.values);
        let found = found.then_some(start..self.values.len());
        self.key_bytes += self.key.len() + size_of::<(Box<[u8]>, Option<Range<usize>>)>();
        self.known.insert(self.key.as_slice().into(), found.clone());
        found
    }

    /// Puts the values that were derived last into their record.
    pub(crate) fn put<'v>(&'v self, parts: &[DerivedPart], record: &mut Record<'v>) {
        for (part, found) in parts.iter().zip(&self.found) {
            record.put_extra(part.extra, found.clone().map(|place| &self.values[place]));
        }
    }
}

/// Appends a text so that no two lists of texts give the same key.
fn push_text(key: &mut Vec<u8>, text: Option<&[u8]>) {
    key.extend(text.map_or(u32::MAX, |text| text.len() as u32).to_le_bytes());
    key.extend_from_slice(text.unwrap_or_default());
}
