//! Evaluations as folds: any division of the segments, and any choice of aggregates.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Aggregates, Block, BlockLimits, BlockReader, ColumnId, Evaluation, Field, Fold, Format,
    ListedColumns, Question, Segment, Tally, Values,
};

/// A record: client, status, response size, request time in milliseconds, and second.
type Row = (u8, u16, u32, u32, u32);

const LISTS: [Field; 2] = [Field::Client, Field::Status];

fn segments(blocks: &[Vec<Row>]) -> (Values, Vec<Segment>) {
    let definition = "$remote_addr [$msec] $status $body_bytes_sent $request_time";
    let format = Arc::new(Format::parse(definition).expect("a format"));
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let line = |(client, status, bytes, ms, second): &Row| {
        let (time, ms) = (1_760_000_000 + second, f64::from(*ms) / 1e3);
        format!("192.0.2.{client} [{time}.000] {status} {bytes} {ms:.3}\n")
    };
    let segments = blocks.iter().map(|rows| {
        let text: String = rows.iter().map(line).collect();
        let segment = reader.read_segment(&Block::new(text.into_bytes()), 0, &mut values);
        assert_eq!(segment.rows(), rows.len());
        segment
    });
    let segments = segments.collect();
    (values, segments)
}

fn fold(question: &Question, values: &Values, segments: &[&Segment]) -> Evaluation {
    let mut evaluation = Evaluation::new(question);
    evaluation.refresh(values);
    segments.iter().for_each(|segment| evaluation.update(segment));
    evaluation
}

/// Counts by value, one row after the other.
fn naive_tallies(blocks: &[Vec<Row>], field: Field) -> BTreeMap<String, (u64, u64, u64)> {
    let mut tallies = BTreeMap::new();
    for (client, status, bytes, ..) in blocks.iter().flatten() {
        let value =
            if field == Field::Client { format!("192.0.2.{client}") } else { status.to_string() };
        let tally: &mut (u64, u64, u64) = tallies.entry(value).or_default();
        tally.0 += 1;
        tally.1 += u64::from(*bytes);
        tally.2 += u64::from((400..600).contains(status));
    }
    tallies
}

fn tallies(
    answer: &Evaluation,
    column: ColumnId,
    values: &Values,
) -> Option<BTreeMap<String, (u64, u64, u64)>> {
    let (list, dictionary) = (answer.top_list(column)?, values.dictionary(column));
    let tally = |id: u32| {
        let value = String::from_utf8_lossy(dictionary.value(id).unwrap_or_default()).into_owned();
        let Tally { count, bytes_sent, errors } = list.tally(id);
        (value, (count, bytes_sent, errors))
    };
    Some(list.top(usize::MAX, dictionary).into_iter().map(tally).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_any_division_equals_the_whole(
        blocks in prop::collection::vec(
            prop::collection::vec((0u8..5, 100u16..600, 0u32..1 << 25, 0u32..9_000, 0u32..100_000), 1..30),
            1..12,
        ),
        owners in prop::collection::vec(0usize..3, 12),
        histogram in any::<bool>(),
        lists in prop::option::of(prop::sample::subsequence(LISTS.to_vec(), 0..=2)),
        quantiles in prop::sample::subsequence(Field::NUMBERS.to_vec(), 0..=3),
    ) {
        let (values, segments) = segments(&blocks);
        let column = |fields: &[Field]| fields.iter().map(|field| field.column()).collect();
        let aggregates = Aggregates {
            histogram,
            top_lists: lists.as_deref().map_or(ListedColumns::All, |fields| {
                ListedColumns::Only(column(fields))
            }),
            quantiles: column(&quantiles),
            groups: None,
        };
        let question = Question { aggregates, ..Question::default() };

        let whole = fold(&question, &values, &segments.iter().collect::<Vec<_>>());
        let mut merged = Evaluation::new(&question);
        for owner in 0..3 {
            let own = segments.iter().zip(&owners).filter(|(_, own)| **own == owner);
            let own: Vec<&Segment> = own.map(|(segment, _)| segment).collect();
            merged.merge(&fold(&question, &values, &own));
        }

        prop_assert_eq!(merged.totals(), whole.totals());
        let rows = blocks.iter().flatten();
        prop_assert_eq!(whole.totals().records, rows.clone().count() as u64);
        prop_assert_eq!(whole.totals().bytes_sent, rows.map(|row| u64::from(row.2)).sum::<u64>());
        prop_assert_eq!(merged.histogram(), whole.histogram());
        prop_assert_eq!(whole.histogram().is_some(), histogram);
        for field in LISTS {
            let is_listed = lists.as_ref().is_none_or(|fields| fields.contains(&field));
            let expected = is_listed.then(|| naive_tallies(&blocks, field));
            prop_assert_eq!(tallies(&whole, field.column(), &values), expected.clone());
            prop_assert_eq!(tallies(&merged, field.column(), &values), expected);
        }
        for field in Field::NUMBERS {
            let counted = whole.quantiles(field.column());
            prop_assert_eq!(counted.is_some(), quantiles.contains(&field));
            prop_assert_eq!(merged.quantiles(field.column()), counted);
        }
    }
}

#[test]
fn totals_can_be_asked_for_alone() {
    let (values, segments) = segments(&[vec![(1, 404, 17, 250, 0), (2, 200, 3, 1, 9)]]);
    let question = Question { aggregates: Aggregates::none(), ..Question::default() };
    let answer = fold(&question, &values, &segments.iter().collect::<Vec<_>>());
    let totals = answer.totals();
    assert_eq!((totals.records, totals.bytes_sent, totals.errors), (2, 20, 1));
    assert!(answer.histogram().is_none());
    assert!(answer.top_list(Field::Client.column()).is_none());
    assert!(answer.quantiles(Field::RequestTime.column()).is_none());
}
