//! Feeds whose lines come to have another format: a stray line was the first, or the server was
//! told to log otherwise.

mod majority;

use std::sync::Arc;

use majority::Majority;
use memchr::memchr;
use weir_core::{Format, LineOutcome, Lines, LogReader, detect};

/// Looks at the last lines of each block of a feed and at some others. Where so many in a row do not
/// fit that they are more than a mistake, or most here and there, it looks for the format that they
/// have.
///
/// What it costs is bounded whatever is sent: a block of a feed in order costs five lines, any other
/// [`LOOK_BYTES`], or all of it once more where the format seems to change; and formats are tried on no more than one part in [`WAIT`] of what comes, but
/// for the first few times that one is found.
#[derive(Debug)]
pub(crate) struct Strangers {
    /// What reads lines in the format, and the format; `None` while none was found.
    reader: Option<(LogReader, Arc<Format>)>,
    /// Lines that were seen to fit, counted as far as it matters.
    fitting: usize,
    /// How often the format was found again.
    changes: u32,
    /// Lines in a row that do not fit.
    run: usize,
    /// The last of them, with their line feeds.
    lines: Vec<u8>,
    /// Lines here and there.
    majority: Majority,
    /// Formats are not tried again before so many bytes have come.
    wait_bytes: usize,
}

/// Another format, and where in a block it begins.
#[derive(Debug)]
pub(crate) struct Change {
    /// The start of a line in the block.
    pub(crate) place: usize,
    /// The format of the lines from there on.
    pub(crate) format: Arc<Format>,
    /// The share of the lines that were looked at which fit it.
    pub(crate) share: f64,
}

/// Bytes at a block's end that are looked at.
const LOOK_BYTES: usize = 16 << 10;

/// So many times the bytes that formats were tried on in vain have to come before they are tried
/// again.
const WAIT: usize = 32;

/// Lines in a row that tell of another format: as many as are known to fit the one before, but no
/// fewer and no more than this. A line or two that do not fit are in many logs.
const RUN_MIN: usize = 2;
const RUN_MAX: usize = 16;

/// After each change twice as many are asked for, up to so many times: of senders that log
/// differently to one listener none is to have its way for long.
const DOUBLINGS_MAX: u32 = 6;

impl Strangers {
    /// Of a feed in this format, which so many lines are known to fit; in none as yet.
    pub(crate) fn new(format: Option<&Arc<Format>>, fitting: usize) -> Self {
        Self {
            reader: format.map(reader),
            fitting: fitting.min(RUN_MAX),
            changes: 0,
            run: 0,
            lines: Vec::new(),
            majority: Majority::new(LOOK_BYTES),
            wait_bytes: 0,
        }
    }

    /// Passes a block that is read in `format`; says where its lines begin to have another.
    pub(crate) fn pass(&mut self, format: Option<&Arc<Format>>, bytes: &[u8]) -> Option<Change> {
        let known = self.reader.as_ref().map(|(_, format)| format);
        if known.map(Arc::as_ptr) != format.map(Arc::as_ptr) {
            // A directive has said so.
            self.reader = format.map(reader);
        }
        self.wait_bytes = self.wait_bytes.saturating_sub(bytes.len());
        self.look(bytes);
        self.sample(bytes);
        let is_lost = self.majority.is_lost(self.needed());
        if self.wait_bytes > 0 || !(is_lost || self.run >= self.needed()) {
            return None;
        }
        let place = self.turn(bytes);
        if is_lost && place == bytes.len() {
            // In another block it begins, and not every one is passed twice until then.
            self.wait_bytes = bytes.len();
            return None;
        }
        if place > 0 && !is_lost && !self.is_run(&bytes[place..]) {
            return None;
        }
        let evidence = self.evidence(&bytes[place..], is_lost);
        let known_bytes = self.lines.len() + bytes.len() - place;
        let tried_bytes = LOOK_BYTES.min(known_bytes.max(evidence.len()));
        let detection = detect(evidence);
        // Most of them fit, so that not another stray line decides.
        let best = detection.best().filter(|best| best.fitting * 4 >= best.lines * 3);
        let Some(best) = best else {
            self.wait_bytes = tried_bytes * WAIT;
            return None;
        };
        let share = best.fitting as f64 / best.lines.max(1) as f64;
        let wait_bytes = tried_bytes << self.changes.min(DOUBLINGS_MAX);
        let changes = self.changes + 1;
        *self = Self { changes, wait_bytes, ..Self::new(Some(&best.format), 0) };
        Some(Change { place, format: best.format.clone(), share })
    }

