//! A log of a rotated set, and the years of its times if they are written without one.
//!
//! ```text
//! kern.log.2    Nov 29 .. Nov 30
//! kern.log.1             Nov 30 ...... Jan  1
//! kern.log                             Jan  2 .. Jan  3, the year in which it was last written
//! ```
//!
//! Each log begins before the one that goes on after it. A log that does not, by the years of that one, is
//! of a year before. But two hosts or processes may have numbers too, whose logs were written at the same
//! time: such a log begins while the other goes on, and its own times stay in order.

use std::cell::OnceCell;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_core::{Format, FormatChoice, LineOutcome, Lines, LogReader, detect_format};

use super::head::Head;
use super::input::Input;
use super::year::with_year;
use crate::log_year::LastTime;

/// The number of bytes in which the first time of a log is searched for, and the last.
const TIME_BYTES: usize = 64 << 10;

/// The largest packed log whose end is looked for.
const UNPACKED_BYTES_MAX: usize = 256 << 20;

/// A log that has a time.
#[derive(Debug)]
pub(super) struct DatedLog {
    input: Input,
    head: Head,
    format: Arc<Format>,
    /// The time that no line is much later than.
    last_time: Option<LastTime>,
    first_ns: i64,
    /// The lines at the end.
    tail: OnceCell<Vec<u8>>,
}

impl DatedLog {
    /// Reads the beginning of a log. `None` if it has no time.
    pub(super) fn of(input: &Input, format: &FormatChoice) -> Option<Self> {
        let head = Head::of(input, |text| text.len() >= TIME_BYTES).ok()?;
        let format = match format {
            FormatChoice::Forced(format) | FormatChoice::Known { format, .. } => format.clone(),
            FormatChoice::Detect | FormatChoice::DetectWith(_) => detect_format(head.lines())?,
            FormatChoice::Unread => return None,
        };
        let last_time = input.last_time();
        let first_ns = times_ns(&format, head.lines(), last_time, Wanted::First)?;
        let (input, tail) = (input.clone(), OnceCell::new());
        Some(Self { input, head, format, last_time, first_ns, tail })
    }

    /// Whether its times have no year.
    pub(super) fn lacks_year(&self) -> bool {
        self.format.lacks_year()
    }

    /// The first time.
    pub(super) fn first_ns(&self) -> i64 {
        self.first_ns
    }

    /// Gives the log the years that let it begin before the `next` one, or beside it. `input` is this log's.
    pub(super) fn set_before(&mut self, next: &Self, input: &mut Input) {
        let Some(next_last) = next.last_time else { return };
        let of_next = LastTime { at: next_last.at, is_of_next_log: true };
        let is_earlier = |last: LastTime| self.last_time.is_some_and(|own| last.at < own.at);
        // A last change that is later may be that of a copy.
        let earlier = if is_earlier(of_next) { Some(of_next) } else { self.last_time };
        let Some(first_ns) = self.first_by(earlier) else { return };
        let is_before = first_ns < next.first_ns || self.is_beside(next, (first_ns, earlier));
        let of_first = system_time(next.first_ns).map(|at| LastTime { at, is_of_next_log: true });
        let last_time = match of_first.filter(|last| !is_before && is_earlier(*last)) {
            Some(of_first) => Some(of_first),
            // Its own last change tells the same.
            None if first_ns == self.first_ns => self.last_time,
            None => earlier,
        };
        let Some(first_ns) = self.first_by(last_time) else { return };
        (self.first_ns, self.last_time) = (first_ns, last_time);
        if let Some(last) = last_time.filter(|last| last.is_of_next_log) {
            input.set_next_log(last.at);
        }
    }

    /// Whether the log, if it begins at this time, was written while the next one was.
    fn is_beside(&self, next: &Self, (first_ns, last_time): (i64, Option<LastTime>)) -> bool {
        let next_last_ns = next.last_by(next.last_time);
        next_last_ns.is_some_and(|next_last_ns| first_ns <= next_last_ns)
            && self.last_by(last_time).is_some_and(|last_ns| last_ns >= first_ns)
    }

    fn first_by(&self, last_time: Option<LastTime>) -> Option<i64> {
        times_ns(&self.format, self.head.lines(), last_time, Wanted::First)
    }

    fn last_by(&self, last_time: Option<LastTime>) -> Option<i64> {
        let tail = match self.head.is_whole {
            true => self.head.lines(),
            false => self.tail.get_or_init(|| tail_of(&self.input).unwrap_or_default()),
        };
        times_ns(&self.format, tail, last_time, Wanted::Last)
    }
}

/// Which time of some lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    First,
    Last,
}

/// The first or the last time of some lines.
fn times_ns(
    format: &Arc<Format>,
    lines: &[u8],
    last_time: Option<LastTime>,
    wanted: Wanted,
) -> Option<i64> {
    let mut reader = LogReader::new(with_year(format.clone(), last_time));
    let mut times = Lines::new(lines).filter_map(|line| {
        let time = reader.read(line.bytes, |_, outcome| match outcome {
            LineOutcome::Record(record) => record.time,
            _ => None,
        });
        Some(time?.unix_ns)
    });
    match wanted {
        Wanted::First => times.next(),
        Wanted::Last => times.last(),
    }
}

/// The whole lines at the end of a log. `None` if it cannot be read, or is too long to be unpacked for that.
fn tail_of(input: &Input) -> Option<Vec<u8>> {
    let mut tail = match input.plain_tail(TIME_BYTES as u64) {
        Some(tail) => tail,
        None => unpacked_tail(input)?,
    };
    let start = tail.iter().position(|byte| *byte == b'\n')?;
    tail.drain(..=start);
    Some(tail)
}

/// The end of a log's first text.
fn unpacked_tail(input: &Input) -> Option<Vec<u8>> {
    let (mut tail, mut total, mut is_whole) = (Vec::new(), 0, false);
    input.read(&mut |text| {
        while total < UNPACKED_BYTES_MAX {
            let start = tail.len();
            tail.resize(start + TIME_BYTES, 0);
            let length = text.read(&mut tail[start..]).unwrap_or(0);
            tail.truncate(start + length);
            total += length;
            if length == 0 {
                is_whole = true;
                break;
            }
            let surplus = tail.len().saturating_sub(2 * TIME_BYTES);
            tail.drain(..surplus);
        }
        ControlFlow::Break(())
    });
    is_whole.then_some(tail)
}

fn system_time(unix_ns: i64) -> Option<SystemTime> {
    Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(unix_ns).ok()?))
}
