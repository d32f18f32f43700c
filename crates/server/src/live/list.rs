//! Answers questions about the values of a field.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_ingest::DataSet;
use weir_query::{ListPart, WrittenQuery, field_list};
use weir_view::LiveReply;

use super::follow::Pace;
use super::question::{Question, QuestionWork, ReplyTo};
use crate::answer;
use crate::refusal::Refusal;
use crate::turns::Effort;

/// The maximum number of characters to search for.
const SEARCH_CHARACTERS_MAX: usize = 1_000;

/// A question about some values of a field.
pub(super) struct ListQuestion {
    query: WrittenQuery,
    part: ListPart,
}

impl ListQuestion {
    pub(super) fn check(
        query: WrittenQuery,
        part: ListPart,
        data: &DataSet,
    ) -> Result<Self, Refusal> {
        if part.search.chars().count() > SEARCH_CHARACTERS_MAX {
            let why = format!("the text to search for can have {SEARCH_CHARACTERS_MAX} characters");
            return Err(Refusal::BadRequest(why));
        }
        if query.group().is_none_or(|group| group.fields.len() != 1) {
            let why = "`group` of a list is the name of one field".to_owned();
            return Err(Refusal::BadRequest(why));
        }
        answer::check(&query, data)?;
        Ok(Self { query, part })
    }
}

impl Question for ListQuestion {
    fn effort(&self) -> Effort {
        Effort::Unknown
    }

    fn pace(&self, work_time: Duration) -> Pace {
        // As the views, which show other lists beside it.
        Pace { again: Duration::from_millis(400).max(work_time * 8), newer: Duration::ZERO }
    }

    fn answer(
        &self,
        ReplyTo { panel, query, .. }: ReplyTo,
        QuestionWork { session, data, .. }: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let settled = self.query.settled_for(&**data)?;
        let (known, jobs) = (session.known_derived(), session.jobs());
        let list = field_list(data, &settled, &self.part, known, jobs, should_stop)?;
        let reply = |list| {
            let answer = Some(Box::new(list));
            LiveReply::List { panel, query, answer, error: None }
        };
        Ok(list.map(reply))
    }
}
