//! The questions of panels: their validation, and their answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::DataSet;
use weir_query::settled;
use weir_view::{
    BlocksAnswer, BlocksQuestion, Now, Query, RuleDetails, RulePlace, RuleText, RulesAnswer,
};

use super::blocks::{answer_blocks, check_blocks_question};
use super::rules::{
    NETWORK_BYTES_MAX, NETWORKS_MAX, RULE_BYTES_MAX, RulesQuestion, parse_rules_question, replay,
};
use crate::answer;
use crate::live::QUERY_BYTES_MAX;
use crate::refusal::Refusal;

/// The maximum length of a message, in bytes. In JSON, an escape may double each character, and a
/// message has two texts if rules are compared.
pub(crate) const MESSAGE_BYTES_MAX: usize =
    2 * 2 * RULE_BYTES_MAX + QUERY_BYTES_MAX + NETWORKS_MAX * NETWORK_BYTES_MAX;

/// A validated question of a panel.
pub(super) struct Question {
    query: Query,
    /// Relative times of the query are resolved against it.
    now: Now,
    pub(super) subject: Subject,
}

/// The subject of a question.
pub(super) enum Subject {
    Rules(RulesQuestion),
    Blocks(BlocksQuestion),
}

/// The answer to a question.
pub(super) enum PanelAnswer {
    Rules(RulesAnswer),
    Blocks(BlocksAnswer),
}

/// A request for a panel, before it is validated.
pub(super) enum PanelRequest {
    Rules(RuleText, RuleDetails),
    Blocks(BlocksQuestion),
}

/// The refusal of a panel's question. A message that cannot be read counts as one about rules.
pub(super) struct PanelRefusal {
    pub(super) refusal: Refusal,
    pub(super) place: Option<Box<RulePlace>>,
    pub(super) is_about_blocks: bool,
}

impl From<Refusal> for PanelRefusal {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, place: None, is_about_blocks: false }
    }
}

/// Validates a panel's question. This compiles its expressions, which may take long.
pub(super) fn check(
    query: Query,
    asked: &PanelRequest,
    data: &DataSet,
) -> Result<Question, PanelRefusal> {
    let too_long = |what: &str, max: usize| {
        Refusal::BadRequest(format!("the {what} is too long: it can have {} KiB", max >> 10))
    };
    let texts = match asked {
        PanelRequest::Rules(rule, details) => [Some(rule), details.against.as_ref()],
        PanelRequest::Blocks(_) => [None, None],
    };
    if texts.into_iter().flatten().any(|rule| rule.text.len() > RULE_BYTES_MAX) {
        return Err(too_long("text of the rule", RULE_BYTES_MAX).into());
    }
    if weir_view::to_json(&query).map_err(Refusal::internal)?.len() > QUERY_BYTES_MAX {
        return Err(too_long("query", QUERY_BYTES_MAX).into());
    }
    let subject = match asked {
        PanelRequest::Rules(rule, details) => Subject::Rules(parse_rules_question(rule, details)?),
        PanelRequest::Blocks(question) => Subject::Blocks(check_blocks_question(*question)?),
    };
    let now = Now::read();
    let query = answer::check(query, data, &now)?;
    Ok(Question { query, now, subject })
}

/// Answers a question. Returns `None` if `should_stop` became true.
pub(super) fn answer_question(
    question: &Question,
    data: &Arc<DataSet>,
    jobs: usize,
    complete: bool,
    should_stop: &AtomicBool,
) -> Result<Option<PanelAnswer>, Refusal> {
    let query = settled(&question.query, &**data, &question.now)?;
    match &question.subject {
        Subject::Rules(asked) => {
            let answer = replay(asked, &query, (data, jobs, complete), should_stop)?;
            Ok(answer.map(PanelAnswer::Rules))
        }
        Subject::Blocks(asked) => {
            let answer = answer_blocks(asked, &query, (data, jobs, complete), should_stop)?;
            Ok(answer.map(PanelAnswer::Blocks))
        }
    }
}
