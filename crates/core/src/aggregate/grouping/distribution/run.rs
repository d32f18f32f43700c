//! Rows that are sorted by group.

/// Rounded numbers, sorted by group.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Run {
    /// The place of the first number of each group, and the end of the last.
    pub(super) starts: Vec<u32>,
    pub(super) codes: Vec<u16>,
    /// How often each number occurs. Empty if all occur once; then a number may be repeated, in no
    /// order.
    pub(super) counts: Vec<u32>,
}

impl Run {
    /// Sorts numbers by their groups. `counts` is empty if each occurs once.
    pub(super) fn sorted(groups: &[u32], codes: &[u16], counts: &[u32]) -> Self {
        let most = groups.iter().max().map_or(0, |group| *group as usize + 1);
        let mut starts = vec![0u32; most + 1];
        groups.iter().for_each(|group| starts[*group as usize + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each place moves up to the start of the next group.
        let mut places = starts.clone();
        let mut sorted = vec![0; codes.len()];
        let mut sorted_counts = vec![0; counts.len()];
        for (index, (group, code)) in groups.iter().zip(codes).enumerate() {
            let place = &mut places[*group as usize];
            sorted[*place as usize] = *code;
            if let Some(count) = counts.get(index) {
                sorted_counts[*place as usize] = *count;
            }
            *place += 1;
        }
        Self { starts, codes: sorted, counts: sorted_counts }
    }

    /// Merges two runs, and counts the equal numbers of each group.
    pub(super) fn merged(one: &Self, other: &Self) -> Self {
        let groups = one.starts.len().max(other.starts.len()).saturating_sub(1);
        let mut merged =
            Self { starts: Vec::with_capacity(groups + 1), codes: Vec::new(), counts: Vec::new() };
        merged.starts.push(0);
        let mut numbers: Vec<(u16, u32)> = Vec::new();
        for group in 0..groups as u32 {
            numbers.clear();
            for run in [one, other] {
                let range = run.range(group);
                let count = |place: usize| run.counts.get(place).copied().unwrap_or(1);
                numbers.extend(range.map(|place| (run.codes[place], count(place))));
            }
            numbers.sort_unstable_by_key(|(code, _)| *code);
            merged.push_group(&numbers);
        }
        merged.codes.shrink_to_fit();
        merged.counts.shrink_to_fit();
        merged
    }

    /// Adds the numbers of the next group, in order.
    fn push_group(&mut self, numbers: &[(u16, u32)]) {
        let start = self.codes.len();
        for (code, count) in numbers {
            let is_same = self.codes.len() > start && self.codes.last() == Some(code);
            let sum =
                self.counts.last().filter(|_| is_same).and_then(|last| last.checked_add(*count));
            match (sum, self.counts.last_mut()) {
                (Some(sum), Some(last)) => *last = sum,
                // A number that occurs more than 2^32 times has several places.
                _ => {
                    self.codes.push(*code);
                    self.counts.push(*count);
                }
            }
        }
        self.starts.push(self.codes.len() as u32);
    }

    /// Returns the run with other numbers of the groups. Several may become one.
    pub(super) fn renumbered(&self, new_number: impl Fn(u32) -> u32) -> Self {
        let mut groups = Vec::with_capacity(self.codes.len());
        for group in 0..self.starts.len().saturating_sub(1) as u32 {
            groups.extend(self.range(group).map(|_| new_number(group)));
        }
        Self::sorted(&groups, &self.codes, &self.counts)
    }

    pub(super) fn range(&self, group: u32) -> std::ops::Range<usize> {
        let place = group as usize;
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.codes.capacity() * 2 + self.counts.capacity() * 4
    }
}
