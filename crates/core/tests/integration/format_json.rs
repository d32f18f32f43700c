//! JSON lines: golden cases.

use crate::format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("json.txt"));
}

#[test]
fn golden_cases_of_members() {
    check_cases(&golden("members.txt"));
}
