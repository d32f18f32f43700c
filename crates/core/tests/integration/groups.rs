//! Measures of groups, compared with a naive count for every way to divide the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Aggregates, Block, BlockLimits, BlockReader, Clause, Evaluation, Field, Filter, Fold, Format,
    GroupKey, GroupVisitors, GroupedNumber, Grouping, ListedColumns, Question, Recount, Segment,
    Tally, TextTest, Values,
};

#[derive(Debug, Clone)]
struct Row {
    client: u8,
    method: &'static str,
    path: u8,
    status: Option<u16>,
    bytes: u64,
    time_s: i64,
    request_ms: Option<u32>,
}

const DEFINITION: &str =
    r#"$remote_addr [$time_iso8601] "$request_method $uri" $status $body_bytes_sent $request_time"#;

fn line(row: &Row) -> String {
    let stamp = weir_core::Timestamp { unix_ns: row.time_s * 1_000_000_000, offset_s: 0 };
    let status = row.status.map_or("-".to_owned(), |status| status.to_string());
    let request_time =
        row.request_ms.map_or("-".to_owned(), |ms| format!("{}.{:03}", ms / 1000, ms % 1000));
    format!(
        "192.0.2.{} [{}] \"{} /{}\" {status} {} {request_time}\n",
        row.client,
        weir_core::format_rfc3339(stamp),
        row.method,
        row.path,
        row.bytes,
    )
}

fn row() -> impl Strategy<Value = Row> {
    (
        0u8..6,
        prop::sample::select(vec!["GET", "POST"]),
        0u8..4,
        prop::option::weighted(0.9, prop::sample::select(vec![200u16, 304, 404, 503])),
        prop_oneof![0u64..3_000, 0u64..1 << 40],
        1_700_000_000i64..1_700_100_000,
        prop::option::weighted(0.8, prop_oneof![0u32..2_000, 0u32..100_000]),
    )
        .prop_map(|(client, method, path, status, bytes, time_s, request_ms)| Row {
            client,
            method,
            path,
            status,
            bytes,
            time_s,
            request_ms,
        })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    Method,
    Path,
    Class,
}

impl Key {
    fn group_key(self) -> GroupKey {
        match self {
            Self::Method => GroupKey::Column(Field::Method.column()),
            Self::Path => GroupKey::Column(Field::Path.column()),
            Self::Class => GroupKey::StatusClass,
        }
    }

    fn text(self, row: &Row) -> String {
        match self {
            Self::Method => row.method.to_owned(),
            Self::Path => format!("/{}", row.path),
            // A status that is logged as `-` is in the class of what is no status.
            Self::Class => format!("{}xx", row.status.unwrap_or(0) / 100),
        }
    }

    /// The text of an id of a group.
    fn text_of_id(self, id: u32, values: &Values) -> String {
        let column = match self {
            Self::Method => Field::Method.column(),
            Self::Path => Field::Path.column(),
            // Two reserved ids are before the first class.
            Self::Class => return format!("{}xx", id - 2),
        };
        let value = values.dictionary(column).value(id).expect("a value");
        String::from_utf8(value.to_vec()).expect("text")
    }
}

/// What is compared of a group.
#[derive(Debug, Clone, Default, PartialEq)]
struct Measures {
    tally: Option<Tally>,
    clients: u64,
    /// Of all days in UTC.
    visitors: GroupVisitors,
    /// In nanoseconds.
    sum: u128,
    count: u64,
    max: u64,
    median_and_p95: Option<Vec<u64>>,
    median_bytes: u64,
    times_s: (i64, i64),
}

