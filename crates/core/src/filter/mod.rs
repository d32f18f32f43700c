//! Filters: which records a question is about.
//!
//! A [`Filter`] is a list of clauses, plain data. Two evaluators apply it:
//!
//! | evaluator | applies to | cost of a text condition |
//! |---|---|---|
//! | [`CompiledFilter`] | segments of a data set | a test per distinct value, a lookup per row |
//! | [`RecordPredicate`] | single records, without a data set | a test per record |
//!
//! A [`Condition`] is the text that people write; it becomes a clause.
//!
//! Both evaluators accept exactly the same records, which a property test compares. [`TimeBounds`]
//! are applied to every question: they exclude the rows that have left a sliding window.

mod bounds;
mod clause;
mod compiled;
mod condition;
mod leaf;
mod predicate;

pub use bounds::TimeBounds;
pub use clause::{Clause, ClauseError, Filter, TextTest};
pub use compiled::{CompiledFilter, ValueBatch};
pub use condition::{
    Condition, ConditionError, ConditionOperator, ConditionValue, DerivedFinder, FieldCondition,
    TimeReader, ValueForm, excerpt,
};
pub use predicate::RecordPredicate;
