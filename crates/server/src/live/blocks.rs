//! Questions about blocks found in the logs.

use std::sync::atomic::AtomicBool;

use weir_ingest::DataSet;
use weir_query::{WrittenQuery, blocks};
use weir_view::{BlocksAnswer, BlocksQuestion, LiveReply};

use super::KEYS_MAX;
use super::question::{Question, QuestionWork, ReplyTo};
use super::rules::good_networks;
use crate::answer;
use crate::refusal::Refusal;

/// A validated question about the blocks in the records of a query.
pub(super) struct BlocksInQuery {
    query: WrittenQuery,
    question: BlocksQuestion,
}

/// Validates a question about blocks.
pub(super) fn check(
    query: WrittenQuery,
    question: BlocksQuestion,
    data: &DataSet,
) -> Result<BlocksInQuery, Refusal> {
    let (window_max, offset_max) =
        (BlocksQuestion::WINDOW_S_MAX, BlocksQuestion::CLOCK_OFFSET_S_MAX);
    let offset_s = question.clock_offset_s.unwrap_or(0);
    if !(1..=window_max).contains(&question.window_s) {
        let why = format!("`window_s` is not valid: it can be 1 to {window_max}");
        return Err(Refusal::BadRequest(why));
    }
    if !(-offset_max..=offset_max).contains(&offset_s) {
        let why = format!("`clock_offset_s` is not valid: it can be -{offset_max} to {offset_max}");
        return Err(Refusal::BadRequest(why));
    }
    good_networks(&question.good_networks)?;
    answer::check(&query, data)?;
    Ok(BlocksInQuery { query, question })
}

impl Question for BlocksInQuery {
    fn answer(
        &self,
        ReplyTo { panel, query, .. }: ReplyTo,
        work: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let (data, jobs) = (&work.data, work.session.jobs());
        let settled = self.query.settled_for(&**data)?;
        let Some(mut report) = blocks(data, &settled, &self.question, jobs, should_stop)? else {
            return Ok(None);
        };
        if let Some(report) = &mut report {
            report.clients.truncate(KEYS_MAX);
            report.add_remedies();
        }
        let answer = Some(Box::new(BlocksAnswer { report, complete: work.complete }));
        Ok(Some(LiveReply::Blocks { panel, query, answer, error: None }))
    }
}
