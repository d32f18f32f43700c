//! What a tracker says about a block.

use std::sync::Arc;

use crate::format::compiled::Format;

/// The formats of one block's lines.
///
/// To read the block, split it at the starts of the spans after the first ([`crate::Block::split`])
/// and read each piece with a [`crate::BlockReader`] of its format.
///
/// # Examples
///
/// ```
/// use weir_core::{Block, FormatChoice, FormatTracker, TrackerOptions, format_by_name};
///
/// let w3c = FormatChoice::Forced(format_by_name("W3C").unwrap().into());
/// let mut tracker = FormatTracker::new(w3c, TrackerOptions::default(), 0);
/// let block = Block::new(b"#Fields: time c-ip\n09:03:01 ::1\n#Fields: c-ip\n::1\n".to_vec());
/// let formats = tracker.track(block.bytes(), 0);
/// let starts = formats.spans.iter().skip(1).map(|span| span.start);
/// let pieces = block.split(starts);
/// assert_eq!(pieces.len(), formats.spans.len());
/// assert_eq!(pieces[1].bytes(), b"#Fields: c-ip\n::1\n");
/// ```
#[derive(Debug)]
pub struct BlockFormats {
    /// The parts of the block, in order; never empty, and the first starts at 0.
    pub spans: Vec<FormatSpan>,
    /// Formats that were detected in this block, in order.
    ///
    /// Usually none. The first is the detection, a later one a drift.
    pub findings: Vec<FormatFinding>,
}

/// A part of a block whose lines have one format.
///
/// It ends at the start of the next span, or with the block.
#[derive(Debug)]
pub struct FormatSpan {
    /// The offset in the block, a start of a line.
    pub start: usize,
    /// The format from there on.
    pub format: Arc<Format>,
    /// The formats in which lines that do not match it are to be tried, in this order; at most
    /// seven.
    ///
    /// Of a forced format none. See [`crate::BlockReader::read_leaving`].
    pub companions: Arc<[Arc<Format>]>,
}

/// A format that was detected.
///
/// For a message to the user: which format was found, and how sure that is.
#[derive(Debug)]
pub struct FormatFinding {
    /// The offset in the block of the first line in this format.
    pub start: usize,
    /// The format.
    pub format: Arc<Format>,
    /// The share of the examined lines that match it, 0 to 1.
    pub parsed_share: f64,
    /// Whether the source had another format before.
    pub is_change: bool,
}
