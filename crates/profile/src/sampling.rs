//! Taking samples.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::collector::{Collected, Collector};
use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::interrupt::{Interrupts, Timer, check_library};
use crate::profile::{Period, Profile, ProfileKind, Stack};
use crate::sample_rate::SampleRate;
use crate::turn::Turn;

/// Samples that are being taken, until this is dropped.
///
/// The process has a handler for `SIGPROF` from the first of these on. System calls of an interrupted thread begin
/// again, or end with `EINTR`.
#[derive(Debug)]
pub struct Sampling {
    kind: ProfileKind,
    sample_rate: SampleRate,
    begun: (SystemTime, Instant),
    processor_time: Duration,
    // They are dropped in this order.
    timer: Option<Timer>,
    collector: Collector,
    turn: Turn,
}

impl Sampling {
    /// Begins to take samples. Of threads that wait, the rate is that of rounds through all threads; it is lower
    /// if there are so many that a round takes more than a tenth of the time.
    ///
    /// # Errors
    /// If samples are being taken already, or the system does not let it.
    pub fn start(kind: ProfileKind, sample_rate: SampleRate) -> Result<Self, ProfileError> {
        let turn = Turn::take()?;
        check_library()?;
        let interrupts = Interrupts::start().map_err(refused)?;
        let collector = Collector::start(interrupts, kind, sample_rate).map_err(refused)?;
        let begun = (SystemTime::now(), Instant::now());
        let processor_time = processor_time();
        let timer = match kind {
            ProfileKind::Processor => Some(Timer::start(sample_rate).map_err(refused)?),
            ProfileKind::Waiting => None,
        };
        Ok(Self { kind, sample_rate, begun, processor_time, timer, collector, turn })
    }

    /// Ends it, and looks up the names of functions, which may take a second of processor time.
    pub fn finish(self) -> Profile {
        let duration = self.begun.1.elapsed();
        let processor_time = processor_time().saturating_sub(self.processor_time);
        drop(self.timer);
        let collected = self.collector.finish();
        // Others may take samples while names are looked up.
        drop(self.turn);
        let samples: u64 = collected.stacks.values().sum();
        let sampled_time = match self.kind {
            ProfileKind::Processor => processor_time,
            ProfileKind::Waiting => {
                let rounds = f64::from(collected.rounds.max(1));
                duration.mul_f64((samples + collected.lost) as f64 / rounds)
            }
        };
        let (kind, begun, lost) = (self.kind, self.begun.0, collected.lost);
        let period = Period { kind, begun, duration, sampled_time, lost };
        Profile::new(stacks(collected), self.sample_rate, period)
    }
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The stacks with the names of their functions and threads.
fn stacks(collected: Collected) -> Vec<Stack> {
    let Collected { stacks, names, .. } = collected;
    let mut functions = FunctionNames::default();
    let name = |names: &HashMap<i32, String>, id| names.get(&id).cloned().unwrap_or_default();
    let named = stacks.into_iter().map(|(stack, samples)| Stack {
        thread: name(&names, stack.thread),
        functions: functions.functions(&stack.addresses),
        samples,
    });
    named.collect()
}

fn refused(error: io::Error) -> ProfileError {
    ProfileError::Refused(error.to_string())
}
