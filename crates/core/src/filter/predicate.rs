//! A filter over single records.
//!
//! A scan that prints or counts lines has neither segments nor distinct values. It tests each
//! record as it is parsed, with the same clauses. Fields are resolved once for each format, so that
//! testing a record looks up no name.

use std::borrow::Cow;

use super::clause::{Clause, Filter, TextTest, passes_derived};
use crate::derived::{DerivedField, DerivedInputs};
use crate::field::{ColumnKind, Field};
use crate::format::Format;
use crate::record::{FieldAccessor, Record, RecordFields};
use crate::values::Values;

/// A [`Filter`] that is applied to records one at a time.
///
/// It accepts exactly the records whose rows [`crate::CompiledFilter`] selects, and needs no
/// segment. A compiled filter tests every distinct value once; a predicate tests the value of
/// every record. It is for scans that stop early or keep nothing.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Clause, Filter, Format, LineParser, Record, RecordPredicate, TextTest, Values,
/// };
///
/// let values = Values::new(0);
/// let test = TextTest::Between(400, 599);
/// let filter = Filter::of(vec![Clause::text(&values, "status", test, false)?]);
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let is_error = RecordPredicate::new(&filter, &values, &format);
/// let mut parser = LineParser::new(format);
/// let mut record = Record::new();
/// parser.parse(b"192.0.2.7 404", &mut record).unwrap();
/// assert!(is_error.accepts(&record));
/// parser.parse(b"192.0.2.7 200", &mut record).unwrap();
/// assert!(!is_error.accepts(&record));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RecordPredicate<'a> {
    /// Whether records of the format are of another kind, so that none passes.
    is_of_other_kind: bool,
    clauses: Vec<RecordClause<'a>>,
}