fn naive(rows: &[Row], keys: &[Key]) -> BTreeMap<Vec<String>, Measures> {
    let mut groups: BTreeMap<Vec<String>, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.client != 5) {
        groups.entry(keys.iter().map(|key| key.text(row)).collect()).or_default().push(row);
    }
    let measures = |rows: &Vec<&Row>| {
        let mut numbers: Vec<u64> =
            rows.iter().filter_map(|row| Some(u64::from(row.request_ms?) * 1_000_000)).collect();
        numbers.sort_unstable();
        let rank = |q: f64| ((q * numbers.len() as f64).ceil() as usize).max(1) - 1;
        let mut sizes: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        let clients: BTreeSet<u8> = rows.iter().map(|row| row.client).collect();
        let visitors: BTreeSet<(u8, i64)> =
            rows.iter().map(|row| (row.client, row.time_s.div_euclid(86_400))).collect();
        let times = || rows.iter().map(|row| row.time_s);
        let errors = rows.iter().filter(|row| row.status.is_some_and(|status| status >= 400));
        Measures {
            tally: Some(Tally {
                count: rows.len() as u64,
                bytes_sent: sizes.iter().sum(),
                errors: errors.count() as u64,
            }),
            clients: clients.len() as u64,
            visitors: GroupVisitors { visitors: visitors.len() as u64, visits: visits(rows) },
            sum: numbers.iter().map(|number| u128::from(*number)).sum(),
            count: numbers.len() as u64,
            max: numbers.last().copied().unwrap_or(0),
            median_and_p95: (!numbers.is_empty())
                .then(|| [0.5, 0.95].map(|q| numbers[rank(q)]).to_vec()),
            median_bytes: sizes[(sizes.len() as f64 * 0.5).ceil() as usize - 1],
            times_s: (times().min().unwrap_or(0), times().max().unwrap_or(0)),
        }
    };
    groups.iter().map(|(key, rows)| (key.clone(), measures(rows))).collect()
}

/// The visits of the clients of some rows: each pause of half an hour begins another.
fn visits(rows: &[&Row]) -> u64 {
    let mut times: BTreeMap<u8, Vec<i64>> = BTreeMap::new();
    rows.iter().for_each(|row| times.entry(row.client).or_default().push(row.time_s));
    let visits = |times: &mut Vec<i64>| {
        times.sort_unstable();
        1 + times.windows(2).filter(|pair| pair[1] - pair[0] >= 1_800).count() as u64
    };
    times.values_mut().map(visits).sum()
}

fn question(values: &Values, keys: &[Key]) -> Question {
    let [time, bytes] = [Field::RequestTime, Field::Bytes].map(Field::column);
    let grouping = Grouping {
        numbers: vec![
            GroupedNumber { column: time, sums: true, quantiles: true },
            GroupedNumber { column: bytes, sums: false, quantiles: true },
        ],
        distinct: Some(Field::Client.column()),
        visitors: true,
        times: true,
        ..Grouping::by(keys.iter().map(|key| key.group_key()).collect())
    };
    let listed = [Field::Method, Field::Path, Field::Status].map(Field::column);
    let test = TextTest::OneOf(vec![b"192.0.2.5".to_vec()]);
    let clause = Clause::text(values, "client", test, true).expect("a clause");
    Question {
        filter: Filter::of(vec![clause]),
        aggregates: Aggregates {
            top_lists: ListedColumns::Only(listed.to_vec()),
            groups: Some(grouping),
            ..Aggregates::none()
        },
        ..Question::default()
    }
}

/// The measures of each group. A rounded number is replaced by the exact one if it is near enough.
fn answer(
    evaluation: &Evaluation,
    keys: &[Key],
    values: &Values,
    exact: &BTreeMap<Vec<String>, Measures>,
) -> BTreeMap<Vec<String>, Measures> {
    let table = evaluation.group_table().expect("it was asked for").arranged();
    let tallies = table.tallies();
    let [time, bytes] = [Field::RequestTime, Field::Bytes].map(Field::column);
    let (distinct, visitors) = (table.distinct_counts(), table.visitor_counts());
    let near = |own: u64, exact: u64| if own.abs_diff(exact) <= exact >> 11 { exact } else { own };
    let ids: Vec<u32> = match keys {
        [Key::Class] => (0..8).collect(),
        [key] => {
            let GroupKey::Column(column) = key.group_key() else { panic!("a column") };
            (2..values.dictionary(column).ids() as u32).collect()
        }
        _ => (2..table.groups() as u32).collect(),
    };
    let mut answer = BTreeMap::new();
    for id in ids {
        let Some((first_ns, last_ns)) = table.times_ns(id) else { continue };
        let path =
            if keys.len() == 1 { vec![id] } else { table.key(id).expect("not the remainder") };
        let name: Vec<String> =
            keys.iter().zip(&path).map(|(key, id)| key.text_of_id(*id, values)).collect();
        let known = exact.get(&name).cloned().unwrap_or_default();
        let tally = match keys {
            [Key::Class] => known.tally,
            [key] => {
                let GroupKey::Column(column) = key.group_key() else { panic!("a column") };
                evaluation.top_list(column).map(|list| list.tally(id))
            }
            _ => tallies.get(id as usize).copied(),
        };
        let sum = table.sum(time, id).unwrap_or_default();
        let quantiles = table.quantiles_of_each(time, &[id], &[0.5, 0.95]).remove(0);
        let quantiles = quantiles.map(|own| {
            let exact = known.median_and_p95.clone().unwrap_or_default();
            own.iter().zip(exact).map(|(own, exact)| near(*own, exact)).collect()
        });
        let median_bytes = table.quantiles_of_each(bytes, &[id], &[0.5])[0].clone();
        let median_bytes = median_bytes.expect("all have a size")[0];
        answer.insert(
            name,
            Measures {
                tally,
                clients: distinct.get(id as usize).copied().unwrap_or(0),
                visitors: visitors.get(id as usize).copied().unwrap_or_default(),
                sum: sum.sum,
                count: sum.count,
                max: sum.max,
                median_and_p95: quantiles,
                median_bytes: near(median_bytes, known.median_bytes),
                times_s: (first_ns / 1_000_000_000, last_ns / 1_000_000_000),
            },
        );
    }
    answer
}

