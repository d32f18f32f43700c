//! Joins the conditions for equality with one column: no value equals two others, so several of them
//! mean either.

use weir_core::{Clause as CoreClause, Condition, ConditionError, Field, STATUS_CLASS};

use crate::query::{Clause, Operator};

/// Equalities of a filter by column. One of those on the same column has to hold, because a record
/// has one value of it.
#[derive(Default)]
pub(crate) struct Equalities(Vec<(String, Vec<CoreClause>)>);

impl Equalities {
    /// Adds the equalities of one clause, one of which has to hold.
    pub(crate) fn add(&mut self, column: &str, mut clauses: Vec<CoreClause>) {
        match self.0.iter_mut().find(|(known, _)| known == column) {
            Some((_, all)) => all.append(&mut clauses),
            None => self.0.push((column.to_owned(), clauses)),
        }
    }

    /// The clauses, one for each column.
    pub(crate) fn into_clauses(self) -> impl Iterator<Item = CoreClause> {
        self.0.into_iter().filter_map(|(_, mut clauses)| match clauses.len() {
            0 | 1 => clauses.pop(),
            _ => Some(CoreClause::Any(clauses)),
        })
    }
}

/// The column that a clause for equality compares.
pub(crate) fn equal_column(clause: &Clause) -> Option<&str> {
    let is_equality = matches!(clause.op, Operator::Equal | Operator::EqualHex);
    (is_equality && !clause.is_time()).then(|| column(&clause.field))
}

/// The name of the column that a field is read from.
pub(crate) fn column(field: &str) -> &str {
    match Field::by_name(field) {
        _ if field == STATUS_CLASS => Field::Status.name(),
        Some(known) => known.name(),
        None => field,
    }
}

/// The texts of conditions with what they parse to; those for equality with one column are joined.
pub(crate) fn joined_equalities(
    texts: Vec<String>,
) -> Vec<(String, Result<Condition, ConditionError>)> {
    let mut joined: Vec<(String, Result<Condition, ConditionError>)> = Vec::new();
    for text in texts {
        let condition = Condition::parse(&text);
        let either = condition.as_ref().ok().and_then(|condition| {
            joined.iter().enumerate().find_map(|(number, (_, other))| {
                let either = other.as_ref().ok()?.joined_equality(condition)?;
                // The joined condition has to be short enough to be parsed again.
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

/// Joins the clauses for equality on one field with *or*: no value equals two others.
pub(crate) fn merged(clauses: &[Clause]) -> Vec<Clause> {
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
