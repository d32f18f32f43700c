//! Expressions that are counted, and that end their work when it is stopped.

use regex::bytes::{Regex, RegexBuilder};
use weir_core::PatternBudget;

/// The largest size of a compiled expression, in bytes.
const PROGRAM_BYTES_MAX: usize = 10 << 20;

/// An expression whose memory is counted in a budget. It matches nothing once the work of the
/// budget is stopped, so that rules with thousands of expressions end at once.
#[derive(Debug, Clone)]
pub(crate) struct BoundedRegex {
    regex: Regex,
    budget: PatternBudget,
}

impl BoundedRegex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is not valid or too large, or the budget refuses it.
    pub(crate) fn new(text: &str, budget: &PatternBudget) -> Result<Self, regex::Error> {
        Self::build(&mut RegexBuilder::new(text), text.len(), PROGRAM_BYTES_MAX, budget)
    }

    /// Compiles an expression that does not distinguish upper and lower case.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn ignoring_case(text: &str, budget: &PatternBudget) -> Result<Self, regex::Error> {
        let builder = &mut RegexBuilder::new(text);
        builder.case_insensitive(true);
        Self::build(builder, text.len(), PROGRAM_BYTES_MAX, budget)
    }

    /// Compiles the expression of a builder, of which the text has a length in bytes.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn build(
        builder: &mut RegexBuilder,
        text_bytes: usize,
        program_bytes_max: usize,
        budget: &PatternBudget,
    ) -> Result<Self, regex::Error> {
        let regex = budget.regex(builder, text_bytes, program_bytes_max)?;
        Ok(Self { regex, budget: budget.clone() })
    }

    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        !self.budget.is_stopped() && self.regex.is_match(text)
    }

    /// Returns the first match and its groups; those that it does not set are empty.
    pub(crate) fn groups(&self, text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let groups = self.regex.captures(text).filter(|_| !self.budget.is_stopped())?;
        let text = |group: Option<regex::bytes::Match<'_>>| group.map(|it| it.as_bytes().to_vec());
        Some(groups.iter().map(|group| text(group).unwrap_or_default()).collect())
    }

    pub(crate) fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether it sets the group with this name or number.
    pub(crate) fn captures(&self, name: &str) -> bool {
        let number = name.parse::<usize>();
        self.regex.capture_names().flatten().any(|known| known == name)
            || number.is_ok_and(|number| number > 0 && number < self.regex.captures_len())
    }
}
