//! The end of a source that bytes are written to.

mod pull;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use weir_core::{Block, BlockCutter, BlockLimits, FollowedFormat, Format, detect, format_by_name};

use crate::error::StopReason;
use crate::pipeline::DataSet;
use crate::progress::{Course, SourceEnd, SourceProgress};
use crate::queue::{BlockQueue, Job};
use crate::source::strangers::{Change, Strangers};
use crate::source::year::with_year;

/// Which format a source's lines have.
#[derive(Debug, Clone)]
pub enum FormatChoice {
    /// Whichever known format fits most of the first lines.
    Detect,
    /// This one.
    Forced(Arc<Format>),
}

/// Cuts the bytes of one source into blocks and hands them to the parsers.
///
/// Write to [`Self::space`] and [`Self::advance`], or copy with [`Self::push`]; when
/// [`Self::is_full`], and whenever the source has nothing more for the moment, hand on what
/// there is. A writer that is dropped leaves its source without an end, to be taken up again
/// by whoever holds it.
#[derive(Debug)]
pub struct SourceWriter {
    queue: Arc<BlockQueue>,
    data: Arc<DataSet>,
    progress: Arc<SourceProgress>,
    index: u32,
    cutter: BlockCutter,
    /// Where the last block that was handed on ends.
    handed_on: u64,
    /// When that was, or was tried.
    handed_on_at: Instant,
    format: FormatState,
    /// True where the format is looked for again when lines no longer fit.
    is_watched: bool,
    strangers: Option<Strangers>,
    /// What was followed before the format changed, to be gone on with where it comes back, so
    /// that what one feed can make of formats stays bounded.
    followed_before: Vec<FollowedFormat>,
    /// When it was last written to, where that is known.
    written: Option<SystemTime>,
}

/// Bytes in which the format is looked for: as many as detection looks at.
const DETECTION_BYTES: usize = 256 << 10;

/// Where no format was found in so many bytes, however small the blocks that they came in, this is
/// no log, and looking on would make reading it slow.
const DETECTION_BYTES_MAX: usize = 16 << 20;

/// Behind so many bytes of a source there are whole blocks only, or what came before a pause.
/// Parsers that are faster than the source are idle whenever something comes; if they got it at
/// once, a fast source would come in blocks of a few reads, each of which wakes a parser and
/// becomes a segment that every view has to go through.
const EARLY_BYTES_MAX: u64 = BlockLimits::BLOCK_BYTES as u64;

/// Nor does anybody wait longer than this for a whole block: of a source that brings a line every
/// few milliseconds, and so never pauses, that would take minutes.
const BLOCK_PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
enum FormatState {
    /// Not known yet, after so many bytes; lines are read with this meanwhile.
    Unknown(Arc<Format>, usize),
    /// Known, and followed where lines of the log may change it.
    Known(FollowedFormat),
}

impl SourceWriter {
    pub(crate) fn new(
        queue: Arc<BlockQueue>,
        data: Arc<DataSet>,
        progress: Arc<SourceProgress>,
        index: u32,
        format: FormatChoice,
        limits: BlockLimits,
    ) -> Self {
        let format = match format {
            FormatChoice::Detect => FormatState::Unknown(fallback(), 0),
            FormatChoice::Forced(format) => {
                let format = with_year(format, None);
                progress.set_format(format.clone(), None);
                FormatState::Known(FollowedFormat::new(format))
            }
        };
        Self {
            queue,
            data,
            progress,
            index,
            cutter: BlockCutter::new(limits),
            handed_on: 0,
            handed_on_at: Instant::now(),
            format,
            is_watched: false,
            strangers: None,
            followed_before: Vec::new(),
            written: None,
        }
    }

    /// Says, before anything is written, that this is a feed whose lines may come to have another
    /// format: where so many in a row no longer fit the one that was found that it is no mistake,
    /// another is looked for, and those that follow are read with it. One that was given stays.
    pub fn watch_format(&mut self) {
        self.is_watched = matches!(self.format, FormatState::Unknown(..));
    }

