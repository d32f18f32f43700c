//! Streams that never pause and are slow nevertheless.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, read_stream};

const LINE: &[u8] = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 1\n";

/// Lines that arrive at once.
const FLOOD: usize = 40_000;

/// The most lines that arrive one by one until some of them are visible. A block holds three times
/// as many.
const SINGLE_MAX: u64 = 5_000;

/// The longest that the test may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Many lines, then one every two milliseconds.
struct Drip<'a> {
    flood: io::Cursor<Vec<u8>>,
    /// The number of lines that have arrived one by one.
    single: &'a AtomicU64,
    ends: &'a AtomicBool,
}

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.flood.read(buffer)? {
            0 if self.ends.load(Ordering::Relaxed) => Ok(0),
            0 => {
                std::thread::sleep(Duration::from_millis(2));
                self.single.fetch_add(1, Ordering::Relaxed);
                let mut line = LINE;
                line.read(buffer)
            }
            length => Ok(length),
        }
    }
}

#[test]
fn lines_that_arrive_one_by_one_are_visible_soon() {
    let options = PipelineOptions::new(1, Retention::Segments);
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let (single, ends) = (AtomicU64::new(0), AtomicBool::new(false));
    let drip = Drip { flood: io::Cursor::new(LINE.repeat(FLOOD)), single: &single, ends: &ends };
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| read_stream(&pipeline, "-", None, drip, FormatChoice::Detect));
        let lines = || data.sources().iter().map(|source| source.snapshot().lines).sum::<u64>();
        let start = Instant::now();
        // All lines that arrived at once, and a second's worth of the others. The limit is a number
        // of lines, because a busy machine may delay the stream too.
        let enough = FLOOD as u64 + 400;
        let may_wait = || single.load(Ordering::Relaxed) < SINGLE_MAX && start.elapsed() < PATIENCE;
        while lines() < enough && may_wait() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let seen = lines();
        ends.store(true, Ordering::Relaxed);
        reading.join().expect("it does not panic").expect("it can be read");
        assert!(seen >= enough, "{seen} of {enough} lines");
    });
}
