//! The choice of the polls that are timed.

/// How many first polls of a task are timed.
const FIRST_POLLS: u8 = 8;

/// After the first polls, one poll in this many is timed.
const POLLS_PER_SAMPLE: u64 = 16;

/// If the average time between polls is longer than this, every poll is timed while the tasks are
/// watched.
const RARE_POLLS_NS: u64 = 1_000_000;

/// Chooses the polls to time. After the first polls, the choice is random: polls often alternate,
/// such as those of a request and its response, and a fixed pattern could miss one of them.
#[derive(Debug)]
pub(super) struct Sampler {
    /// The state of the random generator.
    seed: u32,
    first_polls_left: u8,
    is_rare: bool,
    last_sample_ns: u64,
    polls_since: u32,
}

impl Sampler {
    /// Makes the sampler of the task with this number. The first polls of a short task are not
    /// always timed.
    pub(super) fn new(task: u64, is_short: bool) -> Self {
        Self {
            // Spreads consecutive numbers (Knuth, The Art of Computer Programming, section 6.4).
            seed: (task as u32).wrapping_mul(2_654_435_769),
            first_polls_left: if is_short { 0 } else { FIRST_POLLS },
            is_rare: false,
            last_sample_ns: 0,
            polls_since: 0,
        }
    }

    /// Returns how many polls the next poll represents if it is to be timed; otherwise 0.
    pub(super) fn weight(&mut self, is_watched: bool) -> u64 {
        self.polls_since = self.polls_since.saturating_add(1);
        if self.first_polls_left > 0 {
            self.first_polls_left -= 1;
            return 1;
        }
        if is_watched && self.is_rare {
            return 1;
        }
        // A linear congruential generator, whose upper bits are random enough (O'Neill, PCG, 2014,
        // table 1).
        self.seed = self.seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let is_chosen = u64::from(self.seed >> 16) % POLLS_PER_SAMPLE == 0;
        if is_chosen { POLLS_PER_SAMPLE } else { 0 }
    }

    /// Records the start of a timed poll.
    pub(super) fn record_sample(&mut self, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.last_sample_ns);
        self.is_rare = since_ns > RARE_POLLS_NS.saturating_mul(self.polls_since.into());
        (self.last_sample_ns, self.polls_since) = (now_ns, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_POLLS, POLLS_PER_SAMPLE, Sampler};

    #[test]
    fn the_chosen_polls_stand_for_all() {
        const POLLS: u64 = 1_000_000;
        for is_short in [false, true] {
            let mut sampler = Sampler::new(7, is_short);
            // Two kinds of polls alternate; the weights of both must agree.
            let mut weights = [0; 2];
            for poll in 0..POLLS {
                weights[(poll % 2) as usize] += sampler.weight(false);
            }
            for weight in weights {
                let error = weight.abs_diff(POLLS / 2) as f64 / (POLLS / 2) as f64;
                assert!(error < 0.02, "{weights:?}");
            }
        }
    }

    #[test]
    fn short_tasks_are_chosen_as_rarely_as_polls() {
        let weight: u64 = (0..100_000).map(|task| Sampler::new(task, true).weight(true)).sum();
        assert!(weight.abs_diff(100_000) < 5_000, "{weight}");
    }

    #[test]
    fn the_first_polls_and_rare_ones_are_all_timed() {
        let mut sampler = Sampler::new(7, false);
        let first = (0..FIRST_POLLS).map(|_| sampler.weight(false));
        assert!(first.into_iter().all(|weight| weight == 1));
        sampler.record_sample(1_000_000_000);
        for second in 2..100 {
            assert_eq!(sampler.weight(true), 1);
            sampler.record_sample(second * 1_000_000_000);
        }
        // The tasks are not watched.
        let weights: Vec<u64> = (0..1_000).map(|_| sampler.weight(false)).collect();
        assert!(weights.contains(&0) && weights.contains(&POLLS_PER_SAMPLE));
    }

    #[test]
    fn a_task_that_is_polled_often_is_sampled_also_while_somebody_looks() {
        let mut sampler = Sampler::new(7, false);
        let weights = (1..1_000_u64).map(|poll| {
            let weight = sampler.weight(true);
            if weight > 0 {
                sampler.record_sample(1_000_000_000 + poll * 1_000);
            }
            weight
        });
        assert!(weights.filter(|weight| *weight == 0).count() > 800);
    }
}
