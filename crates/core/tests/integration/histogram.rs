//! The histogram at clock changes, before 1990 and before 1970, compared with a naive count.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Histogram, Question, Values, Zone,
};

/// Central European Time around the changes of 2025: forward on 30 March at 02:00, back on
/// 26 October at 03:00.
fn cet() -> Zone {
    Zone::from_transitions("CET", 3600, [(FORWARD, 7200), (BACK, 3600)]).expect("in order")
}

const DAY_S: i64 = 86_400;
/// The start of 1990. Records before it are left out if there are later ones.
const WEB_S: i64 = 631_152_000;
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
    let buckets = histogram.buckets().map(|bucket| (bucket.start_s, count(&bucket.counts)));
    buckets.filter(|(_, count)| *count > 0).collect()
}

/// The naive oracle: divides each time by the step. Steps up to an hour divide UTC, because
/// these clocks change by whole hours; longer steps divide local time, and those from a month on
/// the calendar.
fn naive_counts(zone: &Zone, step_s: i64, times: &[i64]) -> BTreeMap<i64, u64> {
    let bias_s = if step_s >= 7 * 86_400 { 3 * 86_400 } else { 0 };
    let mut counts = BTreeMap::new();
    for time in times {
        let local = time + i64::from(zone.offset_s(*time));
        let start = match step_s <= 3600 {
            true => time.div_euclid(step_s) * step_s,
            false if step_s >= 30 * DAY_S => {
                let months = if step_s >= 365 * DAY_S { step_s / DAY_S / 365 * 12 } else { 1 };
                zone.instant_of_local(month_start_s(local, months))
            }
            false => {
                let local = (local + bias_s).div_euclid(step_s) * step_s - bias_s;
                zone.instant_of_local(local)
            }
        };
        *counts.entry(start).or_insert(0) += 1;
    }
    counts
}

/// The start of the part of the calendar, of this many months, that contains a local time. It walks
/// through all months from the year 1000.
fn month_start_s(local_s: i64, months: i64) -> i64 {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_year = |year: i64| if is_leap(year) { 366 } else { 365 };
    let mut start_s = -(1_000..1_970).map(days_of_year).sum::<i64>() * DAY_S;
    let mut part_start_s = start_s;
    for month in 1_000 * 12.. {
        if start_s > local_s {
            break;
        }
        if month % months == 0 {
            part_start_s = start_s;
        }
        let days = match month % 12 {
            1 if is_leap(month / 12) => 29,
            1 => 28,
            3 | 5 | 8 | 10 => 30,
            _ => 31,
        };
        start_s += days * DAY_S;
    }
    part_start_s
}

#[test]
fn months_and_years_are_those_of_the_calendar() {
    let zone = cet();
    let starts = |times: &[i64], range_ns: Option<(i64, i64)>| -> Vec<String> {
        let evaluation = evaluation(&zone, 40, &[times]);
        let histogram = evaluation.histogram().expect("there are times").clone();
        let histogram = range_ns.map_or(histogram.clone(), |range| histogram.covering(range));
        let stamp = |bucket: weir_core::Bucket<'_>| {
            let offset_s = zone.offset_s(bucket.start_s);
            let time = weir_core::Timestamp { unix_ns: bucket.start_s * 1_000_000_000, offset_s };
            weir_core::format_rfc3339(time)
        };
        histogram.buckets().map(stamp).collect()
    };
    // 17 May 2015 to 4 January 2016.
    let weeks = starts(&[1_431_820_800, 1_451_894_400], None);
    assert_eq!((weeks.len(), weeks[0].as_str()), (35, "2015-05-11T00:00:00+01:00"));
    let months = starts(&[1_431_820_800, 1_470_000_000], None);
    assert_eq!(months.len(), 15);
    assert_eq!(months[1], "2015-06-01T00:00:00+01:00");
    assert_eq!(months[9], "2016-02-01T00:00:00+01:00");
    assert_eq!(months[10], "2016-03-01T00:00:00+01:00");
    // The axis covers the range, not only the records.
    let years =
        starts(&[1_431_820_800], Some((789_000_000_000_000_000, 1_000_000_000_000_000_000)));
    assert_eq!(years.len(), 21, "1995 to 2015");
    assert_eq!(years[20], "2015-01-01T00:00:00+01:00");
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
        reach in prop::sample::select(vec![0i64, 7, 5_000, 3_000_000, 400_000_000]),
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
        let last = *all.iter().max().unwrap();
        let shown_until = |last: i64| -> Vec<i64> {
            all.iter().copied().filter(|time| last < WEB_S || *time >= WEB_S).collect()
        };
        let shown = shown_until(last);
        prop_assert_eq!(counts(histogram), naive_counts(&cet(), histogram.step_s() as i64, &shown));
        prop_assert_eq!(histogram.left_out(), (all.len() - shown.len()) as u64);

        let range = [*all.iter().min().unwrap() - reach, *all.iter().max().unwrap() + reach / 2];
        let [first_ns, last_ns] = range.map(|time| time * 1_000_000_000);
        let wide = histogram.clone().covering((first_ns, last_ns));
        prop_assert!(wide.buckets().count() <= buckets_max);
        // A range adds no records, and those of before 1990 stay shown if there are no others.
        prop_assert_eq!(counts(&wide), naive_counts(&cet(), wide.step_s() as i64, &shown));
        let first_s = wide.buckets().next().map(|bucket| bucket.start_s);
        let is_divided = range[0] < WEB_S && range[1] >= WEB_S;
        prop_assert!(is_divided || first_s.is_some_and(|first| first <= range[0]));
        let is_early = is_divided && last < WEB_S;
        prop_assert!(is_early || wide.end_s().is_some_and(|end| end > range[1]));

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

#[test]
fn a_step_that_is_given_stays_unless_there_are_too_many_buckets() {
    let starts = |times: &[i64], step_s: u64| -> (u64, Vec<i64>) {
        let range_ns = (times[0] * 1_000_000_000, times[1] * 1_000_000_000);
        let histogram = Histogram::new(cet(), 100, 1).with_step_s(step_s).covering(range_ns);
        (histogram.step_s(), histogram.buckets().map(|bucket| bucket.start_s).collect())
    };
    let noon = FORWARD - 3_600;
    // A few seconds have one minute, and not five seconds.
    assert_eq!(starts(&[noon + 3, noon + 7], 60), (60, vec![noon]));
    assert_eq!(starts(&[noon, noon + 60 * 99], 60).1.len(), 100);
    assert_eq!(starts(&[noon, noon + 60 * 100], 60).0, 300);
    assert_eq!(starts(&[noon, noon + 1], 604_800).1.len(), 1);
    // Before 1990 as well.
    assert_eq!(starts(&[3_600, 3_700], 60), (60, vec![3_600, 3_660]));
    // The records of a merged part are in the same steps.
    let part = Histogram::new(cet(), 100, 1).with_step_s(60).covering((0, 90_000_000_000));
    let mut merged = Histogram::new(cet(), 100, 1).with_step_s(60);
    merged.merge(&part);
    assert_eq!((merged.step_s(), merged.buckets().count()), (60, 2));
}
