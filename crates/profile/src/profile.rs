//! The result of sampling.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The resource that a profile measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// Processor time of running threads.
    Processor,
    /// Wall-clock time of waiting threads. The cause does not matter: a lock, a socket, a timer,
    /// lack of work.
    Waiting,
    /// Memory that was allocated during the profile, freed or not.
    Allocated,
    /// Memory that was allocated during the profile and not freed before its end.
    Held,
}

impl ProfileKind {
    /// Returns the unit of the measured resource: `nanoseconds` or `bytes`.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Processor | Self::Waiting => "nanoseconds",
            Self::Allocated | Self::Held => "bytes",
        }
    }
}

/// Sampled stacks with their sample counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The measured resource.
    pub kind: ProfileKind,
    /// The stacks, the most frequent first.
    pub stacks: Vec<Stack>,
    /// The average amount that one sample represents, in the unit of the kind.
    pub period: u64,
    /// When sampling started.
    pub begun: SystemTime,
    /// How long samples were taken.
    pub duration: Duration,
    /// The amount that all stacks together represent, in the unit of the kind: the processor time
    /// of the process during the profile, the waiting time of its threads, or bytes of memory.
    pub total: u64,
    /// The number of samples that are missing from `stacks` because a table was full.
    pub lost: u64,
}

/// The fields of a [`Profile`] without its stacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileMetadata {
    pub(crate) kind: ProfileKind,
    pub(crate) begun: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) period: u64,
    pub(crate) total: u64,
    pub(crate) lost: u64,
}

/// A call stack of threads with one name, with its number of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The name of the thread, or its number if it has no name.
    pub thread: String,
    /// The functions, outermost first. Threads with the same stack share them.
    pub functions: Arc<[Arc<str>]>,
    /// The number of samples; bytes in a profile of memory.
    pub samples: u64,
}

impl Profile {
    /// Makes a profile, and merges equal stacks.
    pub(crate) fn new(mut stacks: Vec<Stack>, metadata: ProfileMetadata) -> Self {
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
        // The sort is stable: stacks with equal counts stay ordered by name.
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
        let ProfileMetadata { kind, begun, duration, period, total, lost } = metadata;
        Self { kind, stacks, period, begun, duration, total, lost }
    }

    /// Returns the number of samples in all stacks.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// Converts a number of samples into the unit of the kind. It scales [`total`](Self::total) and
    /// ignores the requested rate, because the kernel's clock may tick more slowly.
    pub fn amount(&self, samples: u64) -> u64 {
        match self.samples() {
            0 => 0,
            all => (self.total as f64 * samples as f64 / all as f64) as u64,
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
            functions: ["main", function].map(Arc::from).into(),
            samples,
        };
        let stacks = vec![
            stack("one", "a", 1),
            stack("two", "a", 3),
            stack("one", "b", 3),
            stack("one", "a", 4),
        ];
        let metadata = ProfileMetadata {
            kind: ProfileKind::Processor,
            begun: SystemTime::UNIX_EPOCH,
            duration: Duration::from_secs(10),
            period: 10,
            total: 22,
            lost: 0,
        };
        let profile = Profile::new(stacks, metadata);
        let expected = vec![stack("one", "a", 5), stack("one", "b", 3), stack("two", "a", 3)];
        assert_eq!(profile.stacks, expected);
        assert_eq!(profile.samples(), 11);
        assert_eq!(profile.amount(5), 10);
        let empty = Profile::new(Vec::new(), metadata);
        assert_eq!(empty.amount(1), 0);
    }
}
