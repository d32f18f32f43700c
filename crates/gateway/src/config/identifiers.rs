//! `request_id`, `trace_context` and `record`: request ids and trace contexts.

use super::table::{LocatedValue, TableReader};
use crate::identifiers::{IdentifierConfig, TraceMode};

/// Reads the keys, and notes mistakes.
pub(super) fn read(root: &TableReader<'_>) -> IdentifierConfig {
    let trace = root.string("trace_context");
    let mut config = IdentifierConfig {
        has_request_id: root.boolean("request_id").unwrap_or(false),
        trace: trace.as_ref().and_then(|trace| read_mode(root, trace)),
        ..IdentifierConfig::default()
    };
    let recorded = root.strings("record").map(|list| list.value).unwrap_or_default();
    for name in recorded {
        match name.value {
            "request_id" if config.has_request_id => config.records_request_id = true,
            "trace_id" if trace.is_some() => config.records_trace_id = true,
            "request_id" => root.complain_at(&name, "this needs request_id = true"),
            "trace_id" => root.complain_at(&name, "this needs trace_context = \"forward\""),
            other => root.complain_at(
                &name,
                format!("`{other}` cannot be recorded; write \"request_id\" or \"trace_id\""),
            ),
        }
    }
    config
}

fn read_mode(root: &TableReader<'_>, mode: &LocatedValue<&str>) -> Option<TraceMode> {
    match mode.value {
        "forward" => Some(TraceMode::Forward),
        "restart" => Some(TraceMode::Restart),
        other => {
            let message = format!("`{other}` is not known here; write \"forward\" or \"restart\"");
            root.complain_at(mode, message);
            None
        }
    }
}
