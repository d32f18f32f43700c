//! The format of lines whose format is not known.

use std::sync::{Arc, LazyLock};

use super::catalog::{format_by_name, known_formats};
use super::compiled::Format;
use super::compiled::line_options::LineOptions;
use crate::value::AddressMask;

static PLACEHOLDER: LazyLock<Arc<Format>> = LazyLock::new(|| {
    let combined = format_by_name("COMBINED");
    Arc::new(combined.unwrap_or_else(|| known_formats()[0].clone()))
});

/// The placeholder with each mask, since a line that matches by chance must not show an address.
static HIDING: LazyLock<Vec<Arc<Format>>> = LazyLock::new(|| {
    let hiding = |mask| {
        let options = LineOptions { mask: Some(mask), ..LineOptions::default() };
        Arc::new(PLACEHOLDER.with_line_options(&Arc::new(options)))
    };
    AddressMask::LEVELS.filter_map(AddressMask::of_level).map(hiding).collect()
});

/// The placeholder for an unknown format. Nearly all lines are found not to match it at once.
pub(super) fn placeholder() -> Arc<Format> {
    Arc::clone(&PLACEHOLDER)
}

/// The placeholder for a format with these options, of which it has the mask alone.
pub(super) fn placeholder_with(options: Option<&Arc<LineOptions>>) -> Arc<Format> {
    let mask = options.and_then(|options| options.mask);
    let hiding = mask.and_then(|_| HIDING.iter().find(|format| format.address_mask() == mask));
    Arc::clone(hiding.unwrap_or(&PLACEHOLDER))
}

/// Whether the format is the placeholder for an unknown one.
pub(super) fn is_placeholder(format: &Arc<Format>) -> bool {
    Arc::ptr_eq(format, &PLACEHOLDER)
        || format.address_mask().is_some() && HIDING.iter().any(|own| Arc::ptr_eq(format, own))
}
