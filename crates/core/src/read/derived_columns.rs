//! The columns of derived fields, of a block.
//!
//! The inputs of a row are ids of the reader's own values, so a value is derived once for each
//! combination of them, and a row costs a look into a table.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::read_block::Columns;
use super::target_columns::TargetColumns;
use super::text_column::TextColumn;
use crate::column::{ABSENT, Numbers, Times};
use crate::derived::{BoundInput, DERIVED_INPUTS_MAX, DerivedInputs, DerivedPart, TIME_STEP_S};
use crate::field::Field;
use crate::format::Format;
use crate::record::FieldAccessor;
use crate::value::Timestamp;

/// The most combinations of several inputs that are remembered. After that, all are forgotten.
const COMBINATIONS_MAX: usize = 1 << 20;

/// A derived field and what is known of its values.
#[derive(Debug)]
pub(super) struct DerivedColumn {
    part: DerivedPart,
    /// The position of its values among the columns of the reader.
    column: usize,
    inputs: [ColumnInput; DERIVED_INPUTS_MAX],
    /// The id of the derived value, by the id of the only input, which is a text; [`UNKNOWN`] if it
    /// was not derived yet.
    by_id: Vec<u32>,
    /// The same for other inputs.
    by_ids: HashMap<[u64; DERIVED_INPUTS_MAX], u32, RandomState>,
}

/// Where an input of a derived field is in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnInput {
    /// A column of the reader.
    Column(usize),
    /// A part of the request target: the path or the query.
    TargetPart(usize),
    Time,
    Source,
    Missing,
}

/// No value was derived yet. There are fewer ids.
const UNKNOWN: u32 = u32::MAX;

/// The columns of a block from which others are derived.
struct Inputs<'a> {
    columns: &'a Columns,
    text: &'a [TextColumn],
    target: Option<&'a TargetColumns>,
    source: &'a str,
}

/// The derived columns of a format. They come after the columns of the text fields that its lines
/// have, whose positions in a record are `record_indices`.
pub(super) fn derived_columns(
    format: &Format,
    record_indices: &[usize],
    has_target: bool,
) -> Vec<DerivedColumn> {
    let parts = format.derived().iter().zip(record_indices.len()..);
    let of_part = |(part, column): (&DerivedPart, usize)| DerivedColumn {
        inputs: part.inputs.map(|input| column_input(input, record_indices, has_target)),
        part: part.clone(),
        column,
        by_id: vec![ABSENT],
        by_ids: HashMap::default(),
    };
    parts.map(of_part).collect()
}

fn column_input(input: BoundInput, record_indices: &[usize], has_target: bool) -> ColumnInput {
    let column = |record_index: usize| {
        let place = record_indices.iter().position(|index| *index == record_index);
        place.map_or(ColumnInput::Missing, ColumnInput::Column)
    };
    match input {
        BoundInput::Text(FieldAccessor::Field(Field::Path)) if has_target => {
            ColumnInput::TargetPart(0)
        }
        BoundInput::Text(FieldAccessor::Field(Field::Query)) if has_target => {
            ColumnInput::TargetPart(1)
        }
        BoundInput::Text(FieldAccessor::Field(field)) => {
            field.text_index().map_or(ColumnInput::Missing, column)
        }
        BoundInput::Text(FieldAccessor::Extra(index)) => column(Field::TEXT.len() + index),
        BoundInput::Time => ColumnInput::Time,
        BoundInput::Source => ColumnInput::Source,
        BoundInput::Text(FieldAccessor::StatusClass) | BoundInput::Missing => ColumnInput::Missing,
    }
}

impl DerivedColumn {
    /// Fills the column of a block whose other columns are read.
    pub(super) fn fill(
        &mut self,
        columns: &mut Columns,
        text: &mut [TextColumn],
        target: Option<&TargetColumns>,
        source: &str,
    ) {
        let mut ids = std::mem::take(&mut columns.text[self.column]);
        let (text, own) = text.split_at_mut(self.column);
        if let Some(own) = own.first_mut() {
            let inputs = Inputs { columns, text, target, source };
            match self.inputs {
                [input, ColumnInput::Missing, ColumnInput::Missing] if inputs.is_text(input) => {
                    self.fill_by_id(&inputs, own, &mut ids);
                }
                _ => self.fill_by_ids(&inputs, own, &mut ids),
            }
        }
        columns.text[self.column] = ids;
    }

    /// Fills a column that is derived from one text.
    fn fill_by_id(&mut self, inputs: &Inputs<'_>, own: &mut TextColumn, ids: &mut Vec<u32>) {
        let input = self.inputs[0];
        let rows = inputs.columns.line_starts.len();
        let mut value = Vec::new();
        for row in 0..rows {
            let id = inputs.id(input, row);
            let place = id as usize;
            if place >= self.by_id.len() {
                self.by_id.resize(place + 1, UNKNOWN);
            }
            if self.by_id[place] == UNKNOWN {
                self.by_id[place] = self.derive(inputs, [id, 0, 0], &mut value, own);
            }
            ids.push(self.by_id[place]);
        }
    }

