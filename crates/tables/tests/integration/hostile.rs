//! Files that state sizes which no writer states: each ends soon, and takes no more memory than a file
//! may.

use std::io::Read;
use std::ops::ControlFlow;

use weir_tables::{TableError, TableFile};

use super::built_file::{
    BuiltColumn, BuiltPage, DELTA_LENGTHS, DICTIONARY, PLAIN, SparseFile, Structure, file_of,
    file_with_footer, plain_texts, run, varint,
};

/// The most blocks that are taken of a file.
const BLOCKS_MAX: usize = 3;

/// The most rows of a block that has no records, or empty ones.
const ROWS_OF_BLOCK_MAX: u64 = 1 << 16;

const ZSTANDARD: u64 = 6;

/// The largest values of an integer of 32 bits, and one that no page has.
const VALUES_MAX: u64 = i32::MAX as u64;
const BEYOND: u64 = 1 << 60;

/// The records and the rows that are too long of the first blocks, and how it ended.
fn read(file: SparseFile) -> (u64, u64, Result<(), TableError>) {
    let table = match TableFile::open(file) {
        Ok(table) => table,
        Err(error) => return (0, 0, Err(error)),
    };
    let (mut records, mut too_long, mut blocks) = (0, 0, 0);
    let result = table.read(&mut Vec::new, &mut |rows| {
        let in_block = weir_core::RecordLayout::records(&rows.packed).count() as u64;
        assert!(in_block + rows.too_long <= ROWS_OF_BLOCK_MAX, "{in_block} {}", rows.too_long);
        records += in_block;
        too_long += rows.too_long;
        blocks += 1;
        if blocks == BLOCKS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (records, too_long, result)
}

#[track_caller]
fn assert_refused(file: SparseFile, expected: &str) {
    let (records, _, result) = read(file);
    let error = result.expect_err(expected).to_string();
    assert!(error.contains(expected), "{error}");
    assert_eq!(records, 0);
}

fn clients(pages: Vec<BuiltPage>) -> BuiltColumn {
    BuiltColumn::of_texts("client", pages)
}

fn page(encoding: u64, values: u64, bytes: Vec<u8>) -> BuiltPage {
    BuiltPage { values, encoding, bytes, ..BuiltPage::default() }
}

fn dictionary(texts: &[&[u8]]) -> BuiltPage {
    let page = page(PLAIN, texts.len() as u64, plain_texts(texts));
    BuiltPage { is_dictionary: true, ..page }
}

/// The bytes of a page that has a run of the first value of a dictionary.
fn first_value(rows: u64) -> Vec<u8> {
    [vec![1], run(rows, 0)].concat()
}

#[test]
fn a_built_file_is_read() {
    let texts = plain_texts(&[b"192.0.2.1", b"192.0.2.2"]);
    let (records, too_long, result) = read(file_of(&[clients(vec![page(PLAIN, 2, texts)])], 2));
    result.expect("a file");
    assert_eq!((records, too_long), (2, 0));
}

#[test]
fn packed_pages_are_not_larger_than_unpacked_ones() {
    for (codec, packed, unpacked) in [
        (0, 3 << 30, 10),
        (ZSTANDARD, 2 << 30, 100 << 20),
        (0, 1 << 30, 1 << 30),
        (ZSTANDARD, 10, VALUES_MAX),
        (ZSTANDARD, BEYOND, 10),
    ] {
        let sizes =
            BuiltPage { packed: Some(packed), unpacked: Some(unpacked), ..page(PLAIN, 2, vec![]) };
        let column = BuiltColumn { codec, hole: 3 << 30, ..clients(vec![sizes]) };
        let (records, _, result) = read(file_of(&[column], 2));
        let error = result.expect_err("a page of other sizes").to_string();
        let expected =
            ["larger packed than unpacked", "more than the 128 MiB", "more than 32 bits"];
        assert!(expected.iter().any(|expected| error.contains(expected)), "{error}");
        assert_eq!(records, 0);
    }
}

#[test]
fn footers_have_few_columns_and_row_groups() {
    const COUNT: usize = 20 << 20;
    let zeros = vec![0; COUNT];
    let footer = || Structure::default().integer(1, 2);
    let elements = footer().list_of(2, COUNT, &zeros).end();
    assert_refused(file_with_footer(elements), "has more than 10000 columns");
    let groups = footer().list_of(4, COUNT, &zeros).end();
    assert_refused(file_with_footer(groups), "has more than 262144 row groups");
    let group = Structure::default().list_of(1, COUNT, &zeros).end();
    let chunks = footer().list_of(4, 1, &group).end();
    assert_refused(file_with_footer(chunks), "has more than 2097152 columns in all row groups");
}

#[test]
fn keys_and_names_of_a_footer_take_little() {
    let name = "x".repeat(100_000);
    let mut columns: Vec<BuiltColumn> = (0..30)
        .map(|_| BuiltColumn::of_texts(&name, vec![page(PLAIN, 1, plain_texts(&[b"a"]))]))
        .collect();
    columns.push(clients(vec![page(PLAIN, 1, plain_texts(&[b"b"]))]));
    let table = TableFile::open(file_of(&columns, 1)).expect("a table");
    let names = table.layout().extra_fields();
    assert_eq!(names.len(), 30);
    assert!(names.iter().all(|name| name.len() < 300), "{}", names[0].len());
}

#[test]
fn files_state_rows_in_proportion_to_their_bytes() {
    for rows in [VALUES_MAX, BEYOND, u64::MAX >> 1] {
        let levels = run(rows, 0);
        let bytes = [(levels.len() as u32).to_le_bytes().to_vec(), levels].concat();
        let column = BuiltColumn { is_optional: true, ..clients(vec![page(PLAIN, rows, bytes)]) };
        assert_refused(file_of(&[column], rows), &format!("it states {rows} rows, but has"));
    }
}

#[test]
fn pages_count_in_32_bits() {
    let pages = vec![dictionary(&[b"a"]), page(DICTIONARY, BEYOND, first_value(BEYOND))];
    assert_refused(file_of(&[clients(pages)], 10), "a page states a size of more than 32 bits");
}

#[test]
fn rows_without_records_are_passed_on() {
    let long = vec![b'x'; 1_200_000];
    let pages = vec![dictionary(&[&long]), page(DICTIONARY, VALUES_MAX, first_value(VALUES_MAX))];
    let column = BuiltColumn::of_texts("path", pages);
    let (records, too_long, result) = read(file_of(&[column], VALUES_MAX));
    result.expect("it was stopped");
    // The dictionary is work too.
    let blocks = BLOCKS_MAX as u64;
    assert_eq!(records, 0);
    assert!(too_long > (blocks - 1) * ROWS_OF_BLOCK_MAX, "{too_long}");
}

#[test]
fn long_texts_with_escapes_are_left_out() {
    let long = br"\x41".repeat(1 << 20);
    let short = br"\x41".repeat(1 << 19);
    let paths = page(PLAIN, 3, plain_texts(&[&long, br"/\x41", &short]));
    let names = page(PLAIN, 3, plain_texts(&[&b"path"[..]; 3]));
    let columns = [
        BuiltColumn::of_texts("path", vec![paths]),
        BuiltColumn::of_texts("escaped_columns", vec![names]),
    ];
    let (records, too_long, result) = read(file_of(&columns, 3));
    result.expect("a file");
    assert_eq!((records, too_long), (3, 0));

    let longer = br"\x41".repeat((1 << 20) + 1);
    let paths = page(PLAIN, 1, plain_texts(&[&longer]));
    let names = page(PLAIN, 1, plain_texts(&[b"path"]));
    let columns = [
        BuiltColumn::of_texts("path", vec![paths]),
        BuiltColumn::of_texts("escaped_columns", vec![names]),
    ];
    let (records, too_long, result) = read(file_of(&columns, 1));
    result.expect("a file");
    assert_eq!((records, too_long), (0, 1));

    let names = page(PLAIN, 1, plain_texts(&[&b"path,".repeat(1000)]));
    let columns = [
        BuiltColumn::of_texts("path", vec![page(PLAIN, 1, plain_texts(&[b"/"]))]),
        BuiltColumn::of_texts("escaped_columns", vec![names]),
    ];
    assert_refused(file_of(&columns, 1), "it names more columns than there are");
}

#[test]
fn lengths_without_bits_end_soon() {
    let lengths = |count: u64, blocks: usize| {
        let header = [varint(1 << 20), varint(1), varint(count.into()), vec![0]].concat();
        [header, vec![0; 2 * blocks]].concat()
    };
    let many = page(DELTA_LENGTHS, 5, lengths(1 << 50, 100_000));
    assert_refused(file_of(&[clients(vec![many])], 5), "a page has other values than it states");

    // All texts of the page are empty.
    let blocks = (VALUES_MAX >> 20) as usize + 1;
    let full =
        page(DELTA_LENGTHS, VALUES_MAX, [lengths(VALUES_MAX, blocks), vec![0; 4096]].concat());
    let (records, _, result) = read(file_of(&[clients(vec![full])], 1 << 30));
    result.expect("it was stopped");
    assert!(records > 1000, "{records}");
}

#[test]
fn pages_without_rows_end() {
    // Zeros are pages of one byte that have no rows.
    let column = BuiltColumn { hole: 1 << 40, ..clients(Vec::new()) };
    assert_refused(file_of(&[column], 5), "it has many pages without rows, in the column `client`");

    let twice = vec![dictionary(&[b"a"]), dictionary(&[b"a"]), page(DICTIONARY, 1, first_value(1))];
    assert_refused(file_of(&[clients(twice)], 1), "it has two dictionaries in a row group");
}

/// A page of zeros that packs to few bytes.
fn zeros(size: u64) -> BuiltPage {
    let bytes =
        zstd::stream::encode_all(std::io::repeat(0).take(size), 1).expect("zeros are packed");
    BuiltPage { unpacked: Some(size), bytes, ..BuiltPage::default() }
}

#[test]
fn dictionaries_are_counted_with_their_ranges() {
    const SIZE: u64 = 128 << 20;
    let empty_texts =
        |values| BuiltPage { is_dictionary: true, values, encoding: PLAIN, ..zeros(SIZE) };
    let column = |name: &str, values| {
        let first = vec![0, 2, 0];
        let first = zstd::bulk::compress(&first, 1).expect("a page is packed");
        let data = BuiltPage { unpacked: Some(3), ..page(DICTIONARY, 1, first) };
        let pages = vec![empty_texts(values), data];
        BuiltColumn { codec: ZSTANDARD, ..BuiltColumn::of_texts(name, pages) }
    };
    let largest = SIZE / 4;
    let (records, _, result) = read(file_of(&[column("client", largest)], 1));
    result.expect("384 MiB");
    assert_eq!(records, 1);
    let two = [column("client", largest), column("path", largest)];
    assert_refused(file_of(&two, 1), "has pages that take more than 512 MiB together");
    let more = [column("client", largest + 1)];
    assert_refused(file_of(&more, 1), "a page has other values than it states");
}

#[test]
fn pages_are_counted_before_they_are_unpacked() {
    let names = ["client", "path", "referer", "user_agent", "status"];
    let columns = names.map(|name| {
        let data = BuiltPage { values: 1, ..zeros(128 << 20) };
        BuiltColumn { codec: ZSTANDARD, ..BuiltColumn::of_texts(name, vec![data]) }
    });
    let (records, _, result) = read(file_of(&columns[..3], 1));
    result.expect("384 MiB");
    assert_eq!(records, 1);
    assert_refused(file_of(&columns, 1), "has pages that take more than 512 MiB together");
}

#[test]
fn work_on_pages_for_few_rows_is_interrupted() {
    let pages = vec![BuiltPage { values: 1, ..zeros(64 << 20) }; 20];
    let column = BuiltColumn { codec: ZSTANDARD, ..clients(pages) };
    let (records, _, result) = read(file_of(&[column], 20));
    result.expect("it was stopped");
    assert_eq!(records, BLOCKS_MAX as u64);
}

/// Runs the other tests of this file with memory for the largest file and little more.
#[cfg(target_os = "linux")]
#[test]
fn hostile_files_stay_within_the_stated_memory() {
    const BOUNDED: &str = "WEIR_TEST_WITH_BOUNDED_MEMORY";
    if std::env::var_os(BOUNDED).is_some() {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    // The kibibytes of what a process writes to: 512 MiB of pages, a footer, and what tests themselves
    // take, such as a page to pack.
    let script = "ulimit -d 800000; exec \"$0\" hostile:: --test-threads 1";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .env(BOUNDED, "1")
        .output()
        .expect("a shell");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
}
