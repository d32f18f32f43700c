//! An expression that is compiled when it may match.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use regex_syntax::hir::Hir;
use weir_core::{BoundedRegex, PatternBudget};

use super::{OPTIONS, Origin, Written, outline, required};
use crate::list::{ListError, Problem};

/// An expression, and its outline unless it treats all digits alike.
#[derive(Debug)]
pub(super) struct Matcher {
    pub(super) expression: Form,
    pub(super) outline: Option<Form>,
}

#[derive(Debug)]
pub(super) enum Form {
    /// An expression that is a text.
    Plain(Vec<u8>),
    /// An expression that is compiled when it may match. `None` inside if it cannot be compiled.
    Compiled { text: String, regex: OnceLock<Option<BoundedRegex>> },
}

impl Matcher {
    pub(super) fn new(
        written: Written,
        expression: &Hir,
        origin: Origin,
        budget: &PatternBudget,
    ) -> Result<Self, ListError> {
        let form = |text: String, expression: &Hir| {
            Form::new(text, expression, origin, budget)
                .map_err(|problem| ListError::new(written.line, problem))
        };
        let outline = (!outline::treats_digits_alike(expression)).then(|| {
            let outline = outline::outline_of(expression);
            form(outline.to_string(), &outline)
        });
        Ok(Self {
            outline: outline.transpose()?,
            expression: form(written.text.clone(), expression)?,
        })
    }
}

impl Form {
    fn new(
        text: String,
        expression: &Hir,
        origin: Origin,
        budget: &PatternBudget,
    ) -> Result<Self, Problem> {
        if let Some(plain) = required::plain_text(expression).filter(|it| it.len() > 1) {
            return Ok(Self::Plain(plain.to_vec()));
        }
        let regex = OnceLock::new();
        if origin == Origin::User {
            let compiled = BoundedRegex::new(&text, OPTIONS, budget);
            let compiled = compiled.map_err(|_| Problem::TooLarge)?;
            regex.get_or_init(|| Some(compiled));
        }
        Ok(Self::Compiled { text, regex })
    }

    /// Returns the places of the first match and its groups; those that are not set are empty.
    pub(super) fn groups(&self, text: &[u8], budget: &PatternBudget) -> Option<Vec<Range<usize>>> {
        match self {
            Self::Plain(plain) => {
                let start = memmem::find(text, plain)?;
                Some(std::iter::once(start..start + plain.len()).collect())
            }
            Self::Compiled { text: expression, regex } => {
                let compiled = || BoundedRegex::new(expression, OPTIONS, budget).ok();
                regex.get_or_init(compiled).as_ref()?.group_ranges(text)
            }
        }
    }
}
