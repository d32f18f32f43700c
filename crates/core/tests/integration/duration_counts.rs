//! Records by time and duration, compared with a naive count for every way to divide the rows.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, DurationCounts, DurationSteps, Field, Format, Segment,
    Selection, TimeSpans, Timestamp, Values, format_rfc3339,
};

#[derive(Debug, Clone)]
struct Row {
    time_s: i64,
    /// As it is logged, and in nanoseconds.
    duration: Option<(String, u64)>,
}

/// The bounds of the spans, in seconds since 1970.
const BOUNDS_S: [i64; 4] = [1_700_000_000, 1_700_000_010, 1_700_000_011, 1_700_000_090];

/// The unit of the durations of a log in nanoseconds, and how many digits it has after the point.
const UNITS: [(u64, usize); 3] = [(1_000_000_000, 0), (1_000_000, 3), (1_000, 6)];

fn row((unit_ns, digits): (u64, usize)) -> impl Strategy<Value = Row> {
    let units =
        prop_oneof![0u64..3, 0u64..2_000, (0u64..1 << 34, 0u32..34).prop_map(|(n, by)| n >> by)];
    let duration = units.prop_map(move |units| {
        let per_second = 1_000_000_000 / unit_ns;
        let text = match digits {
            0 => units.to_string(),
            _ => format!("{}.{:0digits$}", units / per_second, units % per_second),
        };
        (text, units * unit_ns)
    });
    (1_699_999_995i64..1_700_000_095, prop::option::weighted(0.8, duration))
        .prop_map(|(time_s, duration)| Row { time_s, duration })
}

fn log() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let of_unit = |unit| prop::collection::vec(prop::collection::vec(row(unit), 1..30), 1..6);
    prop::sample::select(UNITS.to_vec()).prop_flat_map(of_unit)
}

fn read(blocks: &[Vec<Row>]) -> Vec<Arc<Segment>> {
    let format = Arc::new(Format::parse("[$time_iso8601] $request_time").expect("a format"));
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let line = |row: &Row| {
        let stamp = Timestamp { unix_ns: row.time_s * 1_000_000_000, offset_s: 0 };
        let duration = row.duration.as_ref().map_or("-", |(text, _)| text);
        format!("[{}] {duration}\n", format_rfc3339(stamp))
    };
    let blocks = blocks.iter().map(|rows| {
        let text: String = rows.iter().map(line).collect();
        Arc::new(reader.read_segment(&Block::new(text.into_bytes()), 0, &mut values))
    });
    blocks.collect()
}

fn blank() -> DurationCounts {
    let spans = TimeSpans::new(BOUNDS_S.map(|bound| bound * 1_000_000_000).to_vec());
    DurationCounts::new(Field::RequestTime.column(), spans)
}

/// The rows of a log that are selected: all, or every second.
fn selection(rows: usize, all: bool) -> Selection {
    if all { Selection::All(rows) } else { Selection::Rows((0..rows as u32).step_by(2).collect()) }
}

/// Checks the counts against a look at each row between the bounds of each span and step.
fn check(steps: &DurationSteps, rows: &[Row]) {
    let in_span =
        |row: &Row, span: usize| (BOUNDS_S[span]..BOUNDS_S[span + 1]).contains(&row.time_s);
    for (span, counts) in steps.counts.iter().enumerate() {
        assert_eq!(counts.len(), steps.bounds_ns.len().saturating_sub(1));
        let mut counted = 0;
        for (bounds, count) in steps.bounds_ns.windows(2).zip(counts) {
            let is_in = |row: &&Row| {
                let is_long = row
                    .duration
                    .as_ref()
                    .is_some_and(|(_, ns)| (bounds[0]..bounds[1]).contains(ns));
                in_span(row, span) && is_long
            };
            let expected = rows.iter().filter(is_in).count() as u64;
            assert_eq!(*count, expected, "span {span}, {bounds:?}");
            counted += count;
        }
        let all = rows.iter().filter(|row| row.duration.is_some() && in_span(row, span)).count();
        assert_eq!(counted, all as u64, "no row of span {span} is between the steps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn durations_over_time_are_those_of_a_naive_count(
        blocks in log(),
        cut in 0usize..6,
        all in any::<bool>(),
    ) {
        let segments = read(&blocks);
        let mut parts = [blank(), blank()];
        let mut whole = blank();
        for (number, (segment, rows)) in segments.iter().zip(&blocks).enumerate() {
            let selection = selection(rows.len(), all);
            parts[usize::from(number < cut)].update(segment, &selection);
            whole.update(segment, &selection);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        let steps = whole.steps();
        prop_assert_eq!(&merged.steps(), &steps);

        let step = if all { 1 } else { 2 };
        let rows: Vec<Row> =
            blocks.iter().flat_map(|rows| rows.iter().step_by(step).cloned()).collect();
        check(&steps, &rows);
        prop_assert_eq!(steps.counts.len(), BOUNDS_S.len() - 1);
        prop_assert!(steps.bounds_ns.len() <= DurationCounts::STEPS_MAX + 1);
        prop_assert!(steps.bounds_ns.is_sorted_by(|one, next| one < next));
        // Nothing is shown beyond the durations that there are.
        let used = |step: usize| steps.counts.iter().any(|counts| counts[step] > 0);
        if let Some(last) = steps.bounds_ns.len().checked_sub(2) {
            prop_assert!(used(0) && used(last));
        }
    }
}

fn row_of(ms: u64) -> Row {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    Row { time_s: BOUNDS_S[0], duration: Some((text, ms * 1_000_000)) }
}

fn bounds_of(rows: Vec<Row>) -> Vec<u64> {
    let mut counts = blank();
    let selection = Selection::All(rows.len());
    counts.update(&read(&[rows])[0], &selection);
    counts.steps().bounds_ns
}

#[test]
fn no_step_lies_between_two_milliseconds() {
    let bounds = bounds_of([0, 1, 2, 9].map(row_of).to_vec());
    let expected: Vec<u64> = (0..=10).map(|ms| ms * 1_000_000).collect();
    assert_eq!(bounds, expected);
    // A single one has a step as well.
    assert_eq!(bounds_of(vec![row_of(500)]), [500_000_000, 560_000_000]);
    // A log of zeros has whole seconds.
    assert_eq!(bounds_of(vec![row_of(0)]), [0, 1_000_000_000]);
    assert!(bounds_of(vec![Row { duration: None, ..row_of(0) }]).is_empty());
}

#[test]
fn a_wide_range_has_joined_steps() {
    // Four powers of ten have 80 steps; joined by two there are ten in each.
    let bounds = bounds_of([10, 99_999].map(row_of).to_vec());
    assert_eq!(bounds.len(), 41);
    assert_eq!(bounds[..4], [10_000_000, 13_000_000, 16_000_000, 20_000_000]);
    assert_eq!(bounds[40], 100_000_000_000);
}
