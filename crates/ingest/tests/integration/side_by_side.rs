//! Files whose blocks are read side by side.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::{BlockLimits, Format, ReadCounts};
use weir_ingest::{
    FormatChoice, FoundRecord, Input, LineSink, LogLine, Records, SourceEnd, VisitedBlock,
    read_inputs,
};

/// A file that is removed when it is dropped.
struct LogFile(PathBuf);

impl LogFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("weir-side-by-side-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).expect("a writable folder");
        Self(path)
    }

    fn input(&self) -> Input {
        Input::File(self.0.clone().into())
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Keeps each line with its offset.
struct Keep;

impl LineSink for Keep {
    type Output = Vec<(u64, Vec<u8>)>;

    fn output(&mut self) -> Self::Output {
        Vec::new()
    }

    fn take(&mut self, line: &LogLine<'_>, _: Option<FoundRecord<'_>>, kept: &mut Self::Output) {
        kept.push((line.offset, line.bytes.to_vec()));
    }
}

fn forced() -> FormatChoice {
    FormatChoice::Forced(Arc::new(Format::parse("COMBINED").expect("a known format")))
}

/// The lines of a file, its counts, and the errors.
struct Found {
    lines: Vec<(u64, Vec<u8>)>,
    counts: ReadCounts,
    errors: Vec<String>,
    end: Option<SourceEnd>,
}

fn read(input: &Input, jobs: usize, limits: BlockLimits, numbers: bool) -> Found {
    read_and(input, jobs, limits, numbers, || {})
}

/// Reads a file, and calls a function when its first lines are there.
fn read_and(
    input: &Input,
    jobs: usize,
    limits: BlockLimits,
    numbers: bool,
    mut meanwhile: impl FnMut() + Send,
) -> Found {
    let mut records = Records::with_limits(jobs, limits);
    if numbers {
        records = records.numbering_lines();
    }
    let mut lines = Vec::new();
    let consume = |mut block: VisitedBlock<'_, Vec<(u64, Vec<u8>)>>| {
        let is_first = lines.is_empty();
        lines.append(&mut block.output);
        if is_first {
            meanwhile();
        }
        ControlFlow::Continue(())
    };
    let inputs = [input.clone()];
    let faults = records.run(|| Keep, consume, || read_inputs(&records, &inputs, &forced(), 1));
    let errors = faults.iter().filter_map(|fault| fault.error()).map(ToString::to_string).collect();
    let source = &records.sources()[0];
    Found { lines, counts: source.read_counts(), errors, end: source.snapshot().end }
}

/// Lines that are short, long, over the limit, empty, or follow NULs.
fn log(seed: u64, line_bytes_max: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut bytes = Vec::new();
    while bytes.len() < 60_000 {
        let length = match next(20) {
            0 => line_bytes_max + next(3) as usize - 1,
            1 => 3 * line_bytes_max,
            2 => 0,
            _ => next(90) as usize,
        };
        if next(30) == 0 {
            bytes.extend(std::iter::repeat_n(0, next(9_000) as usize));
        }
        bytes.extend((0..length).map(|at| b'a' + (at % 26) as u8));
        bytes.extend_from_slice(if next(5) == 0 { b"\r\n" } else { b"\n" });
    }
    let cut = next(3) as usize;
    bytes.truncate(bytes.len() - cut);
    bytes
}

#[test]
fn the_lines_are_those_of_reading_in_order() {
    for seed in 0..40 {
        let line_bytes_max = [200, 1_000, 5_000][seed as usize % 3];
        let file = LogFile::new(&format!("order-{seed}"), &log(seed, line_bytes_max));
        for block_bytes in [64, 1_000, 4_096, 30_000] {
            let limits = BlockLimits { block_bytes, line_bytes_max };
            // Lines that are numbered are read in order.
            let expected = read(&file.input(), 1, limits, true);
            for jobs in [1, 3] {
                let found = read(&file.input(), jobs, limits, false);
                assert_eq!(found.lines, expected.lines, "seed {seed}, {block_bytes}, {jobs} jobs");
                assert_eq!(found.counts, expected.counts, "seed {seed}, {block_bytes}");
                assert_eq!((found.errors.len(), &found.end), (0, &Some(SourceEnd::Done)));
            }
        }
    }
}

fn numbered(lines: usize) -> Vec<u8> {
    (0..lines).flat_map(|number| format!("line {number:010}\n").into_bytes()).collect()
}

const SMALL: BlockLimits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1_000 };

#[test]
fn a_file_that_is_truncated_meanwhile_is_an_error_and_keeps_its_lines() {
    let bytes = numbered(200_000);
    for jobs in [1, 2, 4] {
        let file = LogFile::new(&format!("truncated-{jobs}"), &bytes);
        let path = file.0.clone();
        let truncate = move || {
            let file = File::options().write(true).open(&path).expect("the file");
            file.set_len(1_000).expect("it is truncated");
        };
        let found = read_and(&file.input(), jobs, SMALL, false, truncate);
        let [error] = &found.errors[..] else { panic!("{:?}", found.errors) };
        let expected = "the file had 3200000 bytes and was truncated while it was read";
        assert!(error.contains(expected), "{error}");
        assert!(found.end.is_some_and(|end| end != SourceEnd::Done));
        assert!(!found.lines.is_empty());
        // Without a gap, and without a torn line.
        for (number, (offset, line)) in found.lines.iter().enumerate() {
            assert_eq!((*offset as usize, &line[..]), (16 * number, &bytes[16 * number..][..15]));
        }
        assert_eq!(found.counts.bytes_read, 16 * found.lines.len() as u64);
    }
}

#[test]
fn a_file_that_is_written_again_meanwhile_has_no_torn_lines() {
    let file = LogFile::new("again", &numbered(200_000));
    let path = file.0.clone();
    let write = move || {
        let other: Vec<u8> = numbered(200_000).iter().map(|_| b'x').collect();
        let file = File::options().write(true).open(&path).expect("the file");
        std::io::Write::write_all(&mut &file, &other).expect("it is written");
    };
    let found = read_and(&file.input(), 4, SMALL, false, write);
    // The blocks that were cut before are errors; without any, the rest is one long line.
    let has_error = !found.errors.is_empty();
    assert!(has_error || found.counts.too_long_lines > 0, "{:?}", found.counts);
    for error in &found.errors {
        assert!(error.contains("the file was written again while it was read"), "{error}");
    }
    assert!(
        found.lines.iter().all(|(_, line)| line.len() == 15 || line.iter().all(|b| *b == b'x'))
    );
}
