//! The options' values, read from their text.

mod keep;
mod size;

pub(crate) use keep::{Feed, KeepArguments, parse_duration};
pub(crate) use size::parse_size;

use std::sync::Arc;

use weir_core::Zone;
use weir_ingest::{FormatChoice, Keep, PipelineOptions};
use weir_view::find_zone;

use crate::arguments::ReadArguments;
use crate::format_file::format_of;
use crate::outcome::Failure;

/// The least memory that makes sense: below it the first block's values would not fit.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

impl ReadArguments {
    /// The format that was asked for.
    pub(crate) fn format_choice(&self) -> Result<FormatChoice, Failure> {
        format_choice(self.format.as_deref())
    }

    /// The zone that was asked for.
    pub(crate) fn zone(&self) -> Result<Option<Zone>, Failure> {
        let zone = self.tz.as_deref().map(find_zone).transpose();
        zone.map_err(|error| Failure::new(format_args!("--tz: {error}")))
    }

    /// The pipeline that was asked for.
    pub(crate) fn pipeline_options(&self, keep: Keep) -> Result<PipelineOptions, Failure> {
        let memory_bytes_max = self.memory_bytes_max()?;
        let jobs = self.threads();
        Ok(PipelineOptions { memory_bytes_max, ..PipelineOptions::new(jobs, keep) })
    }

    /// Threads that parse, and inputs that are unpacked at the same time.
    pub(crate) fn threads(&self) -> usize {
        self.jobs.map_or_else(cores, usize::from)
    }

    fn memory_bytes_max(&self) -> Result<usize, Failure> {
        memory_bytes_max(&self.memory)
    }
}

/// The bytes that the text of `--memory` allows.
pub(crate) fn memory_bytes_max(text: &str) -> Result<usize, Failure> {
    let bytes = parse_size(text).ok_or_else(|| {
        Failure::new(format_args!("--memory: `{text}` is not a size; write it as 512MiB or 2G"))
    })?;
    if bytes < MEMORY_BYTES_MIN {
        let message = format_args!("--memory: {text} is too small; give 1MiB or more");
        return Err(Failure::new(message));
    }
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The format that the text of `--format` asks for.
pub(crate) fn format_choice(text: Option<&str>) -> Result<FormatChoice, Failure> {
    let Some(text) = text else { return Ok(FormatChoice::Detect) };
    let format = format_of(text)?;
    Ok(FormatChoice::Forced(Arc::new(format)))
}

/// The cores that there are.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
