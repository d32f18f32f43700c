//! JSON lines: golden cases.

use crate::format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("json.txt"));
}