    /// Fills a column that is derived from several inputs, or from other ones than texts.
    fn fill_by_ids(&mut self, inputs: &Inputs<'_>, own: &mut TextColumn, ids: &mut Vec<u32>) {
        if self.by_ids.len() > COMBINATIONS_MAX {
            self.by_ids.clear();
        }
        let rows = inputs.columns.line_starts.len();
        let mut value = Vec::new();
        let mut last = None;
        for row in 0..rows {
            let key = self.inputs.map(|input| inputs.key(input, row));
            let known = match last {
                Some((last, id)) if last == key => Some(id),
                _ => self.by_ids.get(&key).copied(),
            };
            let id = known.unwrap_or_else(|| {
                let id = self.derive(inputs, key, &mut value, own);
                self.by_ids.insert(key, id);
                id
            });
            last = Some((key, id));
            ids.push(id);
        }
    }

    /// The id of the value that is derived from the inputs with these keys.
    #[cold]
    fn derive(
        &self,
        inputs: &Inputs<'_>,
        key: [u64; DERIVED_INPUTS_MAX],
        value: &mut Vec<u8>,
        own: &mut TextColumn,
    ) -> u32 {
        let texts = inputs.texts(key, &self.inputs);
        let inputs = DerivedInputs {
            texts: texts.each_ref().map(Option::as_deref),
            time: Inputs::time(key, &self.inputs),
            source: inputs.source,
        };
        value.clear();
        match self.part.field.derive(&inputs, value) {
            true => own.intern_one(value),
            false => ABSENT,
        }
    }

    /// Forgets what belongs to ids of the reader.
    pub(super) fn forget(&mut self) {
        self.by_id.clear();
        self.by_id.push(ABSENT);
        self.by_ids.clear();
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let entry = size_of::<([u64; DERIVED_INPUTS_MAX], u32)>() + 1;
        self.by_id.capacity() * size_of::<u32>() + self.by_ids.capacity() * entry
    }
}

impl Inputs<'_> {
    fn is_text(&self, input: ColumnInput) -> bool {
        match input {
            ColumnInput::Column(_) => true,
            ColumnInput::TargetPart(_) => self.target.is_some(),
            _ => false,
        }
    }

    /// The id of a text of a row.
    #[inline]
    fn id(&self, input: ColumnInput, row: usize) -> u64 {
        u64::from(match (input, self.target) {
            (ColumnInput::Column(column), _) => self.columns.text[column][row],
            (ColumnInput::TargetPart(part), Some(target)) => {
                target.own_id(self.columns.targets[row], part)
            }
            _ => ABSENT,
        })
    }

    /// A number that is the same for rows with the same input.
    #[inline]
    fn key(&self, input: ColumnInput, row: usize) -> u64 {
        match input {
            ColumnInput::Time => self.time_key(row),
            // The source of a block is one, and its values are derived again after a change.
            ColumnInput::Source | ColumnInput::Missing => 0,
            _ => self.id(input, row),
        }
    }

    /// The quarter of an hour and the offset of a time; the largest number if there is none.
    fn time_key(&self, row: usize) -> u64 {
        let (instant, offset) = (self.columns.instants[row], self.columns.offsets[row]);
        if instant == Numbers::ABSENT || offset == Numbers::ABSENT {
            return u64::MAX;
        }
        let steps = Times::decode_instant(instant).div_euclid(TIME_STEP_S * 1_000_000_000);
        // There are fewer than 2^25 steps in 292 years before and after 1970, and an offset is less
        // than 2^18 seconds.
        let steps = (steps + (1 << 32)) as u64;
        steps << 20 | (offset & ((1 << 20) - 1))
    }

    /// The texts that the keys of the inputs stand for.
    fn texts(
        &self,
        key: [u64; DERIVED_INPUTS_MAX],
        inputs: &[ColumnInput; DERIVED_INPUTS_MAX],
    ) -> [Option<Cow<'_, [u8]>>; DERIVED_INPUTS_MAX] {
        std::array::from_fn(|place| {
            let id = key[place] as usize;
            match inputs[place] {
                // The id of no value.
                ColumnInput::Column(_) | ColumnInput::TargetPart(_) if id == 0 => None,
                ColumnInput::Column(column) => Some(self.text[column].value(id)),
                ColumnInput::TargetPart(part) => self.target.map(|target| target.value(part, id)),
                ColumnInput::Time | ColumnInput::Source | ColumnInput::Missing => None,
            }
        })
    }

    /// The time that the keys of the inputs stand for.
    fn time(
        key: [u64; DERIVED_INPUTS_MAX],
        inputs: &[ColumnInput; DERIVED_INPUTS_MAX],
    ) -> Option<Timestamp> {
        let place = inputs.iter().position(|input| *input == ColumnInput::Time)?;
        time_of_key(key[place])
    }
}

fn time_of_key(key: u64) -> Option<Timestamp> {
    if key == u64::MAX {
        return None;
    }
    let steps = (key >> 20) as i64 - (1 << 32);
    let unix_ns = steps.saturating_mul(TIME_STEP_S * 1_000_000_000);
    Some(Timestamp { unix_ns, offset_s: Times::decode_offset(key & ((1 << 20) - 1)) })
}
