//! The memory that a verified token takes.

use std::mem::size_of;

use serde_json::{Map, Value};

use crate::token::verified::VerifiedToken;

/// What an entry takes beside the claims: the token itself, two counts, and its place in a table that may be
/// half empty.
const ENTRY_BYTES: usize = size_of::<VerifiedToken>() + 16 + 2 * 80;

/// The members that one node of a B-tree has room for (`std::collections::BTreeMap`).
const NODE_MEMBERS: usize = 11;

/// The bytes that a token takes, a few more rather than fewer.
pub(super) fn bytes_of(token: &VerifiedToken) -> usize {
    let subject = token.subject().map_or(0, |subject| 16 + subject.len());
    ENTRY_BYTES + subject + members_bytes(token.claims())
}

/// Nodes are at least half full, but for the first.
fn members_bytes(members: &Map<String, Value>) -> usize {
    if members.is_empty() {
        return 0;
    }
    let member = size_of::<String>() + size_of::<Value>();
    let nodes = 1 + members.len() / (NODE_MEMBERS / 2);
    let contents: usize = members.iter().map(|(name, value)| name.len() + heap_bytes(value)).sum();
    nodes * (NODE_MEMBERS * member + 32) + contents
}

/// The recursion ends, because texts nested deeper than 127 levels are not parsed.
fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.capacity(),
        Value::Array(items) => {
            let contents: usize = items.iter().map(heap_bytes).sum();
            items.capacity() * size_of::<Value>() + contents
        }
        Value::Object(members) => members_bytes(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
