//! The columns of derived fields, of a block.
//!
//! The inputs of a row are ids of the reader's own values, so a value is derived once for each
//! combination of them, and a row costs a look into a table.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::read_block::Columns;
use super::target_columns::TargetColumns;
use super::text_column::TextColumn;
use crate::column::{ABSENT, Numbers, Times};
use crate::derived::{BoundInput, DERIVED_INPUTS_MAX, DerivedInputs, DerivedPart};
use crate::field::Field;
use crate::format::Format;
use crate::record::FieldAccessor;
use crate::value::Timestamp;

/// The bits of an offset in the key of a time: one is less than 2^18 seconds.
const OFFSET_BITS: u32 = 20;

/// Makes the number of every step positive: there are fewer than 2^34 seconds in the 292 years before
/// 1970.
const STEPS_BEFORE_1970: i64 = 1 << 34;

/// The most combinations of several inputs that are remembered. After that, all are forgotten.
const COMBINATIONS_MAX: usize = 1 << 20;

/// A derived field and what is known of its values.
#[derive(Debug)]
pub(super) struct DerivedColumn {
    part: DerivedPart,
    /// The position of its values among the columns of the reader.
    column: usize,
    inputs: [ColumnInput; DERIVED_INPUTS_MAX],
    /// The id of the derived value, by the id of the only input, which is a text.
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

/// The columns of a block from which others are derived.
struct Inputs<'a> {
    columns: &'a Columns,
    text: &'a [TextColumn],
    target: Option<&'a TargetColumns>,
    source: &'a str,
    /// The length of the steps to which times are rounded down, in nanoseconds.
    step_ns: i64,
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
            let step_ns = self.part.field.time_step_ns();
            let inputs = Inputs { columns, text, target, source, step_ns };
            match self.inputs {
                [input, ColumnInput::Missing, ColumnInput::Missing] if inputs.is_text(input) => {
                    self.fill_by_text(&inputs, own, &mut ids);
                }
                [ColumnInput::Time, ColumnInput::Missing, ColumnInput::Missing] => {
                    self.fill_by_time(&inputs, own, &mut ids);
                }
                _ => self.fill_by_inputs(&inputs, own, &mut ids),
            }
        }
        columns.text[self.column] = ids;
    }

    /// Fills a column that is derived from one text.
    fn fill_by_text(&mut self, inputs: &Inputs<'_>, own: &mut TextColumn, ids: &mut Vec<u32>) {
        let input = self.inputs[0];
        let mut value = Vec::new();
        // The texts that are new in this block.
        for id in self.by_id.len()..inputs.ids(input) {
            let derived = self.derive(inputs, [id as u64, 0, 0], &mut value, own);
            self.by_id.push(derived);
        }
        let by_id = &self.by_id;
        match (input, inputs.target) {
            (ColumnInput::Column(column), _) => {
                let texts = inputs.columns.text[column].iter();
                ids.extend(texts.map(|id| by_id[*id as usize]));
            }
            (ColumnInput::TargetPart(part), Some(target)) => {
                let targets = inputs.columns.targets.iter();
                ids.extend(targets.map(|id| by_id[target.own_id(*id, part) as usize]));
            }
            _ => ids.resize(inputs.rows(), ABSENT),
        }
    }

    /// Fills a column that is derived from the time.
    fn fill_by_time(&mut self, inputs: &Inputs<'_>, own: &mut TextColumn, ids: &mut Vec<u32>) {
        let times = inputs.columns.instants.iter().zip(&inputs.columns.offsets);
        let mut value = Vec::new();
        // The times of the last step, with their offset and their id.
        let mut last: Option<(RangeInclusive<u64>, u64, u32)> = None;
        for (instant, offset) in times {
            let known = last
                .as_ref()
                .filter(|(step, of_step, _)| step.contains(instant) && of_step == offset);
            let id = match known {
                Some((_, _, id)) => *id,
                None => {
                    let key = time_key(*instant, *offset, inputs.step_ns);
                    let id = self.id(inputs, [key, 0, 0], &mut value, own);
                    last = Some((instants_of_key(key, inputs.step_ns), *offset, id));
                    id
                }
            };
            ids.push(id);
        }
    }

    /// Fills a column that is derived from several inputs, or from other ones.
    fn fill_by_inputs(&mut self, inputs: &Inputs<'_>, own: &mut TextColumn, ids: &mut Vec<u32>) {
        let mut value = Vec::new();
        let mut last = None;
        for row in 0..inputs.rows() {
            let key = self.inputs.map(|input| inputs.key(input, row));
            let id = match last {
                Some((last, id)) if last == key => id,
                _ => self.id(inputs, key, &mut value, own),
            };
            last = Some((key, id));
            ids.push(id);
        }
    }

    /// The id of the value for these keys, which is derived only the first time.
    fn id(
        &mut self,
        inputs: &Inputs<'_>,
        key: [u64; DERIVED_INPUTS_MAX],
        value: &mut Vec<u8>,
        own: &mut TextColumn,
    ) -> u32 {
        if let Some(id) = self.by_ids.get(&key) {
            return *id;
        }
        if self.by_ids.len() >= COMBINATIONS_MAX {
            self.by_ids.clear();
        }
        let id = self.derive(inputs, key, value, own);
        self.by_ids.insert(key, id);
        id
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
            time: inputs.time(key, &self.inputs),
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

    fn rows(&self) -> usize {
        self.columns.line_starts.len()
    }

    /// The number of ids of a text.
    fn ids(&self, input: ColumnInput) -> usize {
        match (input, self.target) {
            (ColumnInput::Column(column), _) => self.text[column].ids(),
            (ColumnInput::TargetPart(part), Some(target)) => target.part_ids(part),
            _ => 0,
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
            ColumnInput::Time => {
                time_key(self.columns.instants[row], self.columns.offsets[row], self.step_ns)
            }
            // The source of a block is one, and its values are derived again after a change.
            ColumnInput::Source | ColumnInput::Missing => 0,
            _ => self.id(input, row),
        }
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
        &self,
        key: [u64; DERIVED_INPUTS_MAX],
        inputs: &[ColumnInput; DERIVED_INPUTS_MAX],
    ) -> Option<Timestamp> {
        let place = inputs.iter().position(|input| *input == ColumnInput::Time)?;
        time_of_key(key[place], self.step_ns)
    }
}

/// The step and the offset of a time, as they are stored; the largest number if there is none.
fn time_key(instant: u64, offset: u64, step_ns: i64) -> u64 {
    if instant == Numbers::ABSENT || offset == Numbers::ABSENT {
        return u64::MAX;
    }
    let steps = Times::decode_instant(instant).div_euclid(step_ns) + STEPS_BEFORE_1970;
    (steps as u64) << OFFSET_BITS | offset
}

fn time_of_key(key: u64, step_ns: i64) -> Option<Timestamp> {
    let offset = key & ((1 << OFFSET_BITS) - 1);
    let step = (key >> OFFSET_BITS) as i64 - STEPS_BEFORE_1970;
    let unix_ns = step.saturating_mul(step_ns);
    (key != u64::MAX).then(|| Timestamp { unix_ns, offset_s: Times::decode_offset(offset) })
}

/// The instants, as they are stored, whose key this is.
fn instants_of_key(key: u64, step_ns: i64) -> RangeInclusive<u64> {
    let Some(time) = time_of_key(key, step_ns) else { return Numbers::ABSENT..=Numbers::ABSENT };
    let last_ns = time.unix_ns.saturating_add(step_ns - 1);
    Times::encode_instant(time.unix_ns)..=Times::encode_instant(last_ns)
}
