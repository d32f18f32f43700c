//! The value of `--keep`: how much of a live feed is kept.

use std::path::PathBuf;

use clap::Args;
use weir_core::parse_size;
use weir_ingest::Retention;

use super::{ReadArguments, parse_duration};
use crate::outcome::Failure;

/// How much of a live feed is kept.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeepArguments {
    /// Keep this much of a live feed: a duration such as 90s, 15m, 1h or 7d, counted back from the
    /// newest request by the log's own times, or a size of memory such as 512MiB or 2G (but 512m is
    /// minutes). Older requests are dropped [default: as much as --memory holds]
    #[arg(long, value_name = "DURATION|SIZE")]
    pub(crate) keep: Option<String>,
}

/// The window of a feed, and the memory that always limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeedWindow {
    pub(crate) retention: Retention,
    pub(crate) memory_bytes_max: usize,
    /// Whether no option says how much memory it may take.
    pub(crate) has_default_memory: bool,
}

/// The least memory for a window: the blocks that are being parsed take a few megabytes.
const WINDOW_BYTES_MIN: u64 = 16 << 20;

impl KeepArguments {
    /// The window of `--keep`; without it, a window that only `--memory` limits.
    ///
    /// # Errors
    /// If `--keep` is neither a duration nor a size, or too small.
    pub(crate) fn window(&self, read: &ReadArguments) -> Result<FeedWindow, Failure> {
        let memory_bytes_max = read.memory_bytes_max()?;
        let within_memory = |width| FeedWindow {
            retention: Retention::Window { width },
            memory_bytes_max,
            has_default_memory: read.memory.is_none(),
        };
        let Some(text) = &self.keep else { return Ok(within_memory(None)) };
        if let Ok(width) = parse_duration(text) {
            if width.is_zero() {
                return Err(Failure::new("--keep: a window of 0 keeps nothing; write 1s or more"));
            }
            return Ok(within_memory(Some(width)));
        }
        // A number without a unit could be a duration or a size.
        let lacks_unit = text.ends_with(|last: char| last.is_ascii_digit());
        let bytes = parse_size(text).ok().filter(|_| !lacks_unit).ok_or_else(|| {
            Failure::new(format_args!(
                "--keep: `{text}` is not a valid duration or size; write it as 90s, 15m, 1h or 7d, \
                 or as 512MiB or 2G"
            ))
        })?;
        if bytes < WINDOW_BYTES_MIN {
            let message = format_args!(
                "--keep: {text} is too small a size; write 16MiB or more, or a duration such as 15m"
            );
            return Err(Failure::new(message));
        }
        let memory_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(FeedWindow { memory_bytes_max, has_default_memory: false, ..within_memory(None) })
    }
}

/// Where a live feed is kept, so that it survives a restart.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StateArguments {
    /// Keep the window of a live feed in this folder, and how far each file was read: the next start
    /// goes on there, and neither loses nor repeats a line. Logs that are dropped on the page are not
    /// kept. Only one process can use a folder
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}
