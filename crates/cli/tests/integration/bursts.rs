//! Pipes that bring lines in bursts, with pauses anywhere.

use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Served, line, page, report, weir};

/// How soon the lines of a burst have to be on the page. They are within a few tenths of a second;
/// this is for a machine that is busy with something else.
const SOON: Duration = Duration::from_secs(20);

/// Longer than anybody waits for more of a line or of a log before it is shown.
const PAUSE: Duration = Duration::from_millis(700);

/// Lines from that number on.
fn lines(from: usize, count: usize) -> String {
    let line = |number: usize| {
        let time = format!("17/Dec/2025:09:{:02}:{:02} +0000", number / 60 % 60, number % 60);
        line("192.0.2.1", &time, &format!("GET /{number} HTTP/1.1"), 200, "-")
    };
    (from..from + count).map(line).collect()
}

/// A process that writes in bursts.
struct Bursts {
    pipe: ChildStdin,
    written: usize,
}

impl Bursts {
    fn write(&mut self, text: &str) {
        self.pipe.write_all(text.as_bytes()).expect("somebody reads");
    }

    /// Writes so many lines at once.
    fn burst(&mut self, count: usize) {
        let text = lines(self.written, count);
        self.written += count;
        self.write(&text);
    }

    /// Writes so many lines in two bursts, of which the first ends in the middle of a line; calls
    /// `meanwhile` with the lines that are whole by then.
    fn torn(&mut self, count: usize, meanwhile: impl FnOnce(usize)) {
        let text = lines(self.written, count);
        let middle = text.len() - 40;
        self.write(&text[..middle]);
        meanwhile(self.written + count - 1);
        self.write(&text[middle..]);
        self.written += count;
    }

    /// Writes a last line without its end, and ends.
    fn end(mut self) -> usize {
        let text = lines(self.written, 1);
        self.write(text.trim_end());
        self.written + 1
    }
}

/// More than a pipe holds, however large it was made.
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
        bursts.torn(50, pause);
        bursts.burst(FLOOD);
        bursts.torn(1, pause);
        bursts.burst(1);
        pause(0);
        bursts.end()
    });
    let output = child.wait_with_output().expect("it ends");
    let written = writing.join().expect("all was read");
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
            assert!(start.elapsed() < SOON, "{} of {written} lines", report["lines"]);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut bursts = Bursts { pipe, written: 0 };
    bursts.burst(3);
    shows(3);
    bursts.torn(50, shows);
    shows(bursts.written);
    bursts.burst(FLOOD);
    shows(bursts.written);
    for _ in 0..5 {
        // A line that is torn is no line yet.
        bursts.torn(2, |whole| {
            shows(whole);
            std::thread::sleep(Duration::from_millis(200));
            assert_eq!(report(&page)["lines"], whole);
        });
        shows(bursts.written);
    }
    shows(bursts.end());
}
