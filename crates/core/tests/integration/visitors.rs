//! Visitors and visits against a naive count, over every division of the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Clause, Filter, Fold, Format, Moment, Segment, TextTest,
    Values, VisitorCounter, VisitorCounts, Visitors, Zone,
};

/// A record: client (0: none), agent (0: none), and the second of its time, if it has one.
type Row = (u8, u8, Option<u32>);

const START_S: i64 = 1_766_010_000;

/// A zone whose clock is set forward in the first day and back in the third.
fn zone() -> Zone {
    let transitions = [(START_S + 20_000, 7_200), (START_S + 200_000, 3_600)];
    Zone::from_transitions("CET", 3_600, transitions).expect("in order")
}

fn line((client, agent, second): Row) -> String {
    let named = |name: &str, number: u8| match number {
        0 => "-".to_owned(),
        _ => format!("{name}{number}"),
    };
    let time = second.map(|second| format!("{}.000 ", START_S + i64::from(second)));
    let time = time.unwrap_or_default();
    format!("{time}{} \"{}\"\n", named("::", client), named("agent", agent))
}

/// The rows of each block as two segments: those with a time, and those without.
fn segments(blocks: &[Vec<Row>], memory_bytes: usize) -> (Values, Vec<Segment>) {
    let mut values = Values::new(memory_bytes);
    let mut segments = Vec::new();
    for is_timed in [true, false] {
        let definition = if is_timed { "$msec " } else { "" };
        let definition = format!("{definition}$remote_addr \"$http_user_agent\"");
        let format = Arc::new(Format::parse(&definition).expect("a format"));
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        for rows in blocks {
            let rows = rows.iter().copied().filter(|row| row.2.is_some() == is_timed);
            let lines: Vec<String> = rows.map(line).collect();
            let block = Block::new(lines.concat().into_bytes());
            let segment = reader.read_segment(&block, 0, &mut values);
            assert_eq!(segment.rows(), lines.len());
            segments.push(segment);
        }
    }
    (values, segments)
}

fn fold<'a>(
    blank: &Visitors,
    values: &Values,
    segments: impl Iterator<Item = &'a Segment>,
) -> Visitors {
    let mut visitors = blank.clone();
    visitors.refresh(values);
    segments.for_each(|segment| visitors.update(segment));
    visitors
}

/// By day: visitors, and visits that began. Then the distinct visitors.
fn naive(rows: impl Iterator<Item = Row>) -> (BTreeMap<i64, (u64, u64)>, u64) {
    let zone = zone();
    let mut visitors: BTreeMap<(u8, u8), Vec<i64>> = BTreeMap::new();
    for (client, agent, second) in rows.filter(|row| row.0 > 0) {
        let times = visitors.entry((client, agent)).or_default();
        times.extend(second.map(|second| START_S + i64::from(second)));
    }
    let distinct = visitors.len() as u64;
    let mut days: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for mut times in visitors.into_values() {
        times.sort_unstable();
        let day = |at: &i64| (at + i64::from(zone.offset_s(*at))).div_euclid(86_400);
        for day in times.iter().map(day).collect::<BTreeSet<_>>() {
            days.entry(day).or_default().0 += 1;
        }
        for (index, at) in times.iter().enumerate() {
            if index == 0 || at - times[index - 1] >= 1_800 {
                days.entry(day(at)).or_default().1 += 1;
            }
        }
    }
    (days, distinct)
}

fn by_day(counts: &VisitorCounts) -> BTreeMap<i64, (u64, u64)> {
    counts.days.iter().map(|day| (day.day, (day.visitors.value, day.visits.value))).collect()
}

/// Times in bursts, so that some gaps are just below and just above half an hour.
fn seconds() -> impl Strategy<Value = Option<u32>> {
    let timed = (0u32..150, prop::sample::select(vec![0, 1, 599, 1_799]))
        .prop_map(|(n, rest)| n * 1_800 + rest);
    prop::option::weighted(0.95, timed)
}

