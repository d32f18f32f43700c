//! Files that are rotated while thousands of lines a second are written to them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weir_core::Field;
use weir_ingest::{
    Clock, DataSet, Fault, FollowOptions, Follower, FormatChoice, Pipeline, PipelineOptions,
    Retention, SystemClock,
};

/// The longest that any step may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(180);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn line(number: u64) -> String {
    format!("192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 1\n")
}

fn appending(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a file")
}

/// The system's clock, which counts the follower's polls and may shorten the pauses between them.
#[derive(Debug)]
struct PollClock {
    clock: SystemClock,
    pause_max: Duration,
    polls: AtomicU64,
}

impl PollClock {
    fn new(pause_max: Duration) -> Arc<Self> {
        Arc::new(Self { clock: SystemClock::default(), pause_max, polls: AtomicU64::new(0) })
    }

    /// Waits until the follower has polled `count` more times and found nothing.
    fn wait_for_polls(&self, count: u64) {
        let before = self.polls.load(Ordering::Relaxed);
        let start = Instant::now();
        while self.polls.load(Ordering::Relaxed) < before + count && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Clock for PollClock {
    fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    fn unix_s(&self) -> i64 {
        self.clock.unix_s()
    }

    fn sleep(&self, duration: Duration) {
        self.polls.fetch_add(1, Ordering::Relaxed);
        thread::sleep(duration.min(self.pause_max));
    }
}

/// Ends a follower when this is dropped. After a panic, the scope would otherwise wait for the
/// follower's thread for ever.
struct EndGuard<'a>(&'a AtomicBool);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Follows these paths with short pauses; see [`follow_with`].
fn follow(paths: &[PathBuf], write: impl FnOnce(&DataSet, &PollClock) -> u64 + Send) {
    follow_with(&PollClock::new(Duration::from_millis(5)), paths, write);
}

/// Follows these paths while `write` runs, which returns the number of lines. Waits until as many
/// are counted, and checks that each is there once.
fn follow_with(
    clock: &Arc<PollClock>,
    paths: &[PathBuf],
    write: impl FnOnce(&DataSet, &PollClock) -> u64 + Send,
) {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let ends = AtomicBool::new(false);
    let follower = Follower::with(
        &pipeline,
        paths,
        &FormatChoice::Detect,
        FollowOptions::new().with_clock(clock.clone()),
    );
    let expected = thread::scope(|scope| {
        let end = EndGuard(&ends);
        let following = scope.spawn(|| follower.run(&pipeline, &ends, |_| ()));
        let expected = write(&data, clock);
        let start = Instant::now();
        while lines(&data) < expected && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        // Further polls must not find more lines.
        clock.wait_for_polls(6);
        drop(end);
        assert!(following.join().expect("it does not panic").is_empty());
        expected
    });
    pipeline.finish();
    assert_eq!(lines(&data), expected);
    assert_eq!(distinct(&data), expected);
}

fn lines(data: &DataSet) -> u64 {
    data.sources().iter().map(|source| source.snapshot().lines).sum()
}

/// The number of distinct requested paths, which is one per line.
fn distinct(data: &Arc<DataSet>) -> u64 {
    let values = data.values();
    let column = Field::Path.column();
    let dictionary = values.dictionary(column);
    let paths = (0..dictionary.ids() as u32).filter_map(|id| dictionary.value(id));
    paths.filter(|path| path.starts_with(b"/")).count() as u64
}

/// Writes lines in batches, some torn in the middle, about 20,000 a second.
struct Load {
    file: File,
    written: u64,
}

impl Load {
    fn write(&mut self, count: u64) {
        for _ in 0..count {
            let line = line(self.written);
            self.written += 1;
            if self.written.is_multiple_of(7) {
                let (start, end) = line.as_bytes().split_at(31);
                self.file.write_all(start).expect("room");
                self.file.write_all(end).expect("room");
            } else {
                self.file.write_all(line.as_bytes()).expect("room");
            }
            if self.written.is_multiple_of(100) {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[test]
fn rotation_by_renaming_neither_loses_nor_duplicates_lines() {
    let folder = Folder::new("rename");
    let path = folder.0.join("access.log");
    // The rotated name is followed too, as by `access.log*`.
    let rotated = folder.0.join("access.log.1");
    follow(&[path.clone(), rotated.clone()], |_, clock| {
        let mut load = Load { file: appending(&path), written: 0 };
        for _ in 0..5 {
            load.write(3_000);
            fs::rename(&path, &rotated).expect("it is there");
            // The writer continues with the old file until it is told to reopen.
            load.write(1_000);
            load.file = appending(&path);
            load.write(3_000);
            // A file that is renamed twice between two polls is not found.
            clock.wait_for_polls(2);
        }
        load.written
    });
}

#[test]
fn followed_lines_are_read_again_from_their_files() {
    let folder = Folder::new("read-again");
    let (path, rotated) = (folder.0.join("access.log"), folder.0.join("access.log.1"));
    let options = PipelineOptions::new(1, Retention::Segments);
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    data.keep_sums();
    let pipeline = Pipeline::start(&options, data.clone());
    let clock = PollClock::new(Duration::ZERO);
    let paths = [path.clone()];
    let mut follower = Follower::with(
        &pipeline,
        &paths,
        &FormatChoice::Detect,
        FollowOptions::new().with_clock(clock),
    );
    let mut write = |path: &Path, numbers: std::ops::Range<u64>| {
        let text: String = numbers.map(line).collect();
        // A piece of a line waits for its rest.
        let (start, rest) = text.split_at(text.len() - 20);
        for part in [start, rest] {
            appending(path).write_all(part.as_bytes()).expect("a file");
            while follower.poll() {}
        }
    };
    write(&path, 0..5);
    fs::rename(&path, &rotated).expect("a rotation");
    write(&path, 5..9);
    // The writer of the old file opens the new one late.
    write(&rotated, 9..11);
    write(&path, 11..14);
    File::create(&path).expect("a truncation");
    write(&path, 14..20);
    follower.run(&pipeline, &AtomicBool::new(true), |_| {});
    pipeline.finish();
    let source = data.source(0).expect("the source");
    let values = data.values();
    let mut read = Vec::new();
    for segment in data.snapshot().segments.iter().map(|kept| &kept.segment) {
        let ids = segment.text(Field::Path.column()).expect("paths");
        for row in 0..segment.rows() {
            let id = ids.get(row) as u32;
            let number = values.dictionary(Field::Path.column()).value(id).expect("a path");
            let number: u64 =
                std::str::from_utf8(&number[1..]).expect("a number").parse().expect("one");
            if let Some(place) = source.file_place(segment.line_offset(row)) {
                let mut file = place.file.open().expect("the file is there");
                let found = file.line(&place, 1_000).expect("a line").bytes.to_vec();
                assert_eq!([&found[..], b"\n"].concat(), line(number).into_bytes(), "{number}");
                read.push(number);
            }
        }
    }
    read.sort_unstable();
    // Those of the file before it was truncated are lost.
    let expected: Vec<u64> = (0..5).chain(9..11).chain(14..20).collect();
    assert_eq!(read, expected);
}

/// The line feed that ends such a line in the source is not in the file.
#[test]
fn a_last_line_without_a_line_feed_is_read_again() {
    for keeps_sums in [true, false] {
        let folder = Folder::new(&format!("no-line-feed-{keeps_sums}"));
        let (path, rotated) = (folder.0.join("access.log"), folder.0.join("access.log.1"));
        let options = PipelineOptions::new(1, Retention::Segments);
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        if keeps_sums {
            data.keep_sums();
        }
        let pipeline = Pipeline::start(&options, data.clone());
        let clock = PollClock::new(Duration::ZERO);
        let paths = [path.clone()];
        let mut follower = Follower::with(
            &pipeline,
            &paths,
            &FormatChoice::Detect,
            FollowOptions::new().with_clock(clock),
        );
        let whole: String = (0..9).map(line).collect();
        let (before, after) = whole.split_at(whole.find(&line(5)).expect("the line"));
        let mut write = |path: &Path, text: &str| {
            appending(path).write_all(text.as_bytes()).expect("a file");
            while follower.poll() {}
        };
        write(&path, before.trim_end());
        fs::rename(&path, &rotated).expect("a rotation");
        write(&path, after);
        follower.run(&pipeline, &AtomicBool::new(true), |_| {});
        pipeline.finish();
        let source = data.source(0).expect("the source");
        let mut read = Vec::new();
        let spans = source.file_spans().expect("all lines are in files");
        for span in &spans {
            let take = |bytes: &[u8]| {
                read.extend_from_slice(bytes);
                true
            };
            span.read(take).expect("the files have not changed");
        }
        // The old file is given up some time after the new one is read.
        let mut lines: Vec<_> = read.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_unstable_by_key(|line| {
            whole.as_bytes().windows(line.len()).position(|it| it == *line)
        });
        assert_eq!(String::from_utf8_lossy(&lines.concat()), whole);
        fs::write(&rotated, "other").expect("a file");
        let failed = spans.iter().filter(|span| span.read(|_| true).is_err()).count();
        assert!(failed > 0, "the lines of the old file have changed");
    }
}

#[test]
fn deletion_and_truncation_neither_lose_nor_duplicate_lines() {
    let folder = Folder::new("truncate");
    let path = folder.0.join("access.log");
    follow(std::slice::from_ref(&path), |data, clock| {
        // The file does not exist at first.
        clock.wait_for_polls(3);
        let mut load = Load { file: appending(&path), written: 0 };
        for round in 0..6 {
            load.write(2_000);
            // Lines that are not read before a truncation are lost, so wait until they are.
            let start = Instant::now();
            while lines(data) < load.written && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(5));
            }
            if round % 2 == 0 {
                load.file.set_len(0).expect("it can be truncated");
                // Immediately longer than before, or shorter.
                load.write(if round == 0 { 2_500 } else { 10 });
            } else {
                fs::remove_file(&path).expect("it is there");
                load.write(500);
                load.file = appending(&path);
            }
        }
        load.written
    });
}

#[test]
fn new_lines_are_seen_within_200_ms() {
    let folder = Folder::new("latency");
    let path = folder.0.join("access.log");
    let clock = PollClock::new(Follower::INTERVAL);
    follow_with(&clock, std::slice::from_ref(&path), |data, _| {
        let mut load = Load { file: appending(&path), written: 0 };
        let mut times = Vec::new();
        for _ in 0..20 {
            load.write(3);
            let start = Instant::now();
            while lines(data) < load.written && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(1));
            }
            times.push(start.elapsed());
        }
        times.sort();
        // A low quantile, so that other load on the machine does not matter.
        assert!(times[2] < Duration::from_millis(200), "{times:?}");
        load.written
    });
}

#[test]
fn a_change_of_format_is_followed() {
    let folder = Folder::new("changed");
    let path = folder.0.join("access.log");
    let options = PipelineOptions::new(1, Retention::Segments);
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let (ends, told) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let follower = Follower::new(&pipeline, std::slice::from_ref(&path), &FormatChoice::Detect);
    thread::scope(|scope| {
        let told = &told;
        let tell = |faults: Vec<Fault>| {
            let faults = faults.iter().map(Fault::to_string);
            told.lock().expect("nobody panicked").extend(faults);
        };
        let (ends, pipeline) = (&ends, &pipeline);
        let following = scope.spawn(move || follower.run(pipeline, ends, tell));
        let mut file = appending(&path);
        // With referer and user agent, after the server was reconfigured.
        let longer = |number| line(number).replace(" 200 1\n", " 200 1 \"-\" \"curl/8.0\"\n");
        for (written, line) in [(500, &line as &dyn Fn(u64) -> String), (1_000, &longer)] {
            let lines: String = (written - 500..written).map(line).collect();
            file.write_all(lines.as_bytes()).expect("room");
            let start = Instant::now();
            while self::lines(&data) < written && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(5));
            }
        }
        ends.store(true, Ordering::Relaxed);
        assert!(following.join().expect("it does not panic").is_empty());
    });
    pipeline.finish();
    let seen = data.sources()[0].snapshot();
    assert_eq!((seen.lines, seen.lines - seen.records), (1_000, seen.unparsed_lines));
    // A poll may have fallen between two lines that were written together.
    assert!(seen.unparsed_lines <= 16, "{}", seen.unparsed_lines);
    let told = told.into_inner().expect("nobody panicked");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("its lines no longer fit COMMON"), "{told:?}");
    assert!(told[0].ends_with("it is read as COMBINED"), "{told:?}");
}

