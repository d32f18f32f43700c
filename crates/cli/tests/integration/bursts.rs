//! Pipes into which lines are written in bursts, with pauses at any byte.

use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Served, line, page, report, weir};

/// The lines of a burst have to be on the page within this time. Usually they are within a few
/// tenths of a second; the limit allows for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Longer than any wait for the rest of a line, or of the lines that detection examines. The time
/// is real, because the pipe connects two processes.
const PAUSE: Duration = Duration::from_millis(700);

/// `count` lines, numbered from `from`.
fn lines(from: usize, count: usize) -> String {
    let line = |number: usize| {
        let time = format!("17/Dec/2025:09:{:02}:{:02} +0000", number / 60 % 60, number % 60);
        line("192.0.2.1", &time, &format!("GET /{number} HTTP/1.1"), 200, "-")
    };
    (from..from + count).map(line).collect()
}

/// Writes lines in bursts into the standard input of a process.
struct Bursts {
    pipe: ChildStdin,
    written: usize,
}

impl Bursts {
    fn write(&mut self, text: &str) {
        self.pipe.write_all(text.as_bytes()).expect("the process reads");
    }

    /// Writes `count` lines at once.
    fn burst(&mut self, count: usize) {
        let text = lines(self.written, count);
        self.written += count;
        self.write(&text);
    }

    /// Writes `count` lines in two bursts, of which the first ends within a line. Between them,
    /// calls `meanwhile` with the number of complete lines.
    fn split_burst(&mut self, count: usize, meanwhile: impl FnOnce(usize)) {
        let text = lines(self.written, count);
        let middle = text.len() - 40;
        self.write(&text[..middle]);
        meanwhile(self.written + count - 1);
        self.write(&text[middle..]);
        self.written += count;
    }

    /// Writes a last line without its line end, and closes the pipe. Returns the number of lines.
    fn end(mut self) -> usize {
        let text = lines(self.written, 1);
        self.write(text.trim_end());
        self.written + 1
    }
}

/// The number of lines in a burst that no pipe can hold.
const FLOOD: usize = 40_000;

#[test]
fn a_report_counts_every_line_of_every_burst() {
    let mut command = weir(["report", "--json", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let pipe = child.stdin.take().expect("a pipe");
    let writing = std::thread::spawn(move || {
        let mut bursts = Bursts { pipe, written: 0 };
        let pause = |_| std::thread::sleep(PAUSE);
        bursts.burst(3);
        pause(0);
        bursts.split_burst(50, pause);
        bursts.burst(FLOOD);
        bursts.split_burst(1, pause);
        bursts.burst(1);
        pause(0);
        bursts.end()
    });
    let output = child.wait_with_output().expect("the process ends");
    let written = writing.join().expect("the writer ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["lines"], written);
    assert_eq!(report["records"], written);
    assert_eq!(report["distinct"]["path"], written);
}

#[test]
fn the_page_shows_each_burst_before_the_next() {
    let mut command = weir(["-", "--no-open", "--listen", "127.0.0.1:0"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let pipe = child.stdin.take().expect("a pipe");
    let page = page(&mut child);
    let _served = Served(child);
    let shows = |written: usize| {
        let start = Instant::now();
        loop {
            let report = report(&page);
            if report["lines"] == written {
                assert_eq!(report["records"], written);
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "{} of {written} lines", report["lines"]);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut bursts = Bursts { pipe, written: 0 };
    bursts.burst(3);
    shows(3);
    bursts.split_burst(50, shows);
    shows(bursts.written);
    bursts.burst(FLOOD);
    shows(bursts.written);
    for _ in 0..5 {
        bursts.split_burst(2, shows);
        shows(bursts.written);
    }
    // An incomplete line does not count, however long its rest takes.
    bursts.split_burst(2, |whole| {
        shows(whole);
        std::thread::sleep(PAUSE);
        assert_eq!(report(&page)["lines"], whole);
    });
    shows(bursts.written);
    shows(bursts.end());
}
