//! Answers questions about the values of a field.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_core::{Field, TimeSpans};
use weir_ingest::DataSet;
use weir_query::{ListPart, WrittenQuery, field_list, series};
use weir_view::LiveReply;

use super::LISTS_MAX;
use super::follow::Pace;
use super::question::{Question, QuestionWork, ReplyTo};
use crate::answer;
use crate::refusal::Refusal;

/// The maximum number of characters to search for.
const SEARCH_CHARACTERS_MAX: usize = 1_000;

/// The maximum number of spans of time, for each value of a list and for a series: more than a screen
/// has pixels for.
const SPANS_MAX: usize = 2_000;

/// Returns the spans between bounds in seconds since 1970.
pub(super) fn spans(bounds: &[i64]) -> TimeSpans {
    TimeSpans::new(bounds.iter().map(|bound| bound.saturating_mul(1_000_000_000)).collect())
}

fn too_many_spans() -> Refusal {
    Refusal::BadRequest(format!("there are too many spans of time: there can be {SPANS_MAX}"))
}

/// The pace of answers beside views, while the data grows: all lists of a connection together take an
/// eighth of the time, because parsers wait while one reads the values.
fn pace(work_time: Duration) -> Pace {
    let again = Duration::from_millis(400).max(work_time * 8 * LISTS_MAX as u32);
    Pace { again, newer: Duration::ZERO }
}

/// A question about measures over time.
pub(super) struct SeriesQuestion {
    query: WrittenQuery,
    spans: TimeSpans,
    /// The duration by which the records of each span are counted.
    mapped: Option<Field>,
}

impl SeriesQuestion {
    pub(super) fn check(
        query: WrittenQuery,
        bounds: &[i64],
        map: Option<&str>,
        data: &DataSet,
    ) -> Result<Self, Refusal> {
        if bounds.len() > SPANS_MAX + 1 {
            return Err(too_many_spans());
        }
        let mapped = map.map(duration_named).transpose()?;
        answer::check(&query, data)?;
        Ok(Self { query, spans: spans(bounds), mapped })
    }
}

fn duration_named(name: &str) -> Result<Field, Refusal> {
    let field = Field::DURATIONS.into_iter().find(|field| field.name() == name);
    field.ok_or_else(|| {
        let names = Field::DURATIONS.map(Field::name).join(", ");
        Refusal::BadRequest(format!("`map` is not the name of a duration; use one of {names}"))
    })
}

impl Question for SeriesQuestion {
    fn pace(&self, work_time: Duration) -> Pace {
        pace(work_time)
    }

    fn answer(
        &self,
        ReplyTo { query, .. }: ReplyTo,
        QuestionWork { session, data, .. }: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let settled = self.query.settled_for(&**data)?;
        let (jobs, mapped) = (session.jobs(), self.mapped);
        let series = series(data, &settled, &self.spans, mapped, jobs, should_stop)?;
        Ok(series.map(|answer| LiveReply::Series { query, answer: Some(answer), error: None }))
    }
}

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
        if part.spans.as_ref().is_some_and(|spans| spans.len() > SPANS_MAX) {
            return Err(too_many_spans());
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
    fn pace(&self, work_time: Duration) -> Pace {
        pace(work_time)
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
