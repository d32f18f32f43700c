//! The format of lines whose format is not known.

use std::sync::{Arc, LazyLock};

use super::catalog::{format_by_name, known_formats};
use super::compiled::Format;

static PLACEHOLDER: LazyLock<Arc<Format>> = LazyLock::new(|| {
    let combined = format_by_name("COMBINED");
    Arc::new(combined.unwrap_or_else(|| known_formats()[0].clone()))
});

/// The placeholder for an unknown format. Nearly all lines are found not to match it at once.
pub(super) fn placeholder() -> Arc<Format> {
    Arc::clone(&PLACEHOLDER)
}

/// Whether the format is the placeholder for an unknown one.
pub(super) fn is_placeholder(format: &Arc<Format>) -> bool {
    Arc::ptr_eq(format, &PLACEHOLDER)
}
