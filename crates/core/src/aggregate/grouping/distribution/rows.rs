//! Rows in the order in which they came.

use super::run::Run;

/// The group and the rounded number of rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// As many as `codes`.
    pub(super) groups: Vec<u32>,
    pub(super) codes: Vec<u16>,
}

impl Rows {
    /// Adds rows. The code of one without a number is [`Self::NO_NUMBER`].
    pub(super) fn extend(&mut self, groups: &[u32], codes: &[u16]) {
        if !codes.contains(&Self::NO_NUMBER) {
            self.groups.extend_from_slice(groups);
            self.codes.extend_from_slice(codes);
            return;
        }
        let rows = groups.iter().zip(codes);
        for (group, code) in rows.filter(|(_, code)| **code != Self::NO_NUMBER) {
            self.groups.push(*group);
            self.codes.push(*code);
        }
    }

    /// A code above those of all numbers.
    pub(super) const NO_NUMBER: u16 = u16::MAX;

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Returns the rows with other numbers of the groups.
    pub(super) fn renumbered(&self, new_number: impl Fn(u32) -> u32) -> Self {
        let groups = self.groups.iter().map(|group| new_number(*group)).collect();
        Self { groups, codes: self.codes.clone() }
    }

    pub(super) fn sorted(&self) -> Run {
        Run::sorted(&self.groups, &self.codes, &[])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<u32>() + self.codes.capacity() * size_of::<u16>()
    }
}
