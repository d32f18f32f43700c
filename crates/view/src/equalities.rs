//! Joins conditions for equality with one column by *or*. No value equals two others, so joining
//! them by *and* would match nothing.

use weir_core::{Clause as CoreClause, Condition, ConditionError, Field, STATUS_CLASS};

use crate::query::{Clause, Operator};

/// The equalities of a filter, by column. One of those on the same column has to match, because a
/// record has one value of it.
#[derive(Default)]
pub(crate) struct Equalities(Vec<(String, Vec<CoreClause>)>);

impl Equalities {
    /// Adds the equalities of one clause, one of which has to match.
    pub(crate) fn add(&mut self, column: &str, mut clauses: Vec<CoreClause>) {
        match self.0.iter_mut().find(|(known, _)| known == column) {
            Some((_, all)) => all.append(&mut clauses),
            None => self.0.push((column.to_owned(), clauses)),
        }
    }

    /// Returns the clauses, one for each column.
    pub(crate) fn into_clauses(self) -> impl Iterator<Item = CoreClause> {
        self.0.into_iter().filter_map(|(_, mut clauses)| match clauses.len() {
            0 | 1 => clauses.pop(),
            _ => Some(CoreClause::Any(clauses)),
        })
    }
}

/// Returns the column that an equality clause compares.
pub(crate) fn equal_column(clause: &Clause) -> Option<&str> {
    let is_equality = matches!(clause.op, Operator::Equal | Operator::EqualHex);
    (is_equality && !clause.is_time()).then(|| column(&clause.field))
}

/// Returns the name of the column that a field is read from.
pub(crate) fn column(field: &str) -> &str {
    match Field::by_name(field) {
        _ if field == STATUS_CLASS => Field::Status.name(),
        Some(known) => known.name(),
        None => field,
    }
}

/// Returns the texts of conditions and what they parse to. Conditions for equality with one column
/// are joined.
pub(crate) fn join_equalities(
    texts: Vec<String>,
) -> Vec<(String, Result<Condition, ConditionError>)> {
    let mut joined: Vec<(String, Result<Condition, ConditionError>)> = Vec::new();
    for text in texts {
        let condition = Condition::parse(&text);
        let either = condition.as_ref().ok().and_then(|condition| {
            joined.iter().enumerate().find_map(|(number, (_, other))| {
                let either = other.as_ref().ok()?.joined_equality(condition)?;
                // The joined condition must be short enough to be parsed again.
                Some((number, Condition::parse(&either.to_string()).ok()?))
            })
        });
        match either {
            Some((number, either)) => joined[number] = (either.to_string(), Ok(either)),
            None => joined.push((text, condition)),
        }
    }
    joined
}

/// Joins the equality clauses on one field by *or*, because no value equals two others.
pub(crate) fn merge_equalities(clauses: &[Clause]) -> Vec<Clause> {
    let mut merged: Vec<Clause> = Vec::new();
    for clause in clauses {
        let same = merged.iter_mut().find(|other| {
            other.op == Operator::Equal
                && clause.op == Operator::Equal
                && other.field == clause.field
        });
        match same {
            Some(other) => other.values.extend(clause.values.iter().cloned()),
            None => merged.push(clause.clone()),
        }
    }
    merged
}
