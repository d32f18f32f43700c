//! The evidence of a replay: which lines and records of the log it looked at.

use std::ops::AddAssign;

use weir_core::RecordKind;

/// The most lines of a sample, and the most bytes of each.
const SAMPLE_LINES_MAX: usize = 16;
const SAMPLE_LINE_BYTES_MAX: usize = 1 << 10;

/// The lines of a log that was replayed. They are the same for all rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// The lines that were read.
    pub lines: u64,
    /// Those of them that are in no known format.
    pub unparsed: u64,
    /// The selected records, by their kind in the order of [`RecordKind::ALL`].
    pub records: [u64; RecordKind::ALL.len()],
    /// With conditions, the lines in no known format, which conditions leave out.
    pub left_out: Option<u64>,
}

impl LogCounts {
    /// Counts only the lines of the selected records, because conditions select no others.
    #[must_use]
    pub fn of_selected(self) -> Self {
        let lines = self.records.iter().sum();
        Self { lines, unparsed: 0, left_out: Some(self.unparsed), ..self }
    }

    /// Names the kind of most records; `None` if there is no record.
    pub(crate) fn main_kind(&self) -> Option<RecordKind> {
        let found = RecordKind::ALL.into_iter().filter(|kind| self.records[*kind as usize] > 0);
        found.max_by_key(|kind| self.records[*kind as usize])
    }
}

impl AddAssign for LogCounts {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.unparsed += other.unparsed;
        for (count, more) in self.records.iter_mut().zip(other.records) {
            *count += more;
        }
    }
}

/// What the observers of a rule that looks at whole lines found in them.
///
/// # Memory
///
/// 8 bytes for each pattern, and at most 16 KiB for the sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineTally {
    /// The lines that the rule's own parser reads.
    pub(crate) read: u64,
    /// The lines in which a date was found.
    pub(crate) dated: u64,
    /// By pattern: the lines that it matches.
    pub(crate) matches: Vec<u64>,
    /// The first lines, whole or their beginning.
    sample: Vec<Box<[u8]>>,
}

impl LineTally {
    /// Counts a match of a pattern.
    pub(crate) fn count_match(&mut self, pattern: usize) {
        if self.matches.len() <= pattern {
            self.matches.resize(pattern + 1, 0);
        }
        self.matches[pattern] += 1;
    }

    /// Keeps a line if it is one of the first.
    pub(crate) fn sample(&mut self, line: &[u8]) {
        if self.sample.len() < SAMPLE_LINES_MAX {
            self.sample.push(line[..line.len().min(SAMPLE_LINE_BYTES_MAX)].into());
        }
    }

    /// The first lines.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = &[u8]> {
        self.sample.iter().map(|line| &**line)
    }

    /// Adds what was found in later lines.
    pub fn add(&mut self, later: &Self) {
        self.read += later.read;
        self.dated += later.dated;
        self.matches.resize(self.matches.len().max(later.matches.len()), 0);
        for (count, more) in self.matches.iter_mut().zip(&later.matches) {
            *count += more;
        }
        let room = SAMPLE_LINES_MAX.saturating_sub(self.sample.len());
        self.sample.extend(later.sample.iter().take(room).cloned());
    }
}

/// A pattern of a rule, and how many lines it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternMatches {
    /// The pattern, as it is written.
    pub pattern: String,
    /// The lines that it matches. A line that several patterns match counts for the first.
    pub lines: u64,
}

/// What a replay of a rule looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookedAt {
    /// The lines that were read.
    pub lines: u64,
    /// Those of them in no known format, which a rule that evaluates records misses; 0 if the rule
    /// looks at whole lines.
    pub unparsed: u64,
    /// The records of the kinds that the rule evaluates, or the lines that its own parser reads.
    pub records: u64,
    /// The records that the rule applies to, and of which a verdict was sought.
    pub evaluated: u64,
    /// The lines with a date that the rule understands, if it looks for dates itself.
    pub dated: Option<u64>,
    /// The patterns that find the events of the rule.
    pub patterns: Vec<PatternMatches>,
    /// If nothing was evaluated: why, and what to do, as sentences.
    pub nothing: Option<String>,
}

