//! The questions of a live connection other than the query of its views.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_ingest::DataSet;
use weir_view::{LinesNeeded, LiveReply, RulePlace};

use super::follow::Pace;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::source_lines::{CancellableFeed, SourceFiles};
use crate::turns::Effort;

/// A question that is valid for the data.
pub(super) trait Question: Send + Sync {
    /// Returns the expected effort. Views do not wait for long work.
    fn effort(&self) -> Effort {
        Effort::Unknown
    }

    /// Returns when the next answer may begin, after one that took this time. Panels are answered
    /// again while the data grows, at most once a second and in an eighth of the time.
    fn pace(&self, work_time: Duration) -> Pace {
        Pace { again: Duration::from_secs(1).max(work_time * 8), newer: Duration::ZERO }
    }

    /// Returns whether the question is answered again when the data has changed.
    fn repeats(&self) -> bool {
        true
    }

    /// Returns whether the lines of the sources are read again for the answer.
    fn reads_lines(&self) -> bool {
        false
    }

    /// Returns why a page cannot send the lines that are read again, if it has said so.
    fn lines_gone(&self) -> Option<&str> {
        None
    }

    /// Computes the answer, on a blocking thread. Returns `None` if `should_stop` became true.
    fn answer(
        &self,
        to: ReplyTo,
        work: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal>;
}

/// What answers are computed from.
#[derive(Clone)]
pub(super) struct QuestionWork {
    pub(super) session: Arc<Session>,
    pub(super) data: Arc<DataSet>,
    /// Whether all sources have ended.
    pub(super) complete: bool,
    /// Where the lines of the sources are, if they are read again.
    pub(super) files: Arc<SourceFiles>,
    /// Where the files come from that a page sends again.
    pub(super) feed: Option<Arc<CancellableFeed>>,
}

/// The message that a reply answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyTo {
    pub(super) subject: Subject,
    pub(super) panel: u32,
    /// The id of the query; `None` if the message had none.
    pub(super) query: Option<u64>,
}

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Count,
    Rules,
    Blocks,
    Lines,
    List,
    Series,
}

/// The refusal of a question.
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    /// The part of the rule's text that caused it.
    pub(super) place: Option<Box<RulePlace>>,
    /// The memory of patterns, in bytes, with which the question may be checked again.
    pub(super) pattern_bytes: Option<usize>,
}

impl<R: Into<Refusal>> From<R> for Refused {
    fn from(refusal: R) -> Self {
        Self { refusal: refusal.into(), place: None, pattern_bytes: None }
    }
}

impl ReplyTo {
    /// Returns the reply that refuses the message.
    pub(super) fn refuse(self, refused: impl Into<Refused>) -> LiveReply {
        let Refused { refusal, place, .. } = refused.into();
        let Self { subject, panel, query } = self;
        let error = Some(refusal.failure(None));
        match subject {
            Subject::Count => LiveReply::Count { query, count: None, error },
            Subject::Blocks => LiveReply::Blocks { panel, query, answer: None, error },
            Subject::Lines => LiveReply::Lines { panel, query, answer: None, error },
            Subject::List => LiveReply::List { panel, query, answer: None, error },
            Subject::Series => LiveReply::Series { query, answer: None, error },
            Subject::Rules => {
                let place = place.map(|place| *place);
                LiveReply::Rules { panel, query, answer: None, error, place, lines: None }
            }
        }
    }

    /// Returns the reply that asks the page for lines.
    pub(super) fn ask_for_lines(self, lines: LinesNeeded) -> LiveReply {
        let Self { panel, query, .. } = self;
        let lines = Some(Box::new(lines));
        LiveReply::Rules { panel, query, answer: None, error: None, place: None, lines }
    }
}
