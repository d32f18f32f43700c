//! Questions about blocks found in the logs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::DataSet;
use weir_query::blocks;
use weir_view::{BlocksAnswer, BlocksQuestion, Query};

use super::KEYS_MAX;
use crate::refusal::Refusal;

/// Validates a question about blocks.
pub(super) fn check_blocks_question(question: BlocksQuestion) -> Result<BlocksQuestion, Refusal> {
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
    Ok(question)
}

/// Finds blocks in the records of a query. Returns `None` if `should_stop` became true.
pub(super) fn answer_blocks(
    question: &BlocksQuestion,
    query: &Query,
    (data, jobs, complete): (&Arc<DataSet>, usize, bool),
    should_stop: &AtomicBool,
) -> Result<Option<BlocksAnswer>, Refusal> {
    let Some(mut report) = blocks(data, query, question, jobs, should_stop)? else {
        return Ok(None);
    };
    if let Some(report) = &mut report {
        report.clients.truncate(KEYS_MAX);
    }
    Ok(Some(BlocksAnswer { report, complete }))
}