fn blocks(clients: u8, rows: usize) -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (0..clients, 0u8..3, seconds());
    prop::collection::vec(prop::collection::vec(row, 1..rows), 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_division_of_the_rows_counts_what_a_naive_count_does(
        blocks in blocks(4, 40),
        owners in prop::collection::vec(0usize..3, 20),
    ) {
        let (values, segments) = segments(&blocks, 1 << 20);
        let blank = Visitors::new(Filter::default(), Some(zone()));
        let whole = fold(&blank, &values, segments.iter()).counts();
        let (days, distinct) = naive(blocks.iter().flatten().copied());
        prop_assert!(whole.is_exact());
        prop_assert_eq!(by_day(&whole), days.clone());
        prop_assert_eq!(whole.distinct.value, distinct);
        prop_assert_eq!(whole.visitors.value, days.values().map(|day| day.0).sum::<u64>());
        prop_assert_eq!(whole.visits.value, days.values().map(|day| day.1).sum::<u64>());

        let mut merged = blank.clone();
        for owner in 0..3 {
            let own = segments.iter().zip(&owners).filter(|(_, own)| **own == owner);
            merged.merge(&fold(&blank, &values, own.map(|(segment, _)| segment)));
        }
        prop_assert_eq!(merged.counts(), whole);
    }

    #[test]
    fn estimates_do_not_depend_on_the_order_or_the_division(
        rows in prop::collection::vec((1u32..400, 0u32..3, 0i64..400_000), 1..900),
        owners in prop::collection::vec(0usize..3, 900),
        half_hours_max in prop::sample::select(vec![0, 1, 2, 17, 64, 300, 5_000]),
    ) {
        let add = |counter: &mut VisitorCounter, (client, agent, unix_s): (u32, u32, i64)| {
            counter.add(client, agent, Some(Moment { unix_s, day: unix_s.div_euclid(86_400) }));
        };
        let mut whole = VisitorCounter::with_half_hours_max(half_hours_max);
        rows.iter().for_each(|row| add(&mut whole, *row));
        let mut backwards = VisitorCounter::with_half_hours_max(half_hours_max);
        rows.iter().rev().for_each(|row| add(&mut backwards, *row));
        let mut parts = [(); 3].map(|()| VisitorCounter::with_half_hours_max(half_hours_max));
        for (row, owner) in rows.iter().zip(&owners) {
            add(&mut parts[*owner], *row);
        }
        let [mut merged, one, other] = parts;
        merged.merge(&one);
        merged.merge(&other);
        prop_assert_eq!(backwards.counts(), whole.counts());
        prop_assert_eq!(merged.counts(), whole.counts());
        let half_hours: BTreeSet<_> = rows.iter().map(|(client, agent, at)| (client, agent, at / 1_800)).collect();
        prop_assert_eq!(whole.counts().is_exact(), half_hours.len() <= half_hours_max);
    }
}

/// A deterministic sequence of numbers that have nothing to do with the counter's own.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, max: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % max
    }
}

