//! What sampling has found.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What samples are taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// The processor time of the threads that run.
    Processor,
    /// The time of the threads that wait, for whatever it is: a lock, a socket, a timer, work.
    Waiting,
    /// The memory that is allocated, whether or not it is freed meanwhile.
    Allocated,
    /// The memory that is allocated, and not freed until the end.
    Held,
}

impl ProfileKind {
    /// The unit of what it measures.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Processor | Self::Waiting => "nanoseconds",
            Self::Allocated | Self::Held => "bytes",
        }
    }
}

/// Stacks, and how often each was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What they are samples of.
    pub kind: ProfileKind,
    /// The stacks, the most frequent first.
    pub stacks: Vec<Stack>,
    /// A sample stands for so much, on average, in the unit of its kind.
    pub period: u64,
    /// When the first sample could come.
    pub begun: SystemTime,
    /// For how long samples were taken.
    pub duration: Duration,
    /// What all stacks together stand for, in the unit of its kind: the processor time of the whole process
    /// meanwhile, the time that its threads waited, or bytes of memory.
    pub total: u64,
    /// Samples that are not in the stacks, for want of room.
    pub lost: u64,
}

/// When samples were taken, and of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled {
    pub(crate) kind: ProfileKind,
    pub(crate) begun: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) period: u64,
    pub(crate) total: u64,
    pub(crate) lost: u64,
}

/// A stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The name of the thread; its number if it has none.
    pub thread: String,
    /// The functions, from the one that began the thread to the one that ran. Threads with the same stack share
    /// them.
    pub functions: Arc<[Arc<str>]>,
    /// How often it was found; of memory, its bytes.
    pub samples: u64,
}

impl Profile {
    /// A profile of these stacks, equal ones taken together.
    pub(crate) fn new(mut stacks: Vec<Stack>, sampled: Sampled) -> Self {
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
        let Sampled { kind, begun, duration, period, total, lost } = sampled;
        Self { kind, stacks, period, begun, duration, total, lost }
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// What a number of samples stands for, in the unit of the kind. It does not depend on the rate: the kernel's
    /// clock may be slower than what was asked for.
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
        let sampled = Sampled {
            kind: ProfileKind::Processor,
            begun: SystemTime::UNIX_EPOCH,
            duration: Duration::from_secs(10),
            period: 10,
            total: 22,
            lost: 0,
        };
        let profile = Profile::new(stacks, sampled);
        let expected = vec![stack("one", "a", 5), stack("one", "b", 3), stack("two", "a", 3)];
        assert_eq!(profile.stacks, expected);
        assert_eq!(profile.samples(), 11);
        assert_eq!(profile.amount(5), 10);
        let empty = Profile::new(Vec::new(), sampled);
        assert_eq!(empty.amount(1), 0);
    }
}
