//! Values that come when the memory for distinct values is used up.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_core::{Block, BlockLimits, BlockReader, Codes, Field, Format, Values};

/// Returns blocks with more distinct values than fit into the memory, and frequent values
/// among the late ones.
fn late_blocks() -> Vec<Block> {
    let line = |n: usize| match n % 5 {
        0 if n > 8_000 => format!("192.0.2.9 /login?n={} 503\n", n % 3),
        _ => format!("10.0.{}.{} /{n}?q={n} 200\n", n >> 8, n & 255),
    };
    let block =
        |n: usize| Block::new((n * 500..n * 500 + 500).map(line).collect::<String>().into());
    (0..40).map(block).collect()
}

/// Reads the blocks with several readers, each of which is some blocks ahead. Returns the ids
/// of all columns.
fn ids_by(readers: usize, ahead: usize, values: &mut Values) -> Vec<Vec<u64>> {
    let format = Format::parse("$remote_addr $request_uri $status").expect("a good format");
    let format = Arc::new(format);
    let reader = |_| BlockReader::new(format.clone(), BlockLimits::default(), values);
    let mut readers: Vec<BlockReader> = (0..readers).map(reader).collect();
    let (count, mut ids) = (readers.len(), Vec::new());
    let mut waiting = VecDeque::new();
    let blocks = late_blocks();
    for number in 0..blocks.len() + ahead {
        if let Some(block) = blocks.get(number) {
            let reader = &mut readers[number * 5 % count];
            let read = reader.read(block, 0);
            if number % 3 > 0 {
                reader.look_up(&read, values);
            }
            waiting.push_back(read);
        }
        if number >= ahead
            && let Some(read) = waiting.pop_front()
        {
            let reader = &mut readers[(number - ahead) * 5 % count];
            let resolved = reader.resolve(read, || &mut *values);
            let segment = reader.seal(resolved).into_segment();
            let all = |codes: &Codes| (0..codes.rows()).map(|row| codes.get(row)).collect();
            ids.extend(segment.text_columns().map(|(_, codes)| all(codes)));
        }
    }
    ids
}

#[test]
fn late_values_do_not_depend_on_the_number_of_readers() {
    let mut expected_values = Values::new(1 << 19);
    let expected = ids_by(1, 0, &mut expected_values);
    let path = Field::Path.column();
    let paths = expected_values.dictionary(path);
    let login = paths.find(b"/login").expect("it is frequent");
    assert!(expected_values.is_estimated(path) && paths.find(b"/19999").is_none());
    assert!(expected_values.dictionary(Field::Status.column()).find(b"503").is_some());
    for (readers, ahead) in [(1, 3), (2, 0), (2, 1), (4, 7), (3, 4)] {
        let mut values = Values::new(1 << 19);
        assert_eq!(ids_by(readers, ahead, &mut values), expected, "{readers} {ahead}");
        assert_eq!(values.memory_bytes(), expected_values.memory_bytes());
        assert_eq!(values.unlisted_max(path), expected_values.unlisted_max(path));
        let uncounted = values.dictionary(path).uncounted_max(login);
        assert_eq!(uncounted, paths.uncounted_max(login));
    }
}
