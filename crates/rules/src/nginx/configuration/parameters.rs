//! The parameters that the directives of all kinds of limits have.

use weir_core::nearest_name;

use super::tokens::Word;
use super::zone::{Zone, ZoneParameters};
use crate::error::RuleError;

/// The largest number, with which all sums stay far from the limits of an `i64`.
pub(crate) const NUMBER_MAX: i64 = i32::MAX as i64;

/// The number of the zone with a name.
pub(crate) fn find_zone<P: ZoneParameters>(
    name: &str,
    word: &Word,
    zones: &[Zone<P>],
) -> Result<usize, RuleError> {
    let names = || zones.iter().map(|zone| &*zone.name);
    names().position(|known| known == name).ok_or_else(|| {
        let hint = match nearest_name(name, names()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => {
                let line = P::EXAMPLE.replace("zone=one:", &format!("zone={name}:"));
                format!("write its line too, in `http`, such as: {line}")
            }
        };
        word.error(format_args!("there is no `{}` with the name `{name}`; {hint}", P::DIRECTIVE))
    })
}

/// A number of at most [`NUMBER_MAX`].
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= NUMBER_MAX)
}

/// An error at a parameter that the directive does not have.
pub(crate) fn unknown_parameter(word: &Word, known: &[&str]) -> RuleError {
    let name = word.text.split_once('=').map_or(&*word.text, |(name, _)| name);
    if known.contains(&&*word.text) {
        let message =
            format!("the value is missing; write it without a space before: {}=...", word.text);
        return word.error(message);
    }
    let hint = nearest_name(name, known.iter().copied());
    let hint = hint.map_or_else(
        || format!("; it has {}", known.join(", ")),
        |known| format!("; did you mean `{known}`?"),
    );
    word.error(format_args!("`{}` is not a parameter of this directive{hint}", word.text))
}
