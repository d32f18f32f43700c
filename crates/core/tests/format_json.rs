//! JSON lines: golden cases.

mod format_support;

use format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("json.txt"));
}
