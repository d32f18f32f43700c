//! Rules that look at whole lines, which a data set does not keep.

use weir_core::{Filter, Values};
use weir_rules::{LineTally, Replay, Rule, RuleReport};

use crate::question::{ParsedQuery, QueryError};

/// The lines of the sources of a data set, which can be read again.
pub trait SourceLines {
    /// Reads the lines again, and passes what each rule counts in them to its replay, in the order
    /// of the sources. Lines are numbered from 1 in each source. Called at most once for an answer.
    ///
    /// # Errors
    /// Fails if some of the lines are gone, or if the answer is no longer wanted.
    fn replay(
        &self,
        lines: &SelectedLines,
        replays: &mut [LineReplay<'_>],
    ) -> Result<(), SourceLinesError>;
}

/// The lines of data whose lines are gone.
#[derive(Debug, Clone, Copy)]
pub struct NoLines;

impl SourceLines for NoLines {
    fn replay(&self, _: &SelectedLines, _: &mut [LineReplay<'_>]) -> Result<(), SourceLinesError> {
        Err(SourceLinesError::Gone("they were not kept".to_owned()))
    }
}

/// The replay of a rule that looks at whole lines.
pub struct LineReplay<'r> {
    /// The rule. It observes lines; see [`Rule::observe_lines`].
    pub rule: &'r dyn Rule,
    /// Its replay.
    pub replay: Box<dyn Replay + 'r>,
    /// What its observers found in the lines.
    pub tally: LineTally,
}

impl<'r> LineReplay<'r> {
    /// Begins the replay of a rule.
    pub(crate) fn new(rule: &'r dyn Rule) -> Self {
        Self { rule, replay: rule.replay(), tally: LineTally::default() }
    }

    /// Ends the replay.
    pub(crate) fn finish(self) -> LineReport {
        LineReport { report: self.replay.finish(None), tally: self.tally }
    }
}

/// The report of a rule that looked at whole lines.
#[derive(Debug, Clone)]
pub(crate) struct LineReport {
    pub(crate) report: RuleReport,
    pub(crate) tally: LineTally,
}

/// Which lines a rule looks at.
#[derive(Debug)]
pub enum SelectedLines {
    /// All, whether or not they are records.
    All,
    /// Those of the records that a filter selects.
    Of {
        /// The filter.
        filter: Filter,
        /// Columns with the ids that the filter names, without values.
        columns: Box<Values>,
    },
}

/// Why the lines of a data set were not read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLinesError {
    /// The answer is no longer wanted.
    Abandoned,
    /// Some lines are gone. With a sentence that says which, and why.
    Gone(String),
}

impl SelectedLines {
    /// Returns the lines that a query selects. `values` are those of the data set.
    ///
    /// # Errors
    /// Fails if the query is not valid for the columns of the data set.
    pub(crate) fn of(query: &ParsedQuery, values: &Values) -> Result<Self, QueryError> {
        if query.selects_all() {
            return Ok(Self::All);
        }
        let mut columns = Box::new(Values::new(0));
        for (_, name) in values.schema().text_columns() {
            columns.add_text_column(name);
        }
        let filter = query.filter(&columns)?;
        Ok(Self::Of { filter, columns })
    }
}
