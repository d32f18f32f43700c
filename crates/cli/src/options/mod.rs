//! Arguments that several commands share, and the values of options, parsed from their text.

mod admin;
mod format;
mod keep;
mod kind;
mod listen_address;
mod log;
mod output;
mod page;
mod period;
mod read;
mod token_file;

pub(crate) use admin::AdminArguments;
pub(crate) use format::FormatArguments;
pub(crate) use keep::{FeedWindow, KeepArguments};
pub(crate) use kind::KindArgument;
pub(crate) use listen_address::{ListenAddress, default_address, reachable};
pub(crate) use log::LogArguments;
pub(crate) use output::{OutputArguments, OutputKind};
pub(crate) use page::{PageArguments, first_set};
pub(crate) use period::PeriodArguments;
pub(crate) use read::ReadArguments;
pub(crate) use token_file::{read_token, read_token_text};

use std::time::Duration;

use weir_core::{QuantityError, Zone, parse_duration_ns, parse_size};
use weir_query::find_zone;

use crate::outcome::Failure;

/// The least useful memory: below it the values of the first block would not fit.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// Parses a duration.
///
/// # Errors
/// If it is not one, as [`parse_duration_ns`] says.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

/// Parses the value of an option for a size, in bytes.
///
/// # Errors
/// If it is not one, as [`parse_size`] says.
pub(crate) fn size_bytes(option: &str, text: &str) -> Result<u64, Failure> {
    parse_size(text).map_err(|error| Failure::new(format_args!("{option}: {error}")))
}

/// Parses the value of an option for memory, such as `--memory`. Returns a number of bytes.
///
/// # Errors
/// If it is not a valid size, or too small.
pub(crate) fn memory_bytes_max(option: &str, text: &str) -> Result<usize, Failure> {
    let bytes = size_bytes(option, text)?;
    if bytes < MEMORY_BYTES_MIN {
        let message = format_args!("{option}: {text} is too small; write 1MiB or more");
        return Err(Failure::new(message));
    }
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Parses the value of `--tz`.
///
/// # Errors
/// If it is not a known zone.
pub(crate) fn parse_zone(name: Option<&str>) -> Result<Option<Zone>, Failure> {
    let zone = name.map(find_zone).transpose();
    zone.map_err(|error| Failure::new(format_args!("--tz: {error}")))
}

/// The number of cores of this machine.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
