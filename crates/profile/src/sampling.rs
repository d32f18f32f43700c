//! Starting and finishing a profile.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::collector::{Collector, StackCounts};
use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::interrupt::{Interrupts, Timer, check_library};
use crate::heap::{HeapSamples, HeapSampling};
use crate::profile::{Profile, ProfileKind, ProfileMetadata, Stack};
use crate::sample_rate::SampleRate;
use crate::sampling_lock::SamplingLock;

/// A running profile. Dropping it stops the sampling.
///
/// The first profile of time installs a `SIGPROF` handler, which stays installed. An interrupted
/// system call restarts or fails with `EINTR`.
#[derive(Debug)]
pub struct Sampling {
    kind: ProfileKind,
    begun: (SystemTime, Instant),
    sampler: Sampler,
    lock: SamplingLock,
}

/// The mechanism that takes the samples.
#[derive(Debug)]
enum Sampler {
    Time(TimeSampling),
    Heap(HeapSampling),
}

impl Sampling {
    /// Starts sampling.
    ///
    /// In a profile of waiting, the rate counts rounds over all threads. It is lower if a round
    /// would take more than a tenth of the time. A profile of memory ignores the rate: it takes one
    /// sample per 128 KiB of allocations, on average.
    ///
    /// # Errors
    /// If a profile is already running, the system does not allow it, or, for memory, the program's
    /// allocator is not [`SampledAllocator`](crate::SampledAllocator).
    pub fn start(kind: ProfileKind, sample_rate: SampleRate) -> Result<Self, ProfileError> {
        let lock = SamplingLock::take()?;
        let sampler = match kind {
            ProfileKind::Processor | ProfileKind::Waiting => {
                Sampler::Time(TimeSampling::start(kind, sample_rate)?)
            }
            ProfileKind::Allocated | ProfileKind::Held => Sampler::Heap(HeapSampling::start()?),
        };
        let begun = (SystemTime::now(), Instant::now());
        Ok(Self { kind, begun, sampler, lock })
    }

    /// Stops sampling, and resolves function names, which may take a second of processor time.
    pub fn finish(self) -> Profile {
        // Keeps the lock while names are resolved: the symbol cache is shared, too.
        let Self { kind, begun: (begun, start), sampler, lock: _lock } = self;
        let duration = start.elapsed();
        match sampler {
            Sampler::Time(sampling) => {
                let (counts, period, total) = sampling.finish(duration);
                let (lost, stacks) = (counts.lost, name_stacks(counts));
                Profile::new(stacks, ProfileMetadata { kind, begun, duration, period, total, lost })
            }
            Sampler::Heap(sampling) => {
                let HeapSamples { stacks, lost } = sampling.finish(kind);
                let period = HeapSampling::PERIOD_BYTES;
                let total = stacks.iter().map(|stack| stack.samples).sum();
                Profile::new(stacks, ProfileMetadata { kind, begun, duration, period, total, lost })
            }
        }
    }
}

/// A running profile of processor time or of waiting.
#[derive(Debug)]
struct TimeSampling {
    sample_rate: SampleRate,
    /// The processor time of the process at the start.
    processor_time: Duration,
    // The timer must be dropped before the collector.
    timer: Option<Timer>,
    collector: Collector,
}

impl TimeSampling {
    fn start(kind: ProfileKind, sample_rate: SampleRate) -> Result<Self, ProfileError> {
        check_library()?;
        let interrupts = Interrupts::start().map_err(to_profile_error)?;
        let is_of_waiting = kind == ProfileKind::Waiting;
        let rounds = is_of_waiting.then_some(sample_rate);
        let collector = Collector::start(interrupts, rounds).map_err(to_profile_error)?;
        let processor_time = processor_time();
        let timer = match is_of_waiting {
            true => None,
            false => Some(Timer::start(sample_rate).map_err(to_profile_error)?),
        };
        Ok(Self { sample_rate, processor_time, timer, collector })
    }

    /// Stops sampling after `duration`. Returns the stacks, the time that one sample represents,
    /// and the time that all samples represent, in nanoseconds.
    fn finish(self, duration: Duration) -> (StackCounts, u64, u64) {
        let processor_time = processor_time().saturating_sub(self.processor_time);
        let is_processor_time = self.timer.is_some();
        drop(self.timer);
        let counts = self.collector.finish();
        let period = Duration::from_secs(1) / self.sample_rate.hz();
        let (period, total) = match is_processor_time {
            true => (period, processor_time),
            false => {
                let period = duration / counts.rounds.max(1);
                (period, period.mul_f64(counts.samples() as f64))
            }
        };
        (counts, nanoseconds(period), nanoseconds(total))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time of this process since its start.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Resolves the function names of collected stacks.
fn name_stacks(counts: StackCounts) -> Vec<Stack> {
    let mut names = FunctionNames::default();
    let named = counts.stacks.into_iter().flat_map(|(addresses, counts)| {
        let functions: Arc<[Arc<str>]> = names.resolve(&addresses).into();
        counts.into_iter().map(move |(thread, samples)| Stack {
            thread: thread.to_string(),
            functions: functions.clone(),
            samples,
        })
    });
    named.collect()
}

fn to_profile_error(error: io::Error) -> ProfileError {
    ProfileError::Refused(error.to_string())
}