    /// Says, before anything is written, that nothing in it is later than that: it gives the
    /// times their year in logs that have none. Without this it is the present.
    pub fn set_written(&mut self, written: Option<SystemTime>) {
        self.written = written;
        if let FormatState::Known(followed) = &mut self.format {
            *followed = FollowedFormat::new(with_year(followed.format().clone(), written));
        }
    }

    /// How far the source is.
    pub fn progress(&self) -> &Arc<SourceProgress> {
        &self.progress
    }

    /// Bytes written so far.
    pub fn offset(&self) -> u64 {
        self.cutter.offset()
    }

    /// Bytes handed on so far: whole lines, and what was skipped.
    pub fn handed_on(&self) -> u64 {
        self.handed_on
    }

    /// Room for more bytes, never empty; see [`BlockCutter::space`].
    pub fn space(&mut self) -> &mut [u8] {
        let detection_room = self.detection_room();
        let space = self.cutter.space();
        let room = space.len().min(detection_room);
        &mut space[..room]
    }

    /// Takes the first `length` bytes of [`Self::space`].
    pub fn advance(&mut self, length: usize) {
        self.cutter.advance(length);
    }

    /// Copies as much of `piece` as fits; says how much that was.
    pub fn push(&mut self, piece: &[u8]) -> usize {
        let room = piece.len().min(self.detection_room());
        self.cutter.push(&piece[..room])
    }

    /// True where a block has to be handed on before more is written.
    pub fn is_full(&self) -> bool {
        self.cutter.is_full()
            || (!self.is_known() && self.cutter.pending_bytes() >= DETECTION_BYTES)
    }

    /// True where the format is decided: it was forced or found, or looked for in vain in
    /// as many bytes as may hold something else in front of a log.
    pub(crate) fn is_known(&self) -> bool {
        match self.format {
            FormatState::Known(_) => true,
            FormatState::Unknown(_, bytes) => bytes >= DETECTION_BYTES_MAX,
        }
    }

    /// The room up to where the format is looked for, so that it is looked for in the same
    /// bytes however they come.
    fn detection_room(&self) -> usize {
        match DETECTION_BYTES.checked_sub(self.cutter.pending_bytes()) {
            Some(room @ 1..) if !self.is_known() => room,
            _ => usize::MAX,
        }
    }

    /// True where what there is should be handed on at once, without waiting for more: it is the
    /// beginning, which somebody waits to see, or was not done for a while, the parsers have
    /// nothing else to do, and there is no format to be told yet, which must not depend on the
    /// pieces a log comes in.
    pub fn may_hand_on_early(&self) -> bool {
        self.is_known()
            && self.queue.is_idle()
            && (self.handed_on < EARLY_BYTES_MAX || self.handed_on_at.elapsed() >= BLOCK_PATIENCE)
    }

