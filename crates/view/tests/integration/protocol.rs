//! The messages in docs/protocol.md are those of weir-view.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use weir_view::{
    Compare, LiveReply, LiveRequest, Query, RecordKind, UploadReply, UploadRequest, from_json,
    to_json,
};

/// The part of the page between two headings.
fn section(from: &str, to: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once(&format!("\n## {from}\n")).unwrap();
    let (section, _) = rest.split_once(&format!("\n## {to}\n")).unwrap();
    section.to_owned()
}

/// Returns the messages among these lines, as they are written there.
fn samples<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines
        .filter_map(|line| {
            let sample = &line[line.find(r#"{"type":""#)?..];
            Some(sample.split('`').next().unwrap_or(sample))
        })
        .collect()
}

fn tags(samples: &[&str]) -> BTreeSet<String> {
    let tag = |sample: &&str| sample.split('"').nth(3).map(str::to_owned);
    samples.iter().filter_map(tag).collect()
}

/// The values of `type` that a message can have. serde lists them in its error message for a
/// value that it does not know.
fn known_tags<T: DeserializeOwned>() -> BTreeSet<String> {
    let Err(error) = serde_json::from_str::<T>(r#"{"type":"?"}"#) else {
        panic!("`?` is the type of a message");
    };
    let text = error.to_string();
    let (_, expected) = text.split_once("expected ").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns whether a sample is a complete message of this type. Nested objects may be omitted.
fn is_message<T: DeserializeOwned>(sample: &str) -> bool {
    sample.contains("{...}") || serde_json::from_str::<T>(&sample.replace("[...]", "[]")).is_ok()
}

#[test]
fn live_messages_are_documented() {
    let section = section("Live views", "Upload");
    let samples = samples(section.lines());
    let known = &known_tags::<LiveRequest>() | &known_tags::<LiveReply>();
    assert_eq!(tags(&samples), known);
    for sample in samples {
        assert!(is_message::<LiveRequest>(sample) || is_message::<LiveReply>(sample), "{sample}");
    }
}

/// The first cells of the table with this heading.
fn table(section: &str, heading: &str) -> BTreeSet<String> {
    let (_, rest) = section.split_once(heading).unwrap();
    let rows = rest.lines().skip(1).skip_while(|line| line.starts_with("|---"));
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

fn members(query: &Query) -> BTreeSet<String> {
    let object: serde_json::Map<String, serde_json::Value> =
        from_json(&to_json(query).unwrap()).unwrap();
    object.keys().cloned().collect()
}

#[test]
fn optional_members_of_a_query_are_documented() {
    let plain = Query::default();
    let full = Query {
        conditions: vec![String::new()],
        kind: Some(RecordKind::Request),
        overlay: Some(RecordKind::FirewallEvent),
        overlay_ahead_s: 7_200,
        group: Some(String::new()),
        measures: vec![String::new()],
        sort: Some(String::new()),
        min: 1,
        compare: Some(Compare::default()),
        ..plain.clone()
    };
    let section = section("Live views", "Upload");
    let optional = &members(&full) - &members(&plain);
    assert_eq!(table(&section, "| member | example | meaning |"), optional);
    for kind in weir_core::RecordKind::ALL.map(RecordKind::from) {
        assert!(section.contains(&format!("`{}`", kind.name())), "{kind:?}");
    }
}

#[test]
fn upload_messages_are_documented() {
    let section = section("Upload", "Measuring");
    let page = samples(section.lines().filter(|line| line.starts_with("| page |")));
    let server = samples(section.lines().filter(|line| line.starts_with("| server |")));
    assert_eq!(tags(&page), known_tags::<UploadRequest>());
    assert_eq!(tags(&server), known_tags::<UploadReply>());
    for sample in page {
        assert!(is_message::<UploadRequest>(sample), "{sample}");
    }
    for sample in server {
        assert!(is_message::<UploadReply>(sample), "{sample}");
    }
}
