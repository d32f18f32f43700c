//! Counts the records that a condition selects while the user types it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_ingest::DataSet;
use weir_query::{ParsedQuery, WrittenQuery, count_selection};
use weir_view::LiveReply;

use super::follow::Pace;
use super::question::{Question, QuestionWork, ReplyTo};
use crate::answer;
use crate::refusal::Refusal;

/// The number of records that a query selects. It is computed in a long turn, so that other answers
/// do not wait for it.
pub(super) struct CountQuestion(ParsedQuery);

impl CountQuestion {
    pub(super) fn check(query: WrittenQuery, data: &DataSet) -> Result<Self, Refusal> {
        Ok(Self(answer::check(&query, data)?))
    }
}

impl Question for CountQuestion {
    fn pace(&self, work_time: Duration) -> Pace {
        // People do not type faster, and parsers wait while a count reads the values.
        let next = Duration::from_millis(50).max(work_time * 4);
        Pace { again: next, newer: next }
    }

    fn repeats(&self) -> bool {
        false
    }

    fn answer(
        &self,
        to: ReplyTo,
        work: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let count = count_selection(&work.data, &self.0, work.session.jobs(), should_stop)?;
        let reply = |count| LiveReply::Count { query: to.query, count: Some(count), error: None };
        Ok(count.map(reply))
    }
}
