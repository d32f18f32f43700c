//! Incremental answers, compared with fresh ones and with a naive count.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Aggregates, Block, BlockLimits, BlockReader, Clause, ColumnId, CountedRows, Evaluation, Field,
    Filter, Fold, Format, Question, Recount, RowBits, Segment, Stack, Tally, TextTest, Values,
    Zone,
};

/// The values of a record; `None` is logged as `-`.
#[derive(Debug, Clone)]
struct Row {
    client: u8,
    path: u8,
    status: u16,
    bytes: Option<u64>,
    time_s: i64,
    request_ms: Option<u32>,
}

const DEFINITION: &str =
    r#"$remote_addr [$time_iso8601] "$request_method $uri" $status $body_bytes_sent $request_time"#;

fn line(row: &Row) -> String {
    let stamp = weir_core::Timestamp { unix_ns: row.time_s * 1_000_000_000, offset_s: 0 };
    let bytes = row.bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
    let request_time =
        row.request_ms.map_or("-".to_owned(), |ms| format!("{}.{:03}", ms / 1000, ms % 1000));
    format!(
        "192.0.2.{} [{}] \"GET /{}\" {} {bytes} {request_time}\n",
        row.client,
        weir_core::format_rfc3339(stamp),
        row.path,
        row.status
    )
}

fn read(blocks: &[Vec<Row>]) -> (Values, Vec<Arc<Segment>>) {
    let format = Arc::new(Format::parse(DEFINITION).expect("a valid format"));
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let mut segments = Vec::new();
    for rows in blocks {
        let text: String = rows.iter().map(line).collect();
        let read = reader.read(&Block::new(text.into_bytes()), 0);
        assert_eq!(read.records, rows.len() as u64);
        let resolved = reader.resolve(read, || &mut values);
        segments.push(Arc::new(reader.seal(resolved).into_segment()));
    }
    (values, segments)
}

/// A condition, with a naive implementation.
#[derive(Debug, Clone)]
enum Condition {
    Status(u16, bool),
    Path(u8),
    Bytes(u64, u64),
    Time(i64, i64),
    Client(String, bool),
}

impl Condition {
    fn clause(&self, values: &Values) -> Clause {
        let text = |name, test, negated| Clause::text(values, name, test, negated);
        let clause = match self {
            Self::Status(status, negated) => {
                let value = status.to_string().into_bytes();
                text("status", TextTest::OneOf(vec![value]), *negated)
            }
            Self::Path(path) => {
                text("path", TextTest::Prefix(format!("/{path}").into_bytes()), false)
            }
            Self::Client(expression, negated) => {
                let test = TextTest::matches(expression).expect("a valid expression");
                text("client", test, *negated)
            }
            Self::Bytes(min, max) => {
                Ok(Clause::Number { column: Field::Bytes.column(), ranges: vec![(*min, *max)] })
            }
            Self::Time(first_s, last_s) => {
                let [first_ns, last_ns] = [first_s, last_s].map(|time_s| time_s * 1_000_000_000);
                Ok(Clause::Time { first_ns, last_ns })
            }
        };
        clause.expect("the field exists")
    }

    fn passes(&self, row: &Row) -> bool {
        match self {
            Self::Status(status, negated) => (row.status == *status) != *negated,
            Self::Path(path) => format!("/{}", row.path).starts_with(&format!("/{path}")),
            Self::Client(expression, negated) => {
                let digit = expression.trim_end_matches('$');
                format!("192.0.2.{}", row.client).ends_with(digit) != *negated
            }
            Self::Bytes(min, max) => row.bytes.is_some_and(|bytes| (*min..=*max).contains(&bytes)),
            Self::Time(first_s, last_s) => (*first_s..=*last_s).contains(&row.time_s),
        }
    }
}

/// All results of an evaluation.
#[derive(Debug, PartialEq)]
struct Results {
    totals: (u64, u64, u64),
    range: Option<(i64, i64)>,
    offsets: Option<(i32, i32)>,
    step_s: Option<u64>,
    buckets: Vec<(i64, Vec<u64>)>,
    lists: Vec<Vec<(Vec<u8>, Tally)>>,
    distinct: Vec<u64>,
    durations: (u64, Option<[u64; 3]>, Option<u64>, bool),
}

