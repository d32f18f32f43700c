//! A derived field of one's own: the part of a field that an expression matches.

use std::sync::Arc;

use super::{Derivation, DerivedField, DerivedInput, DerivedInputs};
use crate::pattern::{BoundedRegex, PatternBudget, RegexOptions};

/// The largest size of the compiled expression, and of a cache: those of conditions.
const REGEX_BYTES_MAX: usize = 1 << 20;
const REGEX_CACHE_BYTES_MAX: usize = 256 << 10;

/// The text that the one group of an expression matches.
#[derive(Debug)]
pub struct Extract {
    field: String,
    expression: BoundedRegex,
}

impl Extract {
    /// Reads a definition: `extract FIELD 'regex with one group'`.
    ///
    /// # Errors
    /// If it is something else, or if the expression is not valid, too large, or has not exactly
    /// one group.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{DerivedInputs, Extract};
    ///
    /// let shop = Extract::parse(r"extract path '^/shop/(\w+)'")?.into_field("shop");
    /// let mut value = Vec::new();
    /// assert!(shop.derive(&DerivedInputs::of_texts(&[Some(b"/shop/shoes?x")]), &mut value));
    /// assert_eq!(value, b"shoes");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(definition: &str) -> Result<Self, String> {
        let expected = "write extract FIELD 'regex with one group'";
        let mut rest = definition.trim();
        rest = rest.strip_prefix("extract").ok_or(expected)?;
        let (field, expression) =
            rest.trim_start().split_once(char::is_whitespace).ok_or(expected)?;
        if !rest.starts_with(char::is_whitespace) {
            return Err(expected.to_owned());
        }
        let expression = expression.trim();
        let quoted = ['\'', '"'].into_iter().find_map(|quote| {
            expression.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote))
        });
        let expression = with_group(quoted.unwrap_or(expression))?;
        Ok(Self { field: field.to_owned(), expression })
    }

    /// The field, under its name.
    pub fn into_field(self, name: &str) -> DerivedField {
        let inputs = vec![DerivedInput::Text(self.field.clone())];
        DerivedField::new(name, inputs, Arc::new(self))
    }
}

/// Compiles an expression with one group, with the limits of conditions.
///
/// # Errors
/// If it is not valid, too large, or has not exactly one group.
pub(super) fn with_group(expression: &str) -> Result<BoundedRegex, String> {
    let options = RegexOptions {
        program_bytes_max: REGEX_BYTES_MAX,
        cache_bytes_max: REGEX_CACHE_BYTES_MAX,
        keeps_groups: true,
        ..RegexOptions::default()
    };
    let compiled = BoundedRegex::new(expression, options, &PatternBudget::default());
    let compiled = compiled.map_err(|error| error.to_string())?;
    match compiled.groups_len() {
        1 => Ok(compiled),
        0 => Err(format!("`{expression}` has no group; put the part to take in brackets: (…)")),
        groups => Err(format!(
            "`{expression}` has {groups} groups and needs one; write the others as (?:…)"
        )),
    }
}

/// Appends what the group matches. Returns false if the expression does not match.
pub(super) fn append_group(expression: &BoundedRegex, text: &[u8], value: &mut Vec<u8>) -> bool {
    let group = expression.groups(text).and_then(|groups| groups.into_iter().nth(1));
    group.map(|group| value.extend(group)).is_some()
}

impl Derivation for Extract {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        inputs.text(0).is_some_and(|text| append_group(&self.expression, text, value))
    }
}
