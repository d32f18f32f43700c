//! Tests of the records in JSON files.

use proptest::prelude::*;

use super::{Arrangement, JsonRecordsDecoder};
use crate::source::decode::Decode;

fn decode(file: &str, piece: usize) -> String {
    let arrangement = Arrangement::of(file.as_bytes()).expect("not a record on each line");
    let (mut decoder, mut output) = (JsonRecordsDecoder::new(arrangement), Vec::new());
    for piece in file.as_bytes().chunks(piece) {
        decoder.push(piece, &mut output).expect("a text");
    }
    decoder.finish(&mut output).expect("a text");
    String::from_utf8(output).expect("UTF-8")
}

/// The text without the blanks at the starts of its lines.
fn unindented(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(str::trim_start).collect();
    lines.join("\n")
}

#[test]
fn each_record_gets_a_line() {
    for (file, lines) in [
        ("[{\"a\":1},{\"a\":\"x, ]} \\\" {\"}]", "{\"a\":1}\n{\"a\":\"x, ]} \\\" {\"}\n"),
        ("[\n  {\n    \"a\": [1, {\"b\": 2}]\n  },\r\n  {}\n]\n", "{\"a\":[1,{\"b\":2}]}\n{}\n"),
        ("\u{feff}{\n  \"a\": 1\n}\n{\n\"a\": 2}\n", "{\"a\":1}\n{\"a\":2}\n"),
        ("{\"records\": [{\"a\":1},\n{\"a\":2}], \"n\": [{}]}\n", "{\"a\":1}\n{\"a\":2}\n"),
        (
            "{\n \"Events\" : [ {\"a\":\"b c\"} ],\n \"token\": \"t\", \"n\": 7 }",
            "{\"a\":\"b c\"}\n",
        ),
        ("[{\"a\":1}]\nstarted\n[{\"a\":2}]", "{\"a\":1}\nstarted\n{\"a\":2}\n"),
        ("[{\"a\":1},{\"a\":", "{\"a\":1}\n{\"a\":\n"),
        ("{\n\"a\":1,\n{\n\"a\":2}\n", "{\"a\":1,\n{\"a\":2}\n"),
        ("[{\"a\":1}, 7, \"x\", [{}]]", "{\"a\":1}\n"),
        ("{\"value\":[{\"a\":1}]}\n{\"value\":[{\"a\":2}]}\n", "{\"a\":1}\n{\"a\":2}\n"),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn other_text_stays() {
    for (file, lines) in [
        (
            "{\n\"a\":1\n}\n[Wed Dec 17] [core:error] {x}\n",
            "{\"a\":1}\n[Wed Dec 17] [core:error] {x}\n",
        ),
        ("{\n\"a\":1\n}\n[  7.5] \"x\n\"GET /\" {\n", "{\"a\":1}\n[  7.5] \"x\n\"GET /\" {\n"),
        (
            "[{\"a\":1}]\nstarted\n[{\"a\":2}]\n{\"a\":3}",
            "{\"a\":1}\nstarted\n{\"a\":2}\n{\"a\":3}\n",
        ),
        ("{\n\"a\":1\n}\n[\n{\"a\":2}\n]\n[\nx\n[", "{\"a\":1}\n{\"a\":2}\n[\nx\n[\n"),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn a_torn_record_loses_no_other() {
    for (file, lines) in [
        ("{\n\"a\":\"b\n{\n\"a\":2}\n", "{\"a\":\"b\n{\"a\":2}\n"),
        ("{\n\"a\":\"b\nc\"}\n{\n\"a\":2}", "{\"a\":\"b\nc\"}\n{\"a\":2}\n"),
        ("{\n \"a\":\"b{\n \"c\": [\n  {\n  }\n ]\n}\n{\n \"a\":2}", "{\"a\":\"b{\n{\"a\":2}\n"),
        ("{\n\"a\":\"b\\\n[Wed] x\n{\n\"a\":2}", "{\"a\":\"b\\\n[Wed] x\n{\"a\":2}\n"),
        ("[\n{\"a\":\"b\n{\"a\":2},\n{\"a\":3}\n]", "{\"a\":\"b\n{\"a\":2}\n{\"a\":3}\n"),
        ("[{\"a\":1\n,{\"a\":\"b\n, {\"a\":3}]\nx", "{\"a\":1,\n{\"a\":\"b\n{\"a\":3}\nx\n"),
        (
            "[\n  {\n    \"a\": [\n      {\"b\":\"c\n  },\n  {\"a\":1,\n  {\"a\":2}\n]\n[1",
            "{\"a\":[{\"b\":\"c\n{\"a\":1,\n{\"a\":2}\n[1\n",
        ),
        ("[{\n  \"a\": \"b\n}, {\n  \"a\": 2\n}]", "{\"a\":\"b\n{\"a\":2}\n"),
        (
            "{\"value\": [\n{\"a\":\"b\nstarted\n{\"a\":2}\n], \"next\": \"\n\"}",
            "{\"a\":\"b\nstarted\n{\"a\":2}\n",
        ),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn records_over_several_lines_need_no_indentation() {
    for (file, lines) in [
        ("{\"a\":1,\n\"b\":2}\n{\"a\":3,\n\"b\":4}\n", "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n"),
        ("{\"a\":1\n,\"b\":2}\n{\"a\":3\n}\n", "{\"a\":1,\"b\":2}\n{\"a\":3}\n"),
        ("{\"a\":\n1},{\"a\":\n2}\n", "{\"a\":1}\n{\"a\":2}\n"),
        ("{\"a\":{\r\n\"b\":2}}\r\n{\"a\":3}\r\n", "{\"a\":{\"b\":2}}\n{\"a\":3}\n"),
        // An object in a list, or after a key, at the start of a line.
        (
            "{\"a\":[\n{\"b\":1},\n{\"c\":2}\n],\n\"d\":\n{\"e\":1}}\n{\"a\":1}\n",
            "{\"a\":[{\"b\":1},{\"c\":2}],\"d\":{\"e\":1}}\n{\"a\":1}\n",
        ),
        // Objects in a list that begin as the records do.
        (
            "{\"a\":1,\n\"b\":[\n{\"a\":2}\n]}\n{\"a\":3,\n\"b\":[\n{\"a\":4}]}\n",
            "{\"a\":1,\"b\":[{\"a\":2}]}\n{\"a\":3,\"b\":[{\"a\":4}]}\n",
        ),
        (
            "{\"a\":1,\n\"b\":[]}\n{\"a\":3,\n\"b\":[\n{\"a\":4},\n{\"a\":5}],\n\"c\":6}\n{\"a\":7,\n\"b\":\n{\"a\":8}}\n",
            "{\"a\":1,\"b\":[]}\n{\"a\":3,\"b\":[{\"a\":4},{\"a\":5}],\"c\":6}\n{\"a\":7,\"b\":{\"a\":8}}\n",
        ),
        (
            "[\n{\"a\":1,\n\"b\":[\n]\n},\n{\"a\":2,\n\"b\":[\n{\"a\":[\n{\"a\":3}\n]\n}\n]\n}\n]\n",
            "{\"a\":1,\"b\":[]}\n{\"a\":2,\"b\":[{\"a\":[{\"a\":3}]}]}\n",
        ),
        (
            "{\"value\": [\n{\"a\":1},\n{\"a\":2,\n\"b\":[\n{\"a\":3}]}\n], \"n\": 1}",
            "{\"a\":1}\n{\"a\":2,\"b\":[{\"a\":3}]}\n",
        ),
        ("[\n{\"a\":1,\n\"b\":2}\n,{\"a\":3}\n]\n", "{\"a\":1,\"b\":2}\n{\"a\":3}\n"),
        ("{\"a\":1,\n\"b\":[{\n}, {\n\"", "{\"a\":1,\"b\":[{},{\"\n"),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn a_torn_record_without_indentation_loses_no_other() {
    for (file, lines) in [
        (
            "{\"a\":1,\n\"b\":2}\n{\"a\":1,\n{\"a\":2}\n",
            "{\"a\":1,\"b\":2}\n{\"a\":1,\n{\"a\":2}\n",
        ),
        ("{\"a\":1,\n\"b\":2}\n{\"a\":\n{\"a\":2}\n", "{\"a\":1,\"b\":2}\n{\"a\":\n{\"a\":2}\n"),
        (
            "{\"a\":1,\n\"b\":[]}\n{\"a\":1,\n\"b\":[{\"c\":1},\n{\"a\":2}\n",
            "{\"a\":1,\"b\":[]}\n{\"a\":1,\"b\":[{\"c\":1},\n{\"a\":2}\n",
        ),
        (
            "[\n{\"a\":1,\n\"b\":2},\n{\"a\":1,\n\"b\":[\n{\n\"a\":2}\n]\n",
            "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":[\n{\"a\":2}\n",
        ),
        // The first record is torn, and others have values that begin as records do.
        (
            "{\"a\":1,\n\"b\":[\n{\"a\":2,\n\"b\":[\n{\"a\":3}]}\n{\"a\":4}\n",
            "{\"a\":1,\"b\":[\n{\"a\":2,\"b\":[{\"a\":3}]}\n{\"a\":4}\n",
        ),
        (
            "[\n{\"a\":1,\n\"b\":[\n{\"a\":2,\n\"b\":[\n{\"a\":3}]},\n{\"a\":4}\n]\n",
            "{\"a\":1,\"b\":[\n{\"a\":2,\"b\":[{\"a\":3}]}\n{\"a\":4}\n",
        ),
        (
            "{\"value\":[\n{\"a\":1,\n\"b\":[\n{\"a\":2},\n{\"a\":4}\n]}\n",
            "{\"a\":1,\"b\":[\n{\"a\":2}\n{\"a\":4}\n",
        ),
        ("[\n{\"a\":1,\n\"b\":\n]\n[\n{\"a\":2}\n]\n", "{\"a\":1,\"b\":\n{\"a\":2}\n"),
        ("[\n{\"a\":[1,\n2},\n{\"a\":2}\n]\n", "{\"a\":[1,2}\n{\"a\":2}\n"),
        ("[\n{\"a\":1}},\n{\"a\":2}\n]\n", "{\"a\":1}\n{\"a\":2}\n"),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn documents_have_a_list_behind_other_members() {
    for (file, lines) in [
        (
            "{\"took\":3,\"timed_out\":false,\"_shards\":{\"total\":1},\"hits\":{\"total\":{\"value\":2},\
             \"hits\":[{\"_id\":\"1\",\"hits\":[{}]},{\"_id\":\"2\"}]},\"aggregations\":{\"hits\":[{}]}}\n",
            "{\"_id\":\"1\",\"hits\":[{}]}\n{\"_id\":\"2\"}\n",
        ),
        (
            "{\n  \"log\": {\n    \"version\": \"1.2\",\n    \"pages\": [{\"entries\": [{}]}],\n    \
             \"entries\": [\n      {\n        \"time\": 7\n      }\n    ]\n  }\n}\n",
            "{\"time\":7}\n",
        ),
        (
            "{\"preview\":false,\"init_offset\":0,\"fields\":[{\"name\":\"results\"},[{}]],\"results\":[{\"a\":1}]}",
            "{\"a\":1}\n",
        ),
        ("{\"results\":[\n{\"a\":\"}\"}\n],\n\"status\":\"Complete\"}", "{\"a\":\"}\"}\n"),
    ] {
        for piece in 1..file.len() {
            assert_eq!(decode(file, piece), lines, "{file}");
        }
    }
}

#[test]
fn an_object_that_goes_on_may_be_arranged_otherwise() {
    for (start, is_open) in [
        ("{\n", true),
        ("{\"a\":1,\n", true),
        ("[", true),
        ("[\n", true),
        ("[\n{", false),
        ("[Wed", false),
        ("{\"a\":1}\n", false),
        ("{\"a\":\"x\n", false),
        ("192.0.2.1", false),
        ("", false),
    ] {
        assert_eq!(Arrangement::is_open(start.as_bytes()), is_open, "{start}");
    }
}

#[test]
fn other_files_pass_as_they_are() {
    for file in [
        "",
        "{",
        "[",
        "{\n",
        "[1,2]",
        "[Wed Dec 17 09:03:01 2025] [error] {}",
        "{\"a\":1}\n{\"a\":2}\n",
        "{\"records\":7}",
        "{\"recordset\":[{}]}",
        "{\"events\":[{\"a\":\"]}\"}],\"time\":1}\n{\"events\":[{}],\"time\":2}\n",
        "{\"value\":[{}],\"time\":",
        "{\"entries\":[{}]}\n{\"time\":1}\n",
        "192.0.2.1 - - [",
        // Lines that were cut off, before others.
        "{\"a\":1,\n{\"a\":2}\n",
        "{\"a\":\n{\"a\":2}\n",
        "{\"a\":[{\"b\":1},\n{\"a\":2}\n",
        "{\"a\":1\n{\"a\":2}\n",
        "{\"a\":1,\n",
        // Records that have the keys of documents.
        "{\"log\":{\"level\":\"info\"}}\n",
        "{\"preview\":false,\"result\":{\"results\":[{}]}}\n",
        "{\"took\":1,\"hits\":{\"hits\":[{}]}}\n",
    ] {
        assert_eq!(Arrangement::of(file.as_bytes()), None, "{file}");
    }
}

#[test]
fn torn_records_in_a_row_wait_for_each_other_a_few_times_at_most() {
    // Each of these braces may begin a value in the record before it.
    let file = format!("{{\"a\":1,\n\"b\":2}}\n{}", "{\"a\":[\n".repeat(160_000));
    let lines = decode(&file, 4_096);
    assert_eq!(lines.lines().count(), 160_001);
    assert!(lines.lines().skip(1).all(|line| line == "{\"a\":["));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_records_of_a_list_are_those_of_serde_json(
        texts in prop::collection::vec(any::<String>(), 1..10),
        style in 0..3,
        piece in 1_usize..50,
    ) {
        let records: Vec<serde_json::Value> = texts
            .iter()
            .map(|text| serde_json::json!({"a": text, "b": {"c": [text, 1, null, {"a": text}]}}))
            .collect();
        let list = serde_json::Value::from(records.clone());
        let file = match style {
            0 => list.to_string(),
            1 => format!("{list:#}"),
            _ => unindented(&format!("{list:#}")),
        };
        let lines = decode(&file, piece);
        let read: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_record_that_is_cut_off_anywhere_loses_no_other(
        texts in prop::collection::vec(any::<String>(), 2..6),
        is_list in any::<bool>(),
        is_indented in any::<bool>(),
        has_values_like_records in any::<bool>(),
        torn in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        piece in 1_usize..50,
    ) {
        let record = |(number, text): (usize, &String)| match has_values_like_records {
            true => serde_json::json!(
                {"a": text, "number": number, "y": [], "z": [{"a": 1}, {"a": [{"a": text}]}]}
            ),
            false => serde_json::json!(
                {"a": {"b": [text, {"c": text}, {}]}, "number": number, "z": [{}]}
            ),
        };
        let records: Vec<_> = texts.iter().enumerate().map(record).collect();
        let torn = 1 + torn.index(records.len() - 1);
        let indent = if is_list { "  " } else { "" };
        let mut pieces: Vec<String> = records
            .iter()
            .map(|record| format!("{indent}{}", format!("{record:#}").replace('\n', &format!("\n{indent}"))))
            .collect();
        if !is_indented {
            pieces.iter_mut().for_each(|piece| *piece = unindented(piece));
        }
        let indent = if is_indented { indent } else { "" };
        let is_end = |at: &usize| pieces[torn].is_char_boundary(*at);
        let ends: Vec<usize> = (indent.len() + 1..pieces[torn].len()).filter(is_end).collect();
        let end = ends[cut.index(ends.len())];
        pieces[torn].truncate(end);
        let file = match is_list {
            true => format!("[\n{}\n]\n", pieces.join(",\n")),
            false => format!("{}\n", pieces.join("\n")),
        };
        let is_whole = |number: &u64| *number != torn as u64;
        let lines = decode(&file, piece);
        let read: Vec<u64> = lines
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["number"].as_u64())
            .collect();
        let expected: Vec<u64> = (0..records.len() as u64).filter(is_whole).collect();
        prop_assert_eq!(read.into_iter().filter(is_whole).collect::<Vec<_>>(), expected, "{}", file);
    }
}
