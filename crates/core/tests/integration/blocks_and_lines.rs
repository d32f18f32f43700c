//! Blocks and lines, compared with a naive oracle, for input in arbitrary pieces.

use proptest::prelude::*;
use weir_core::{Block, BlockCutter, BlockLimits, Lines};

/// The lines of some input, and the number of lines over the limit.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    lines: Vec<Vec<u8>>,
    too_long_lines: u64,
}

/// The naive oracle: splits the whole input at line feeds.
fn naive(input: &[u8], limits: BlockLimits) -> Outcome {
    let mut pieces: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let last = pieces.pop().unwrap_or_default();
    if last.iter().any(|byte| *byte != 0) {
        pieces.push(last);
    }
    let mut outcome = Outcome { lines: Vec::new(), too_long_lines: 0 };
    for piece in pieces {
        let nuls = piece.iter().take_while(|byte| **byte == 0).count();
        let line = &piece[nuls..];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > limits.line_bytes_max {
            outcome.too_long_lines += 1;
        } else {
            outcome.lines.push(line.to_vec());
        }
    }
    outcome
}

fn take(outcome: &mut Outcome, block: &Block, limits: BlockLimits, offset: &mut u64) {
    assert!(block.offset >= *offset, "blocks are in order");
    assert!(block.offset_end >= block.offset + block.bytes().len() as u64);
    *offset = block.offset_end;
    outcome.too_long_lines += block.too_long_lines;
    for line in Lines::new(block.bytes()) {
        if line.bytes.len() > limits.line_bytes_max {
            outcome.too_long_lines += 1;
        } else {
            outcome.lines.push(line.bytes.to_vec());
        }
    }
}

/// Sends pieces through a cutter. If `is_eager`, it is cut after every piece.
fn cut(pieces: &[&[u8]], limits: BlockLimits, is_eager: bool) -> Outcome {
    let mut outcome = Outcome { lines: Vec::new(), too_long_lines: 0 };
    let mut cutter = BlockCutter::new(limits);
    let mut offset = 0;
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let taken = cutter.push(rest);
            assert!(taken > 0, "a cutter that is not full takes a byte");
            rest = &rest[taken..];
            if (cutter.is_full() || is_eager)
                && let Some(block) = cutter.cut()
            {
                take(&mut outcome, &block, limits, &mut offset);
                cutter.recycle(block.into_buffer());
            }
            let memory_max = limits.block_bytes + limits.line_bytes_max + 5;
            assert!(cutter.pending_bytes() <= memory_max);
        }
    }
    let input_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    assert_eq!(cutter.offset(), input_bytes as u64);
    if let Some(block) = cutter.finish() {
        take(&mut outcome, &block, limits, &mut offset);
    }
    outcome
}

pub(crate) fn at_cuts<'a>(input: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (input.len() + 1)).collect();
    cuts.sort_unstable();
    let mut start = 0;
    let mut pieces = Vec::new();
    for end in cuts.into_iter().chain([input.len()]) {
        pieces.push(&input[start..end]);
        start = end;
    }
    pieces
}

/// Text in which line feeds, carriage returns and NULs are frequent.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(b'\n'),
        2 => Just(b'\r'),
        4 => Just(0u8),
        8 => any::<u8>(),
    ];
    let run = (byte, 1usize..12).prop_map(|(byte, length)| vec![byte; length]);
    proptest::collection::vec(run, 0..60).prop_map(|runs| runs.concat())
}

fn limits() -> impl Strategy<Value = BlockLimits> {
    (1usize..40, 0usize..30)
        .prop_map(|(block_bytes, line_bytes_max)| BlockLimits { block_bytes, line_bytes_max })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn lines_do_not_depend_on_the_pieces_of_input(
        input in input(),
        limits in limits(),
        cuts in proptest::collection::vec(any::<usize>(), 0..20),
        is_eager in any::<bool>(),
    ) {
        let expected = naive(&input, limits);
        prop_assert_eq!(&cut(&at_cuts(&input, &cuts), limits, is_eager), &expected);
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(&cut(&bytes, limits, is_eager), &expected);
    }

    #[test]
    fn a_source_that_resends_its_unfinished_line_loses_no_line(
        input in input(),
        limits in limits(),
        breaks in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        let mut outcome = Outcome { lines: Vec::new(), too_long_lines: 0 };
        let mut cutter = BlockCutter::new(limits);
        let mut offset = 0;
        let mut breaks = breaks.iter().map(|at| at % (input.len() + 1));
        let mut next_break = breaks.next();
        let mut at = 0;
        while at < input.len() {
            let end = next_break.filter(|end| *end > at).unwrap_or(input.len());
            let taken = cutter.push(&input[at..end]);
            at += taken;
            if cutter.is_full() && let Some(block) = cutter.cut() {
                take(&mut outcome, &block, limits, &mut offset);
            }
            if Some(at) == next_break {
                if let Some(block) = cutter.cut() {
                    take(&mut outcome, &block, limits, &mut offset);
                }
                cutter.forget_tail();
                at = cutter.offset() as usize;
                next_break = breaks.next();
            } else if next_break.is_some_and(|end| end <= at) {
                next_break = breaks.next();
            }
        }
        if let Some(block) = cutter.finish() {
            take(&mut outcome, &block, limits, &mut offset);
        }
        prop_assert_eq!(outcome, naive(&input, limits));
    }
}

#[test]
fn lines_are_the_same_for_all_pairs_of_cuts() {
    let input = b"one\r\n\n\0\0\0\0two\nthree is too long for the limit\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0x\nlast";
    let limits = BlockLimits { block_bytes: 8, line_bytes_max: 10 };
    let expected = naive(input, limits);
    assert_eq!(expected.too_long_lines, 1);
    for first in 0..=input.len() {
        for second in first..=input.len() {
            let pieces = [&input[..first], &input[first..second], &input[second..]];
            assert_eq!(cut(&pieces, limits, false), expected, "cuts at {first} and {second}");
        }
    }
}

#[test]
fn a_run_of_nuls_takes_constant_memory_and_loses_no_line() {
    let limits = BlockLimits { block_bytes: 1 << 12, line_bytes_max: 1 << 12 };
    let nuls = vec![0; 1 << 16];
    let mut pieces: Vec<&[u8]> = vec![b"before\n"];
    pieces.extend(std::iter::repeat_n(&nuls[..], 50));
    pieces.push(b"after\n");
    let outcome = cut(&pieces, limits, false);
    assert_eq!(outcome.lines, [b"before".to_vec(), b"after".to_vec()]);
    assert_eq!(outcome.too_long_lines, 0);
}

#[test]
fn a_line_at_the_limit_is_kept() {
    let limits = BlockLimits { block_bytes: 16, line_bytes_max: 100 };
    for (length, too_long_lines) in [(99, 0), (100, 0), (101, 1), (5_000, 1)] {
        let mut input = b"short\n".to_vec();
        input.extend(std::iter::repeat_n(b'x', length));
        input.extend(b"\r\nshort\n");
        let outcome = cut(&[&input], limits, false);
        assert_eq!(outcome.too_long_lines, too_long_lines, "{length}");
        assert_eq!(outcome, naive(&input, limits));
    }
}
