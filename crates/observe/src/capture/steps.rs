//! A bounded list of steps.

use std::collections::VecDeque;

use super::sizes::Sizes;
use super::step::{Step, StepTotal};

/// How many first steps are kept. An upload or a feed may have millions of steps.
pub(super) const FIRST_MAX: usize = 1_000;

/// How many last steps are kept.
pub(super) const LAST_MAX: usize = 1_000;

/// The first and the last steps, and the totals of all steps.
#[derive(Debug, Default)]
pub(super) struct Steps {
    first: Vec<Step>,
    last: VecDeque<Step>,
    left_out: u64,
    totals: Vec<(StepTotal, Sizes)>,
}

/// A copy of [`Steps`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StepsSnapshot {
    pub(super) steps: Vec<Step>,
    /// How many of `steps` come before the omitted ones.
    pub(super) first: usize,
    pub(super) left_out: u64,
    pub(super) totals: Vec<StepTotal>,
}

impl Steps {
    pub(super) fn push(&mut self, step: Step) {
        self.count(&step);
        if self.first.len() < FIRST_MAX {
            return self.first.push(step);
        }
        if self.last.len() == LAST_MAX {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(step);
    }

    /// Adds a step to the total of its name. A linear search suffices: names are literals, so there
    /// are few.
    fn count(&mut self, step: &Step) {
        let index = self.totals.iter().position(|(total, _)| total.name == step.name);
        let index = index.unwrap_or_else(|| {
            let (bytes, bytes_median) = (None, None);
            let total =
                StepTotal { name: step.name, count: 0, duration_ns: 0, bytes, bytes_median };
            self.totals.push((total, Sizes::default()));
            self.totals.len() - 1
        });
        let Some((total, sizes)) = self.totals.get_mut(index) else { return };
        total.count += 1;
        total.duration_ns = total.duration_ns.saturating_add(step.duration_ns);
        if let Some(bytes) = step.bytes {
            total.bytes = Some(total.bytes.unwrap_or_default().saturating_add(bytes));
            sizes.add(bytes);
        }
    }

    pub(super) fn snapshot(&self) -> StepsSnapshot {
        let totals = self.totals.iter().map(|(total, sizes)| {
            let bytes_median = sizes.median();
            StepTotal { bytes_median, ..total.clone() }
        });
        StepsSnapshot {
            steps: self.first.iter().chain(&self.last).cloned().collect(),
            first: self.first.len(),
            left_out: self.left_out,
            totals: totals.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_MAX, LAST_MAX, Step, Steps};

    fn read(number: u64) -> Step {
        let (duration_ns, detail) = (2, String::new());
        Step { name: "read", begun_ns: number as i64, duration_ns, bytes: Some(number), detail }
    }

    #[test]
    fn the_first_and_the_last_are_kept_and_all_are_counted() {
        let mut steps = Steps::default();
        let count = (FIRST_MAX + LAST_MAX + 7) as u64;
        for number in 0..count {
            steps.push(read(number));
        }
        let seen = steps.snapshot();
        assert_eq!((seen.steps.len(), seen.first), (FIRST_MAX + LAST_MAX, FIRST_MAX));
        assert_eq!(seen.left_out, 7);
        assert_eq!(seen.steps[FIRST_MAX - 1], read(FIRST_MAX as u64 - 1));
        assert_eq!(seen.steps[FIRST_MAX], read(FIRST_MAX as u64 + 7));
        let total = &seen.totals[0];
        assert_eq!((total.count, total.duration_ns), (count, 2 * count));
        assert_eq!(total.bytes, Some(count * (count - 1) / 2));
    }
}
