//! How precise the time stamps of a log are.

/// Whether the stamps of each source have fractions of a second.
///
/// One stamp in a thousand of a log with milliseconds is a whole second, and a log may have got
/// fractions only at its end, so a source has fractions if more than half of its stamps do.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// By source: the stamps, and those of them with a fraction of a second.
    sources: Vec<(u64, u64)>,
}

impl Stamps {
    /// Counts a stamp, in nanoseconds.
    #[inline]
    pub(crate) fn count(&mut self, source: u32, time_ns: i64) {
        let index = source as usize;
        if self.sources.len() <= index {
            self.sources.resize(index + 1, (0, 0));
        }
        let (all, fractional) = &mut self.sources[index];
        *all += 1;
        *fractional += u64::from(time_ns % 1_000_000_000 != 0);
    }

    /// Whether no stamp was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Whether all sources have fractions of a second.
    pub(crate) fn have_fractions(&self) -> bool {
        self.sources.iter().all(|(all, fractional)| *all == 0 || fractional * 2 > *all)
    }
}

#[cfg(test)]
mod tests {
    use super::Stamps;

    #[test]
    fn most_stamps_of_each_source_decide() {
        let second_ns = 1_000_000_000;
        for (stamps, expected) in [
            (&[][..], true),
            (&[(0, 1)], true),
            (&[(0, second_ns)], false),
            (&[(0, 1), (0, second_ns), (0, second_ns + 1)], true),
            (&[(0, 1), (0, second_ns)], false),
            (&[(0, 1), (2, second_ns)], false),
            (&[(0, -1), (2, second_ns + 1)], true),
        ] {
            let mut counted = Stamps::default();
            stamps.iter().for_each(|(source, time_ns)| counted.count(*source, *time_ns));
            assert_eq!(counted.have_fractions(), expected, "{stamps:?}");
        }
    }
}