    /// Hands on all whole lines; waits for room in the queue.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub fn hand_on(&mut self) -> Result<(), StopReason> {
        self.cut()?.into_iter().try_for_each(|job| self.queue.push(job))
    }

    /// As [`Self::hand_on`], for tasks. The future has to be awaited to its end.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub async fn hand_on_async(&mut self) -> Result<(), StopReason> {
        let jobs = self.cut()?;
        self.push_jobs(jobs).await
    }

    async fn push_jobs(&self, jobs: Vec<Job>) -> Result<(), StopReason> {
        for job in jobs {
            self.queue.push_async(job).await?;
        }
        Ok(())
    }

    /// Writes all of `bytes`, handing on blocks as they fill.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), StopReason> {
        while !bytes.is_empty() {
            bytes = &bytes[self.push(bytes)..];
            if self.is_full() {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    /// As [`Self::write_all`], for tasks.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub async fn write_all_async(&mut self, mut bytes: &[u8]) -> Result<(), StopReason> {
        while !bytes.is_empty() {
            bytes = &bytes[self.push(bytes)..];
            if self.is_full() {
                self.hand_on_async().await?;
            }
        }
        Ok(())
    }

    /// Ends the source: hands on the rest, a last line without a line feed included. The
    /// source has ended when that is parsed.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub fn finish(mut self, end: SourceEnd) -> Result<(), StopReason> {
        let jobs = self.cut_all();
        let result =
            jobs.and_then(|jobs| jobs.into_iter().try_for_each(|job| self.queue.push(job)));
        self.end(end, &result);
        result
    }

    /// As [`Self::finish`], for tasks, and the writer stays, to ask for the progress.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub async fn finish_async(&mut self, end: SourceEnd) -> Result<(), StopReason> {
        let result = match self.cut_all() {
            Ok(jobs) => self.push_jobs(jobs).await,
            Err(stopped) => Err(stopped),
        };
        if result.is_ok() {
            self.parsed_all().await;
        }
        self.end(end, &result);
        result
    }

    /// The source ends when what was handed on is parsed; where its rest could not be handed
    /// on, the reason is its end.
    fn end(&self, end: SourceEnd, result: &Result<(), StopReason>) {
        match (result, end) {
            // What was handed on is dropped: there is nothing to wait for.
            (Err(StopReason::Cancelled), _) => self.progress.set_end(SourceEnd::Cancelled),
            (Err(reason), SourceEnd::Done) => {
                self.progress.end_at(self.handed_on, (*reason).into());
            }
            (_, end) => self.progress.end_at(self.handed_on, end),
        }
        self.data.touch();
    }

    /// Waits until every byte that was handed on is parsed, or the source is cancelled.
    pub async fn parsed_all(&self) {
        let is_done = |parsed: &u64| *parsed >= self.handed_on || self.progress.is_cancelled();
        let mut parsed = self.progress.parsed();
        // The sender lives in `self.progress`, so this cannot fail.
        let _ = parsed.wait_for(is_done).await;
    }

    /// Hands on all whole lines, waits until they are parsed, forgets the torn line behind
    /// them, and says from which offset the source has to go on.
    ///
    /// # Errors
    /// Where the source has to stop.
    pub async fn rewind(&mut self) -> Result<u64, StopReason> {
        let jobs = self.cut()?;
        self.push_jobs(jobs).await?;
        self.parsed_all().await;
        self.cutter.forget_tail();
        Ok(self.cutter.offset())
    }

    pub(super) fn queue(&self) -> &Arc<BlockQueue> {
        &self.queue
    }

    /// Goes on in another buffer; see [`BlockCutter::move_to`].
    pub(super) fn move_to(&mut self, buffer: Vec<u8>) {
        self.cutter.move_to(buffer);
    }

    /// The jobs that the bytes so far make, to be handed on in their order.
    pub(super) fn cut(&mut self) -> Result<Vec<Job>, StopReason> {
        self.check()?;
        self.handed_on_at = Instant::now();
        if let Some(buffer) = self.queue.take_spare() {
            self.cutter.recycle(buffer);
        }
        let block = self.cutter.cut().or_else(|| self.skipped());
        Ok(block.map(|block| self.jobs(block)).unwrap_or_default())
    }

    fn cut_all(&mut self) -> Result<Vec<Job>, StopReason> {
        self.check()?;
        let block = self.cutter.finish().or_else(|| self.skipped());
        Ok(block.map(|block| self.jobs(block)).unwrap_or_default())
    }

    /// An empty block that stands for bytes that were skipped: they are done with in their
    /// turn, like all others. Without it, nobody would ever hear of the middle of a line
    /// over the limit, or of a run of NULs.
    fn skipped(&self) -> Option<Block> {
        let seen = self.cutter.offset() - self.cutter.pending_bytes() as u64;
        let mut block = Block::new(Vec::new());
        (block.offset, block.offset_end) = (seen, seen);
        (seen > self.handed_on).then_some(block)
    }

    fn check(&self) -> Result<(), StopReason> {
        if self.progress.is_cancelled() {
            return Err(StopReason::Cancelled);
        }
        if self.data.is_full() {
            return Err(StopReason::MemoryFull);
        }
        Ok(())
    }

    /// A job for the block, or several where its lines change the format: a block is parsed in
    /// one format, beside others that may be parsed before it.
    fn jobs(&mut self, block: Block) -> Vec<Job> {
        self.handed_on = block.offset_end;
        if !self.is_known() && !block.bytes().is_empty() {
            self.detect(block.bytes());
        }
        let mut pieces = self.by_directives(block);
        if self.is_watched
            && self.is_known()
            && let Some((last, format)) = pieces.pop()
        {
            pieces.extend(self.by_fit(last, format));
        }
        pieces.into_iter().map(|(block, format)| self.job(block, format)).collect()
    }

    /// The block in pieces of one format each, as the log itself says.
    fn by_directives(&mut self, block: Block) -> Vec<(Block, Arc<Format>)> {
        let (first, changes) = match &mut self.format {
            FormatState::Unknown(format, _) => (format.clone(), Vec::new()),
            FormatState::Known(followed) => {
                (followed.format().clone(), followed.pass_block(block.bytes()))
            }
        };
        if changes.is_empty() {
            return vec![(block, first)];
        }
        // In front of the first line there is nothing to be read in the format before.
        let first = if changes[0].0 == 0 { changes[0].1.clone() } else { first };
        let places: Vec<usize> = changes.iter().map(|(place, _)| *place).collect();
        let later = changes.into_iter().filter(|(place, _)| *place > 0).map(|(_, format)| format);
        let formats = std::iter::once(first).chain(later);
        block.split(places).into_iter().zip(formats).collect()
    }

    /// The piece in two where its lines come to have another format.
    fn by_fit(&mut self, block: Block, format: Arc<Format>) -> Vec<(Block, Arc<Format>)> {
        let known = matches!(self.format, FormatState::Known(_)).then_some(&format);
        let strangers = self.strangers.get_or_insert_with(|| Strangers::new(known, 0));
        let Some(change) = strangers.pass(known, block.bytes()) else {
            return vec![(block, format)];
        };
        let place = change.place;
        self.change_format(change, block.offset + place as u64);
        let mut pieces = block.split([place]);
        let rest = pieces.pop().map(|rest| self.by_directives(rest));
        let before = pieces.into_iter().map(|piece| (piece, format.clone()));
        before.chain(rest.into_iter().flatten()).collect()
    }

    /// Goes on in another format from that offset on.
    fn change_format(&mut self, change: Change, offset: u64) {
        let format = with_year(change.format, self.written);
        self.progress.change_format(format.clone(), change.share, offset);
        let is_it = |followed: &FollowedFormat| {
            let base = followed.base();
            base.name() == format.name() && base.definition() == format.definition()
        };
        let known = self.followed_before.iter().position(is_it);
        let next = match known {
            Some(at) => self.followed_before.swap_remove(at),
            None => FollowedFormat::new(format),
        };
        let before = std::mem::replace(&mut self.format, FormatState::Known(next));
        if let FormatState::Known(before) = before {
            self.followed_before.push(before);
        }
    }

    fn job(&self, block: Block, format: Arc<Format>) -> Job {
        Job {
            source: self.progress.clone(),
            source_index: self.index,
            format_index: self.data.add_format(&format),
            format,
            block,
            is_live: self.progress.course() != Course::Reading,
        }
    }

    /// Looks for the format in a block's first lines. Where none fits, the next block is
    /// looked at too: some logs begin with a page of something else.
    fn detect(&mut self, bytes: &[u8]) {
        let detection = detect(bytes);
        if let Some(best) = detection.best() {
            let share = best.fitting as f64 / best.lines.max(1) as f64;
            let format = with_year(best.format.clone(), self.written);
            self.progress.set_format(format.clone(), Some(share));
            self.strangers =
                self.is_watched.then(|| Strangers::new(Some(&format), best.fitting as usize));
            self.format = FormatState::Known(FollowedFormat::new(format));
        } else if let FormatState::Unknown(_, looked_at) = &mut self.format {
            *looked_at += bytes.len();
        }
    }
}

/// What lines of no known format are held against, so that there is a reason to show.
fn fallback() -> Arc<Format> {
    static FALLBACK: std::sync::LazyLock<Arc<Format>> = std::sync::LazyLock::new(|| {
        let combined = format_by_name("COMBINED");
        Arc::new(combined.unwrap_or_else(|| weir_core::known_formats()[0].clone()))
    });
    FALLBACK.clone()
}