#[test]
fn existing_lines_show_how_far_the_clock_is_ahead() {
    let folder = Folder::new("ahead");
    let path = folder.0.join("access.log");
    // A log with a line per second, whose times are hours ahead: they are local, without an
    // offset.
    let (now_s, first_s) = (1_760_000_000i64, 1_760_032_440);
    let line = |second: i64| {
        let time = format!("09/Oct/2025:17:{:02}:{:02} +0000", 54 + second / 60, second % 60);
        format!("192.0.2.1 - - [{time}] \"GET / HTTP/1.1\" 200 1\n")
    };
    let lines: String = (0..200).map(line).collect();
    fs::write(&path, lines).expect("room");
    let width = Some(Duration::from_secs(60));
    let options = PipelineOptions::new(1, Retention::Window { width });
    let clock = Box::new(move || now_s * 1_000_000_000);
    let data = DataSet::with_clock(options.retention, options.memory_bytes_max, &[], clock);
    let pipeline = Pipeline::start(&options, data.clone());
    let ends = AtomicBool::new(false);
    let follower = Follower::new(&pipeline, &[path], &FormatChoice::Detect);
    thread::scope(|scope| {
        let following = scope.spawn(|| follower.run(&pipeline, &ends, |_| ()));
        let start = Instant::now();
        while self::lines(&data) < 200 && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        ends.store(true, Ordering::Relaxed);
        following.join().expect("it does not panic");
    });
    let segments = data.snapshot().segments;
    let first_ns = segments.iter().map(|kept| kept.bounds.first_ns).min().expect("rows");
    assert_eq!(first_ns, (first_s + 199 - 60) * 1_000_000_000);
}
