//! The values of one field with their records, for a list that a person looks at.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    Aggregates, DerivedField, DerivedFrom, DerivedValues, Field, Format, ListedColumns,
    STATUS_CLASS, Snapshots, TimeSpans, Values,
};
use weir_sync::Lock;
use weir_view::{FieldList, main_kind};

use crate::count_rows::count;
use crate::extents::Extents;
use crate::group::{GroupPart, group_rows};
use crate::over_time::{RowKey, over_time};
use crate::question::{GroupQuestion, ParsedQuery, QueryError, missing_field};
use crate::snapshot_work::{SnapshotWork, Unanswered, over_snapshot};
use crate::tallies::FieldValues;

/// The number of values that are derived before others may use the dictionaries: those of agents
/// take ten milliseconds.
const LEARNT_AT_ONCE: usize = 1_024;

/// The values of a derived field may take 1/n of the memory of the values, and those of all fields
/// together that are kept for other questions twice as much.
const MEMORY_SHARE: usize = 32;

/// The values of derived fields that were asked for, for the questions about one data set that
/// follow.
#[derive(Debug, Default)]
pub struct KnownDerived(Lock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The epoch of the ids from which the values are derived.
    epoch: u64,
    /// The last one was asked for last.
    fields: Vec<Arc<DerivedValues>>,
}

/// Which values of a list are wanted.
#[derive(Debug, Clone, Default)]
pub struct ListPart {
    /// The number of values to skip.
    pub from: usize,
    /// A text that the values contain, in upper or lower case; empty for all values.
    pub search: String,
    /// The spans of time in which the records of each value are counted too.
    pub spans: Option<TimeSpans>,
}

/// Lists the values of the field by which a query groups, on up to `jobs` threads. The field may be
/// derived from others. Returns `None` if `abandoned` became true.
///
/// # Errors
/// Fails if the query is not valid for this data, or groups by no single field that it has.
pub fn field_list<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    part: &ListPart,
    known: &KnownDerived,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<FieldList>, QueryError> {
    let Some(group) = query.group.as_ref().filter(|group| group.fields.len() == 1) else {
        return Err(QueryError::TooManyGroupFields(1));
    };
    over_snapshot(data, jobs, abandoned, |work| list_at(&work, query, group, part, known))
}

fn list_at<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    query: &ParsedQuery,
    group: &GroupQuestion,
    part: &ListPart,
    known: &KnownDerived,
) -> Result<FieldList, Unanswered<QueryError>> {
    let mut extents = Extents::default();
    extents.update(&work.snapshot);
    let kind = query.kind.unwrap_or_else(|| main_kind(&extents.kinds(&work.snapshot)));
    let query = query.clone().of_kind(kind);
    let name = group.fields.first().map(String::as_str).unwrap_or_default();
    let found = work.with_values(|values| values.derived_field(name, query.zone.as_ref()))?;
    let derived = found.map(|found| known.learn(work, found)).transpose()?;
    let counted = count(work, &query, |values| aggregates(group, derived.as_ref(), values))?;
    let evaluation = &counted.evaluation;
    let listed = work.with_values(|values| {
        let part = GroupPart {
            from: part.from,
            count: query.top,
            search: &part.search,
            derived: derived.as_deref(),
        };
        let group = group_rows(group, values, evaluation, None, part)?;
        let field = match &derived {
            Some(derived) => FieldValues::Derived(derived.dictionary()),
            None => FieldValues::of(name, values)?,
        };
        let totals = evaluation.totals();
        let ids = field.ids_of(&group.rows);
        let list = FieldList {
            kind,
            matching: totals.records,
            bytes_sent: totals.bytes_sent,
            errors: totals.errors,
            values: field.distinct(evaluation),
            estimated: is_estimated(name, derived.as_deref(), values)
                || evaluation.is_filter_estimated(values),
            group,
            over_time: Vec::new(),
        };
        Some((list, ids, listed_column(name, values)))
    })?;
    let (mut list, ids, column) =
        listed.ok_or_else(|| Unanswered::Refused(no_such_field(name, &work.snapshot.formats)))?;
    if let Some(spans) = &part.spans {
        let key = match (&derived, column) {
            (Some(derived), _) => RowKey::Derived(derived),
            (None, Some(column)) => RowKey::Column(column),
            (None, None) => return Ok(list),
        };
        list.over_time = over_time(work, &counted, key, &ids, spans)?;
    }
    Ok(list)
}

