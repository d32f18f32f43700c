//! `--group`: what each value of a field comes to, and how it was before.

use std::cmp::Reverse;

use weir_core::{Evaluation, REMAINDER, Tally, Values};

use super::tallies::{Names, sum};

/// The largest values of a field, and the others together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) field: String,
    /// The largest first.
    pub(crate) rows: Vec<GroupRow>,
    /// Values that have no row.
    pub(crate) rest_values: u64,
    /// These together, now and before.
    pub(crate) rest: (Tally, Tally),
    /// All requests, now and before.
    pub(crate) all: (Tally, Tally),
}

/// A value with what was counted for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupRow {
    pub(crate) value: Vec<u8>,
    /// Rare values that were counted together when memory ran out.
    pub(crate) is_remainder: bool,
    pub(crate) now: Tally,
    /// Nothing, where nothing is compared.
    pub(crate) before: Tally,
}

impl Group {
    /// The groups of an answer, and of one about the time before; `None` where there is no such
    /// field.
    pub(super) fn new(
        field: &str,
        values: &Values,
        now: &Evaluation,
        before: Option<&Evaluation>,
        top: usize,
    ) -> Option<Self> {
        let names = Names::of(field, values)?;
        let now = names.tallies(now);
        let before = match before {
            Some(before) => names.tallies(before),
            None => vec![Tally::default(); now.len()],
        };
        let mut ids: Vec<usize> =
            (0..now.len()).filter(|id| now[*id].count + before[*id].count > 0).collect();
        ids.sort_by_cached_key(|id| {
            (Reverse((now[*id].count, before[*id].count)), names.value(*id as u32))
        });
        let rest = ids.split_off(top.min(ids.len()));
        let row = |id: usize| GroupRow {
            value: names.value(id as u32).to_vec(),
            is_remainder: id == REMAINDER as usize,
            now: now[id],
            before: before[id],
        };
        let of = |tallies: &[Tally]| sum(&rest.iter().map(|id| tallies[*id]).collect::<Vec<_>>());
        Some(Self {
            field: field.to_owned(),
            rest_values: rest.len() as u64,
            rest: (of(&now), of(&before)),
            all: (sum(&now), sum(&before)),
            rows: ids.into_iter().map(row).collect(),
        })
    }
}
