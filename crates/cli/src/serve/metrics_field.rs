//! A warning about a field of `--metrics-by` that the log does not have. A log that grows may have
//! it later, so that it cannot be refused.

use std::sync::{Arc, Weak};
use std::time::Duration;

use weir_core::{ColumnKind, Field, Format, UnknownField};
use weir_ingest::{DataSet, RequestsBy};

use crate::outcome::warn;
use crate::report::field_names;

/// The pause between two looks at whether files have been read to their ends.
const LOOK: Duration = Duration::from_millis(200);

/// Warns once the counts of requests are there, if no line until then had the field.
pub(super) async fn warn_if_missing(data: Weak<DataSet>, by: RequestsBy) {
    let RequestsBy::Field(name) = by else { return };
    loop {
        let Some(known) = data.upgrade() else { return };
        let formats = known.formats();
        if formats.iter().any(|format| format.accessor(&name).is_ok()) {
            return;
        }
        if formats.is_empty() {
            let mut version = known.version();
            drop(known);
            if version.changed().await.is_err() {
                return;
            }
        } else if known.request_counts().is_some() {
            warn(missing(name, &formats));
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn missing(name: String, formats: &[Arc<Format>]) -> String {
    let mut fields = field_names(formats);
    // Requests are counted by names, not by numbers, and always by method.
    fields.retain(|name| match Field::by_name(name) {
        Some(Field::Method) => false,
        field => field.is_none_or(|field| field.kind() == ColumnKind::Text),
    });
    let unknown = UnknownField { name, fields };
    format!("--metrics-by: {unknown}. Requests are counted without it until one has it")
}