#[test]
fn estimates_are_within_their_error_for_a_hundred_seeds() {
    let mut widest = 0.0f64;
    for seed in 0..100 {
        let mut numbers = Numbers(seed);
        let mut counter = VisitorCounter::with_half_hours_max(4_096);
        let mut seen: BTreeMap<(u32, u32), BTreeSet<i64>> = BTreeMap::new();
        for _ in 0..30_000 {
            // Few clients have most requests, as in any log.
            let bound = 1 << numbers.below(15);
            let (client, agent) = (numbers.below(bound) as u32, numbers.below(3) as u32);
            let unix_s = numbers.below(10 * 86_400) as i64;
            counter.add(client, agent, Some(Moment { unix_s, day: unix_s / 86_400 }));
            seen.entry((client, agent)).or_default().insert(unix_s);
        }
        let counts = counter.counts();
        let check = |name: &str, counted: weir_core::CountedVisitors, truth: u64| {
            assert!(!counts.is_exact());
            let error = counted.value.abs_diff(truth);
            assert!(error <= counted.error_max, "seed {seed}, {name}: {counted:?} of {truth}");
            counted.error_max as f64 / truth as f64
        };
        let days =
            |times: &BTreeSet<i64>| times.iter().map(|at| at / 86_400).collect::<BTreeSet<_>>();
        let visits = |times: &BTreeSet<i64>| {
            let gaps = times.iter().zip(times.iter().skip(1));
            1 + gaps.filter(|(one, next)| **next - **one >= 1_800).count() as u64
        };
        widest = widest.max(check("distinct", counts.distinct, seen.len() as u64));
        let visitors = seen.values().map(|times| days(times).len() as u64).sum();
        check("visitors", counts.visitors, visitors);
        check("visits", counts.visits, seen.values().map(visits).sum());
        for day in &counts.days {
            let on_day = seen.values().filter(|times| days(times).contains(&day.day));
            check("a day", day.visitors, on_day.count() as u64);
        }
    }
    // An error that is never missed could also be one that says nothing.
    assert!(widest < 0.4, "{widest}");
}

#[test]
fn a_visitor_that_is_always_there_is_one_visit() {
    let mut counter = VisitorCounter::default();
    for unix_s in (0..3 * 86_400).step_by(1_799) {
        counter.add(1, 2, Some(Moment { unix_s, day: unix_s / 86_400 }));
    }
    let counts = counter.counts();
    assert_eq!((counts.distinct.value, counts.visitors.value, counts.visits.value), (1, 3, 1));
    assert_eq!(by_day(&counts), [(0, (1, 1)), (1, (1, 0)), (2, (1, 0))].into());
}

#[test]
fn memory_stays_within_the_stated_bound() {
    let mut counter = VisitorCounter::default();
    let mut most_bytes = 0;
    for client in 0..3_000_000u32 {
        counter.add(client, 7, Some(Moment { unix_s: i64::from(client % 864_000), day: 0 }));
        if client % 10_000 == 0 {
            most_bytes = most_bytes.max(counter.memory_bytes());
        }
    }
    assert!((16 << 20..=18 << 20).contains(&most_bytes), "{most_bytes}");
    let distinct = counter.counts().distinct;
    assert!(!counter.counts().is_exact());
    assert!(distinct.value.abs_diff(3_000_000) <= distinct.error_max, "{distinct:?}");
    assert!(distinct.error_max < 3_000_000 / 100, "{distinct:?}");
}

#[test]
fn requests_of_forgotten_clients_widen_the_errors() {
    let rows: Vec<Row> = (0..40).map(|n| (1 + n % 20, 1, Some(u32::from(n)))).collect();
    let (values, segments) = segments(&[rows], 600);
    let visitors = fold(&Visitors::new(Filter::default(), Some(zone())), &values, segments.iter());
    let counts = visitors.counts();
    assert!(counts.unattributed > 0 && counts.distinct.value < 20, "{counts:?}");
    assert!(!counts.is_exact());
    for counted in [counts.distinct, counts.visitors, counts.visits, counts.days[0].visitors] {
        assert_eq!(counted.error_max, counts.unattributed);
        assert!(counted.value + counted.error_max >= 20);
    }
}

#[test]
fn only_requests_that_pass_the_filter_are_counted() {
    let rows = vec![(1, 1, Some(5)), (2, 1, Some(5)), (2, 2, None), (0, 1, Some(5))];
    let (values, segments) = segments(&[rows], 1 << 20);
    let agent = Clause::text(&values, "user_agent", TextTest::Prefix(b"agent1".to_vec()), false);
    let filter = Filter::of(vec![agent.expect("a field")]);
    let counts = |filter| fold(&Visitors::new(filter, None), &values, segments.iter()).counts();
    assert_eq!(counts(filter).distinct.value, 2);
    let all = counts(Filter::default());
    assert_eq!((all.distinct.value, all.visitors.value, all.days.len()), (3, 2, 1));
}
