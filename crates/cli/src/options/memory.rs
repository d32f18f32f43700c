//! Sizes of memory, and the memory and threads of a command that is told nothing about them.

use weir_core::parse_size;
use weir_ingest::AllowedMemory;

use crate::display::bytes;
use crate::outcome::{Failure, say};

/// The most memory that data takes unless an option allows more.
const DATA_BYTES_MAX: usize = 4 << 30;

/// The least useful memory: below it the values of the first block would not fit.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

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

/// Returns the bytes of `--memory`. Without a value, they are a share of what the machine, the
/// control group or the limit of address space allows.
///
/// # Errors
/// If the value is not a valid size, or too small.
pub(crate) fn data_bytes_max(value: Option<&str>) -> Result<usize, Failure> {
    let default = || AllowedMemory::read().map_or(DATA_BYTES_MAX, |allowed| share(&allowed));
    value.map_or_else(|| Ok(default()), |text| memory_bytes_max("--memory", text))
}

/// Says how much memory the data of a service may take if no option says so, and why.
pub(crate) fn say_default_memory() {
    let Some(allowed) = AllowedMemory::read() else { return };
    let data = bytes(share(&allowed) as u64);
    match share(&allowed) == DATA_BYTES_MAX {
        true => say(format_args!("the data may take {data}; --memory sets another limit")),
        false => say(format_args!(
            "the data may take {data}, because {} allows {}; --memory sets another limit",
            allowed.limiter,
            bytes(allowed.bytes)
        )),
    }
}

fn share(allowed: &AllowedMemory) -> usize {
    allowed.for_data().min(DATA_BYTES_MAX)
}

/// The number of threads that parse: one for each core of this machine, as far as the memory is
/// enough for them.
pub(crate) fn cores() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    AllowedMemory::read().map_or(cores, |allowed| cores.min(allowed.threads_max()))
}
