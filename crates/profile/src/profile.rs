//! What sampling has found.

use std::time::{Duration, SystemTime};

use crate::sample_rate::SampleRate;

/// What samples are taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// The processor time of the threads that run.
    Processor,
    /// The time of the threads that wait, for whatever it is: a lock, a socket, a timer, work.
    Waiting,
}

/// Stacks, and how often each was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What they are samples of.
    pub kind: ProfileKind,
    /// The stacks, the most frequent first.
    pub stacks: Vec<Stack>,
    /// The rate of the samples.
    pub sample_rate: SampleRate,
    /// When the first sample could come.
    pub begun: SystemTime,
    /// For how long samples were taken.
    pub duration: Duration,
    /// The time that all samples together stand for: the processor time of the whole process meanwhile, or the
    /// time that its threads waited.
    pub sampled_time: Duration,
    /// Samples that are not in the stacks, for want of room.
    pub lost: u64,
}

/// When samples were taken, and of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    pub(crate) kind: ProfileKind,
    pub(crate) begun: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) sampled_time: Duration,
    pub(crate) lost: u64,
}

/// A stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The name of the thread; its number if it has none.
    pub thread: String,
    /// The functions, from the one that began the thread to the one that ran.
    pub functions: Vec<String>,
    /// How often it was found.
    pub samples: u64,
}

impl Profile {
    /// A profile of these stacks, equal ones taken together.
    pub(crate) fn new(mut stacks: Vec<Stack>, sample_rate: SampleRate, period: Period) -> Self {
        stacks.sort_by(|one, other| {
            (&one.thread, &one.functions).cmp(&(&other.thread, &other.functions))
        });
        stacks.dedup_by(|later, kept| {
            let is_same = later.thread == kept.thread && later.functions == kept.functions;
            if is_same {
                kept.samples += later.samples;
            }
            is_same
        });
        // Stable, so that equals stay in the order of their names.
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
        let Period { kind, begun, duration, sampled_time, lost } = period;
        Self { kind, stacks, sample_rate, begun, duration, sampled_time, lost }
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// The share of the time that a number of samples stands for. It does not depend on the rate:
    /// the kernel's clock may be slower than what was asked for.
    pub fn time(&self, samples: u64) -> Duration {
        match self.samples() {
            0 => Duration::ZERO,
            all => self.sampled_time.mul_f64(samples as f64 / all as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one() {
        let stack = |thread: &str, function: &str, samples| Stack {
            thread: thread.to_owned(),
            functions: vec!["main".to_owned(), function.to_owned()],
            samples,
        };
        let stacks = vec![
            stack("one", "a", 1),
            stack("two", "a", 3),
            stack("one", "b", 3),
            stack("one", "a", 4),
        ];
        let period = Period {
            kind: ProfileKind::Processor,
            begun: SystemTime::UNIX_EPOCH,
            duration: Duration::from_secs(10),
            sampled_time: Duration::from_secs(22),
            lost: 0,
        };
        let profile = Profile::new(stacks, SampleRate::default(), period);
        let expected = vec![stack("one", "a", 5), stack("one", "b", 3), stack("two", "a", 3)];
        assert_eq!(profile.stacks, expected);
        assert_eq!(profile.samples(), 11);
        assert_eq!(profile.time(5), Duration::from_secs(10));
        let empty = Profile::new(Vec::new(), SampleRate::default(), period);
        assert_eq!(empty.time(1), Duration::ZERO);
    }
}
