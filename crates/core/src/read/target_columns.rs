//! The columns of request targets.
//!
//! Path and query are two columns, but a log has them as one value, and a target that occurs often
//! would be split each time. So the target itself is interned, its own id leads to the own ids of
//! its path and its query, and only a new target is split. A row costs one lookup instead of two.
//!
//! Three numberings are in use: the own id of a target, the own ids of its parts, and the shared
//! ids of its parts. Targets have no shared ids, since the data set has no such column.

use std::borrow::Cow;

use super::text_column::{LateId, TextColumn};
use crate::column::{ABSENT, Codes};
use crate::field::Field;
use crate::schema::ColumnId;
use crate::value::split_target;
use crate::values::{LocalInterner, Values};

/// The two columns of a request's target: path and query. A distinct target is looked up once per
/// line, and split only once.
///
/// `own` has an element for each id of `interner`, `shared` a prefix of them.
#[derive(Debug)]
pub(super) struct TargetColumns {
    interner: LocalInterner,
    path: TextColumn,
    query: TextColumn,
    /// The reader's own ids of path and query, by its own id of the target.
    own: Vec<[u32; 2]>,
    /// The shared ids of path and query. Shorter until a block with the target is sealed.
    shared: Vec<[u32; 2]>,
}

/// The number of the reader's own ids, for targets and for their parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TargetIds {
    targets: usize,
    paths: usize,
    queries: usize,
}

/// The fields of the two columns.
pub(super) const FIELDS: [Field; 2] = [Field::Path, Field::Query];

impl TargetColumns {
    pub(super) fn new() -> Self {
        let [path, query] = FIELDS.map(|field| TextColumn::new(field.column()));
        let absent = vec![[ABSENT; 2]];
        Self { interner: LocalInterner::new(), path, query, own: absent.clone(), shared: absent }
    }

    pub(super) fn ids(&self) -> TargetIds {
        TargetIds {
            targets: self.interner.ids(),
            paths: self.path.ids(),
            queries: self.query.ids(),
        }
    }

    /// Returns the reader's own id of a part of a target: 0 is the path, 1 the query.
    #[inline]
    pub(super) fn own_id(&self, target: u32, part: usize) -> u32 {
        self.own[target as usize][part]
    }

    /// Returns the number of own ids of the paths or of the queries.
    pub(super) fn part_ids(&self, part: usize) -> usize {
        if part == 0 { self.path.ids() } else { self.query.ids() }
    }

    /// Returns the path or the query of an own id.
    pub(super) fn value(&self, part: usize, id: usize) -> Cow<'_, [u8]> {
        if part == 0 { self.path.value(id) } else { self.query.value(id) }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let parts = self.path.memory_bytes() + self.query.memory_bytes();
        let ids = self.own.capacity() + self.shared.capacity();
        self.interner.memory_bytes() + parts + ids * size_of::<[u32; 2]>()
    }

    /// Appends the own ids of up to [`crate::values::BATCH`] targets to `ids`.
    pub(super) fn intern_batch<'a>(
        &mut self,
        targets: impl Iterator<Item = Option<&'a [u8]>> + Clone,
        ids: &mut Vec<u32>,
    ) {
        self.interner.intern_batch(targets, ids);
        for id in self.own.len()..self.interner.ids() {
            let (path, query) = split_target(self.interner.value(id));
            let query = query.map_or(ABSENT, |query| self.query.intern_one(query));
            self.own.push([self.path.intern_one(path), query]);
        }
    }

    /// See [`TextColumn::look_up`].
    pub(super) fn look_up(&mut self, ids: TargetIds, values: &Values) {
        self.path.look_up(ids.paths, values);
        self.query.look_up(ids.queries, values);
    }

    /// See [`TextColumn::is_resolved`].
    pub(super) fn is_resolved(&self, ids: TargetIds) -> bool {
        self.path.is_resolved(ids.paths) && self.query.is_resolved(ids.queries)
    }

    /// Returns the late ids of path and query in a block of targets, of those columns that have a
    /// remainder; see [`TextColumn::count_late`].
    pub(super) fn count_late(&mut self, targets: &[u32]) -> [Option<Vec<LateId>>; 2] {
        let own = &self.own;
        let count = |column: &mut TextColumn, part: usize| {
            let rows = targets.iter().map(|id| own[*id as usize][part]);
            column.has_remainder().then(|| column.count_late(rows))
        };
        [count(&mut self.path, 0), count(&mut self.query, 1)]
    }

    /// See [`TextColumn::resolve`]. `late` has the late ids, if they are counted already.
    pub(super) fn resolve(
        &mut self,
        targets: &[u32],
        ids: TargetIds,
        late: [Option<Vec<LateId>>; 2],
        values: &mut Values,
    ) {
        let own = &self.own;
        let mut resolve = |column: &mut TextColumn, ids, late: Option<_>, part: usize| {
            let rows = targets.iter().map(|id| own[*id as usize][part]);
            column.resolve(ids, values, |column| late.unwrap_or_else(|| column.count_late(rows)));
        };
        let [path, query] = late;
        resolve(&mut self.path, ids.paths, path, 0);
        resolve(&mut self.query, ids.queries, query, 1);
    }

    /// Packs the columns of a block of targets. `known` is the number of ids when it was read, all
    /// of which must be resolved.
    pub(super) fn seal(&mut self, ids: &[u32], known: TargetIds) -> [(ColumnId, Option<Codes>); 2] {
        for [path, query] in &self.own[self.shared.len().min(known.targets)..known.targets] {
            self.shared.push([self.path.shared(*path), self.query.shared(*query)]);
        }
        let pack = |column: &TextColumn, part: usize| {
            let shared: Vec<u32> = if column.has_remainder() {
                // A value may have got its id after the target was seen first.
                ids.iter().map(|id| column.shared(self.own[*id as usize][part])).collect()
            } else {
                ids.iter().map(|id| self.shared[*id as usize][part]).collect()
            };
            (column.column, Codes::pack_text(&shared))
        };
        [pack(&self.path, 0), pack(&self.query, 1)]
    }

    /// Forgets all values.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }
}
