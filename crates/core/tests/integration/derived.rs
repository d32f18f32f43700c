//! Derived fields, read in blocks and line by line, against a derivation for each line.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, ColumnRef, Derivation, DerivedField, DerivedInput,
    DerivedInputs, Extract, Format, FormatChoice, LineOptions, LineOutcome, LogReader, SourceName,
    Timestamp, Values, derived_field, format_by_name,
};

const NAMES: [&str; 10] = [
    "date",
    "hour",
    "weekday",
    "network",
    "network/8",
    "path/1",
    "extension",
    "static",
    "query:q",
    "campaign",
];

/// Two texts and a time, one behind the other.
#[derive(Debug)]
struct Joined;

impl Derivation for Joined {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let texts = (inputs.text(0), inputs.text(1), inputs.time().map(|time| time.unix_ns));
        value.extend(format!("{texts:?}").bytes());
        inputs.text(0).is_some()
    }
}

fn fields() -> Vec<DerivedField> {
    let known = NAMES.map(|name| derived_field(name, None).unwrap().unwrap());
    let own = Extract::parse(r"extract user_agent '(\w+)/'").unwrap().into_field("product");
    let inputs = ["client", "referer"].map(|name| DerivedInput::Text(name.to_owned()));
    let inputs = inputs.into_iter().chain([DerivedInput::Time]).collect();
    let joined = DerivedField::new("joined", inputs, Arc::new(Joined));
    let source = SourceName::part(r"(\w+)\.log").unwrap().into_field();
    known.into_iter().chain([own, joined, source]).collect()
}

fn deriving(format: &str) -> Arc<Format> {
    let options = LineOptions { derived: fields(), ..LineOptions::default() };
    Arc::new(format_by_name(format).unwrap().with_line_options(&Arc::new(options)))
}

type Row = Vec<Option<Vec<u8>>>;

/// The derived values of each record, read line by line.
fn by_line(format: &Arc<Format>, log: &[u8]) -> Vec<Row> {
    let mut reader = LogReader::new(format.clone());
    reader.set_source_name("shop.log");
    let (fields, mut rows) = (fields(), Vec::new());
    for line in log.split(|byte| *byte == b'\n') {
        reader.read(line, |parser, outcome| {
            let LineOutcome::Record(record) = outcome else { return };
            let value = |field: &DerivedField| {
                let accessor = parser.format().accessor(field.name()).ok()?;
                accessor.value(record).map(|value| value.into_owned())
            };
            rows.push(fields.iter().map(value).collect());
        });
    }
    rows
}

/// The derived values of each record, read in blocks of some lines.
fn by_block(format: &Arc<Format>, log: &[u8], lines: usize, remembered: usize) -> Vec<Row> {
    let mut values = Values::new(64 << 20);
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let (fields, mut rows) = (fields(), Vec::new());
    let all: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    for (number, block) in all.chunks(lines).enumerate() {
        if number % remembered == 0 {
            reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
        }
        reader.set_source_name("shop.log");
        let segment = reader.read_segment(&Block::new(block.concat()), 0, &mut values);
        for row in 0..segment.rows() {
            let value = |field: &DerivedField| {
                let column = values.schema().text_column_by_name(field.name())?;
                let Some(ColumnRef::Text(codes)) = segment.column(column) else { return None };
                values.dictionary(column).value(codes.get(row) as u32).map(<[u8]>::to_vec)
            };
            rows.push(fields.iter().map(value).collect());
        }
    }
    rows
}

/// The derived values of each record, derived from what the plain format reads.
fn naive(format: &str, log: &[u8]) -> Vec<Row> {
    let format = Arc::new(format_by_name(format).unwrap());
    let mut reader = LogReader::new(format);
    let (fields, mut rows) = (fields(), Vec::new());
    for line in log.split(|byte| *byte == b'\n') {
        reader.read(line, |parser, outcome| {
            let LineOutcome::Record(record) = outcome else { return };
            let derive = |field: &DerivedField| {
                if field.name() == "source" {
                    return Some(b"shop".to_vec());
                }
                let text = |input: &DerivedInput| match input {
                    DerivedInput::Text(name) => parser.format().accessor(name).ok()?.value(record),
                    _ => None,
                };
                let texts: Vec<_> = field.inputs().iter().map(text).collect();
                let texts: Vec<_> = texts.iter().map(|text| text.as_deref()).collect();
                let inputs = DerivedInputs::of_texts(&texts);
                let step_ns = 900 * 1_000_000_000;
                let rounded = |time: Timestamp| {
                    let unix_ns = time.unix_ns.div_euclid(step_ns) * step_ns;
                    Timestamp { unix_ns, ..time }
                };
                let inputs =
                    match record.time.filter(|_| field.inputs().contains(&DerivedInput::Time)) {
                        Some(time) => inputs.at(rounded(time)),
                        None => inputs,
                    };
                let mut value = Vec::new();
                field.derive(&inputs, &mut value).then_some(value)
            };
            rows.push(fields.iter().map(derive).collect());
        });
    }
    rows
}

