//! The value of `--keep`: how much of a live feed is kept.

use std::time::Duration;

use clap::Args;
use weir_ingest::Retention;

use super::{ReadArguments, parse_size};
use crate::outcome::Failure;

/// How much of a live feed is kept.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeepArguments {
    /// Keep this much of a live feed: a duration such as 90s, 15m, 1h or 7d, counted back from the
    /// newest request by the log's own times, or a size of memory such as 512MiB. Older requests
    /// are dropped [default: as much as --memory holds]
    #[arg(long, value_name = "DURATION|SIZE")]
    pub(crate) keep: Option<String>,
}

/// The window of a feed, and the memory that always limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeedWindow {
    pub(crate) retention: Retention,
    pub(crate) memory_bytes_max: usize,
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
        let Some(text) = &self.keep else {
            return Ok(FeedWindow {
                retention: Retention::Window { width: None },
                memory_bytes_max,
            });
        };
        if let Some(width) = parse_duration(text) {
            if width.is_zero() {
                return Err(Failure::new("--keep: a window of 0 keeps nothing; write 1s or more"));
            }
            return Ok(FeedWindow {
                retention: Retention::Window { width: Some(width) },
                memory_bytes_max,
            });
        }
        // A number without a unit could be a duration or a size.
        let lacks_unit = text.ends_with(|last: char| last.is_ascii_digit());
        let bytes = parse_size(text).filter(|_| !lacks_unit).ok_or_else(|| {
            Failure::new(format_args!(
                "--keep: `{text}` is not a valid duration or size; write it as 90s, 15m, 1h or 7d, \
                 or as 512MiB or 2G"
            ))
        })?;
        if bytes < WINDOW_BYTES_MIN {
            let message = format_args!("--keep: {text} is too small; write 16MiB or more");
            return Err(Failure::new(message));
        }
        let memory_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(FeedWindow { retention: Retention::Window { width: None }, memory_bytes_max })
    }
}

/// Parses a duration such as `90s`, `15m`, `1.5h`, `7d` or `2w`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit_s = match text.chars().next_back()? {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3_600.0,
        'd' => 86_400.0,
        'w' => 7.0 * 86_400.0,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit_s).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn parses_durations() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1.5h", 5_400), ("7d", 604_800)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "1", "s", "1M", "-1h", "1e9h", "1 h", "2GiB", "9999999999999999999w", "1é"]
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
