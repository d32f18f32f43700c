//! How much of a live feed is kept.

use std::time::Duration;

use clap::Args;
use weir_ingest::Keep;

use super::parse_size;
use crate::arguments::ReadArguments;
use crate::outcome::Failure;

/// What is kept of a feed that goes on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeepArguments {
    /// Keep this much of what goes on being written: a time such as 90s, 15m, 1h or 7d, counted
    /// back from the newest request by the log's own times, or a size of memory such as 512MiB;
    /// what is older leaves [default: as much as --memory holds]
    #[arg(long, value_name = "DURATION|SIZE")]
    pub(crate) keep: Option<String>,
}

/// A window and the memory that bounds it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Feed {
    pub(crate) keep: Keep,
    pub(crate) memory_bytes_max: usize,
}

/// The least memory for a window: blocks on their way are a few megabytes.
const WINDOW_BYTES_MIN: u64 = 16 << 20;

impl KeepArguments {
    /// The window that was asked for.
    pub(crate) fn feed(&self, read: &ReadArguments) -> Result<Feed, Failure> {
        let memory_bytes_max = read.memory_bytes_max()?;
        let Some(text) = &self.keep else {
            return Ok(Feed { keep: Keep::Window { width: None }, memory_bytes_max });
        };
        if let Some(width) = parse_duration(text) {
            if width.is_zero() {
                return Err(Failure::new("--keep: nothing would be kept; give 1s or more"));
            }
            return Ok(Feed { keep: Keep::Window { width: Some(width) }, memory_bytes_max });
        }
        // A number alone may be meant either way.
        let is_plain = text.ends_with(|last: char| last.is_ascii_digit());
        let bytes = parse_size(text).filter(|_| !is_plain).ok_or_else(|| {
            Failure::new(format_args!(
                "--keep: `{text}` is neither a time, such as 90s, 15m, 1h or 7d, nor a size, such \
                 as 512MiB or 2G"
            ))
        })?;
        if bytes < WINDOW_BYTES_MIN {
            let message = format_args!("--keep: {text} is too small; give 16MiB or more");
            return Err(Failure::new(message));
        }
        let memory_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Feed { keep: Keep::Window { width: None }, memory_bytes_max })
    }
}

/// Reads `90s`, `15m`, `1.5h`, `7d`, `2w`.
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
    fn reads_durations() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1.5h", 5_400), ("7d", 604_800)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "1", "s", "1M", "-1h", "1e9h", "1 h", "2GiB", "9999999999999999999w", "1é"]
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