fn results(evaluation: &Evaluation, values: &Values) -> Results {
    let totals = evaluation.totals();
    let columns = || values.schema().text_columns().map(|(column, _)| column);
    let list = |column: ColumnId| {
        let dictionary = values.dictionary(column);
        let Some(list) = evaluation.top_list(column) else { return Vec::new() };
        let ids = list.top(5, dictionary);
        let row = |id: u32| (dictionary.value(id).unwrap_or_default().to_vec(), list.tally(id));
        ids.into_iter().map(row).collect()
    };
    let quantiles =
        evaluation.quantiles(Field::RequestTime.column()).expect("the question includes it");
    Results {
        totals: (totals.records, totals.bytes_sent, totals.errors),
        range: totals.time_range_ns,
        offsets: totals.offset_range_s,
        step_s: evaluation.histogram().map(|histogram| histogram.step_s()),
        buckets: evaluation.histogram().map_or(Vec::new(), |histogram| {
            histogram.buckets().map(|bucket| (bucket.start_s, bucket.counts.to_vec())).collect()
        }),
        lists: columns().map(list).collect(),
        distinct: columns()
            .map(|column| evaluation.top_list(column).map_or(0, |list| list.distinct()))
            .collect(),
        durations: (
            quantiles.count(),
            quantiles.quantiles([0.1, 0.5, 0.99]),
            quantiles.max(),
            quantiles.is_estimated(),
        ),
    }
}

/// The naive oracle: the numbers of records, bytes and errors, and of records per path.
fn naive_counts(
    rows: &[Row],
    conditions: &[Condition],
) -> ((u64, u64, u64), BTreeMap<String, u64>) {
    let passing = || rows.iter().filter(|row| conditions.iter().all(|one| one.passes(row)));
    let bytes: u128 = passing().map(|row| u128::from(row.bytes.unwrap_or(0))).sum();
    let errors = passing().filter(|row| (400..600).contains(&row.status)).count();
    let mut paths = BTreeMap::new();
    passing().for_each(|row| *paths.entry(format!("/{}", row.path)).or_insert(0) += 1);
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    ((passing().count() as u64, bytes, errors as u64), paths)
}

struct Answer {
    evaluation: Evaluation,
    passes: Vec<RowBits>,
}

