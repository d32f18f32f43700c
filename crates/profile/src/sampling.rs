//! Taking samples.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use pprof::{Error, Frames, ProfilerGuard, ProfilerGuardBuilder};
use rustix::time::{ClockId, clock_gettime};

use crate::error::ProfileError;
use crate::function_name::without_hash;
use crate::profile::{Period, Profile, Stack};
use crate::sample_rate::SampleRate;

/// Libraries whose functions are not sampled: the tables of the kernel's own (`vdso(7)`), which reads the clock, are
/// not always right.
const NOT_WALKED: [&str; 1] = ["vdso"];

/// Samples that are being taken, until this is dropped.
///
/// A thread that waits has none: the timer counts processor time. While there is one of these, the process
/// has a handler for `SIGPROF`; afterwards it ignores that signal.
pub struct Sampling {
    guard: ProfilerGuard<'static>,
    sample_rate: SampleRate,
    begun: (SystemTime, Instant),
    processor_time: Duration,
}

impl Sampling {
    /// Begins to take samples. The first time takes a while, and memory that the process keeps: a table for
    /// 16,384 stacks.
    ///
    /// # Errors
    /// If samples are being taken already, or the system has no timer for it.
    pub fn start(sample_rate: SampleRate) -> Result<Self, ProfileError> {
        let frequency = i32::try_from(sample_rate.hz()).unwrap_or(i32::MAX);
        let builder = ProfilerGuardBuilder::default().frequency(frequency).blocklist(&NOT_WALKED);
        let guard = builder.build().map_err(reason)?;
        let begun = (SystemTime::now(), Instant::now());
        Ok(Self { guard, sample_rate, begun, processor_time: processor_time() })
    }

    /// Ends it, and looks up the names of functions, which may take a second of processor time.
    ///
    /// # Errors
    /// If the samples cannot be read.
    pub fn finish(self) -> Result<Profile, ProfileError> {
        let period = Period {
            begun: self.begun.0,
            duration: self.begun.1.elapsed(),
            processor_time: processor_time().saturating_sub(self.processor_time),
        };
        let found = self.guard.report().build_unresolved().map_err(reason)?;
        // Looking up names would be sampled too.
        drop(self.guard);
        let mut stacks = Vec::with_capacity(found.data.len());
        let mut threads = HashMap::new();
        for (frames, samples) in found.data {
            let frames = Frames::from(frames);
            let number = threads.len() + 1;
            let number = *threads.entry(frames.thread_id).or_insert(number);
            stacks.push(stack(&frames, samples, number));
        }
        Ok(Profile::new(stacks, self.sample_rate, period))
    }
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The stack of some samples, on the thread with a number.
fn stack(frames: &Frames, samples: isize, thread: usize) -> Stack {
    let name = frames.thread_name.trim();
    let innermost_first = frames.frames.iter().flatten();
    let mut functions: Vec<String> =
        innermost_first.map(|symbol| without_hash(&symbol.name()).to_owned()).collect();
    functions.reverse();
    Stack {
        thread: if name.is_empty() { format!("thread {thread}") } else { name.to_owned() },
        functions,
        samples: u64::try_from(samples).unwrap_or(0),
    }
}

fn reason(error: Error) -> ProfileError {
    match error {
        Error::Running => ProfileError::Running,
        other => ProfileError::Refused(other.to_string()),
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sampling")
            .field("sample_rate", &self.sample_rate)
            .finish_non_exhaustive()
    }
}
