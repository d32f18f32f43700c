//! Lists and conditions of derived fields, against the same fields as columns.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{DerivedCatalog, DerivedField, TimeSpans, Zone, derived_field};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{KnownDerived, ListPart, field_list, report, series};
use weir_view::{FieldList, GroupRow, Query};

use crate::parsed;

const FIELDS: [&str; 8] =
    ["network", "path/1", "extension", "hour", "weekday", "date", "time/20m", "query:q"];

const ZONE: &str = "Asia/Kathmandu";

const PATHS: [&str; 5] = ["/", "/shop/1.html", "/shop/2.HTML?q=a", "/img/logo.png", "/a?q=b&q=c"];

/// The derived fields of the core.
#[derive(Debug)]
struct Catalog;

impl DerivedCatalog for Catalog {
    fn field(&self, name: &str, zone: Option<&Zone>) -> Option<DerivedField> {
        derived_field(name, zone).ok().flatten()
    }
}

/// Requests in the order of their times but for some, with two offsets from UTC.
fn log() -> String {
    let line = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let (day, hour, minute) = (1 + mixed % 9, (number / 7) % 24, mixed % 60);
        let client = match mixed % 11 {
            0 => "some.host".to_owned(),
            1 => format!("2001:db8:{:x}::1", mixed % 3),
            _ => format!("192.0.{}.{}", mixed % 4, mixed % 200),
        };
        let offset = if mixed.is_multiple_of(5) { "+0000" } else { "+0200" };
        let (path, status) = (PATHS[mixed as usize % 5], 200 + 100 * (mixed % 4));
        format!(
            "{client} - - [0{day}/Nov/2026:{hour:02}:{minute:02}:07 {offset}] \"GET {path} \
             HTTP/1.1\" {status} {mixed} \"-\" \"-\"\n"
        )
    };
    (0..3_000).map(line).collect()
}

fn data(fields: &[&str], zone: Option<&Zone>) -> Arc<DataSet> {
    data_of(&log(), 1 << 30, fields, zone)
}

fn data_of(
    log: &str,
    memory_bytes_max: usize,
    fields: &[&str],
    zone: Option<&Zone>,
) -> Arc<DataSet> {
    let data = DataSet::new(Retention::Segments, memory_bytes_max, &[]);
    data.derive_with(Arc::new(Catalog));
    let pipeline = Pipeline::start(&PipelineOptions::new(2, Retention::Segments), data.clone());
    let fields = fields.iter().map(|name| derived_field(name, zone).unwrap().unwrap());
    let choice = FormatChoice::Detect.deriving(fields.collect());
    let mut source = pipeline.source("access.log", None, choice);
    source.write_all(log.as_bytes()).expect("there is memory");
    source.finish(SourceEnd::Done).expect("there is memory");
    pipeline.finish();
    data
}

fn listed(data: &Arc<DataSet>, query: &Query, part: &ListPart) -> FieldList {
    let known = KnownDerived::default();
    let list = field_list(data, &parsed(query), part, &known, 2, &AtomicBool::new(false));
    list.expect("a valid query").expect("it was not abandoned")
}

fn query(group: &str, conditions: &[&str], zone: Option<&str>) -> Query {
    Query {
        group: Some(group.to_owned()),
        conditions: conditions.iter().map(|text| (*text).to_owned()).collect(),
        measures: ["requests", "clients", "max:bytes"].map(str::to_owned).to_vec(),
        zone: zone.map(str::to_owned),
        top: 100,
        ..Query::default()
    }
}

#[test]
fn a_list_of_a_derived_field_is_that_of_its_column() {
    let derived = data(&[], None);
    for zone in [None, Some(ZONE)] {
        let parsed_zone = zone.map(|name| weir_query::find_zone(name).expect("a zone"));
        let columns = data(&FIELDS, parsed_zone.as_ref());
        for field in FIELDS {
            for conditions in
                [&[][..], &["status=404 or status=500"], &["network=192.0.1.0/24", "hour>=7"]]
            {
                let query = query(field, conditions, zone);
                let expected = report(&columns, &query, 1).expect("a valid query");
                let list = listed(&derived, &query, &ListPart::default());
                let context = format!("{field} {conditions:?} {zone:?}");
                assert_eq!(Some(&list.group), expected.group.as_ref(), "{context}");
                assert_eq!(list.matching, expected.matching, "{context}");
                assert!(list.matching > 100, "{context}: {}", list.matching);
                let is_value = |row: &&GroupRow| !row.value.is_absent;
                let values = list.group.rows.iter().filter(is_value).count() as u64;
                assert_eq!(list.values, values + list.group.rest.values, "{context}");
            }
        }
    }
}

#[test]
fn a_list_with_more_values_than_its_memory_holds_is_an_estimate() {
    let line = |number: u64| {
        let client = format!("10.{}.{}.1", number / 200, number % 200);
        format!("{client} - - [01/Nov/2026:09:00:07 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n")
    };
    let log: String = (0..20_000).map(line).collect();
    let list = |memory_bytes_max| {
        let data = data_of(&log, memory_bytes_max, &[], None);
        listed(&data, &query("network", &[], None), &ListPart::default())
    };
    let whole = list(1 << 30);
    assert_eq!((whole.values, whole.estimated), (20_000, false));
    let part = list(16 << 20);
    assert!(part.estimated && part.values < 20_000, "{}", part.values);
    let shown: u64 = part.group.rows.iter().map(|row| row.tally.selected.count).sum();
    assert_eq!(shown + part.group.rest.tally.selected.count, 20_000);
}

