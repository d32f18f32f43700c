//! Derived values of records that are read one by one, remembered by their inputs.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{BoundInput, DerivedInputs, DerivedPart};
use crate::record::Record;

/// The most memory that is taken by what is remembered, in bytes. After that, all is forgotten.
const REMEMBERED_BYTES_MAX: usize = 16 << 20;

/// The derived values of one reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct DerivedMemo {
    /// By the number of the field, the places of its values by the inputs.
    known: Vec<Places>,
    /// All values, one behind the other.
    values: Vec<u8>,
    key_bytes: usize,
    /// Several inputs as one text.
    key: Vec<u8>,
    /// The values of the record that was derived last.
    found: Vec<Option<Range<usize>>>,
    source: String,
}

/// The places of values by the inputs that they are derived from.
type Places = HashMap<Box<[u8]>, Option<Range<usize>>, RandomState>;

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
        for part in parts {
            let found = match part.inputs {
                [BoundInput::Text(accessor), BoundInput::Missing, BoundInput::Missing] => {
                    let text = accessor.value(record);
                    text.and_then(|text| {
                        let inputs = DerivedInputs::of_texts(&[Some(&text)]);
                        self.place(part, &text, &inputs)
                    })
                }
                _ => self.place_of_several(part, record),
            };
            self.found.push(found);
        }
    }

    /// The place of a value that is derived from several inputs, or from others than a text.
    fn place_of_several(
        &mut self,
        part: &DerivedPart,
        record: &Record<'_>,
    ) -> Option<Range<usize>> {
        let texts = part.inputs.map(|input| match input {
            BoundInput::Text(accessor) => accessor.value(record),
            _ => None,
        });
        let has = |input| part.inputs.contains(&input);
        let time = record.time.filter(|_| has(BoundInput::Time));
        let time = time.map(|time| part.field.rounded(time));
        let source = match has(BoundInput::Source) {
            true => std::mem::take(&mut self.source),
            false => String::new(),
        };
        let texts = texts.each_ref().map(Option::as_deref);
        let inputs = DerivedInputs { texts, time, source: &source };
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        texts.iter().for_each(|text| push_text(&mut key, *text));
        if let Some(time) = time {
            key.extend(time.unix_ns.to_le_bytes());
            key.extend(time.offset_s.to_le_bytes());
        }
        key.extend(source.as_bytes());
        let place = self.place(part, &key, &inputs);
        self.key = key;
        if has(BoundInput::Source) {
            self.source = source;
        }
        place
    }

    /// The place of a value, which is derived only the first time.
    fn place(
        &mut self,
        part: &DerivedPart,
        key: &[u8],
        inputs: &DerivedInputs<'_>,
    ) -> Option<Range<usize>> {
        if self.known.len() <= part.number {
            self.known.resize_with(part.number + 1, Places::default);
        }
        let known = &mut self.known[part.number];
        if let Some(place) = known.get(key) {
            return place.clone();
        }
        let start = self.values.len();
        let is_derived = part.field.derive(inputs, &mut self.values);
        let place = is_derived.then_some(start..self.values.len());
        self.key_bytes += key.len() + size_of::<(Box<[u8]>, Option<Range<usize>>)>();
        known.insert(key.into(), place.clone());
        place
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