/// Returns the error about a field that the data does not have.
fn no_such_field(name: &str, formats: &[Arc<Format>]) -> QueryError {
    match name {
        "source" => QueryError::MissingField(
            "`source` has no list here, because each source has a number of its own; `weir report --group \
             source` counts by it"
                .to_owned(),
        ),
        _ => QueryError::MissingField(missing_field(name, formats.iter().map(Arc::as_ref))),
    }
}

/// Returns what is counted for a list.
fn aggregates(
    group: &GroupQuestion,
    derived: Option<&Arc<DerivedValues>>,
    values: &Values,
) -> Aggregates {
    let column = group.fields.first().and_then(|name| listed_column(name, values));
    Aggregates {
        top_lists: ListedColumns::Only(column.into_iter().collect()),
        groups: match derived {
            Some(derived) => Some(group.derived_grouping(derived, values)),
            None => group.grouping(values),
        },
        ..Aggregates::none()
    }
}

fn listed_column(name: &str, values: &Values) -> Option<weir_core::ColumnId> {
    match name {
        STATUS_CLASS => Some(Field::Status.column()),
        name => values.schema().text_column_by_name(name),
    }
}

/// Returns whether some values of the field are in the remainder.
fn is_estimated(name: &str, derived: Option<&DerivedValues>, values: &Values) -> bool {
    let column = match derived.map(DerivedValues::from) {
        Some(DerivedFrom::Column(column)) => Some(column),
        Some(DerivedFrom::Time) => None,
        None => listed_column(name, values),
    };
    derived.is_some_and(DerivedValues::is_estimated)
        || column.is_some_and(|column| values.is_estimated(column))
}

impl KnownDerived {
    /// Returns the values of a field, with all of those in the snapshot.
    fn learn<D: Snapshots>(
        &self,
        work: &SnapshotWork<'_, D>,
        (field, from): (DerivedField, DerivedFrom),
    ) -> Result<Arc<DerivedValues>, Unanswered<QueryError>> {
        let bytes_max = work.with_values(Values::memory_bytes_max)? / MEMORY_SHARE;
        let new = || Arc::new(DerivedValues::new(field.clone(), from, bytes_max));
        if from == DerivedFrom::Time {
            // They depend on the zone, and are few.
            let mut derived = new();
            for segment in work.snapshot.segments.iter() {
                work.check_wanted()?;
                Arc::make_mut(&mut derived).learn_times(&segment.segment);
            }
            return Ok(derived);
        }
        let epoch = work.snapshot.epoch;
        let mut derived = self.0.lock().take(epoch, &field).unwrap_or_else(new);
        loop {
            work.check_wanted()?;
            // Parsers may add values between two batches.
            let more = work
                .with_values(|values| Arc::make_mut(&mut derived).learn(values, LEARNT_AT_ONCE))?;
            if !more {
                break;
            }
        }
        self.0.lock().keep(epoch, derived.clone(), 2 * bytes_max);
        Ok(derived)
    }
}

impl Known {
    fn take(&mut self, epoch: u64, field: &DerivedField) -> Option<Arc<DerivedValues>> {
        self.begin(epoch);
        let at = self.fields.iter().position(|known| known.field() == field)?;
        Some(self.fields.remove(at))
    }

    /// Keeps the values of a field, and drops those that were asked for the longest ago if all take
    /// too much memory.
    fn keep(&mut self, epoch: u64, derived: Arc<DerivedValues>, bytes_max: usize) {
        if epoch < self.epoch {
            return;
        }
        self.begin(epoch);
        self.fields.retain(|known| known.field() != derived.field());
        self.fields.push(derived);
        let bytes = |fields: &[Arc<DerivedValues>]| -> usize {
            fields.iter().map(|known| known.memory_bytes()).sum()
        };
        while bytes(&self.fields) > bytes_max && !self.fields.is_empty() {
            self.fields.remove(0);
        }
    }

    fn begin(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.fields.clear();
            self.epoch = epoch;
        }
    }
}