#[test]
fn conditions_of_each_kind_select_as_on_a_column() {
    // Without a zone, a report over a log with several offsets shows all times in one zone of the
    // log, but columns have times as they were logged.
    let zone = weir_query::find_zone(ZONE).expect("a zone");
    let (derived, columns) = (data(&[], None), data(&FIELDS, Some(&zone)));
    let conditions = [
        "extension=png",
        "extension!=png",
        "extension=(none)",
        "extension!=(none)",
        "extension^=h",
        "network~\"^2001\"",
        "weekday!=\"3 Wednesday\"",
        "hour=05,06",
        "time/20m=\"2026-11-04 09:20\"",
        "hour=(none)",
        "date=2026-11-04 or path/1=/shop/",
        "not (hour<=3 and query:q=a)",
    ];
    for condition in conditions {
        let query = query("status", &[condition], Some(ZONE));
        let matching = |data| report(data, &query, 1).expect(condition).matching;
        assert_eq!(matching(&derived), matching(&columns), "{condition}");
    }
    let none = report(&derived, &query("status", &["nothing=1"], None), 1);
    assert!(none.is_err(), "it is no field");
}

#[test]
fn a_part_of_a_list_is_searched_and_skipped_to() {
    let data = data(&[], None);
    let all = listed(&data, &query("path/1", &[], None), &ListPart::default());
    let values: Vec<&str> = all.group.rows.iter().map(|row| row.value.text.as_str()).collect();
    let part = ListPart { from: 1, ..ListPart::default() };
    let two = Query { top: 2, ..query("path/1", &[], None) };
    let list = listed(&data, &two, &part);
    let found: Vec<&str> = list.group.rows.iter().map(|row| row.value.text.as_str()).collect();
    assert_eq!(found, values[1..3]);
    assert_eq!(list.group.rest.values, values.len() as u64 - 2);
    let shop = ListPart { search: "SHOP".to_owned(), ..ListPart::default() };
    let list = listed(&data, &query("path/1", &[], None), &shop);
    assert_eq!(list.group.rows.len(), 1);
    assert_eq!((list.group.rows[0].value.text.as_str(), list.values), ("/shop/", all.values));
}

#[test]
fn lists_of_columns_have_their_values_too() {
    let data = data(&[], None);
    for field in ["path", "status", "status_class", "client"] {
        let query = query(field, &["hour<12"], Some(ZONE));
        let expected = report(&data, &query, 1).expect("a valid query").group;
        assert_eq!(Some(listed(&data, &query, &ListPart::default()).group), expected, "{field}");
    }
}

/// The second of 2 November 2026 in UTC, and hours after it.
const HOURS_S: fn(i64) -> i64 = |hours| 1_793_577_600 + 3_600 * hours;

/// Three spans, of which the second is empty, as conditions too.
fn spans() -> (TimeSpans, Vec<String>) {
    let bounds: Vec<i64> = [0, 30, 30, 31, 100].map(HOURS_S).to_vec();
    let spans = TimeSpans::new(bounds.iter().map(|bound| bound * 1_000_000_000).collect());
    let stamp = |bound: i64| {
        let time = weir_core::Timestamp { unix_ns: bound * 1_000_000_000, offset_s: 0 };
        weir_core::format_rfc3339(time)
    };
    let condition = |pair: &[i64]| format!("time>={} and time<{}", stamp(pair[0]), stamp(pair[1]));
    let bounds = [0, 30, 31, 100].map(HOURS_S);
    (spans, bounds.windows(2).map(condition).collect())
}

#[test]
fn the_records_of_values_are_counted_over_time() {
    let data = data(&[], None);
    let (spans, conditions) = spans();
    for field in ["path", "network", "hour"] {
        let part = ListPart { spans: Some(spans.clone()), ..ListPart::default() };
        let list = listed(&data, &query(field, &["status!=300"], None), &part);
        assert!(!list.group.rows.is_empty());
        assert_eq!(list.over_time.len(), list.group.rows.len());
        for (at, condition) in conditions.iter().enumerate() {
            let query = query(field, &["status!=300", condition], None);
            let expected = listed(&data, &query, &ListPart::default());
            for (row, counts) in list.group.rows.iter().zip(&list.over_time) {
                let same = expected.group.rows.iter().find(|other| other.value == row.value);
                let count = same.map_or(0, |row| row.tally.selected.count);
                assert_eq!(counts[at], count, "{field} {:?} {condition}", row.value);
            }
        }
    }
}

#[test]
fn measures_over_time_are_those_of_each_span() {
    let data = data(&[], None);
    let (spans, conditions) = spans();
    let asked = query("path", &["extension=png"], None);
    let answer = series(&data, &parsed(&asked), &spans, None, 2, &AtomicBool::new(false));
    let answer = answer.expect("a valid query").expect("it was not abandoned");
    assert_eq!(answer.spans.len(), conditions.len());
    for (span, condition) in answer.spans.iter().zip(conditions) {
        let query = query("extension", &["extension=png", &condition], None);
        let list = listed(&data, &query, &ListPart::default());
        let all = list.group.rows.first().map(|row| row.tally.selected).unwrap_or_default();
        assert_eq!(span.tally, all, "{condition}");
        let measures = list.group.rows.first().map(|row| row.measures.clone());
        if let Some(measures) = measures {
            assert_eq!(span.measures, measures, "{condition}");
        }
    }
}

#[test]
fn a_list_of_a_field_that_the_log_lacks_is_refused_as_such() {
    let data = data(&[], None);
    for (field, expected) in [
        ("pathh", "the log has no field `pathh`; did you mean `path`?"),
        ("source", "`source` has no list here"),
    ] {
        let known = KnownDerived::default();
        let query = parsed(&query(field, &[], None));
        let part = ListPart::default();
        let refused = field_list(&data, &query, &part, &known, 1, &AtomicBool::new(false));
        let message = refused.expect_err(field).to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