    /// The lines to find a format for: the first ones of the block that do not fit, where a
    /// directive may stand, or those of some blocks where these have few.
    fn evidence<'a>(&'a self, strangers: &'a [u8], is_lost: bool) -> &'a [u8] {
        let first = head(strangers);
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        if is_lost && self.run < self.needed() {
            return self.majority.lines();
        }
        if lines(first) >= lines(&self.lines) { first } else { &self.lines }
    }

    /// Lines in a row that have to differ.
    fn needed(&self) -> usize {
        self.fitting.clamp(RUN_MIN, RUN_MAX) << self.changes.min(DOUBLINGS_MAX)
    }

    /// Looks at the last lines, the last first, until one fits or they are enough.
    fn look(&mut self, bytes: &[u8]) {
        let tail = tail(bytes);
        let needed = self.needed();
        let mut start = tail.len();
        let mut seen = 0;
        for line in Lines::new(tail).collect::<Vec<_>>().into_iter().rev() {
            match self.fits(line.bytes) {
                None => continue,
                Some(true) => {
                    self.fitting = RUN_MAX.min(self.fitting + 1);
                    self.run = 0;
                    self.lines.clear();
                    break;
                }
                Some(false) => {}
            }
            (start, seen) = (line.start, seen + 1);
            if seen == needed {
                break;
            }
        }
        self.run += seen;
        if self.lines.len() + tail.len() - start > LOOK_BYTES {
            self.lines.clear();
        }
        self.lines.extend_from_slice(&tail[start..]);
    }

    /// Whether a line fits; `None` for one that says nothing. Directives fit: they are the format's.
    fn fits(&mut self, line: &[u8]) -> Option<bool> {
        if line.is_empty() {
            return None;
        }
        let Some((reader, format)) = &mut self.reader else { return Some(false) };
        let (fits, is_directive) = reader.read(line, |_, outcome| match outcome {
            LineOutcome::Record(_) => (true, false),
            LineOutcome::Directive => (true, true),
            LineOutcome::Unmatched(_) => (false, false),
        });
        if is_directive {
            // It may be an earlier one than the block's last, which has been followed.
            *reader = LogReader::new(format.clone());
        }
        Some(fits)
    }

    /// Looks at lines here and there.
    fn sample(&mut self, bytes: &[u8]) {
        for line in self.majority.sample(bytes) {
            if let Some(fits) = self.fits(line) {
                self.majority.count(line, fits, self.needed());
            }
        }
    }

    /// The start of a line such that the fewest lines in front of it do not fit and the fewest from
    /// there on do; the first one of several.
    fn turn(&mut self, bytes: &[u8]) -> usize {
        // Those that fit less those that do not, in front of it.
        let (mut balance, mut most, mut place) = (0_i64, 0, 0);
        for line in Lines::new(bytes) {
            match self.fits(line.bytes) {
                Some(true) => balance += 1,
                Some(false) => balance -= 1,
                None => {}
            }
            if balance > most {
                (most, place) = (balance, line.start + line.bytes.len());
            }
        }
        // Behind its line feed.
        match place {
            0 => 0,
            end => memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |feed| end + feed + 1),
        }
    }

    /// Whether the lines behind those that fit are enough by themselves. Where they are not, they are
    /// all that is in a row: those that fit were too far from the block's end to be seen.
    fn is_run(&mut self, strangers: &[u8]) -> bool {
        let lines = Lines::new(strangers).filter(|line| !line.bytes.is_empty()).count();
        if lines >= self.needed() {
            return true;
        }
        self.run = lines;
        self.lines.clear();
        self.lines.extend_from_slice(tail(strangers));
        false
    }
}

fn reader(format: &Arc<Format>) -> (LogReader, Arc<Format>) {
    (LogReader::new(format.clone()), format.clone())
}

/// Whole lines at the end of a block; none where the last is longer than anybody looks at.
fn tail(bytes: &[u8]) -> &[u8] {
    let Some(from) = bytes.len().checked_sub(LOOK_BYTES) else { return bytes };
    match bytes[from..].iter().position(|byte| *byte == b'\n') {
        Some(end) => &bytes[from + end + 1..],
        None => &[],
    }
}

/// Whole lines at the beginning.
fn head(bytes: &[u8]) -> &[u8] {
    let Some(look) = bytes.get(..LOOK_BYTES) else { return bytes };
    let end = look.iter().rposition(|byte| *byte == b'\n');
    &look[..end.map_or(0, |end| end + 1)]
}
