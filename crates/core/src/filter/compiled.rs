//! A filter at work.

use super::clause::{Clause, Filter, TextTest};
use super::selection::Selection;
use crate::column::decode_time;
use crate::column::{Codes, ColumnId, Numbers, Segment, Values};
use crate::field::Field;

/// A filter with what it knows of the values so far: a text condition is asked once for
/// every distinct value, and looked up for every row.
#[derive(Debug, Clone)]
pub struct CompiledFilter {
    clauses: Vec<Compiled>,
}

#[derive(Debug, Clone)]
enum Compiled {
    Text { column: ColumnId, test: TextTest, negated: bool, passes: Vec<bool> },
    Number { field: Field, ranges: Vec<(u64, u64)> },
    Time { first_ns: i64, last_ns: i64 },
}

impl CompiledFilter {
    /// A filter that knows no value yet.
    pub fn new(filter: &Filter) -> Self {
        Self { clauses: filter.clauses.iter().cloned().map(Compiled::new).collect() }
    }

    /// Learns the values that came since the last call. Has to be called before
    /// [`Self::select`] for a segment with newer values.
    pub fn learn(&mut self, values: &Values) {
        for clause in &mut self.clauses {
            clause.learn(values);
        }
    }

    /// True where values were folded into the remainder for which a condition might have
    /// been decided otherwise.
    pub fn is_estimated(&self, values: &Values) -> bool {
        self.clauses.iter().any(|clause| match clause {
            Compiled::Text { column, test, .. } => {
                values.is_estimated(*column)
                    && !test.is_about_known_values(values.dictionary(*column))
            }
            _ => false,
        })
    }

    /// The rows of a segment that pass.
    pub fn select(&self, segment: &Segment) -> Selection {
        let mut selection = Selection::All(segment.rows());
        for clause in &self.clauses {
            clause.narrow(segment, &mut selection);
            if selection.is_empty() {
                break;
            }
        }
        selection
    }
}

impl Compiled {
    fn new(clause: Clause) -> Self {
        match clause {
            Clause::Text { column, test, negated } => {
                Self::Text { column, test, negated, passes: Vec::new() }
            }
            Clause::Number { field, ranges } => Self::Number { field, ranges },
            Clause::Time { first_ns, last_ns } => Self::Time { first_ns, last_ns },
        }
    }

    fn learn(&mut self, values: &Values) {
        let Self::Text { column, test, negated, passes } = self else { return };
        let dictionary = values.dictionary(*column);
        for id in passes.len()..dictionary.ids() {
            // The absent value and the remainder are equal to nothing.
            let is_it = dictionary.value(id as u32).is_some_and(|value| test.passes(value));
            passes.push(is_it != *negated);
        }
    }

    fn narrow(&self, segment: &Segment, selection: &mut Selection) {
        match self {
            Self::Text { column, negated, passes, .. } => match segment.text(*column) {
                Some(codes) => narrow_by_code(codes, passes, selection),
                None if *negated => {}
                None => *selection = Selection::Rows(Vec::new()),
            },
            Self::Number { field, ranges } => {
                let numbers = match field {
                    Field::Bytes => &segment.bytes,
                    Field::RequestTime => &segment.request_time_ns,
                    _ => &segment.upstream_time_ns,
                };
                narrow_by_number(numbers.as_ref(), selection, |number| {
                    ranges.iter().any(|(min, max)| (*min..=*max).contains(&number))
                });
            }
            Self::Time { first_ns, last_ns } => {
                let range = *first_ns..=*last_ns;
                let whole = segment
                    .time_range_ns()
                    .is_some_and(|(first, last)| range.contains(&first) && range.contains(&last));
                if !whole {
                    narrow_by_number(segment.time.as_ref(), selection, |code| {
                        range.contains(&decode_time(code))
                    });
                }
            }
        }
    }
}

fn narrow_by_code(codes: &Codes, passes: &[bool], selection: &mut Selection) {
    let passes = |code: usize| passes.get(code).copied().unwrap_or(false);
    match codes {
        Codes::Constant { code, .. } => {
            if !passes(*code as usize) {
                *selection = Selection::Rows(Vec::new());
            }
        }
        Codes::U8(codes) => selection.retain(|row| passes(usize::from(codes[row]))),
        Codes::U16(codes) => selection.retain(|row| passes(usize::from(codes[row]))),
        Codes::U32(codes) => selection.retain(|row| passes(codes[row] as usize)),
        Codes::U64(codes) => selection.retain(|row| passes(codes[row] as usize)),
    }
}

fn narrow_by_number(
    numbers: Option<&Numbers>,
    selection: &mut Selection,
    passes: impl Fn(u64) -> bool,
) {
    match numbers {
        Some(numbers) => selection.retain(|row| numbers.get(row).is_some_and(&passes)),
        None => *selection = Selection::Rows(Vec::new()),
    }
}