/// A line in COMBINED, of few distinct values, so that they come again; seldom another line.
fn line() -> impl Strategy<Value = String> {
    let client = prop::sample::select(vec![
        "192.0.2.7",
        "192.0.3.7",
        "::ffff:192.0.2.8",
        "2001:db8:1::2",
        "host.example",
        "-",
    ]);
    let time = (1u32..3, 0u32..24, 0u32..60, prop::sample::select(vec!["+0000", "-0530", "+0200"]));
    let target = prop::sample::select(vec![
        "/",
        "/a/b.CSS",
        "/a/c?q=1",
        "/b/?q=a+b&utm_source=x",
        "/b?x",
        "*",
        "/a/b.css?q=%31",
    ]);
    let referer = prop::sample::select(vec!["-", "https://a.example/", "x"]);
    let agent = prop::sample::select(vec!["curl/8.0", "-", "Mozilla/5.0 (X11)", "bot"]);
    (client, time, target, referer, agent, 0u32..20).prop_map(
        |(client, (day, hour, minute, offset), target, referer, agent, kind)| match kind {
            0 => "not a record\n".to_owned(),
            _ => format!(
                "{client} - - [{day:02}/Nov/2026:{hour:02}:{minute:02}:59 {offset}] \
                 \"GET {target} HTTP/1.1\" 200 10 \"{referer}\" \"{agent}\"\n"
            ),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocks_and_lines_agree_with_a_derivation_for_each_line(
        log in prop::collection::vec(line(), 0..80),
        lines in 1usize..40,
        remembered in 1usize..5,
    ) {
        let log = log.concat().into_bytes();
        let format = deriving("COMBINED");
        let expected = naive("COMBINED", &log);
        prop_assert_eq!(&by_line(&format, &log), &expected);
        prop_assert_eq!(&by_block(&format, &log, lines, remembered), &expected);
    }
}

#[test]
fn a_field_of_the_log_goes_before_a_derived_one() {
    let options = LineOptions { derived: fields(), ..LineOptions::default() };
    let options = Arc::new(options);
    let format = Format::parse("$remote_addr $hour").unwrap().with_line_options(&options);
    let mut reader = LogReader::new(Arc::new(format));
    let hour = reader.read(b"192.0.2.7 late", |parser, outcome| {
        let LineOutcome::Record(record) = outcome else { panic!("it is a record") };
        let accessor = parser.format().accessor("hour").unwrap();
        accessor.value(record).map(|value| value.into_owned())
    });
    assert_eq!(hour.as_deref(), Some(&b"late"[..]));
}

#[test]
fn a_format_without_the_input_lacks_the_field() {
    let choice = FormatChoice::Forced(Arc::new(Format::parse("$remote_addr $status").unwrap()));
    let FormatChoice::Forced(format) = choice.deriving(fields()) else { panic!("it is forced") };
    assert!(format.accessor("network").is_ok() && format.accessor("source").is_ok());
    for missing in ["hour", "path/1", "extension", "query:q", "product"] {
        assert!(format.accessor(missing).is_err(), "{missing}");
    }
    let logged: Vec<&String> = format.logged_extra_fields().iter().collect();
    assert!(logged.is_empty(), "{logged:?}");
    assert!(format.description().extra_fields.is_empty());
}

#[test]
fn a_detected_format_has_the_fields() {
    let FormatChoice::DetectWith(options) = FormatChoice::Detect.deriving(fields()) else {
        panic!("it is detected")
    };
    assert_eq!(options.derived.len(), fields().len());
}
