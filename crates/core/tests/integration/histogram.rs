//! The histogram at clock changes and before 1970, compared with a naive count.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Histogram, Question, Values, Zone,
};

/// Central European Time around the changes of 2025: forward on 30 March at 02:00, back on
/// 26 October at 03:00.
fn cet() -> Zone {
    Zone::from_transitions("CET", 3600, [(FORWARD, 7200), (BACK, 3600)])
}

const FORWARD: i64 = 1_743_296_400;
const BACK: i64 = 1_761_440_400;

fn evaluation(zone: &Zone, buckets_max: usize, blocks: &[&[i64]]) -> Evaluation {
    let format = Arc::new(Format::parse("%{%s}t %>s").expect("a valid format"));
    let format = match blocks.iter().any(|times| times.iter().any(|time| *time < 0)) {
        true => Arc::new(Format::parse("$time_iso8601 $status").expect("a valid format")),
        false => format,
    };
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let question = Question { zone: Some(zone.clone()), buckets_max, ..Question::default() };
    let mut evaluation = Evaluation::new(&question);
    for times in blocks {
        let line = |time: &i64| match format.definition().starts_with('$') {
            true => {
                let stamp = weir_core::Timestamp { unix_ns: time * 1_000_000_000, offset_s: 0 };
                format!("{} 200\n", weir_core::format_rfc3339(stamp))
            }
            false => format!("{time} 200\n"),
        };
        let text: String = times.iter().map(line).collect();
        let read = reader.read(&Block::new(text.into_bytes()), 0);
        assert_eq!(read.records, times.len() as u64);
        let resolved = reader.resolve(read, || &mut values);
        let segment = reader.seal(resolved).into_segment();
        evaluation.refresh(&values);
        evaluation.update(&segment);
    }
    evaluation
}

fn counts(histogram: &Histogram) -> BTreeMap<i64, u64> {
    let count = |counts: &[u64]| counts.iter().sum::<u64>();
    let buckets = histogram.buckets().map(|bucket| (bucket.start_s, count(bucket.counts)));
    buckets.filter(|(_, count)| *count > 0).collect()
}

/// The naive oracle: divides each time by the step. Steps up to an hour divide UTC, because
/// these clocks change by whole hours; longer steps divide local time.
fn naive_counts(zone: &Zone, step_s: i64, times: &[i64]) -> BTreeMap<i64, u64> {
    let bias_s = if step_s >= 7 * 86_400 { 3 * 86_400 } else { 0 };
    let mut counts = BTreeMap::new();
    for time in times {
        let local = time + i64::from(zone.offset_s(*time));
        let start = match step_s <= 3600 {
            true => time.div_euclid(step_s) * step_s,
            false => {
                let local = (local + bias_s).div_euclid(step_s) * step_s - bias_s;
                zone.instant_of_local(local)
            }
        };
        *counts.entry(start).or_insert(0) += 1;
    }
    counts
}

#[test]
fn the_repeated_hour_is_counted_twice() {
    // At this change 02:00:00 follows 02:59:59.
    for times in [&[BACK - 1, BACK][..], &[BACK - 1800, BACK - 1, BACK + 600], &[BACK, BACK - 1]] {
        let evaluation = evaluation(&cet(), 400, &[times]);
        let histogram = evaluation.histogram().expect("there are times");
        let step_s = histogram.step_s() as i64;
        assert_eq!(counts(histogram), naive_counts(&cet(), step_s, times));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_the_naive_ones(
        around in prop::sample::select(vec![0, FORWARD, BACK, -FORWARD]),
        spread in prop::sample::select(vec![100i64, 10_000, 1_000_000, 1_000_000_000]),
        parts in prop::collection::vec(prop::collection::vec(-1000i64..1000, 1..20), 1..5),
        buckets_max in prop::sample::select(vec![2usize, 3, 10, 400]),
    ) {
        let blocks: Vec<Vec<i64>> = parts
            .iter()
            .map(|part| part.iter().map(|share| around + share * spread / 1000).collect())
            .collect();
        let slices: Vec<&[i64]> = blocks.iter().map(Vec::as_slice).collect();
        let all: Vec<i64> = blocks.concat();
        let by_part = evaluation(&cet(), buckets_max, &slices);
        let histogram = by_part.histogram().expect("there are times");
        prop_assert!(histogram.buckets().count() <= buckets_max);
        prop_assert_eq!(counts(histogram), naive_counts(&cet(), histogram.step_s() as i64, &all));

        let whole = evaluation(&cet(), buckets_max, &[&all]);
        prop_assert_eq!(whole.histogram(), by_part.histogram());
        let mut merged = evaluation(&cet(), buckets_max, &slices[..1]);
        for slice in &slices[1..] {
            merged.merge(&evaluation(&cet(), buckets_max, &[slice]));
        }
        prop_assert_eq!(merged.histogram(), by_part.histogram());
        let starts: Vec<i64> = histogram.buckets().map(|bucket| bucket.start_s).collect();
        prop_assert!(starts.is_sorted_by(|a, b| a < b), "each bucket has a different start");
    }
}
