//! A short run of every target: mutated inputs of its corpus. `cargo xtask abuse fuzz` is the long
//! one.

use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use weir_fuzz::{TARGETS, Target};
use weir_testkit::numbers::Numbers;

/// The number of mutated inputs of a target, and the time after which no further one begins: some
/// targets start a server for each input.
const INPUTS: usize = 5_000;
const TIME: Duration = Duration::from_secs(2);

/// The most changes of one input.
const CHANGES_MAX: u64 = 4;

/// The same inputs in every run, because a test must not fail now and then.
const SEED: u64 = 13;

/// The longest input, in bytes. libFuzzer has the same limit.
const LENGTH_MAX: usize = 4_096;

#[test]
fn every_target_holds_for_mutated_inputs() {
    for (name, target) in TARGETS {
        run(name, *target);
    }
}

fn run(name: &str, target: Target) {
    let corpus = corpus(name);
    let (begun, mut numbers) = (Instant::now(), Numbers::new(SEED));
    for _ in 0..INPUTS {
        let input = mutated(&corpus, &mut numbers);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            eprintln!("{name}: the input is b\"{}\"", input.escape_ascii());
            resume_unwind(panic);
        }
        if begun.elapsed() >= TIME {
            break;
        }
    }
}

/// The inputs of a target's corpus, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = fs::read_dir(folder).expect("each target has a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let inputs: Vec<_> = paths.iter().map(|path| fs::read(path).expect("a file")).collect();
    assert!(!inputs.is_empty(), "{name} has no input");
    inputs
}

/// One of the inputs with a few changes.
fn mutated(corpus: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut input = corpus[numbers.below(corpus.len() as u64) as usize].clone();
    for _ in 0..=numbers.below(CHANGES_MAX) {
        change(&mut input, corpus, numbers);
    }
    input.truncate(LENGTH_MAX);
    input
}

/// Changes a byte, or removes, repeats or inserts a piece. Inserted pieces come from the corpus.
fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], numbers: &mut Numbers) {
    let piece = piece_of(input, numbers);
    match numbers.below(5) {
        0 if !piece.is_empty() => input[piece.start] ^= 1 << numbers.below(8),
        1 if !piece.is_empty() => input[piece.start] = numbers.below(256) as u8,
        2 => drop(input.drain(piece)),
        3 => {
            let repeated = input[piece.clone()].to_vec();
            input.splice(piece.end..piece.end, repeated);
        }
        _ => {
            let other = &corpus[numbers.below(corpus.len() as u64) as usize];
            let inserted = other[piece_of(other, numbers)].to_vec();
            input.splice(piece.start..piece.start, inserted);
        }
    }
}

/// A range of positions in an input; short ranges are as frequent as long ones.
fn piece_of(input: &[u8], numbers: &mut Numbers) -> Range<usize> {
    let start = numbers.below(input.len() as u64 + 1) as usize;
    let rest = input.len() - start;
    let length = (1 << numbers.below(12)).min(rest);
    start..start + length
}