fn read(blocks: &[Vec<Row>]) -> (Values, Vec<Arc<Segment>>) {
    let format = Arc::new(Format::parse(DEFINITION).expect("a valid format"));
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let blocks = blocks.iter().map(|rows| {
        let text: String = rows.iter().map(line).collect();
        Arc::new(reader.read_segment(&Block::new(text.into_bytes()), 0, &mut values))
    });
    let segments = blocks.collect();
    (values, segments)
}

fn some_keys() -> impl Strategy<Value = Vec<Key>> {
    use Key::{Class, Method, Path};
    prop::sample::select(vec![
        vec![Path],
        vec![Class],
        vec![Path, Class],
        vec![Class, Method],
        vec![Method, Path, Class],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn measures_are_those_of_a_naive_count(
        blocks in prop::collection::vec(prop::collection::vec(row(), 1..30), 1..6),
        cut in 0usize..6,
        keys in some_keys(),
    ) {
        let (values, segments) = read(&blocks);
        let exact = naive(&blocks.concat(), &keys);
        let blank = || {
            let mut evaluation = Evaluation::new(&question(&values, &keys));
            evaluation.refresh(&values);
            evaluation
        };

        // As folds of two threads.
        let mut folds = [blank(), blank()];
        for (number, segment) in segments.iter().enumerate() {
            folds[usize::from(number < cut)].update(segment);
        }
        let [mut folded, other] = folds;
        folded.merge(&other);
        prop_assert_eq!(answer(&folded, &keys, &values, &exact), exact.clone());

        // As an answer that is extended, with two parts.
        let cut = cut.min(segments.len());
        let mut counted = blank();
        for segments in [&segments[..cut], &segments[cut..]] {
            let passes: Vec<_> = segments.iter().map(|segment| counted.pass(segment)).collect();
            let mut recount = Recount::more(counted, segments, &passes);
            let mut parts = [recount.new_part(), recount.new_part()];
            for number in 0..segments.len() {
                recount.read(number, &mut parts[number % 2]);
            }
            parts[0].arrange_groups();
            let mut lists = recount.take_lists();
            for (column, list) in lists.iter_mut().enumerate() {
                recount.count(column, list, &parts);
            }
            counted = recount.finish(lists, &parts);
        }
        prop_assert_eq!(answer(&counted, &keys, &values, &exact), exact);
    }
}

#[test]
fn groups_beyond_the_limit_are_counted_together() {
    let row = |path: u8, status: u16| Row {
        client: 1,
        method: "GET",
        path,
        status: Some(status),
        bytes: 10,
        time_s: 1_700_000_000,
        request_ms: Some(7),
    };
    let rows: Vec<Row> = (0..10).flat_map(|path| [row(path, 200), row(path, 404)]).collect();
    let (values, segments) = read(&[rows]);
    let keys = [Key::Path, Key::Class];
    let mut question = question(&values, &keys);
    if let Some(grouping) = &mut question.aggregates.groups {
        grouping.groups_max = 5;
    }
    let mut evaluation = Evaluation::new(&question);
    evaluation.refresh(&values);
    evaluation.update(&segments[0]);
    let table = evaluation.group_table().expect("it was asked for");
    assert_eq!(table.groups(), 2 + 5);
    let counts: Vec<u64> = table.tallies()[1..].iter().map(|tally| tally.count).collect();
    assert_eq!(counts, [15, 1, 1, 1, 1, 1]);
    assert_eq!((table.key(1), table.tallies()[1].errors), (None, 8));
}