impl LookedAt {
    /// What a rule looked at that evaluates the records of some kinds.
    pub(crate) fn records(
        sees: &dyn Fn(RecordKind) -> bool,
        log: &LogCounts,
        evaluated: u64,
    ) -> Self {
        let seen = RecordKind::ALL.into_iter().filter(|kind| sees(*kind));
        let records = seen.map(|kind| log.records[kind as usize]).sum();
        let LogCounts { lines, unparsed, .. } = *log;
        let nothing = (evaluated == 0).then(|| nothing_of_records(sees, log, records));
        Self { lines, unparsed, records, evaluated, nothing, ..Self::default() }
    }
}

/// Explains why a rule that evaluates records found none.
fn nothing_of_records(sees: &dyn Fn(RecordKind) -> bool, log: &LogCounts, records: u64) -> String {
    match (records, log.main_kind()) {
        (0, _) if log.lines == 0 && log.left_out.is_none() => "The log has no lines.".to_owned(),
        (0, Some(kind)) => {
            let wanted = RecordKind::ALL.into_iter().find(|kind| sees(*kind));
            let wanted = log_of(wanted.unwrap_or_default());
            format!("The rule evaluates {wanted}, and this log is {}. Name {wanted}.", log_of(kind))
        }
        (0, None) => "No selected line is a record: none is in a known format, or the conditions \
                      select none. Name the format with --format, or check the conditions."
            .to_owned(),
        (_, _) => format!(
            "The rule applies to none of the {records} records: check its conditions, such as \
             server, location or path, and whether they have its key."
        ),
    }
}

/// Names the log that has records of a kind.
pub(crate) fn log_of(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Request => "an access log",
        RecordKind::ErrorLogLine => "an error log",
        RecordKind::FirewallEvent => "a firewall's log",
    }
}

#[cfg(test)]
mod tests {
    use weir_core::RecordKind;

    use super::{LineTally, LogCounts, LookedAt};

    #[test]
    fn tallies_of_parts_add_up_to_that_of_the_whole() {
        let (mut whole, mut parts) = (LineTally::default(), [const { None }; 3]);
        for part in &mut parts {
            let mut tally = LineTally::default();
            for line in [&b"one"[..], b"two", &[b'x'; 5_000]].into_iter().cycle().take(7) {
                tally.sample(line);
                tally.count_match(line.len() % 4);
                tally.read += 1;
                whole.sample(line);
                whole.count_match(line.len() % 4);
                whole.read += 1;
            }
            *part = Some(tally);
        }
        let mut sum = LineTally::default();
        parts.iter().flatten().for_each(|part| sum.add(part));
        assert_eq!(sum, whole);
        assert_eq!((sum.sampled().count(), sum.matches.clone()), (16, vec![6, 0, 0, 15]));
    }

    #[test]
    fn the_reason_names_the_log_that_the_rule_evaluates() {
        let sees = |kind| kind == RecordKind::Request;
        let nothing = |lines, records| {
            let log = LogCounts { lines, records, ..LogCounts::default() };
            LookedAt::records(&sees, &log, 0).nothing.expect("nothing was evaluated")
        };
        assert_eq!(nothing(0, [0; 3]), "The log has no lines.");
        assert_eq!(
            nothing(9, [0, 9, 0]),
            "The rule evaluates an access log, and this log is an error log. Name an access log."
        );
        assert!(nothing(9, [0; 3]).contains("--format"));
        assert!(nothing(9, [9, 0, 0]).contains("none of the 9 records"));
        let log = LogCounts { lines: 9, unparsed: 1, records: [5, 0, 0], left_out: None };
        let found = LookedAt::records(&sees, &log, 5);
        assert_eq!((found.records, found.unparsed, found.nothing), (5, 1, None));
        let found = LookedAt::records(&sees, &log.of_selected(), 5);
        assert_eq!((found.lines, found.records, found.unparsed), (5, 5, 0));
        let none = LogCounts { records: [0; 3], ..log }.of_selected();
        let nothing = LookedAt::records(&sees, &none, 0).nothing;
        assert!(nothing.is_some_and(|why| why.contains("conditions select none")));
    }
}
