//! Wrapped lines and the delimited notation: golden cases.

use crate::format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("wrappers.txt"));
}

#[test]
fn golden_cases_of_notations() {
    check_cases(&golden("notation.txt"));
    check_cases(&golden("goaccess.txt"));
}
