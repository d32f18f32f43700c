//! The entity tag of an export.

use std::fmt::Write;

use hyper::header::HeaderValue;
use weir_core::Snapshot;
use weir_ingest::{DataSet, Retention, SourceSnapshot};
use weir_net::entity_tag;
use weir_view::Query;

use crate::export_form::Form;
use crate::session::Session;

/// Returns the tag that identifies the bytes of an export of a snapshot. Returns `None` if the
/// session is not at rest: a source is still being read, or records expire.
pub(super) fn tag(
    session: &Session,
    data: &DataSet,
    snapshot: &Snapshot<SourceSnapshot>,
    query: &Query,
    columns: &[String],
    form: Form,
) -> Option<HeaderValue> {
    let are_read = snapshot.sources.iter().all(|source| source.end.is_some());
    if data.retention() != Retention::Segments || !are_read {
        return None;
    }
    // A name is the same after a restart, when its session may have other records.
    let mut text = format!(
        "{} {} {} {}",
        session.id(),
        session.created().as_nanos(),
        form.name(),
        snapshot.segments.len()
    );
    for source in &snapshot.sources {
        // Writing to a string cannot fail.
        let _ = write!(text, " {}:{}:{}", source.number, source.bytes_parsed, source.records);
    }
    text += &weir_view::to_json(&(query, columns)).ok()?;
    Some(entity_tag(text.as_bytes()))
}
