//! Tests that what a reader forgets makes no difference.

use std::sync::Arc;

use super::BlockReader;
use crate::block::{Block, BlockLimits};
use crate::column::Segment;
use crate::field::Field;
use crate::format::Format;
use crate::values::Values;

/// Returns blocks with both old and new values.
fn blocks() -> Vec<Block> {
    let line = |n: usize| format!("c{} /{} {}\n", n % 7, n * n % 1_009, 200 + n % 3);
    let block =
        |n: usize| Block::new((n * 300..n * 300 + 500).map(line).collect::<String>().into());
    (0..40).map(block).collect()
}

fn reader(values: &mut Values) -> BlockReader {
    let format = Format::parse("$remote_addr $request_uri $status").expect("a good format");
    BlockReader::new(Arc::new(format), BlockLimits::default(), values)
}

fn texts(segment: &Segment, values: &Values) -> Vec<Option<Vec<u8>>> {
    let columns = [Field::Client, Field::Path, Field::Status].map(Field::column);
    let text = |row: usize, column| {
        let id = segment.text(column)?.get(row) as u32;
        values.dictionary(column).value(id).map(<[u8]>::to_vec)
    };
    (0..segment.rows())
        .flat_map(|row| columns.into_iter().map(move |column| text(row, column)))
        .collect()
}

#[test]
fn what_it_forgets_makes_no_difference() {
    let (mut values, mut expected_values) = (Values::new(1 << 20), Values::new(1 << 20));
    let mut forgetful = reader(&mut values);
    let mut expected = reader(&mut expected_values);
    forgetful.remembered_bytes_max = 20_000;
    let mut was_large = 0;
    for (chunk, blocks) in blocks().chunks(3).enumerate() {
        // Read ahead, as a thread does while it waits for its turn.
        let read: Vec<_> = blocks.iter().map(|block| forgetful.read(block, 0)).collect();
        was_large += usize::from(forgetful.is_large());
        if chunk % 2 == 0 {
            read.iter().for_each(|read| forgetful.look_up(read, &values));
        }
        for (read, block) in read.into_iter().zip(blocks) {
            let resolved = forgetful.resolve(read, || &mut values);
            let segment = forgetful.seal(resolved).into_segment();
            let expected = expected.read_segment(block, 0, &mut expected_values);
            assert_eq!(texts(&segment, &values), texts(&expected, &expected_values));
            let ids = |segment: &Segment| -> Vec<_> {
                segment.text_columns().map(|(id, codes)| (id, codes.clone())).collect()
            };
            assert_eq!(ids(&segment), ids(&expected), "the ids are the same");
        }
        assert!(!forgetful.is_large(), "it forgets when all is sealed");
    }
    assert!(was_large > 3 && !expected.is_large());
}
