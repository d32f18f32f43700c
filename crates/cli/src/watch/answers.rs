//! The answers that the screen shows.

use weir_ingest::SourceSnapshot;
use weir_query::Answer;
use weir_view::{KindCount, Report};

use crate::display::fields_with_values;

/// The last answers. Those to earlier questions stay on the screen until a newer one is there.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The number of the last question that was answered, or refused.
    pub(super) number: u64,
    /// The last report; `None` before the first.
    pub(super) report: Option<Box<Answer<SourceSnapshot>>>,
    /// Why the last question has no answer.
    pub(super) refusal: Option<String>,
}

/// An answer to a question, or the reason why there is none.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) number: u64,
    pub(super) content: Result<Box<Answer<SourceSnapshot>>, String>,
}

impl Answers {
    pub(super) fn take(&mut self, Reply { number, content }: Reply) {
        self.number = number;
        match content {
            Ok(answer) => (self.report, self.refusal) = (Some(answer), None),
            Err(refusal) => self.refusal = Some(refusal),
        }
    }

    pub(super) fn report(&self) -> Option<&Report> {
        self.report.as_ref().map(|answer| &answer.report)
    }

    pub(super) fn sources(&self) -> &[SourceSnapshot] {
        self.report.as_ref().map_or(&[], |answer| &answer.sources)
    }

    /// The fields that have a list, in the order of the lists.
    pub(super) fn lists(&self) -> Vec<&str> {
        self.report().map(fields_with_values).unwrap_or_default()
    }

    /// The kinds of records that there are, in the order of their keys.
    pub(super) fn kinds(&self) -> &[KindCount] {
        self.report().map_or(&[], |report| &report.kinds)
    }
}
