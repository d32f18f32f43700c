//! Output files that are left as they are, because their content would lack lines of the logs.

use weir_ingest::SourceSnapshot;

use crate::display::safe;
use crate::outcome::say;

/// Why an output file is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// Some log was not read to its end.
    NotWhole,
    /// The logs have lines, and none of them is a record.
    NoRecords,
    /// The output lacks values for which there was no memory.
    LacksValues,
}

impl Withheld {
    /// Returns why an output file is not written; `None` if it is. `has_failed` states whether some
    /// log was not read to its end, `not_records` is the number of lines that are not records.
    pub(crate) fn of(has_failed: bool, records: u64, not_records: u64) -> Option<Self> {
        match (has_failed, records) {
            (true, _) => Some(Self::NotWhole),
            (false, 0) if not_records > 0 => Some(Self::NoRecords),
            (false, _) => None,
        }
    }

    /// As [`Self::of`], for these logs.
    pub(crate) fn of_sources(has_failed: bool, sources: &[SourceSnapshot]) -> Option<Self> {
        let records = sources.iter().map(|source| source.records).sum();
        let not_records = |it: &SourceSnapshot| it.unparsed_lines + it.too_long_lines;
        Self::of(has_failed, records, sources.iter().map(not_records).sum())
    }

    /// Prints that the file of that name was not written, why, and what to do. `to_stdout` is the
    /// option that writes what could be read to standard output, if there is one.
    pub(crate) fn say(self, name: &str, to_stdout: Option<&str>) {
        let name = safe(name);
        let or_stdout = |what: &str| match to_stdout {
            Some(option) => format!(", or write {what} to standard output with {option}"),
            None => String::new(),
        };
        match self {
            Self::NotWhole => say(format_args!(
                "{name}: was not written, because a log could not be read to its end; leave out \
                 that log{}",
                or_stdout("what can be read")
            )),
            Self::NoRecords => say(format_args!(
                "{name}: was not written, because no line matches a format; name other logs, or \
                 give the format with --format"
            )),
            Self::LacksValues => say(format_args!(
                "{name}: was not written, because values are missing; export fewer records at a time \
                 with --where{}",
                or_stdout("what there is")
            )),
        }
    }
}