/// A clause with its fields resolved in one format.
#[derive(Debug, Clone)]
enum RecordClause<'a> {
    /// `accessor` is `None` if the format lacks the field.
    Text {
        accessor: Option<FieldAccessor>,
        test: Cow<'a, TextTest>,
        negated: bool,
    },
    /// `field` is `None` if records have no such field.
    Number {
        field: Option<Field>,
        ranges: Cow<'a, [(u64, u64)]>,
    },
    Time {
        first_ns: i64,
        last_ns: i64,
    },
    TimePart {
        field: Cow<'a, DerivedField>,
        test: Cow<'a, TextTest>,
        negated: bool,
    },
    /// `accessors` are those of all text fields of the format.
    AnyText {
        accessors: Vec<FieldAccessor>,
        test: Cow<'a, TextTest>,
    },
    All(Vec<RecordClause<'a>>),
    Any(Vec<RecordClause<'a>>),
    Not(Box<RecordClause<'a>>),
}

impl<'a> RecordPredicate<'a> {
    /// Resolves the columns of a filter in a format. `values` are those that the filter was made
    /// for; only the names of their columns are used.
    ///
    /// A format without the field has no record with it, which is decided for each record as for a
    /// record that lacks it.
    pub fn new(filter: &'a Filter, values: &Values, format: &Format) -> Self {
        Self::of_fields(filter, values, &format.record_fields())
    }

    /// Resolves the columns of a filter as [`Self::new`] does, among the fields of some records: of
    /// a format, or of a data set.
    pub fn of_fields(filter: &'a Filter, values: &Values, fields: &RecordFields) -> Self {
        let clauses = filter.clauses.iter().map(|clause| RecordClause::new(clause, values, fields));
        let is_of_other_kind = filter.kind.is_some_and(|kind| kind != fields.kind());
        Self { is_of_other_kind, clauses: clauses.collect() }
    }

    /// Returns a copy that does not borrow from the filter, for a predicate that outlives it.
    #[must_use]
    pub fn to_static(&self) -> RecordPredicate<'static> {
        let clauses = self.clauses.iter().map(RecordClause::to_static).collect();
        RecordPredicate { is_of_other_kind: self.is_of_other_kind, clauses }
    }

    /// Whether the record is of the kind and meets all clauses.
    pub fn accepts(&self, record: &Record<'_>) -> bool {
        !self.is_of_other_kind && self.clauses.iter().all(|clause| clause.accepts(record))
    }
}

impl<'a> RecordClause<'a> {
    fn new(clause: &'a Clause, values: &Values, fields: &RecordFields) -> Self {
        let column = |column| values.schema().column(column);
        let all = |clauses: &'a [Clause]| {
            clauses.iter().map(|clause| Self::new(clause, values, fields)).collect()
        };
        match clause {
            Clause::Text { column: id, test, negated } => {
                let accessor = column(*id).and_then(|column| fields.accessor(&column.name).ok());
                Self::Text { accessor, test: Cow::Borrowed(test), negated: *negated }
            }
            Clause::Number { column: id, ranges } => {
                let field = column(*id).and_then(|column| column.field);
                Self::Number { field, ranges: Cow::Borrowed(ranges) }
            }
            Clause::Time { first_ns, last_ns } => {
                Self::Time { first_ns: *first_ns, last_ns: *last_ns }
            }
            Clause::TimePart { field, test, negated } => Self::TimePart {
                field: Cow::Borrowed(field),
                test: Cow::Borrowed(test),
                negated: *negated,
            },
            Clause::AnyText(test) => {
                Self::AnyText { accessors: text_accessors(fields), test: Cow::Borrowed(test) }
            }
            Clause::All(clauses) => Self::All(all(clauses)),
            Clause::Any(clauses) => Self::Any(all(clauses)),
            Clause::Not(clause) => Self::Not(Box::new(Self::new(clause, values, fields))),
        }
    }

    fn to_static(&self) -> RecordClause<'static> {
        let all = |clauses: &[Self]| clauses.iter().map(Self::to_static).collect();
        match self {
            Self::Text { accessor, test, negated } => RecordClause::Text {
                accessor: *accessor,
                test: Cow::Owned(test.as_ref().clone()),
                negated: *negated,
            },
            Self::Number { field, ranges } => {
                RecordClause::Number { field: *field, ranges: Cow::Owned(ranges.to_vec()) }
            }
            Self::Time { first_ns, last_ns } => {
                RecordClause::Time { first_ns: *first_ns, last_ns: *last_ns }
            }
            Self::TimePart { field, test, negated } => RecordClause::TimePart {
                field: Cow::Owned(field.as_ref().clone()),
                test: Cow::Owned(test.as_ref().clone()),
                negated: *negated,
            },
            Self::AnyText { accessors, test } => RecordClause::AnyText {
                accessors: accessors.clone(),
                test: Cow::Owned(test.as_ref().clone()),
            },
            Self::All(clauses) => RecordClause::All(all(clauses)),
            Self::Any(clauses) => RecordClause::Any(all(clauses)),
            Self::Not(clause) => RecordClause::Not(Box::new(clause.to_static())),
        }
    }

    fn accepts(&self, record: &Record<'_>) -> bool {
        match self {
            Self::Text { accessor, test, negated } => {
                let value = accessor.and_then(|accessor| accessor.value(record));
                value.is_some_and(|value| test.passes(&value)) != *negated
            }
            Self::Number { field, ranges } => {
                let number = field.and_then(|field| record.number(field));
                number.is_some_and(|number| {
                    ranges.iter().any(|(min, max)| (*min..=*max).contains(&number))
                })
            }
            Self::Time { first_ns, last_ns } => {
                record.time.is_some_and(|time| (*first_ns..=*last_ns).contains(&time.unix_ns))
            }
            Self::TimePart { field, test, negated } => {
                let passes = |time| {
                    passes_derived(field, test, &DerivedInputs::default().at(field.rounded(time)))
                };
                record.time.is_some_and(passes) != *negated
            }
            Self::AnyText { accessors, test } => accessors
                .iter()
                .any(|accessor| accessor.value(record).is_some_and(|value| test.passes(&value))),
            Self::All(clauses) => clauses.iter().all(|clause| clause.accepts(record)),
            Self::Any(clauses) => clauses.iter().any(|clause| clause.accepts(record)),
            Self::Not(clause) => !clause.accepts(record),
        }
    }
}

/// The accessors of all text fields.
fn text_accessors(fields: &RecordFields) -> Vec<FieldAccessor> {
    let is_text = |accessor: &FieldAccessor| match accessor {
        FieldAccessor::Field(field) => field.kind() == ColumnKind::Text,
        FieldAccessor::Extra(index) => *index < fields.logged_extra_fields(),
        FieldAccessor::StatusClass => false,
    };
    fields.accessors().into_iter().map(|(_, accessor)| accessor).filter(is_text).collect()
}
