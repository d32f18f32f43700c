//! The generator.

use crate::clock::Clock;
use crate::digits;
use crate::ledger::{LINE_BYTES_MAX, Ledger};
use crate::line;
use crate::options::{Shape, TrafficOptions};
use crate::outcome::{GET, METHODS};
use crate::rng::Rng;
use crate::schedule::{REFERENCE_BYTES, Schedule, TrafficEvent};
use crate::world::World;

/// The measured mean length of a line in bytes, to derive the number of lines from the size.
const LINE_BYTES: u64 = 262;
/// Additional capacity for the line that exceeds the requested bytes, so that the buffer seldom
/// grows.
const LINE_ROOM: usize = 1024;
/// The maximum capacity that is reserved at once. For larger requests the buffer grows.
const RESERVE_BYTES_MAX: usize = 16 << 20;
/// The mean number of lines for each dirty one.
const DIRT_EVERY: u32 = 20_000;
/// The number of distinct user agents of [`Shape::ManyAgents`].
const MANY_AGENTS: u64 = 1_000_000;
/// The length of the long request of [`Shape::LongLines`] in bytes.
const LONG_LINE_BYTES: u64 = 64 << 20;

/// Synthetic traffic of a web shop in combined log format.
///
/// The sizes of the calls of [`Self::fill`] do not change the bytes.
#[derive(Debug)]
pub struct Traffic {
    options: TrafficOptions,
    world: World,
    rng: Rng,
    clock: Clock,
    schedule: Schedule,
    event: TrafficEvent,
    /// The number of lines left for the current second.
    left_in_second: u32,
    dirt_every: u32,
    /// The number of clean lines before the next dirty one; `None` if there are no dirty lines.
    until_dirt: Option<u32>,
    /// The number of bytes appended so far.
    bytes_written: u64,
    /// The number of lines begun so far, including those that [`Shape::OneLine`] joins.
    lines_written: u64,
    dirty_written: u64,
    /// The offset at which the long line or the run of NULs begins; `None` once it has begun.
    run_at: Option<u64>,
    /// The run that is being written.
    run: Option<Run>,
    ledger: Option<Ledger>,
}

/// A run of one repeated byte, and the end of its line.
#[derive(Debug)]
struct Run {
    byte: u8,
    bytes_left: u64,
    tail: Vec<u8>,
}

impl Traffic {
    /// Traffic with these options. Building its pools takes a few hundredths of a second.
    pub fn new(options: TrafficOptions) -> Self {
        let mut rng = Rng::new(options.seed);
        let world = World::new(&mut rng);
        let schedule = match options.shape {
            Shape::EverySecond => Schedule::every_second(options.start),
            _ => Schedule::new(options.start, options.bytes, LINE_BYTES),
        };
        let has_run = matches!(options.shape, Shape::LongLines | Shape::NulRun);
        Self {
            world,
            clock: Clock::new(options.start),
            schedule,
            event: TrafficEvent::None,
            left_in_second: 1,
            dirt_every: DIRT_EVERY,
            until_dirt: gap(DIRT_EVERY, &mut rng),
            bytes_written: 0,
            lines_written: 0,
            dirty_written: 0,
            run_at: has_run.then(|| size(&options) * 3 / 10),
            run: None,
            ledger: None,
            rng,
            options,
        }
    }

    /// The same traffic, with a [`Ledger`].
    #[must_use]
    pub fn with_ledger(mut self) -> Self {
        self.ledger = Some(Ledger::default());
        self
    }

    /// The same traffic with one dirty line in `lines` on average, instead of 1 in 20,000; 0 for
    /// none.
    #[must_use]
    pub fn with_dirt_every(mut self, lines: u32) -> Self {
        self.dirt_every = lines;
        self.until_dirt = gap(lines, &mut self.rng);
        self
    }

    /// The counts of the lines written so far. `None` without [`Self::with_ledger`].
    ///
    /// A line that is only partly written is not counted yet.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }

    /// The number of bytes appended so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Appends lines until `out` has grown by at least `bytes`, or the traffic ends. Returns the
    /// number of bytes appended, which is 0 only at the end or if `bytes` is 0.
    ///
    /// A call ends with the first line that reaches `bytes`. Only the long lines of
    /// [`Shape::LongLines`] and [`Shape::NulRun`] are cut after `bytes`, and the line of
    /// [`Shape::OneLine`] after any of its parts.
    pub fn fill(&mut self, out: &mut Vec<u8>, bytes: usize) -> usize {
        let start = out.len();
        out.reserve(bytes.min(RESERVE_BYTES_MAX) + LINE_ROOM);
        while out.len() - start < bytes && !self.is_at_end() {
            let before = out.len();
            self.step(out, bytes - (before - start));
            self.bytes_written += (out.len() - before) as u64;
        }
        out.len() - start
    }

    fn is_at_end(&self) -> bool {
        self.run.is_none() && self.reaches(self.bytes_written)
            // One line consists of at least two, so that it never looks like a record.
            && !(self.options.shape == Shape::OneLine && self.lines_written < 2)
    }

    fn reaches(&self, bytes: u64) -> bool {
        self.options.bytes.is_some_and(|wanted| bytes >= wanted)
    }

    /// Appends a line, or at most `bytes` of a run.
    #[inline]
    fn step(&mut self, out: &mut Vec<u8>, bytes: usize) {
        if self.options.shape == Shape::EmptyLines {
            self.push_empty(out, bytes);
        } else if self.run.is_some() {
            self.push_run(out, bytes);
        } else if self.run_at.is_some_and(|at| self.bytes_written >= at) {
            self.run_at = None;
            self.begin_run(out);
        } else {
            self.push_line(out);
        }
    }

