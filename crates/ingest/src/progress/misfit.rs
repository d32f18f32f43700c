//! What is said about a source most of whose lines do not fit.

use super::SourceProgress;

/// Before this many lines nothing is said: the first ones may be strays.
const LINES_MIN: u64 = 20;

impl SourceProgress {
    /// Returns once that most lines so far do not fit, with the nearest format. `None` if they do,
    /// or if it was said before. Nothing of the lines is shown, because they may hold secrets.
    pub fn take_misfit(&self) -> Option<String> {
        let mut state = self.state.lock();
        let (lines, unparsed) = (state.counts.lines, state.counts.unparsed_lines);
        if state.has_told_misfit || lines < LINES_MIN || unparsed * 2 <= lines {
            return None;
        }
        state.has_told_misfit = true;
        let first = state.samples.first();
        let reason =
            first.map(|it| format!(": line {}, column {}: {}", it.line, it.column, it.reason));
        let reason = reason.unwrap_or_default();
        Some(format!("{unparsed} of the first {lines} lines do not fit a known format{reason}"))
    }
}

#[cfg(test)]
mod tests {
    use weir_core::UnparsedLine;

    use super::super::{BlockCounts, SourceProgress};

    #[test]
    fn it_is_said_once_and_only_if_most_lines_do_not_fit() {
        let count = |progress: &SourceProgress, lines, unparsed_lines| {
            let reason = "COMBINED expects a client".to_owned();
            let sample = UnparsedLine { line: 0, at: 3, reason, text: b"a secret".to_vec() };
            let (records, samples) = (lines - unparsed_lines, vec![sample]);
            let read =
                BlockCounts { lines, records, unparsed_lines, samples, ..BlockCounts::default() };
            progress.count(&read, 0);
            progress.take_misfit()
        };
        let progress = SourceProgress::new("a", None);
        assert_eq!(count(&progress, 19, 19), None);
        let told = "20 of the first 20 lines do not fit a known format: line 1, column 4: COMBINED \
                    expects a client";
        assert_eq!(count(&progress, 1, 1).as_deref(), Some(told));
        assert_eq!(count(&progress, 1_000, 1_000), None);
        let other = SourceProgress::new("b", None);
        assert_eq!(count(&other, 100, 50), None, "half of them fit");
        assert!(count(&other, 100, 100).is_some());
    }
}
