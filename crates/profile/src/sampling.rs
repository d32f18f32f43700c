//! Taking samples.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::collector::{Collected, Collector};
use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::interrupt::{Interrupts, Timer, check_library};
use crate::heap::{HeapSamples, HeapSampling};
use crate::profile::{Profile, ProfileKind, Sampled, Stack};
use crate::sample_rate::SampleRate;
use crate::turn::Turn;

/// Samples that are being taken, until this is dropped.
///
/// The process has a handler for `SIGPROF` from the first profile of time on. System calls of an
/// interrupted thread begin again, or end with `EINTR`.
#[derive(Debug)]
pub struct Sampling {
    kind: ProfileKind,
    begun: (SystemTime, Instant),
    sampler: Sampler,
    turn: Turn,
}

/// What takes the samples.
#[derive(Debug)]
enum Sampler {
    Time(TimeSampling),
    Heap(HeapSampling),
}

impl Sampling {
    /// Begins to take samples. Of threads that wait, the rate is that of rounds through all threads; it is lower
    /// if there are so many that a round takes more than a tenth of the time. Samples of memory are one for each
    /// 128 KiB that are allocated, on average.
    ///
    /// # Errors
    /// If samples are being taken already, or the system does not let it, or the program does not allocate by
    /// [`SampledAllocator`](crate::SampledAllocator).
    pub fn start(kind: ProfileKind, sample_rate: SampleRate) -> Result<Self, ProfileError> {
        let turn = Turn::take()?;
        let sampler = match kind {
            ProfileKind::Processor | ProfileKind::Waiting => {
                Sampler::Time(TimeSampling::start(kind, sample_rate)?)
            }
            ProfileKind::Allocated | ProfileKind::Held => Sampler::Heap(HeapSampling::start()?),
        };
        let begun = (SystemTime::now(), Instant::now());
        Ok(Self { kind, begun, sampler, turn })
    }

    /// Ends it, and looks up the names of functions, which may take a second of processor time.
    pub fn finish(self) -> Profile {
        // Names are looked up by one at a time, too.
        let Self { kind, begun: (begun, start), sampler, turn: _turn } = self;
        let duration = start.elapsed();
        match sampler {
            Sampler::Time(sampling) => {
                let (collected, period, total) = sampling.finish(duration);
                let (lost, stacks) = (collected.lost, stacks(collected));
                Profile::new(stacks, Sampled { kind, begun, duration, period, total, lost })
            }
            Sampler::Heap(sampling) => {
                let HeapSamples { stacks, lost } = sampling.finish(kind);
                let period = HeapSampling::PERIOD_BYTES;
                let total = stacks.iter().map(|stack| stack.samples).sum();
                Profile::new(stacks, Sampled { kind, begun, duration, period, total, lost })
            }
        }
    }
}

/// Samples of time.
#[derive(Debug)]
struct TimeSampling {
    sample_rate: SampleRate,
    processor_time: Duration,
    // They are dropped in this order.
    timer: Option<Timer>,
    collector: Collector,
}

impl TimeSampling {
    fn start(kind: ProfileKind, sample_rate: SampleRate) -> Result<Self, ProfileError> {
        check_library()?;
        let interrupts = Interrupts::start().map_err(refused)?;
        let of_those_that_wait = kind == ProfileKind::Waiting;
        let rounds = of_those_that_wait.then_some(sample_rate);
        let collector = Collector::start(interrupts, rounds).map_err(refused)?;
        let processor_time = processor_time();
        let timer = match of_those_that_wait {
            true => None,
            false => Some(Timer::start(sample_rate).map_err(refused)?),
        };
        Ok(Self { sample_rate, processor_time, timer, collector })
    }

    /// Ends it after this time. Returns what was found, what a sample stands for, and what all do, in nanoseconds.
    fn finish(self, duration: Duration) -> (Collected, u64, u64) {
        let processor_time = processor_time().saturating_sub(self.processor_time);
        let is_processor_time = self.timer.is_some();
        drop(self.timer);
        let collected = self.collector.finish();
        let period = Duration::from_secs(1) / self.sample_rate.hz();
        let (period, total) = match is_processor_time {
            true => (period, processor_time),
            false => {
                let period = duration / collected.rounds.max(1);
                (period, period.mul_f64(collected.samples() as f64))
            }
        };
        (collected, nanoseconds(period), nanoseconds(total))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The stacks with the names of their functions and threads.
fn stacks(collected: Collected) -> Vec<Stack> {
    let mut names = FunctionNames::default();
    let named = collected.stacks.into_iter().flat_map(|(addresses, counts)| {
        let functions: Arc<[Arc<str>]> = names.functions(&addresses).into();
        counts.into_iter().map(move |(thread, samples)| Stack {
            thread: thread.to_string(),
            functions: functions.clone(),
            samples,
        })
    });
    named.collect()
}

fn refused(error: io::Error) -> ProfileError {
    ProfileError::Refused(error.to_string())
}