/// Answers a question over segments, which are read into `parts` parts.
fn answer(
    evaluation: Evaluation,
    base: Option<(&Evaluation, CountedRows<'_>)>,
    segments: &[Arc<Segment>],
    parts: usize,
) -> Answer {
    let passes: Vec<RowBits> = segments.iter().map(|segment| evaluation.pass(segment)).collect();
    let mut recount = match base {
        Some(base) => Recount::change(evaluation, base, segments, &passes),
        None => Recount::more(evaluation, segments, &passes),
    };
    let mut read: Vec<_> = (0..parts).map(|_| recount.new_part()).collect();
    for number in (0..segments.len()).rev() {
        recount.read(number, &mut read[number % parts]);
    }
    let mut lists = recount.take_lists();
    for (column, list) in lists.iter_mut().enumerate() {
        recount.count(column, list, &read);
    }
    let evaluation = recount.finish(lists, &read);
    Answer { evaluation, passes }
}

fn row() -> impl Strategy<Value = Row> {
    let bytes = prop_oneof![
        Just(None),
        (0u64..1000).prop_map(Some),
        (0u64..1 << 40).prop_map(Some),
        (u64::MAX - 2..u64::MAX).prop_map(Some),
    ];
    let status = prop::sample::select(vec![200u16, 200, 304, 404, 500]);
    let time_s = prop_oneof![0i64..100, 0i64..1_000_000, FORWARD - 9000..FORWARD + 9000];
    let request_ms = prop::option::of(0u32..5_000);
    (0u8..12, 0u8..30, status, bytes, time_s, request_ms).prop_map(
        |(client, path, status, bytes, time_s, request_ms)| Row {
            client,
            path,
            status,
            bytes,
            time_s,
            request_ms,
        },
    )
}

/// The beginning of summer time in Central Europe in 2025.
const FORWARD: i64 = 1_743_296_400;

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        (prop::sample::select(vec![200u16, 404, 500]), any::<bool>())
            .prop_map(|(status, negated)| Condition::Status(status, negated)),
        (0u8..4).prop_map(Condition::Path),
        (0u64..1 << 30, 0u64..1 << 41).prop_map(|(min, more)| Condition::Bytes(min, min + more)),
        (0i64..1_000_000, 0i64..FORWARD)
            .prop_map(|(first, more)| Condition::Time(first, first + more)),
        ((0u8..10), any::<bool>())
            .prop_map(|(digit, negated)| Condition::Client(format!("{digit}$"), negated)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incremental_answers_are_the_fresh_ones(
        blocks in prop::collection::vec(prop::collection::vec(row(), 1..80), 1..6),
        filters in prop::collection::vec(prop::collection::vec(condition(), 0..3), 2..6),
        known in 0usize..6,
        parts in 1usize..4,
        zone in prop::sample::select(vec![0, 1, 2]),
        buckets_max in prop::sample::select(vec![2usize, 10, 400]),
    ) {
        let (values, segments) = read(&blocks);
        let cet = Zone::from_transitions("CET", 3600, [(FORWARD, 7200), (1_761_440_400, 3600)])
            .expect("in order");
        let question = |conditions: &[Condition], number: usize| Question {
            filter: Filter::of(conditions.iter().map(|one| one.clause(&values)).collect()),
            zone: (zone > 0).then(|| cet.clone()),
            buckets_max,
            step_s: None,
            stack: match number % 3 {
                2 => Stack::Column(Field::Path.column()),
                _ => Stack::StatusClass,
            },
            aggregates: Aggregates::default(),
        };
        let blank = |conditions: &[Condition], number: usize| {
            let mut evaluation = Evaluation::new(&question(conditions, number));
            evaluation.refresh(&values);
            evaluation
        };
        // The earlier answers cover only the first segments, as while the log is growing.
        let known = &segments[..known.min(segments.len())];
        let all = answer(blank(&[], 0), None, known, parts);
        let mut last = answer(blank(&filters[0], 0), None, known, parts);
        for (number, conditions) in filters.iter().enumerate().skip(1) {
            let mut fresh = blank(conditions, number);
            segments.iter().for_each(|segment| fresh.update(segment));
            let expected = results(&fresh, &values);
            let rows: Vec<Row> = blocks.concat();
            let (totals, paths) = naive_counts(&rows, conditions);
            prop_assert_eq!(expected.totals, totals);
            let path = Field::Path.column();
            for (path_id, count) in fresh.top_list(path).iter().flat_map(|list| {
                let dictionary = values.dictionary(path);
                (2..dictionary.ids() as u32).map(|id| (id, list.tally(id).count))
            }) {
                let value = values.dictionary(path).value(path_id).unwrap_or_default();
                let name = String::from_utf8_lossy(value).into_owned();
                prop_assert_eq!(paths.get(&name).copied().unwrap_or(0), count);
            }

            let bases = [
                Some((&all.evaluation, CountedRows::All(known.len()))),
                Some((&last.evaluation, CountedRows::PerSegment(&last.passes))),
                None,
            ];
            let answers = bases.map(|base| {
                let mut next = blank(conditions, number);
                next.filter_mut().adopt(last.evaluation.filter());
                answer(next, base, &segments, parts)
            });
            for answer in &answers {
                prop_assert_eq!(&results(&answer.evaluation, &values), &expected);
            }
            let [.., from_last, _] = answers;
            last = from_last;
        }
        // In two steps, as while the log is growing.
        let conditions = &filters[filters.len() - 1];
        let first = answer(blank(conditions, 0), None, known, parts);
        let whole = answer(first.evaluation, None, &segments[known.len()..], parts);
        let mut fresh = blank(conditions, 0);
        segments.iter().for_each(|segment| fresh.update(segment));
        prop_assert_eq!(results(&whole.evaluation, &values), results(&fresh, &values));
    }
}
