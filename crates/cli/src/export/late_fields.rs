//! Fields that appear after the header of a CSV file was written.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::Format;
use weir_ingest::DataSet;
use weir_query::SegmentExport;

use crate::display::safe;

/// The fields that a CSV file lacks because they appeared too late.
#[derive(Debug, Default)]
pub(super) struct LateFields {
    pub(super) names: BTreeSet<String>,
    /// The formats of all records, in an order that does not depend on timing.
    pub(super) formats: Vec<Arc<Format>>,
}

impl LateFields {
    /// Returns the fields that an export lacks.
    pub(super) fn of(export: &SegmentExport, data: &DataSet) -> Self {
        let names = export.late_fields().clone();
        let mut formats = if names.is_empty() { Vec::new() } else { data.formats() };
        formats.sort_by(|one, other| key(one).cmp(&key(other)));
        Self { names, formats }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns a sentence about the missing fields, if there are some.
    pub(super) fn sentence(&self) -> Option<String> {
        let names: Vec<_> = self.names.iter().map(|name| safe(name)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "these fields are missing, because they appeared after the header was written: {}; \
                 --columns '*,other_fields' adds a column with them, and so does reading files \
                 and writing to one with --output",
                names.join(", ")
            )
        })
    }
}

fn key(format: &Format) -> (&str, &str) {
    (format.name(), format.definition())
}
