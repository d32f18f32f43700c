//! The memory use of a verified token.

use std::mem::size_of;

use serde_json::{Map, Value};

use crate::token::verified::VerifiedToken;

/// The size of an entry without the claims: the token itself, two reference counts, and its slot in
/// a hash table that may be half empty.
const ENTRY_BYTES: usize = size_of::<VerifiedToken>() + 16 + 2 * 80;

/// The capacity of a B-tree node (`std::collections::BTreeMap`).
const NODE_MEMBERS: usize = 11;

/// Estimates the size of a token in bytes, rather too high than too low.
pub(in crate::token) fn bytes_of(token: &VerifiedToken) -> usize {
    let subject = token.subject().map_or(0, |subject| 16 + subject.len());
    ENTRY_BYTES + subject + members_bytes(token.claims())
}

/// Estimates the size of members in bytes. All nodes but the root are at least half full.
fn members_bytes(members: &Map<String, Value>) -> usize {
    if members.is_empty() {
        return 0;
    }
    let member = size_of::<String>() + size_of::<Value>();
    let nodes = 1 + members.len() / (NODE_MEMBERS / 2);
    let contents: usize = members.iter().map(|(name, value)| name.len() + heap_bytes(value)).sum();
    nodes * (NODE_MEMBERS * member + 32) + contents
}

/// Estimates the heap size of a value in bytes. The recursion is bounded, because the parser
/// refuses more than 127 levels.
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