    #[inline]
    fn push_line(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        self.lines_written += 1;
        self.advance();
        match &mut self.until_dirt {
            Some(0) => self.push_dirty(out),
            Some(left) => {
                *left -= 1;
                self.push_clean(out);
            }
            None => self.push_clean(out),
        }
        if self.options.shape == Shape::OneLine {
            self.join(out, start);
        }
    }

    #[inline]
    fn push_clean(&mut self, out: &mut Vec<u8>) {
        let parts = self.world.parts(self.event, &mut self.rng);
        line::write(out, &self.clock, &parts);
        if self.options.shape == Shape::ManyAgents {
            // The step and the count have no common divisor, so every number occurs.
            let number = self.lines_written * 611_953 % MANY_AGENTS;
            out.truncate(out.len() - 2);
            out.extend_from_slice(b" id/");
            digits::push(out, number as u32);
            out.extend_from_slice(b"\"\n");
        }
        if let Some(ledger) = &mut self.ledger
            && self.options.shape != Shape::OneLine
        {
            ledger.record(&line::entry(&self.clock, &parts));
        }
    }

    #[cold]
    fn push_dirty(&mut self, out: &mut Vec<u8>) {
        self.until_dirt = gap(self.dirt_every, &mut self.rng);
        let number = self.dirty_written;
        self.dirty_written += 1;
        let entry = line::write_dirty(number, out, &self.clock, &self.world, &mut self.rng);
        if let Some(ledger) = &mut self.ledger
            && self.options.shape != Shape::OneLine
        {
            ledger.dirty += 1;
            match entry {
                Some(entry) => ledger.record(&entry),
                None => {
                    ledger.lines += 1;
                    ledger.unparsed_lines += 1;
                }
            }
        }
    }

    /// Replaces the line feed by a space, unless the traffic ends here.
    fn join(&mut self, out: &mut [u8], start: usize) {
        let bytes = self.bytes_written + (out.len() - start) as u64;
        if self.lines_written < 2 || !self.reaches(bytes) {
            out[out.len() - 1] = b' ';
        } else if let Some(ledger) = &mut self.ledger {
            ledger.lines = 1;
            ledger.too_long_lines = u64::from(bytes - 1 > LINE_BYTES_MAX);
            ledger.unparsed_lines = 1 - ledger.too_long_lines;
        }
    }

    fn push_empty(&mut self, out: &mut Vec<u8>, bytes: usize) {
        let left = self.options.bytes.map_or(u64::MAX, |wanted| wanted - self.bytes_written);
        let lines = left.min(bytes as u64);
        out.resize(out.len() + lines as usize, b'\n');
        self.lines_written += lines;
        if let Some(ledger) = &mut self.ledger {
            ledger.lines += lines;
            ledger.empty_lines += lines;
        }
    }

    fn begin_run(&mut self, out: &mut Vec<u8>) {
        if self.options.shape == Shape::NulRun {
            let bytes_left = size(&self.options) * 2 / 5;
            self.run = Some(Run { byte: 0, bytes_left, tail: Vec::new() });
            return;
        }
        let start = out.len();
        self.lines_written += 1;
        self.advance();
        let mut parts = self.world.parts(TrafficEvent::None, &mut self.rng);
        parts.outcome.method = GET;
        out.extend_from_slice(parts.client);
        out.extend_from_slice(self.clock.text());
        out.extend_from_slice(METHODS[usize::from(GET)]);
        out.extend_from_slice(b"/search?q=");
        let mut tail = Vec::new();
        line::write_end(&mut tail, &parts);
        let bytes_left = LONG_LINE_BYTES.min(size(&self.options) / 2);
        let bytes = (out.len() - start + tail.len() - 1) as u64 + bytes_left;
        if let Some(ledger) = &mut self.ledger {
            if bytes > LINE_BYTES_MAX {
                ledger.lines += 1;
                ledger.too_long_lines += 1;
            } else {
                ledger.record(&line::entry(&self.clock, &parts));
            }
        }
        self.run = Some(Run { byte: b'A', bytes_left, tail });
    }

    fn push_run(&mut self, out: &mut Vec<u8>, bytes: usize) {
        let Some(run) = &mut self.run else { return };
        let part = run.bytes_left.min(bytes as u64);
        out.resize(out.len() + part as usize, run.byte);
        run.bytes_left -= part;
        if run.bytes_left == 0 {
            out.append(&mut run.tail);
            self.run = None;
        }
    }

    /// Takes a line from the current second, or from the next second that has lines.
    #[inline]
    fn advance(&mut self) {
        if self.left_in_second == 0 {
            self.advance_clock();
        }
        self.left_in_second -= 1;
    }

    fn advance_clock(&mut self) {
        let mut now_s = self.clock.now_s();
        while self.left_in_second == 0 {
            now_s += 1;
            (self.left_in_second, self.event) = self.schedule.second(now_s, &mut self.rng);
        }
        self.clock.set(now_s);
    }
}

/// The size from which the offset and the length of a run are derived.
fn size(options: &TrafficOptions) -> u64 {
    options.bytes.unwrap_or(REFERENCE_BYTES)
}

/// Draws the number of clean lines until the next dirty one; `None` if there are none.
fn gap(mean: u32, rng: &mut Rng) -> Option<u32> {
    (mean > 0).then(|| rng.below(mean.saturating_mul(2)))
}
